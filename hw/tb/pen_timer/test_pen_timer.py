# SPDX-License-Identifier: Apache-2.0
import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module


async def start(dut):
    dut.rst_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    assert dut.time_ns_o.value == 0 and dut.turn_o.value == 0
    dut.rst_i.value = 0


async def run(dut, time_ns, turn, cycles):
    ports = dut.PORTS.value.to_unsigned()
    for _ in range(cycles):
        assert dut.time_ns_o.value == time_ns
        assert dut.turn_o.value == turn and dut.has_turn_o.value == dut.comes_in_o.value == 1 << turn
        await FallingEdge(dut.clk_i)
        time_ns = (time_ns + 8) % 2**64
        turn = (turn + 1) % ports
    return time_ns, turn


@cocotb.test()
async def counts(dut):
    await start(dut)
    time_ns, _ = await run(dut, 0, 0, 50)
    assert time_ns == 400


@cocotb.test()
async def wraps(dut):
    await start(dut)
    turn = 0
    for time_ns in (2**31 - 40, 2**32 - 40, 2**64 - 40):
        dut.cycle_q.value = time_ns // 8
        await FallingEdge(dut.clk_i)
        turn = (turn + 1) % dut.PORTS.value.to_unsigned()
        start_ns = dut.time_ns_o.value.to_unsigned()
        assert start_ns in (time_ns, time_ns + 8)
        _, turn = await run(dut, start_ns, turn, 20)
    assert dut.time_ns_o.value.to_unsigned() < 1000


@pytest.mark.parametrize("ports", [pytest.param(2, marks=pytest.mark.slow), 5, 8])
def test_pen_timer(ports):
    run_module("pen_timer", __name__, {"PORTS": ports})
