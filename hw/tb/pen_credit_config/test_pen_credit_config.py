# SPDX-License-Identifier: Apache-2.0
"""Settings of shapers: what is taken, what is refused and why, and that a refused one changes nothing."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module

RATE = 1 << 27
NO_PORT, ZERO, ABOVE_RATE, ABOVE_SUM = 1, 2, 3, 4


@cocotb.test()
async def sums_are_kept(dut):
    ports = dut.PORTS.value.to_unsigned()
    for name in ("valid", "port", "class", "enable", "idle_slope", "gate_enable"):
        getattr(dut, f"{name}_i").value = 0
    dut.rst_i.value = dut.init_busy_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    await FallingEdge(dut.clk_i)
    for index in range(64):
        dut.init_index_i.value = index
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = dut.init_busy_i.value = 0

    slopes, errors, seen, before, ungated = {}, 0, set(), 0, 0
    for _ in range(1500):
        gates = random.choice([0, 0, random.getrandbits(8)])
        port = random.choice([random.randrange(ports), random.randrange(ports), random.randrange(1 << 13)])
        k, enable = random.randrange(8), int(random.random() < 0.8)
        slope = random.choice(
            [0, RATE, RATE + 1, random.getrandbits(48), *(random.randrange(RATE >> n) for n in range(6))]
        )
        dut.gate_enable_i.value, dut.port_i.value, dut.class_i.value = gates, port, k
        dut.enable_i.value, dut.idle_slope_i.value, dut.valid_i.value = enable, slope, 1
        others = sum(value for place, value in slopes.items() if place[0] == port and place != (port, k))
        error = 0
        if port >= ports:
            error = NO_PORT
        elif enable and slope == 0:
            error = ZERO
        elif enable and slope > RATE:
            error = ABOVE_RATE
        elif enable and others + slope > RATE and not gates >> port & 1:
            error = ABOVE_SUM
        for _ in range(2):
            await FallingEdge(dut.clk_i)
        assert dut.ready_o.value == 1
        assert dut.write_o.value.to_unsigned() == (0 if error else 1 << port)
        if error:
            errors += 1
            seen.add(error)
        else:
            slopes[port, k] = slope if enable else 0
        dut.valid_i.value = 0
        await FallingEdge(dut.clk_i)
        # A port of which the gates are switched off is looked at again.
        for other in range(ports):
            if (before & ~gates) >> other & 1 and sum(slopes.get((other, k), 0) for k in range(8)) > RATE:
                errors, error, ungated = errors + 1, ABOVE_SUM, ungated + 1
        before = gates
        for _ in range(ports + 1 + random.choice([0, 0, 3])):
            await FallingEdge(dut.clk_i)
            assert dut.ready_o.value == 0 and dut.write_o.value == 0
        assert dut.errors_o.value.to_unsigned() == errors
        if error:
            assert dut.error_o.value == error
    assert seen == {NO_PORT, ZERO, ABOVE_RATE, ABOVE_SUM} and ungated > 3


@pytest.mark.parametrize("ports", [2, 8])
def test_pen_credit_config(ports):
    run_module("pen_credit_config", __name__, {"PORTS": ports})
