# SPDX-License-Identifier: Apache-2.0
"""Frames with random copies, released in any order, against a dictionary of how many are left."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import pack, unpack

LATENCY = 2  # cycles from the last release to the reclaim


class Bench:
    def __init__(self, dut):
        self.dut, self.cells = dut, dut.CELLS.value.to_unsigned()
        self.copies, self.length = {}, {}  # of each queued frame
        self.free = random.sample(range(self.cells), self.cells)
        self.due = [None] * LATENCY
        self.inside = 0  # frames queued before this cycle and not reclaimed before it
        self.reclaimed = 0

    async def start(self):
        dut = self.dut
        for name in ("init_busy_i", "init_index_i", "enqueue_i", "release_i"):
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value, dut.init_busy_i.value = 0, 1
        for index in range(self.cells + 20):  # other tables are larger
            dut.init_index_i.value = index
            await RisingEdge(dut.clk_i)
        dut.init_busy_i.value = 0

    async def cycle(self, enqueue=None, release=None):
        """One cycle: a frame with its number of copies is queued, or none; a copy of a frame is released, or none."""
        dut = self.dut
        frame, copies, length = enqueue or (random.randrange(self.cells), 0, random.randrange(64, 2001))
        ports = sum(1 << port for port in random.sample(range(8), copies))
        dut.enqueue_i.value = pack("enqueue", destination=ports, frame=frame, length=length)
        dut.release_i.value = pack(
            "release",
            valid=int(release is not None),
            frame=random.randrange(self.cells) if release is None else release,
            length=random.randrange(2001) if release is None else self.length[release],
        )
        last = None
        if release is not None:
            self.copies[release] -= 1
            if not self.copies[release]:
                last = (release, max(1, -(-self.length[release] // 128)))
                del self.copies[release]
        self.due.append(last)

        await FallingEdge(dut.clk_i)
        want, reclaim = self.due.pop(0), unpack("reclaim", int(dut.reclaim_o.value))
        assert reclaim["valid"] == int(want is not None), f"{want} due, reclaimed {reclaim}"
        assert int(dut.idle_o.value) == int(self.inside == 0)
        if want:
            assert (reclaim["frame"], reclaim["cells"]) == want
            self.free.append(want[0])
            self.inside -= 1
            self.reclaimed += 1
        if enqueue:
            self.copies[frame], self.length[frame] = copies, length
            self.inside += 1
        await RisingEdge(dut.clk_i)

    def new_frame(self, copies):
        if not self.free:
            return None
        return self.free.pop(0), copies, random.choice((64, 128, 129, 1920, 1921, 2000, random.randrange(64, 2001)))


@cocotb.test()
async def reclaimed_with_the_last_copy(dut):
    """All the store in use or next to nothing of it; the same frame again and again, or a different one each cycle."""
    bench = Bench(dut)
    await bench.start()
    rates, recent = (0.5, 0.5), []
    for cycle in range(6000):
        if cycle % 150 == 0:
            rates = random.choice(((1.0, 1.0), (0.9, 0.2), (0.1, 0.9), (0.3, 1.0)))
        queued = list(bench.copies)
        release = random.choice(queued) if queued and random.random() < rates[1] else None
        near = [frame for frame in recent if frame in bench.copies]
        if release is not None and near and random.random() < 0.6:
            release = random.choice(near)
        recent = [*recent[-1:], release]
        enqueue = bench.new_frame(random.randint(1, 8)) if random.random() < rates[0] else None
        await bench.cycle(enqueue, release)
    while bench.copies:
        await bench.cycle(release=random.choice(list(bench.copies)))
    for _ in range(LATENCY + 1):
        await bench.cycle()
    assert dut.idle_o.value == 1
    assert len(bench.free) == bench.cells
    assert bench.reclaimed > 300


@cocotb.test()
async def copies_released_in_consecutive_cycles(dut):
    """What a flooded frame does: all ports end it at once, and its cell is used again straight away."""
    bench = Bench(dut)
    await bench.start()
    for copies in [*range(1, 9)] * 3:
        bench.free.sort(reverse=True)  # the same frame as before
        enqueue = bench.new_frame(copies)
        await bench.cycle(enqueue)
        for _ in range(copies):
            await bench.cycle(release=enqueue[0])
        for _ in range(LATENCY):
            await bench.cycle()
    await bench.cycle()
    assert dut.idle_o.value == 1
    assert bench.reclaimed == 24


@pytest.mark.parametrize("cells", [32, 256])
def test_pen_references(cells):
    run_module("pen_references", __name__, {"CELLS": cells})
