# SPDX-License-Identifier: Apache-2.0
"""Samples of all ports, up to one in each turn, reads and clears in between: answers against what was taken before."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import pack

BITS = 24
MOST = (1 << BITS - 1) - 1
LOW, HIGH, READ = 0, 1, 2
NOW, HIGHEST, LOWEST = 0, 1, 2


def packed(sample):
    if sample is None:
        return random.getrandbits(BITS + 5)
    kind, k, bits = sample
    return pack("credit_sample", valid=1, kind=kind, traffic_class=k, bits=bits % (1 << BITS))


class Bench:
    def __init__(self, dut):
        self.dut, self.ports = dut, int(dut.PORTS.value)
        self.samples = [None] * self.ports  # (kind, class, bits) that wait for their turn
        self.highest = {(p, k): 0 for p in range(self.ports) for k in range(8)}
        self.lowest = dict(self.highest)
        self.read = None  # (port, which, class, clear)
        self.answer = None  # to the read whose sample was taken, and how many cycles ago
        self.turn = self.answers = self.events = 0
        self.took = False  # a sample, in the cycle before

    async def start(self):
        dut = self.dut
        for name in ("has_turn", "sample", "read", "clear", "read_which", "init_index"):
            getattr(dut, f"{name}_i").value = 0
        dut.rst_i.value = dut.init_busy_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        await RisingEdge(dut.clk_i)
        for index in range(130):
            dut.init_index_i.value, dut.init_busy_i.value = index, int(index < 128)
            dut.has_turn_i.value, self.turn = 1 << self.turn, (self.turn + 1) % self.ports
            await RisingEdge(dut.clk_i)
            dut.rst_i.value = 0

    def bits(self, p, k):
        """What one bit sets apart from a known extreme, or anything."""
        known = random.choice((self.highest[p, k], self.lowest[p, k]))
        near = known + random.choice((-1, 1)) * random.choice((0, 1, 1 << random.randrange(BITS)))
        anything = random.randint(-MOST - 1, MOST)
        return random.choice((max(min(near, MOST), -MOST - 1), random.randint(-900, 900), anything))

    async def cycle(self, often):
        """One turn. A port without a sample may get one that is wanted, or one `often`, which goes before that."""
        dut = self.dut
        wanted = self.read is not None and self.answer is None
        if wanted and self.samples[self.read[0]] is None and random.random() < 0.5:
            p, _, k, _ = self.read
            self.samples[p] = (READ, k, self.bits(p, k))
        for p, sample in enumerate(self.samples):
            if random.random() < (often if sample is None else 0.05 if sample[0] == READ else 0):
                k = random.randrange(8)
                self.samples[p] = (random.choice((LOW, HIGH)), k, self.bits(p, k))
        port, which, _, clear = self.read or (0, random.randrange(3), 0, random.getrandbits(1))
        dut.read_i.value, dut.read_which_i.value, dut.clear_i.value = (self.read is not None) << port, which, clear
        dut.has_turn_i.value = 1 << self.turn
        dut.sample_i.value = sum(packed(sample) << (BITS + 6) * p for p, sample in enumerate(self.samples))
        await FallingEdge(dut.clk_i)
        assert int(dut.sample_read_o.value) == wanted << port
        stalls = self.answer is not None and self.answer[1] in (1, 2) and clear and which != NOW
        stalls |= self.ports == 1 and self.took
        assert int(dut.sample_ready_o.value) == (0 if stalls else 1 << self.turn)
        answered = self.answer is not None and self.answer[1] == 3
        assert int(dut.ack_o.value) == answered
        assert dut.data_o.value.to_signed() == (self.answer[0] if answered else 0), (self.read, self.answer)
        if answered:
            self.read = self.answer = None
            self.answers += 1
        elif self.answer is not None:
            self.answer = (self.answer[0], self.answer[1] + 1)
        self.took = not stalls and self.samples[self.turn] is not None
        if self.took:
            self.take(self.turn, *self.samples[self.turn])
            self.samples[self.turn] = None
        self.turn = (self.turn + 1) % self.ports
        await RisingEdge(dut.clk_i)

    def take(self, p, kind, k, bits):
        which, clear = self.read[1::2] if kind == READ else ({HIGH: HIGHEST, LOW: LOWEST}[kind], False)
        if which == HIGHEST:
            self.highest[p, k] = max(self.highest[p, k], bits)
        elif which == LOWEST:
            self.lowest[p, k] = min(self.lowest[p, k], bits)
        self.events += kind != READ
        if kind == READ:
            self.answer = ({NOW: bits, HIGHEST: self.highest[p, k], LOWEST: self.lowest[p, k]}[which], 1)
            if clear and which != NOW:
                {HIGHEST: self.highest, LOWEST: self.lowest}[which][p, k] = 0


@cocotb.test()
async def every_answer(dut):
    """First what the tables start with, then at all rates."""
    bench = Bench(dut)
    await bench.start()
    for p, k in bench.highest:
        for which in (HIGHEST, LOWEST):
            bench.read = (p, which, k, True)
            while bench.read:
                await bench.cycle(0)
    for often in (1, 0.3, 0.05):
        for _ in range(6000):
            # Some classes often enough that what they had before is read.
            if bench.read is None and random.random() < 0.3:
                k = random.choice((0, 7, random.randrange(8)))
                bench.read = (random.randrange(bench.ports), random.randrange(3), k, random.random() < 0.2)
            await bench.cycle(often)
    assert bench.answers > 500 and bench.events > 3000


@pytest.mark.parametrize("ports", [1, 2, 4, 8])
def test_pen_credit_extremes(ports):
    run_module("pen_credit_extremes", __name__, {"PORTS": ports})
