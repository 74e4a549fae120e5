# SPDX-License-Identifier: Apache-2.0
"""A lamp is on long enough after each event, and not for ever."""

import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module

BOARD = Path(__file__).resolve().parents[2] / "board"


@cocotb.test()
async def events_are_seen_for_a_while(dut):
    lamps, period = dut.LAMPS.value.to_unsigned(), 2 ** dut.BITS.value.to_unsigned()
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    dut.rst_i.value = 1
    dut.events_i.value = 0
    await FallingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    since = [3 * period] * lamps  # cycles since the last event of each
    seen = set()
    for _ in range(200 * period):
        on = dut.lamps_o.value.to_unsigned()
        for lamp, cycles in enumerate(since):
            is_on = bool(on >> lamp & 1)
            assert is_on or cycles >= period, f"lamp {lamp} is off {cycles} cycles after an event"
            assert not is_on or cycles <= 2 * period, f"lamp {lamp} is on {cycles} cycles after an event"
            seen.add(is_on)
        events = sum((random.random() < 1 / period / (1 + 2 * lamp)) << lamp for lamp in range(lamps))
        dut.events_i.value = events
        await FallingEdge(dut.clk_i)
        since = [0 if events >> lamp & 1 else cycles + 1 for lamp, cycles in enumerate(since)]
    assert seen == {False, True}


def test_pen_lamps():
    run_module("pen_lamps", __name__, {"LAMPS": 3, "BITS": 4}, extra_sources=[BOARD / "pen_lamps.sv"])
