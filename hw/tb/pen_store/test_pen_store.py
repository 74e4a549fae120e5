# SPDX-License-Identifier: Apache-2.0
"""Words and chains written, read in the ports' turns and followed, with pauses, against dictionaries."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import pack, unpack, width

WORDS = 16


class Bench:
    def __init__(self, dut):
        self.dut, self.cells = dut, dut.CELLS.value.to_unsigned()
        self.words, self.links, self.labels = {}, {}, {}
        self.due = [None, None]  # (turn, word, next cell or None) of the last reads
        self.follow = None  # the cell whose link is asked for
        self.linked = None  # the link that has to come in this cycle
        self.reads = self.follows = self.refused = 0

    async def start(self):
        """Resets and fills the store: every word and every link holds something known."""
        dut = self.dut
        for name in ("turn_i", "write_i", "label_i", "read_i", "chain_valid_i", "chain_cell_i"):
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for cell in range(self.cells):
            for word in range(WORDS):
                await self.cycle(write=(cell, word), link=cell if word == 0 else None)

    async def cycle(self, write=None, link=None, read=None, follow=None):
        """Writes to (cell, word), links a cell, reads (cell, word), asks for a cell's link until it is answered."""
        dut, turn = self.dut, random.randrange(8)
        data, link_to = random.getrandbits(64), random.randrange(self.cells)
        any_cell = random.randrange(self.cells)
        cell, word = write or (any_cell, random.randrange(WORDS))
        dut.write_i.value = pack(
            "store_write",
            valid=int(write is not None),
            cell_index=cell,
            word=word,
            data=data,
            link_valid=int(link is not None),
            link_from=any_cell if link is None else link,
            link_to=link_to,
        )
        cell, word = read or (any_cell, random.choice((0, random.randrange(WORDS))))
        dut.read_i.value = pack("store_read", valid=int(read is not None), cell_index=cell, word=word)
        # Of no frame that is read now.
        named = random.choice([cell for cell in random.sample(range(self.cells), 2) if not read or cell != read[0]])
        label = random.getrandbits(width("label"))
        labels = named not in self.labels or random.random() < 0.2
        dut.label_i.value = pack("label_write", valid=int(labels), frame=named, value=label)
        dut.turn_i.value = turn
        if self.follow is None:
            self.follow = follow
        dut.chain_valid_i.value = int(self.follow is not None)
        dut.chain_cell_i.value = any_cell if self.follow is None else self.follow
        first = read is not None and read[1] == 0
        known = (self.links[read[0]], self.labels.get(read[0])) if first else (None, None)
        self.due.append(read and (turn, self.words[read], *known))

        await FallingEdge(dut.clk_i)
        answer, data_o = self.due.pop(0), unpack("store_data", int(dut.store_data_o.value))
        assert data_o["valid"] == int(answer is not None)
        if answer:
            assert (data_o["port"], data_o["data"]) == answer[:2]
            assert answer[2] is None or data_o["next_cell"] == answer[2]
            assert answer[3] is None or data_o["label_of"] == answer[3]
            self.reads += 1
        if self.linked is not None:
            assert int(dut.chain_next_o.value) == self.linked
            self.linked = None
        if self.follow is not None:
            ready = int(dut.chain_ready_o.value)
            assert ready == int(not (read and read[1] == 0)), "only a read of a first word has to be waited for"
            if ready:
                self.linked, self.follow = self.links[self.follow], None
                self.follows += 1
            else:
                self.refused += 1
        if write:
            self.words[write] = data
        if link is not None:
            self.links[link] = link_to
        if labels:
            self.labels[named] = label
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def written_read_and_followed(dut):
    bench = Bench(dut)
    await bench.start()
    rates = (0.5, 0.5, 0.5, 0.5)
    for cycle in range(4000):
        if cycle % 200 == 0:
            rates = [random.choice((0.1, 0.5, 1.0)) for _ in range(4)]
            some = random.sample(range(bench.cells), random.randint(2, 8))
        writes, links, reads, follows = (random.random() < rate for rate in rates)
        write = (random.choice(some), random.randrange(WORDS)) if writes else None
        read = (random.choice(some), random.choice((0, random.randrange(WORDS)))) if reads else None
        link = random.choice(some) if links else None
        follow = random.choice(some) if follows else None
        # A cell is not read while it is written: the frame is queued later and freed before.
        if write == read:
            write = None
        if link is not None and (link in (follow, bench.follow) or (read and link == read[0])):
            link = None
        await bench.cycle(write, link, read, follow)
    for cell in range(bench.cells):
        for word in range(WORDS):
            await bench.cycle(read=(cell, word))
    for _ in range(2):
        await bench.cycle()
    assert bench.reads > 1000
    assert bench.follows > 300
    assert bench.refused > 100


@cocotb.test()
async def reset(dut):
    """A read on its way is forgotten."""
    bench = Bench(dut)
    await bench.start()
    for wait in range(2):
        dut.read_i.value = pack("store_read", valid=1, cell_index=3, word=0)
        await RisingEdge(dut.clk_i)
        dut.read_i.value = 0
        for _ in range(wait):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for _ in range(4):
            await FallingEdge(dut.clk_i)
            assert not unpack("store_data", int(dut.store_data_o.value))["valid"]
            await RisingEdge(dut.clk_i)


@pytest.mark.parametrize("cells", [32, 128])
def test_pen_store(cells):
    run_module("pen_store", __name__, {"CELLS": cells})
