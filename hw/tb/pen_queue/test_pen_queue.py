# SPDX-License-Identifier: Apache-2.0
"""Random frames through the queues of one egress port, each cycle against a model that is lists and nothing else."""

import copy
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import pack, unpack
from tags import slot_length

pytestmark = pytest.mark.long(67)

WRAP = 1 << 28
SECOND = 125_000_000
LIFETIME = 120 << 20
NO_LIMIT = 16383
EDITS = 3 << 2  # the R-TAG stays, comes or goes; below, four of the VLAN tag
LIFETIME_REASON, MAX_SDU_REASON = 15, 16


def signed(cycles):
    """A difference of times modulo 2^28."""
    return (cycles + WRAP // 2) % WRAP - WRAP // 2


class Gates:
    """What gates may say: all open, until `random` or a test says otherwise."""

    def __init__(self):
        self.open, self.guard, self.remaining, self.after = 0xFF, 0, 0, [0] * 8
        self.random = False

    def fits(self, k, length):
        if not self.open >> k & 1:
            return False
        return not self.guard or 8 * (length + 20) <= self.remaining + self.after[k]

    def drive(self, dut):
        dut.open_next_i.value = self.open
        dut.guard_next_i.value = self.guard
        dut.remaining_next_ns_i.value = self.remaining
        dut.after_next_ns_i.value = sum(after << 14 * k for k, after in enumerate(self.after))

    def step(self):
        """The next cycle of a list of random entries, whose look-ahead need not be consistent."""
        self.remaining -= random.choice([8, 8, 8, 8, 7, 9])
        if self.remaining <= 0:
            self.remaining = random.choice([64, random.randrange(64, 3000), random.randrange(64, 30000)])
            self.open, self.guard = random.getrandbits(8), int(random.random() < 0.9)
            self.after = [random.choice([0, random.randrange(16000), NO_LIMIT]) for _ in range(8)]


class Bench:
    """Drives the queue and keeps the model: per class and reception port, shaped or not, a list of frames inside."""

    def __init__(self, dut, now):
        self.dut, self.now = dut, now % WRAP
        self.ports, self.port = dut.PORTS.value.to_unsigned(), dut.PORT.value.to_unsigned()
        self.lists = {(k, p, shaped): [] for k in range(8) for p in range(self.ports) for shaped in (False, True)}
        self.free = list(range(dut.CELLS.value.to_unsigned()))
        random.shuffle(self.free)
        self.busy = 0  # cycles until the transmitter takes the next frame
        self.grants = self.expired = self.meanwhile = self.giving_up = 0
        self.searched = [None, None]  # classes whose next candidate is looked for: after an expiry, after a grant
        self.last, self.granted, self.was_popped = {}, False, False
        self.gates, self.gates_now = Gates(), Gates()
        self.credit, self.largest = 0xFF, [NO_LIMIT] * 8
        self.held = self.never = 0

    async def start(self):
        dut = self.dut
        self.gates.drive(dut)
        dut.credit_i.value = self.credit
        dut.round_robin_i.value = 0
        dut.gate_enable_i.value = 1
        dut.largest_window_ns_i.value = (1 << 14 * 8) - 1
        dut.rst_i.value = 1
        dut.init_busy_i.value = dut.init_index_i.value = 0
        dut.enqueue_i.value = 0
        dut.tx_ready_i.value = 0
        dut.expired_ready_i.value = 0
        dut.late_cycle_i.value = self.now
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for index in range(2 * 8 * 8):
            dut.init_busy_i.value, dut.init_index_i.value = 1, index
            await RisingEdge(dut.clk_i)
        dut.init_busy_i.value = 0

    def heads(self, k):
        return [queue[0] for (of, _, _), queue in self.lists.items() if of == k and queue]

    def slot(self, frame):
        edit = frame.get("edit", 0)
        return slot_length(frame["length"], edit & 3, self.ports, edit >> 2)

    def queue(self, frame):
        return self.lists[frame["class"], frame["port"], frame["shaped"]]

    def order(self, head):
        """By eligibility time; of equal ones the lower port goes first, then what is not shaped."""
        return signed(head["visible"] - self.now), head["port"], head["shaped"]

    def expected(self):
        """The frame that has to be granted now: of the highest class with a visible head, the earliest head."""
        # A class of which a frame is given up looks for its next candidate; no other class waits for that.
        given_up = int(self.dut.given_up.value)
        for k in reversed(range(8)):
            heads = [h for h in self.heads(k) if signed(self.now - h["visible"]) >= 0]
            if heads and not given_up >> k & 1:
                head = min(heads, key=self.order)
                if self.gates_now.fits(k, self.slot(head)) and self.credit >> k & 1:
                    return head
                self.held += 1
        return None

    async def cycle(self, frame=None, tx=True, length_busy=84, release=True):
        """One cycle: an enqueue or none, and what is granted compared with the model."""
        dut = self.dut
        dut.late_cycle_i.value = self.now
        ready = tx and self.busy == 0
        dut.tx_ready_i.value = int(ready)
        dut.expired_ready_i.value = int(release)
        dut.credit_i.value = self.credit
        dut.largest_window_ns_i.value = sum(window << 14 * k for k, window in enumerate(self.largest))
        # What the gates will be in the next cycle.
        upcoming = copy.copy(self.gates)
        if upcoming.random:
            upcoming.step()
        upcoming.drive(dut)
        if frame is None:
            dut.enqueue_i.value = pack("enqueue", destination=(random.getrandbits(8) & ~(1 << self.port)) & 0xFF)
        else:
            dut.enqueue_i.value = pack(
                "enqueue",
                destination=random.getrandbits(8) | 1 << self.port,
                pool=[frame["pool"]] * 8,
                traffic_class=frame["class"],
                port=frame["port"],
                frame=frame["frame"],
                edit=[frame.get("edit", 0) if e == self.port else random.randrange(EDITS) for e in range(8)],
                length=frame["length"],
                slot=[self.slot(frame) if e == self.port else random.getrandbits(11) for e in range(8)],
                visible=frame["visible"],
                shaped=int(frame["shaped"]),
            )
        await FallingEdge(dut.clk_i)
        # Inputs change after the rising edge; in the middle of the cycle the outputs are those of this cycle.
        want = self.expected() if ready else None
        waiting = int(dut.waiting_o.value)
        for k in range(8):
            visible = any(signed(self.now - head["visible"]) >= 0 for head in self.heads(k))
            # While the successor of a frame is looked for, its class counts as waiting.
            assert waiting >> k & 1 or not visible, f"class {k} does not wait at {self.now}"
            assert visible or not waiting >> k & 1 or k in self.searched, f"class {k} waits at {self.now}"
        popped = unpack("release", int(dut.popped_o.value))
        assert bool(popped["valid"]) == self.granted
        if popped["valid"]:
            assert self.last["frame"] == popped["frame"] and self.last["port"] == popped["port"], self.last
            assert self.last["class"] == popped["traffic_class"], self.last
        if self.was_popped:
            assert self.last["length"] == popped["length"] and self.last["pool"] == popped["pool"], self.last
            assert int(dut.popped_edit_o.value) == self.last.get("edit", 0)
            assert int(dut.popped_slot_words_o.value) == self.slot(self.last) // 4
            self.free.append(self.last["frame"])
        self.was_popped = bool(popped["valid"])
        if int(dut.expired_valid_o.value) and release:
            head = next(h for h in self.heads(popped["traffic_class"]) if h["frame"] == popped["frame"])
            assert head["port"] == popped["port"] and head["length"] == popped["length"]
            self.queue(head).remove(head)
            reason = int(dut.expired_reason_o.value)
            if 8 * (self.slot(head) + 20) > self.largest[popped["traffic_class"]] | 7:
                assert reason == MAX_SDU_REASON
                self.never += 1
            else:
                assert reason == LIFETIME_REASON
                assert signed(self.now - head["visible"]) >= LIFETIME
            self.searched[0] = popped["traffic_class"]
            self.free.append(head["frame"])
            self.expired += 1
        self.giving_up = self.giving_up + 1 if int(dut.given_up.value) else 0
        assert self.giving_up < 80
        self.granted = bool(dut.grant_o.value)
        if self.granted:
            assert ready
            assert int(dut.granted_o.value) == 1 << (want or {}).get("class", 8)
            assert want is not None, f"a frame granted at {self.now}, none is due"
            self.meanwhile += self.giving_up > 0
            self.queue(want).remove(want)
            self.last = want
            self.searched[1] = want["class"]
            self.busy = length_busy
            self.grants += 1
        else:
            assert want is None, f"nothing granted at {self.now}, due is {want}"
            self.busy = max(0, self.busy - 1)
        if frame is not None:
            self.queue(frame).append(frame)
        self.now = (self.now + 1) % WRAP
        self.gates_now, self.gates = upcoming, copy.deepcopy(upcoming)
        await RisingEdge(dut.clk_i)

    @property
    def inside(self):
        return sum(map(len, self.lists.values()))


def visible_after(bench, times, queue, ahead):
    """Eligibility times of a queue never go back."""
    time = bench.now + 2 + ahead
    if queue in times and signed(times[queue] - time) > 0:
        time = times[queue]
    times[queue] = time % WRAP
    return time % WRAP


async def random_frames(bench, cycles, rate, ahead, classes=8, pause=0.0, tx=True):
    times, turn, next_at, paused = {}, 0, {}, 0
    for n in range(cycles):
        p = turn
        turn = (turn + 1) % bench.ports
        frame = None
        if p != bench.port and next_at.get(p, 0) <= n and random.random() < rate and bench.free:
            k, shaped = random.randrange(classes), random.random() < 0.5
            next_at[p] = n + 84
            frame = {
                "class": k,
                "port": p,
                "frame": bench.free.pop(0),
                "length": random.randrange(64, 2001),
                "edit": random.randrange(EDITS),
                "pool": random.randrange(3),
                "shaped": shaped,
                "visible": visible_after(bench, times, (k, p, shaped), ahead()),
            }
        if random.random() < pause:
            paused = random.randrange(1, 300)
        paused -= 1
        await bench.cycle(frame, tx=tx and paused < 0)


@cocotb.test()
async def mixed(dut):
    """Frames of all ports and classes, visible at once or later, the time wrapping on the way."""
    bench = Bench(dut, WRAP - 6000)
    await bench.start()
    await random_frames(bench, 9000, 0.3, lambda: random.choice([0, 0, 1, 5, random.randrange(3000)]), pause=0.001)
    for _ in range(200 * 84):
        await bench.cycle()
        if not bench.inside:
            break
    await random_frames(bench, 3000, 0.002, lambda: random.choice([0, 1, 2, 3]))
    for _ in range(400 * 84):
        await bench.cycle()
        if not bench.inside:
            break
    for _ in range(120):
        await bench.cycle()
    assert bench.inside == 0 and dut.idle_o.value == 1
    assert bench.grants > 100
    dut._log.info("%d frames", bench.grants)


@cocotb.test()
async def one_class(dut):
    """The earliest head first; of equal times that of the lower port, then the one that is not shaped."""
    bench = Bench(dut, random.getrandbits(28))
    await bench.start()
    for _ in range(12):
        time = bench.now + random.randrange(80, 200)
        turns = [(p, shaped) for p in range(bench.ports) if p != bench.port for shaped in (False, True)]
        turns *= random.randrange(1, 4)
        random.shuffle(turns)
        times = {}
        for p, shaped in turns:
            visible = max(time + random.choice([0, 0, 1, 2, 30]), times.get((p, shaped), 0))
            times[p, shaped] = visible
            frame = {"class": 5, "port": p, "shaped": shaped, "length": 64, "pool": 1, "visible": visible % WRAP}
            await bench.cycle({**frame, "frame": bench.free.pop(0)}, tx=False)
        while bench.inside:
            await bench.cycle(length_busy=random.choice([40, 84]))
        assert dut.idle_o.value == 0 or bench.busy >= 0


@cocotb.test()
async def expiry(dut):
    """Frames older than a second are given up while nothing can be sent, and no other."""
    bench = Bench(dut, WRAP - 50_000)
    await bench.start()
    await random_frames(bench, 700, 0.5, lambda: random.choice([0, 5]), classes=3, tx=False)
    for _ in range(50):
        await bench.cycle(tx=False)
    old = bench.inside
    bench.now = (bench.now + LIFETIME // 2) % WRAP  # nothing becomes visible in between: all are
    await random_frames(bench, 700, 0.5, lambda: 0, classes=3, tx=False)
    young = bench.inside - old
    for _ in range(10):
        await bench.cycle(tx=False)
    bench.now = (bench.now + LIFETIME // 2) % WRAP
    for _ in range(1024 * (old + 16)):
        await bench.cycle(tx=False, release=random.random() < 0.3)
        if bench.expired == old:
            break
    assert bench.expired == old and old > 5
    for _ in range(2048):
        await bench.cycle(tx=False)
    assert bench.inside == young and young > 5
    while bench.inside:
        await bench.cycle()


@cocotb.test()
async def behind_gates(dut):
    """Random gates and credit: a frame is sent in the first cycle in which all of it lets it, and never else."""
    bench = Bench(dut, random.getrandbits(28))
    await bench.start()
    bench.gates.random = True

    async def credit():
        while True:
            bench.credit = random.choice([0xFF, random.getrandbits(8)])
            for _ in range(random.choice([1, 3, 200])):
                await RisingEdge(dut.clk_i)

    task = cocotb.start_soon(credit())
    await random_frames(bench, 12000, 0.2, lambda: random.choice([0, 0, 1, 5, random.randrange(3000)]), pause=0.001)
    assert bench.grants > 50 and bench.held > 1000
    task.cancel()
    bench.gates, bench.credit = Gates(), 0xFF
    for _ in range(400 * 84):
        await bench.cycle()
        if not bench.inside:
            break
    assert not bench.inside


@cocotb.test()
async def fits_exactly(dut):
    """A frame that ends with the window is sent in the last cycle in which it can be; one byte longer, it waits."""
    bench = Bench(dut, random.getrandbits(28))
    await bench.start()
    for length in (64, 65, 511, 1522, 2000):
        for excess in (0, 1):
            for loaded_early in (False, True):
                k = random.randrange(8)
                window = 8 * (length + 20)
                ahead = 20 if loaded_early else 2
                bench.gates = Gates()
                bench.gates.open, bench.gates.guard = 0, 1
                port = (bench.port + 1) % bench.ports
                visible = (bench.now + ahead) % WRAP
                frame = {"class": k, "port": port, "shaped": False, "length": length + excess, "pool": 0}
                frame["frame"] = bench.free.pop(0)
                before = bench.grants
                await bench.cycle({**frame, "visible": visible})
                while bench.now != (visible + 9 - (9 if not loaded_early else 0)) % WRAP:
                    if (bench.now + 1) % WRAP == (visible + (9 if loaded_early else 0)) % WRAP:
                        # Half of the window is in this entry, the rest in those after it.
                        bench.gates.open = 1 << k
                        bench.gates.remaining, bench.gates.after[k] = window // 2, window - window // 2
                    await bench.cycle()
                await bench.cycle()
                assert bench.grants == before + (not excess), (length, excess, loaded_early)
                bench.gates = Gates()
                for _ in range(120):
                    await bench.cycle()
                assert not bench.inside


@cocotb.test()
async def never_fits(dut):
    """A frame that is longer than all windows of its class is given up when it is looked at; others stay."""
    bench = Bench(dut, random.getrandbits(28))
    await bench.start()
    bench.largest = [8 * (random.randrange(64, 400) + 20) + random.randrange(8) for _ in range(8)]
    bench.gates.open = 0
    dut.gate_enable_i.value = 0  # windows of gates that are not enabled mean nothing
    await random_frames(bench, 700, 0.5, lambda: random.choice([0, 5, 300]), classes=3)
    bench.gates = Gates()
    bench.gates.open = 0
    for _ in range(2048):
        await bench.cycle()
    assert bench.never == 0
    dut.gate_enable_i.value = 1

    def stuck():
        """Classes whose head that is visible first, which is what is looked at, is too long."""
        firsts = {k: min(bench.heads(k), key=bench.order) for k in range(8) if bench.heads(k)}
        return [k for k, first in firsts.items() if 8 * (bench.slot(first) + 20) > bench.largest[k] | 7]

    for _ in range(40):
        for _ in range(1024):
            await bench.cycle(release=random.random() < 0.3)
        if not stuck():
            break
    assert bench.never > 0 and bench.expired == bench.never and not stuck()
    # What is left fits, and stays.
    left = bench.inside
    for _ in range(2048):
        await bench.cycle(release=random.random() < 0.3)
    assert bench.inside == left
    bench.gates, bench.largest = Gates(), [NO_LIMIT] * 8
    while bench.inside:
        await bench.cycle()


@cocotb.test()
async def giving_up_holds_up_no_other(dut):
    """Frames of two classes are given up all the time; those of two others are granted in the very cycle."""
    bench = Bench(dut, random.getrandbits(28))
    await bench.start()
    bench.largest = [600, 600, *[NO_LIMIT] * 6]
    other = (bench.port + 1) % bench.ports
    visible = {}
    for n in range(1024 * 96):
        if n >= 1024 * 24 and bench.meanwhile > 2:
            break
        if n % 512 == 0:
            bench.gates.open = random.choice([0xFC, 0xFC, 0xF8])
        frame = None
        k, port = random.choice([(0, other), (1, other), (2, other), (7, other)])
        if n % 16 == 0 and len(bench.free) > 200 and random.random() < 0.3:
            length = 1000 if k < 2 else 64
            frame = {"class": k, "port": port, "shaped": False, "length": length, "pool": 0, "frame": bench.free.pop(0)}
            # In the cycles after a class is looked at.
            ahead = 2 + -(bench.now + 2) % 128 + random.randrange(24)
            visible[k] = max(visible.get(k, 0), n + ahead)
            frame["visible"] = (bench.now + visible[k] - n) % WRAP
        await bench.cycle(frame, release=random.random() < 0.3)
    assert bench.never > 30 and bench.meanwhile > 2, (bench.never, bench.meanwhile)


@pytest.mark.parametrize(("ports", "port"), [(2, 0), pytest.param(4, 2, marks=pytest.mark.slow), (8, 7)])
def test_pen_queue(ports, port):
    run_module("pen_queue", __name__, {"PORTS": ports, "CELLS": 256, "PORT": port})
