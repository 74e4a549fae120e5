# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module


@cocotb.test()
async def every_word_after_the_same_time(dut):
    """Words come out CYCLES later and hold until the next; a reset takes away those on their way."""
    cycles, width = dut.CYCLES.value.to_unsigned(), dut.WIDTH.value.to_unsigned()
    dut.rst_i.value = 1
    dut.valid_i.value = dut.data_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    line, held, words, rate = [None] * cycles, None, 0, 1.0
    for cycle in range(4000):
        if cycle % 100 == 0:
            rate = random.choice((0.05, 0.5, 0.9, 1.0))
        reset = random.random() < 0.002
        data = random.getrandbits(width)  # of a word, or of none
        valid = random.random() < rate and not reset
        dut.rst_i.value, dut.valid_i.value, dut.data_i.value = int(reset), int(valid), data
        line.append(data if valid else None)
        await FallingEdge(dut.clk_i)
        out = line.pop(0)
        assert dut.valid_o.value == int(out is not None), f"cycle {cycle}"
        if out is not None:
            held, words = out, words + 1
        if held is not None:
            assert dut.data_o.value == held, f"cycle {cycle}"
        if reset:
            line, held = [None] * cycles, None
        await RisingEdge(dut.clk_i)
    assert words > 500


@pytest.mark.parametrize("cycles", [2, 3, 4, 6, 16])
def test_pen_delay(cycles):
    run_module("pen_delay", __name__, {"WIDTH": 13, "CYCLES": cycles})
