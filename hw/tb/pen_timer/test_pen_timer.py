# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module


async def start(dut):
    dut.rst_i.value = 1
    dut.skip_valid_i.value = dut.skip_cycles_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    assert dut.time_ns_o.value == 0 and dut.turn_o.value == 0
    dut.rst_i.value = 0


async def run(dut, time_ns, turn, cycles, skip):
    ports = dut.PORTS.value.to_unsigned()
    for _ in range(cycles):
        assert dut.time_ns_o.value == time_ns
        assert dut.turn_o.value == turn
        valid, amount = random.random() < skip, random.choice((0, 1, random.getrandbits(40), 2**40 - 1))
        dut.skip_valid_i.value, dut.skip_cycles_i.value = int(valid), amount
        await FallingEdge(dut.clk_i)
        time_ns = (time_ns + 8 * (1 + valid * amount)) % 2**64
        turn = (turn + 1) % ports
    return time_ns, turn


@cocotb.test()
async def counts_and_skips(dut):
    await start(dut)
    time_ns, turn = await run(dut, 0, 0, 50, 0)
    assert time_ns == 400
    await run(dut, time_ns, turn, 500, 0.3)


@cocotb.test()
async def wraps(dut):
    await start(dut)
    turn = 0
    for time_ns in (2**31 - 40, 2**32 - 40, 2**64 - 40):
        dut.cycle_q.value = time_ns // 8
        dut.skip_valid_i.value = 0
        await FallingEdge(dut.clk_i)
        turn = (turn + 1) % dut.PORTS.value.to_unsigned()
        start_ns = dut.time_ns_o.value.to_unsigned()
        assert start_ns in (time_ns, time_ns + 8)
        _, turn = await run(dut, start_ns, turn, 20, 0)
    assert dut.time_ns_o.value.to_unsigned() < 1000


@pytest.mark.parametrize("ports", [pytest.param(2, marks=pytest.mark.slow), 5, 8])
def test_pen_timer(ports):
    run_module("pen_timer", __name__, {"PORTS": ports})
