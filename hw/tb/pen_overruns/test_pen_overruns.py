# SPDX-License-Identifier: Apache-2.0
import random
from collections import Counter

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module


@cocotb.test()
async def every_overrun_is_counted(dut):
    """Overruns of all ports, up to three before a port has its turn; reads in between; a full counter stays so."""
    ports = dut.PORTS.value.to_unsigned()
    most = (1 << dut.WIDTH.value.to_unsigned()) - 1
    for name in ("overrun", "class", "read", "clear", "read_class", "init_index"):
        getattr(dut, f"{name}_i").value = 0
    dut.rst_i.value = dut.init_busy_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    await FallingEdge(dut.clk_i)
    for index in range(128):
        dut.init_index_i.value = index
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
    dut.init_busy_i.value = 0
    counts = Counter()
    waiting, sent = [0] * ports, [0] * ports  # overruns of a port that wait for its turn; the class of its frame
    read = None  # (port, class, clear)
    answer = told = None  # to the read of the cycle, and what is told in it
    turn, reads, full = dut.port_q.value.to_unsigned(), 0, 0
    for _ in range(20000):
        overrun = 0
        for p in range(ports):
            if not waiting[p] and random.random() < 0.05:
                sent[p] = random.randrange(8)
            if waiting[p] < 3 and random.random() < 0.1:
                overrun |= 1 << p
        dut.overrun_i.value = overrun
        dut.class_i.value = sum(k << 3 * p for p, k in enumerate(sent))
        if read is None and random.random() < 0.05:
            read = random.randrange(ports), random.randrange(8), random.random() < 0.2
        port, k, clear = read or (0, random.randrange(8), random.getrandbits(1))
        dut.read_i.value, dut.read_class_i.value, dut.clear_i.value = (read is not None) << port, k, int(clear)
        await FallingEdge(dut.clk_i)
        # Behind the edge: what happened in the cycle.
        counted = waiting[turn] > 0
        if counted:
            counts[turn, sent[turn]] = min(counts[turn, sent[turn]] + 1, most)
            full += counts[turn, sent[turn]] == most
        answered = read is not None and port == turn and not counted and answer is None and told is None
        told, answer = answer, counts[port, k] if answered else None
        if answered and clear:
            counts[port, k] = 0
        for p in range(ports):
            waiting[p] += (overrun >> p & 1) - (counted and p == turn)
        assert int(dut.ack_o.value) == (told is not None)
        assert dut.data_o.value.to_unsigned() == (told or 0)
        if told is not None:
            read = None
            reads += 1
        turn = (turn + 1) % ports
    assert reads > 300 and full


@pytest.mark.parametrize("ports", [1, 3, 4, 8])
def test_pen_overruns(ports):
    run_module("pen_overruns", __name__, {"PORTS": ports, "WIDTH": 4})
