# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from runner import run_module

DEPTH = 8  # small, so that a read often meets the word that is being written


async def written_memory(dut):
    """Starts the clock and writes all words; returns them."""
    dut.write_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    await FallingEdge(dut.clk_i)
    words = [random.getrandbits(len(dut.write_data_i)) for _ in range(DEPTH)]
    for address, word in enumerate(words):
        dut.write_i.value, dut.write_addr_i.value, dut.write_data_i.value = 1, address, word
        await FallingEdge(dut.clk_i)
    return words


def random_write(dut):
    write, address = random.randrange(2), random.randrange(DEPTH)
    word = random.getrandbits(len(dut.write_data_i))
    dut.write_i.value, dut.write_addr_i.value, dut.write_data_i.value = write, address, word
    return write, address, word


@cocotb.test()
async def block_ram(dut):
    """The word read comes a cycle later and holds; a read of the word that is being written gives the old one."""
    words, output, collisions = await written_memory(dut), None, 0
    for _ in range(2000):
        write, address, word = random_write(dut)
        read, read_address = random.randrange(2), random.randrange(DEPTH)
        dut.read_i.value, dut.read_addr_i.value = read, read_address
        if read:
            output = words[read_address]
            collisions += write and address == read_address
        if write:
            words[address] = word
        await FallingEdge(dut.clk_i)
        if output is not None:
            assert dut.read_data_o.value == output
    assert collisions > 20  # 62 are to be expected


@cocotb.test()
async def block_ram_of_parts(dut):
    """Each part is what was written to it last; what is read of a part that is being written does not count."""
    for name in ("write_a_i", "write_b_i", "read_i"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    await FallingEdge(dut.clk_i)
    parts = {
        name: (
            getattr(dut, f"write_{name}_i"),
            getattr(dut, f"write_data_{name}_i"),
            getattr(dut, f"read_data_{name}_o"),
        )
        for name in "ab"
    }
    words = {name: [None] * DEPTH for name in parts}
    output = dict.fromkeys(parts)
    written, compared = 0, 0
    for _ in range(3000):
        address, read, read_address = random.randrange(DEPTH), random.randrange(2), random.randrange(DEPTH)
        dut.write_addr_i.value, dut.read_i.value, dut.read_addr_i.value = address, read, read_address
        for name, (write, data, _) in parts.items():
            writes, word = random.randrange(2), random.getrandbits(len(data))
            write.value, data.value = writes, word
            if read:
                output[name] = None if writes and address == read_address else words[name][read_address]
            if writes:
                words[name][address] = word
                written += 1
        await FallingEdge(dut.clk_i)
        for name, (_, _, found) in parts.items():
            if output[name] is not None:
                assert found.value == output[name]
                compared += 1
    assert written > 2000
    assert compared > 2000


@cocotb.test()
async def lookup_tables(dut):
    """The word read comes in the same cycle, at each port; what is written is there from the next one on."""
    words = await written_memory(dut)
    width, ports = len(dut.write_data_i), len(dut.read_data_o) // len(dut.write_data_i)
    for _ in range(2000):
        write, address, word = random_write(dut)
        places = [random.randrange(DEPTH) for _ in range(ports)]
        dut.read_addr_i.value = sum(place << len(dut.write_addr_i) * k for k, place in enumerate(places))
        await Timer(1, "ns")
        assert int(dut.read_data_o.value) == sum(words[place] << width * k for k, place in enumerate(places))
        if write:
            words[address] = word
        await FallingEdge(dut.clk_i)


def test_pen_ram_1r1w():
    run_module("pen_ram_1r1w", __name__, {"WIDTH": 72, "DEPTH": DEPTH}, testcase="block_ram")


def test_pen_ram_parts_1r1w():
    parameters = {"WIDTH_A": 96, "WIDTH_B": 80, "DEPTH": DEPTH}
    run_module("pen_ram_parts_1r1w", __name__, parameters, testcase="block_ram_of_parts")


def test_pen_lutram_1r1w():
    run_module("pen_lutram_1r1w", __name__, {"WIDTH": 13, "DEPTH": DEPTH}, testcase="lookup_tables")


@pytest.mark.parametrize("reads", [2, 3])
def test_pen_lutram_nr1w(reads):
    parameters = {"READS": reads, "WIDTH": 13, "DEPTH": DEPTH}
    run_module("pen_lutram_nr1w", __name__, parameters, testcase="lookup_tables")
