# SPDX-License-Identifier: Apache-2.0
import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module


async def start(dut):
    """Clock and reset; signals are driven and sampled at the falling edge, in the middle of a cycle."""
    dut.rst_i.value = 1
    dut.valid_i.value = 0
    dut.ready_i.value = 0
    dut.data_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    await FallingEdge(dut.clk_i)


async def traffic(dut, model, cycles, fill, drain):
    """Random transfers at these rates, every cycle compared with a Python queue; returns the largest fill."""
    width, depth = len(dut.data_i), dut.DEPTH.value.to_unsigned()
    most = 0
    for _ in range(cycles):
        offer, take = random.random() < fill, random.random() < drain
        data = random.getrandbits(width)
        dut.valid_i.value, dut.ready_i.value, dut.data_i.value = int(offer), int(take), data
        await FallingEdge(dut.clk_i)  # the rising edge in between made the transfers
        # Outputs before the edge were those of the model before this cycle's transfers.
        could_offer, could_take = len(model) < depth, bool(model)
        if take and could_take:
            model.popleft()
        if offer and could_offer:
            model.append(data)
        most = max(most, len(model))
        assert dut.count_o.value == len(model)
        assert dut.ready_o.value == (len(model) < depth)
        assert dut.valid_o.value == bool(model)
        if model:
            assert dut.data_o.value == model[0]
    return most


@cocotb.test()
async def fills_and_empties(dut):
    await start(dut)
    depth = dut.DEPTH.value.to_unsigned()
    assert dut.valid_o.value == 0 and dut.ready_o.value == 1
    model = deque()
    for fill, drain in ((1, 0), (0, 1), (1, 1), (1, 0), (1, 1), (0, 1)):
        await traffic(dut, model, depth + 3, fill, drain)
    assert not model


@cocotb.test()
async def random_idle_and_back_pressure(dut):
    await start(dut)
    depth = dut.DEPTH.value.to_unsigned()
    model, seen = deque(), 0
    for _ in range(40):
        fill, drain = random.choice((0.2, 0.5, 0.9, 1)), random.choice((0.2, 0.5, 0.9, 1))
        seen = max(seen, await traffic(dut, model, 100, fill, drain))
    assert seen == depth, "the test never filled the FIFO"


@pytest.mark.parametrize(("width", "depth"), [(8, 2), (13, 16), (64, 32)])
def test_pen_fifo(width, depth):
    run_module("pen_fifo", __name__, {"WIDTH": width, "DEPTH": depth})
