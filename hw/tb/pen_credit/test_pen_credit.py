# SPDX-License-Identifier: Apache-2.0
"""Every class in every cycle against the shaper of engine/shaper, and the samples of credit that are observed."""

import random
from collections import deque
from itertools import pairwise

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import unpack

from penstock import _engine
from penstock.ethernet import AHEAD_BYTES, WIRE_OVERHEAD_BYTES

RATE = 1 << 27
FRACTION = 24
WIDTH = 48
BITS = WIDTH - FRACTION
LOW, HIGH, READ = 0, 1, 2
LONGEST_WAIT = 40  # of a sample, from the credit to the turn that takes it


def bits(credit):
    return credit >> FRACTION


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


class Bench:
    """Drives the shaper as a queue would, and keeps a twin for each class that has one."""

    def __init__(self, dut):
        self.dut = dut
        self.twins = [None] * 8
        self.waiting, self.open = [False] * 8, [True] * 8
        self.due = deque()  # samples that have not been taken yet: (cycle of the credit, kind, class, bits)
        self.taken = []  # samples that have: (kind, class, bits)
        self.turns, self.turn = random.choice([1, 2, 4, 8]), 0
        self.ended = None  # class whose transmission ended in the cycle before
        self.free_at = self.cycle_count = 0
        self.sending = None  # class, and the cycle after the last one of its transmission
        self.history = deque([[0] * 8] * 3, maxlen=3)
        self.selected = deque([None] * 3, maxlen=3)  # lengths of frames granted in the last cycles, the latest first
        self.gap = False
        self.read = None  # a class of which a sample is wanted
        self.reading = False  # it was offered in the cycle before
        self.reads = self.grants = 0

    async def start(self):
        dut = self.dut
        for name in ("write", "write_class", "write_enable", "write_idle_slope", "count_gap"):
            getattr(dut, f"{name}_i").value = 0
        for name in ("waiting", "open", "granted", "selected", "length"):
            getattr(dut, f"{name}_i").value = 0
        for name in ("read", "read_class", "sample_ready"):
            getattr(dut, f"{name}_i").value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await RisingEdge(dut.clk_i)

    def credit(self, k):
        return self.twins[k].credit if self.twins[k] else 0

    def may_send(self, k):
        return self.cycle_count >= self.free_at and self.waiting[k] and self.open[k] and self.credit(k) >= 0

    async def cycle(self, grant=None, length=64, write=None):
        """One cycle: a frame of class `grant` selected, settings `write` = (class, slope or 0) written."""
        dut, now = self.dut, self.cycle_count
        dut.waiting_i.value = sum(w << k for k, w in enumerate(self.waiting))
        dut.open_i.value = sum(o << k for k, o in enumerate(self.open))
        dut.granted_i.value = 0 if grant is None else 1 << grant
        dut.selected_i.value = int(self.selected[0] is not None)
        # The length comes two cycles later.
        dut.length_i.value = random.getrandbits(11) if self.selected[2] is None else self.selected[2]
        dut.count_gap_i.value = int(self.gap)
        dut.write_i.value = int(write is not None)
        if write:
            dut.write_class_i.value, dut.write_enable_i.value = write[0], int(write[1] != 0)
            dut.write_idle_slope_i.value = write[1]
        dut.read_i.value, dut.read_class_i.value = int(self.read is not None), self.read or 0
        # A turn is missed now and then, never two.
        ready = self.turn % self.turns == 0 and (self.turn % (2 * self.turns) == 0 or random.random() < 0.9)
        self.turn += 1
        dut.sample_ready_i.value = int(ready)
        await FallingEdge(dut.clk_i)
        of_class = [self.credit(k) for k in range(8)]
        self.history.append(of_class)
        internal = int(dut.credit_q.value)
        for k in range(8):
            # In the two cycles after its selection the sum of a class lacks what that has changed.
            if self.selected[0] != self.selected[1] and self.sending[0] == k:
                continue
            assert signed(internal >> WIDTH * k & (1 << WIDTH) - 1, WIDTH) == of_class[k], (k, now)
            assert int(dut.ready_o.value) >> k & 1 == (of_class[k] >= 0), (k, now)
        if self.ended is not None:
            self.due.append((now, LOW, self.ended, bits(of_class[self.ended])))
            self.ended = None
        if grant is not None:
            assert self.may_send(grant)
            self.due.append((now, HIGH, grant, bits(of_class[grant])))
            self.grants += 1
            self.sending = (grant, now + length + (WIRE_OVERHEAD_BYTES if self.gap else AHEAD_BYTES))
            self.free_at = now + length + 20
        on_wire = self.sending is not None and now < self.sending[1]
        told = int(dut.sending_o.value)
        if grant is None:
            assert told == (1 << self.sending[0] if on_wire else 0), now
        self.sample(unpack("credit_sample", int(dut.sample_o.value)), ready)
        for k in range(8):
            if self.twins[k]:
                self.twins[k].advance(
                    transmitting=on_wire and self.sending[0] == k, gate_open=self.open[k], waiting=self.waiting[k]
                )
        k = self.sending[0] if self.sending else None
        if on_wire and now == self.sending[1] - 1:
            self.ended = k
        if write:
            self.twins[write[0]] = _engine.Credit(write[1], RATE) if write[1] else None
        self.selected.appendleft(length if grant is not None else None)
        self.cycle_count += 1
        await RisingEdge(dut.clk_i)

    def sample(self, sample, ready):
        """Those of begins and ends are taken in their order, each once; one of a read has the cycle before its look."""
        now = self.cycle_count
        assert not self.due or now - self.due[0][0] <= LONGEST_WAIT
        valid, kind, k, value = (sample[name] for name in ("valid", "kind", "traffic_class", "bits"))
        value = signed(value, BITS)
        if valid and kind == READ and not self.reading:
            assert k == self.read and value == bits(self.history[0][k]), (k, now)
            assert all(cycle > now - 2 for cycle, *_ in self.due), now
        self.reading = valid and kind == READ and not ready
        if valid and ready:
            if kind == READ:
                self.read = None
                self.reads += 1
            else:
                assert (kind, k, value) == self.due.popleft()[1:], now
            self.taken.append((kind, k, value))


@cocotb.test()
async def random_traffic(dut):
    """Frames, gates, settings and reads at random, the gap counted and not."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(14000):
        for k in range(8):
            if random.random() < 0.01:
                bench.open[k] = not bench.open[k]
            if random.random() < 0.02 and not (bench.selected[0] is not None and bench.sending[0] == k):
                bench.waiting[k] = not bench.waiting[k]
        write = None
        if random.random() < 0.004:
            slope = random.choice([0, 1, RATE, random.randrange(1, RATE), random.randrange(1, RATE >> 4)])
            write = (random.randrange(8), slope)
        if bench.read is None and random.random() < 0.2:
            bench.read = random.randrange(8)
        ready = [k for k in range(8) if bench.may_send(k)]
        if ready and random.random() < 0.9:
            # The queue has found the next frame, or not, before the transmission is over.
            await bench.cycle(random.choice(ready), random.choice([64, random.randrange(64, 400)]), write)
        else:
            await bench.cycle(write=write)
        if random.random() < 0.001 and bench.cycle_count >= bench.free_at:
            bench.gap = not bench.gap
    assert bench.grants > 40 and bench.reads > 300


@cocotb.test()
async def spacing(dut):
    """Frames that wait leave at wire length over idleSlope, and the samples have what the frame costs."""
    for gap in (False, True):
        bench = Bench(dut)
        await bench.start()
        bench.gap, share, length = gap, 4, 256
        await bench.cycle(write=(5, RATE // share))
        bench.waiting[5] = True
        times = []
        for _ in range(8000):
            granted = 5 if bench.may_send(5) else None
            if granted is not None:
                times.append(bench.cycle_count)
            await bench.cycle(granted, length)
        cost = length + (WIRE_OVERHEAD_BYTES if gap else AHEAD_BYTES)
        gaps = {b - a for a, b in pairwise(times)}
        assert gaps == {share * cost}, gaps
        assert set(bench.taken) == {(HIGH, 5, 0), (LOW, 5, -8 * cost * (share - 1) // share)}
        dut.rst_i.value = 1
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def back_to_back(dut):
    """With the gap counted, a frame is selected in the first cycle after a transmission, while its end is looked at."""
    bench = Bench(dut)
    await bench.start()
    bench.gap = True
    for k in range(8):
        await bench.cycle(write=(k, RATE // (k + 2)))
        bench.waiting[k] = True
    for _ in range(4000):
        if bench.read is None:
            bench.read = random.randrange(8)
        ready = [k for k in range(8) if bench.may_send(k)]
        await bench.cycle(random.choice(ready) if ready else None)
    assert bench.grants > 40 and bench.reads > 100


@cocotb.test()
async def starved(dut):
    """Credit of a class that waits for others grows, and rises no further from its limit on."""
    bench = Bench(dut)
    await bench.start()
    await bench.cycle(write=(2, RATE))
    bench.waiting[2] = True
    for _ in range(1000):
        await bench.cycle()
    assert bench.credit(2) == 1000 * RATE
    limit = 1 << WIDTH - 2
    dut.credit_q.value = (limit - RATE // 2) << WIDTH * 2
    await RisingEdge(dut.clk_i)
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    assert int(dut.credit_q.value) >> WIDTH * 2 & (1 << WIDTH) - 1 == limit + RATE // 2


def test_pen_credit():
    run_module("pen_credit", __name__)
