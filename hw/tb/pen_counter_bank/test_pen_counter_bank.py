# SPDX-License-Identifier: Apache-2.0
import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from runner import run_module


@cocotb.test()
async def no_addition_is_missed(dut):
    """Additions in every cycle to few counters, so that they meet on their way through the memory, or just do not."""
    spaced = dut.SPACED.value.to_unsigned() == 1
    depth, width, add_width = 1 << len(dut.add_index_i), len(dut.read_data_o), len(dut.add_i)
    dut.rst_i.value = 1
    dut.add_valid_i.value = dut.read_i.value = 0
    dut.clear_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    dut.clear_i.value = 1
    for index in range(depth):
        dut.clear_index_i.value = index
        await FallingEdge(dut.clk_i)
    dut.clear_i.value = 0

    counters = [0] * depth
    reading = None  # index and value of the counter whose answer comes next
    reads = waits = 0
    under_way = deque([None, None], 2)  # counters that were advanced in the two cycles before
    for cycle in range(8000):
        if cycle % 250 == 0:
            used = random.sample(range(depth), random.randint(1, min(depth, 6)))
            rate = random.choice((0.2, 0.6, 0.95, 1))
        if reading is not None:
            assert dut.read_valid_o.value == 1
            assert dut.read_data_o.value.to_unsigned() == reading[1], f"counter {reading[0]}"
            reads += 1
        else:
            assert dut.read_valid_o.value == 0
        add, read = random.random() < rate, random.random() < 0.5
        index, amount, read_index = random.choice(used), random.getrandbits(add_width), random.choice(used)
        add = add and not (spaced and index in under_way)
        dut.add_valid_i.value, dut.add_index_i.value, dut.add_i.value = int(add), index, amount
        dut.read_i.value, dut.read_index_i.value = int(read), read_index
        waits += spaced and read_index in under_way
        ready = not add and not (spaced and read_index in under_way)
        reading = (read_index, counters[read_index]) if read and ready else None
        under_way.append(index if add else None)
        if add:
            counters[index] = (counters[index] + amount) % (1 << width)
        await ReadOnly()
        assert dut.read_ready_o.value == ready
        await FallingEdge(dut.clk_i)
    assert reads > 400
    assert waits > 400 or not spaced


@pytest.mark.parametrize(
    ("width", "depth", "add", "spaced"), [(32, 128, 1, 0), (64, 16, 12, 0), (8, 2, 4, 0), (64, 16, 12, 1)]
)
def test_pen_counter_bank(width, depth, add, spaced):
    run_module("pen_counter_bank", __name__, {"WIDTH": width, "DEPTH": depth, "ADD_W": add, "SPACED": spaced})
