# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module


@cocotb.test()
async def take_and_return(dut):
    """No cell is given twice, none is lost, and one can be taken in every cycle."""
    cells = dut.CELLS.value.to_unsigned()
    dut.alloc_take_i.value = dut.free_valid_i.value = dut.free_cell_i.value = 0
    dut.init_busy_i.value = dut.init_index_i.value = 0
    dut.rst_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    dut.init_busy_i.value = 1
    for i in range(80):
        dut.init_index_i.value = i
        await RisingEdge(dut.clk_i)
    dut.init_busy_i.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk_i)

    taken, empty = [], 0

    async def cycle(take, give):
        nonlocal empty
        dut.alloc_take_i.value = 0
        dut.free_valid_i.value = 0
        if give and taken:
            dut.free_valid_i.value = 1
            dut.free_cell_i.value = taken.pop(random.randrange(len(taken)))
        await FallingEdge(dut.clk_i)
        if int(dut.alloc_valid_o.value):
            if take:
                cell = int(dut.alloc_cell_o.value)
                assert cell not in taken and cell < cells
                taken.append(cell)
                dut.alloc_take_i.value = 1
        else:
            empty += 1
        await RisingEdge(dut.clk_i)
        dut.alloc_take_i.value = 0

    for _ in range(cells):
        await cycle(take=True, give=False)
    assert empty == 0 and sorted(taken) == list(range(cells))  # a cell in every cycle, all of them
    await cycle(take=True, give=False)
    assert empty == 1
    for _ in range(10):
        rates = random.choice([(0.9, 0.5), (0.5, 0.9), (1, 1), (0.3, 0.3)])
        for _ in range(150):
            await cycle(random.random() < rates[0], random.random() < rates[1])
    while taken:
        await cycle(take=False, give=True)
    for _ in range(3):
        await cycle(take=False, give=False)
    empty = 0
    for _ in range(cells):
        await cycle(take=True, give=False)
    assert empty == 0 and sorted(taken) == list(range(cells))


@pytest.mark.parametrize("cells", [8, 64])
def test_pen_free_list(cells):
    run_module("pen_free_list", __name__, {"CELLS": cells})
