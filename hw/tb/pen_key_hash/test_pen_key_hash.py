# SPDX-License-Identifier: Apache-2.0
"""The hash of the tables and the function it stands for, both against zlib."""

import random
import zlib
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import Timer
from runner import run_module


def keys(count):
    """All zeros, all ones, each bit alone, and random ones."""
    yield bytes(count)
    yield b"\xff" * count
    for bit in range(8 * count):
        yield (1 << bit).to_bytes(count, "little")
    for _ in range(500):
        yield random.randbytes(count)


@cocotb.test()
async def bits_of_the_crc(dut):
    low, width = dut.LOW.value.to_unsigned(), dut.WIDTH.value.to_unsigned()
    for key in keys(dut.BYTES.value.to_unsigned()):
        dut.key_i.value = int.from_bytes(key, "little")
        await Timer(1, "ns")
        assert dut.hash_o.value == zlib.crc32(key) >> low & ((1 << width) - 1), key.hex()


@cocotb.test()
async def function(dut):
    """Keys of every length; what stands above a shorter key does not count."""
    for count in range(1, 15):
        for key in keys(count):
            dut.key_i.value = int.from_bytes(key + random.randbytes(14 - count), "little")
            dut.bytes_i.value = count
            await Timer(1, "ns")
            assert dut.crc_o.value == zlib.crc32(key), key.hex()


@pytest.mark.parametrize(("count", "low", "width"), [(14, 0, 9), (14, 16, 10), (8, 0, 12), (1, 0, 32)])
def test_pen_key_hash(count, low, width):
    run_module("pen_key_hash", __name__, {"BYTES": count, "LOW": low, "WIDTH": width}, testcase="bits_of_the_crc")


def test_crc32_key():
    run_module(
        "crc32_key_tb", __name__, extra_sources=[Path(__file__).with_name("crc32_key_tb.sv")], testcase="function"
    )
