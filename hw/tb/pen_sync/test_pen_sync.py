# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, Timer
from runner import run_module


@cocotb.test()
async def two_cycles_later(dut):
    dut.rst_i.value = 1
    dut.data_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    assert dut.data_o.value == 0
    dut.rst_i.value = 0
    history = [0, 0]
    for _ in range(200):
        history.append(random.randrange(2))
        dut.data_i.value = history[-1]
        await FallingEdge(dut.clk_i)
        assert dut.data_o.value == history[-2]


@cocotb.test()
async def value_is_never_a_mixture(dut):
    """The bits of each change arrive at different times, less than a cycle apart."""
    width = len(dut.data_i)
    dut.rst_i.value, dut.data_i.value = 1, 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    value, allowed = 0, {0}

    async def watch():
        while True:
            await RisingEdge(dut.clk_i)
            await ReadOnly()
            assert dut.data_o.value.to_unsigned() in allowed

    cocotb.start_soon(watch())
    for _ in range(300):
        new = random.getrandbits(width)
        allowed |= {new}
        bits = list(range(width))
        random.shuffle(bits)
        await Timer(random.randrange(1, 8000), "ps")
        for bit in bits:
            value = value & ~(1 << bit) | new & 1 << bit
            dut.data_i.value = value
            await Timer(random.randrange(1, 7900 // width), "ps")
        for _ in range(5):
            await FallingEdge(dut.clk_i)
        assert dut.data_o.value == new
        allowed = {new}


@cocotb.test()
async def reset_without_clock(dut):
    """Asserted while the clock stands still; released at least two edges after the clock is back."""
    dut.rst_i.value, dut.clk_i.value = 0, 0
    await Timer(5, "ns")
    for _ in range(50):
        dut.rst_i.value = 1
        await Timer(random.randrange(1, 20000), "ps")
        assert dut.rst_o.value == 1
        dut.rst_i.value = 0
        await Timer(random.randrange(1, 20000), "ps")
        assert dut.rst_o.value == 1
        clock = cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        edges = 0
        while dut.rst_o.value == 1:
            await RisingEdge(dut.clk_i)
            await ReadOnly()
            edges += 1
        assert 2 <= edges <= 4
        await Timer(random.randrange(1, 30000), "ps")
        assert dut.rst_o.value == 0
        clock.cancel()
        await Timer(random.randrange(1, 20000), "ps")


def test_pen_sync():
    run_module("pen_sync", __name__, testcase="two_cycles_later")


def test_pen_sync_value():
    run_module("pen_sync_value", __name__, {"WIDTH": 11}, testcase="value_is_never_a_mixture")


def test_pen_reset_sync():
    run_module("pen_reset_sync", __name__, testcase="reset_without_clock")
