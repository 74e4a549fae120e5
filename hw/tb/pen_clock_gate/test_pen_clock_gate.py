# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotb.utils import get_sim_time
from runner import run_module

PERIOD_NS = 8


@cocotb.test()
async def runs_while_active_and_a_little_longer(dut):
    hold = dut.HOLD.value.to_unsigned()
    dut.active_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, PERIOD_NS, "ns").start())
    edges = set()

    async def watch():
        while True:
            await RisingEdge(dut.clk_o)
            edges.add(round(get_sim_time("ns")))
            await FallingEdge(dut.clk_o)
            assert round(get_sim_time("ns")) in {edge + PERIOD_NS // 2 for edge in edges}, "a pulse was cut"

    cocotb.start_soon(watch())
    await FallingEdge(dut.clk_i)
    since = 0
    rested = 0
    for _ in range(2000):
        # What makes a cycle active may be known late in it, and may change its mind while the clock is high.
        active = random.random() < 2 / (hold + 4)
        dut.active_i.value = active
        since = 0 if active else since + 1
        await RisingEdge(dut.clk_i)
        now = round(get_sim_time("ns"))
        await Timer(1, "ns")
        assert (now in edges) == (since <= hold), (now, since)
        rested += since > hold
        for _ in range(random.randrange(2)):
            await Timer(1, "ns")
            dut.active_i.value = random.randrange(2)
        dut.active_i.value = active
        await FallingEdge(dut.clk_i)
    assert rested > 100


@pytest.mark.parametrize("hold", [1, 7])
def test_pen_clock_gate(hold):
    run_module("pen_clock_gate", __name__, {"HOLD": hold})
