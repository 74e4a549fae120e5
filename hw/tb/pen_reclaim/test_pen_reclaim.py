# SPDX-License-Identifier: Apache-2.0
"""Chains of cells to be freed, with a store that is busy at times, against the chains themselves."""

import itertools
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import pack

DROPPED, RELEASED = 0, 1


class Bench:
    """The chain memory as a dictionary. A link is lost as soon as its cell is free, as if it were used again."""

    def __init__(self, dut):
        self.dut = dut
        self.cells, self.depth = dut.CELLS.value.to_unsigned(), dut.DEPTH.value.to_unsigned()
        self.free = random.sample(range(self.cells), self.cells)
        self.links = {}
        self.waiting = [[], []]  # chains, per kind of request
        self.chain, self.served = [], []  # what is left of the chain being freed; the kinds in the order served
        self.link = None  # the answer that is due

    async def start(self):
        dut = self.dut
        for name in ("dropped_i", "released_i", "chain_ready_i", "chain_next_i"):
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0

    def new_chain(self, count):
        chain, self.free = self.free[:count], self.free[count:]
        for here, there in itertools.pairwise(chain):
            self.links[here] = there
        return chain

    @property
    def inside(self):
        return len(self.waiting[DROPPED]) + len(self.waiting[RELEASED]) + bool(self.chain)

    async def cycle(self, dropped=None, released=None, ready=True):
        dut = self.dut
        busy = self.inside
        for port, chain in ((dut.dropped_i, dropped), (dut.released_i, released)):
            frame, count = (chain[0], len(chain)) if chain else (random.randrange(self.cells), random.randint(1, 16))
            port.value = pack("reclaim", valid=int(bool(chain)), frame=frame, cells=count)
        dut.chain_ready_i.value = int(ready)
        dut.chain_next_i.value = random.randrange(self.cells) if self.link is None else self.link
        self.link = None
        await FallingEdge(dut.clk_i)
        assert int(dut.idle_o.value) == int(not busy)
        asked = int(dut.chain_valid_o.value) and ready
        cell = int(dut.chain_cell_o.value)
        if int(dut.free_valid_o.value):
            freed = int(dut.free_cell_o.value)
            if not self.chain:  # the next frame: one that waits longest, of either kind
                kinds = [k for k in (DROPPED, RELEASED) if self.waiting[k] and self.waiting[k][0][0] == freed]
                assert kinds, f"cell {freed} freed, no frame that is next begins there"
                self.chain = self.waiting[kinds[0]].pop(0)
                self.served.append(kinds[0])
            assert freed == self.chain.pop(0), "cells in the order of the chain"
            assert bool(asked) == bool(self.chain), "a link is read for each cell but the last"
            self.free.append(freed)
        else:
            assert not asked, "a cell is freed when its link is read"
        if asked:
            self.link = self.links.pop(cell)
        for kind, chain in ((DROPPED, dropped), (RELEASED, released)):
            if chain:
                self.waiting[kind].append(list(chain))
        await RisingEdge(dut.clk_i)

    async def drain(self, cycles):
        """All is freed within so many cycles."""
        for _ in range(cycles):
            if not self.inside:
                break
            await self.cycle()
        assert not self.inside, f"{self.inside} frames are still there"
        await self.cycle()
        assert sorted(self.free) == list(range(self.cells)), "cells lost"


@cocotb.test()
async def every_cell_once(dut):
    bench = Bench(dut)
    await bench.start()
    for cycle in range(6000):
        if cycle % 300 == 0:
            rates = random.choice((0.02, 0.1, 0.5)), random.choice((0.02, 0.1, 0.5)), random.choice((0.3, 0.9, 1.0))
        new = [None, None]
        for kind in (DROPPED, RELEASED):
            count = random.choice((1, 1, 2, 16, random.randint(1, 16)))
            if random.random() < rates[kind] and len(bench.waiting[kind]) < bench.depth and count <= len(bench.free):
                new[kind] = bench.new_chain(count)
        await bench.cycle(*new, ready=random.random() < rates[2])
    assert len(bench.served) > 200
    await bench.drain(4 * bench.cells)


@cocotb.test()
async def a_cell_in_two_cycles(dut):
    """Both queues full, the store never busy: served in turns, and in twice as many cycles as there are cells."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(5):
        count, cells = min(bench.depth, bench.cells // 32), 0
        bench.served = []
        for _ in range(count):
            chains = [bench.new_chain(random.randint(1, 16)) for _ in range(2)]
            cells += sum(map(len, chains))
            await bench.cycle(*chains)
        await bench.drain(2 * cells + 2 - count)
        assert all(a != b for a, b in zip(bench.served, bench.served[1:], strict=False)), bench.served


@pytest.mark.parametrize(("cells", "depth"), [(64, 4), (512, 64)])
def test_pen_reclaim(cells, depth):
    run_module("pen_reclaim", __name__, {"CELLS": cells, "DEPTH": depth})
