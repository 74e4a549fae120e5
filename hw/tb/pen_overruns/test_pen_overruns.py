# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module


@cocotb.test()
async def every_overrun_is_counted(dut):
    """Gates and transmissions at random, reads in between; a counter that is full stays so."""
    for name in ("open", "sending", "read", "clear", "read_class"):
        getattr(dut, f"{name}_i").value = 0
    dut.rst_i.value = dut.init_busy_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    await FallingEdge(dut.clk_i)
    for index in range(8):
        dut.init_index_i.value = index
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = dut.init_busy_i.value = 0
    most = (1 << dut.WIDTH.value.to_unsigned()) - 1
    counts, before, sending, reads, full = [0] * 8, 0, 0, 0, False
    known = []  # a count is known a cycle after it happened
    for _ in range(20000):
        states = before ^ (random.getrandbits(8) & random.getrandbits(8) & random.getrandbits(8))
        if random.random() < 0.1:
            sending = random.choice([0, 1 << random.randrange(8)])
        for k in known:
            counts[k] = min(counts[k] + 1, most)
            full |= counts[k] == most
        known = [k for k in range(8) if sending & before & ~states & 1 << k]
        dut.open_i.value, dut.sending_i.value = states, sending
        before = states
        if not int(dut.read_i.value) and random.random() < 0.05:
            dut.read_i.value, dut.read_class_i.value = 1, random.randrange(8)
            dut.clear_i.value = int(random.random() < 0.2)
        await FallingEdge(dut.clk_i)
        if int(dut.ack_o.value):
            k = int(dut.read_class_i.value)
            assert dut.data_o.value.to_unsigned() == counts[k]
            if int(dut.clear_i.value):
                counts[k] = 0
            dut.read_i.value = 0
            reads += 1
    assert reads > 300 and full


def test_pen_overruns():
    run_module("pen_overruns", __name__, {"WIDTH": 4})
