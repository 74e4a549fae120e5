# SPDX-License-Identifier: Apache-2.0
"""Frames of any length, one after the other, against an FCS that is computed in software."""

import random
import zlib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from runner import run_module


async def send(dut, body):
    """What leaves of a frame whose last four bytes are anything."""
    came = body + random.randbytes(4)
    dut.start_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    left = []
    for n, octet in enumerate(came):
        while random.random() < 0.1:  # the preamble, or nothing
            dut.data_i.value = random.getrandbits(8)
            dut.left_i.value = random.getrandbits(11)
            await FallingEdge(dut.clk_i)
        dut.data_ready_i.value = 1
        dut.data_i.value = octet
        dut.left_i.value = len(came) - 1 - n
        await Timer(1, "ns")
        left.append(int(dut.data_o.value))
        await FallingEdge(dut.clk_i)
        dut.data_ready_i.value = 0
    return bytes(left)


@cocotb.test()
async def each_frame_ends_with_its_fcs(dut):
    for name in ("start_i", "data_i", "data_ready_i", "left_i"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    await FallingEdge(dut.clk_i)
    for _ in range(100):
        body = random.randbytes(random.choice((60, 61, random.randrange(60, 300), 1518)))
        assert await send(dut, body) == body + zlib.crc32(body).to_bytes(4, "little")


def test_pen_fcs():
    run_module("pen_fcs", __name__)
