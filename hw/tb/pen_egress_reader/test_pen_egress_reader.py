# SPDX-License-Identifier: Apache-2.0
"""Frames granted one after the other, read from a model of the store, taken by a model of the transmitter."""

import os
import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import STRUCTS, pack, unpack, width
from tags import INSERT, KEEP, R_INSERT, R_KEEP, R_REMOVE, REMOVE, growth, sent_length, slot_length

from penstock.ethernet import WIRE_OVERHEAD_BYTES

CELL = 128
FIRST_BYTE = 9  # cycles from start_o to the first byte, from grant_i two more


class Bench:
    def __init__(self, dut):
        self.dut, self.port, self.ports = dut, dut.PORT.value.to_unsigned(), int(os.environ["TURNS"])
        self.cells = dut.CELLS.value.to_unsigned()
        self.content = {}  # cell: (bytes, next cell)
        self.chain = []  # the cells of the newest frame
        self.now = 0
        self.answers = [0, 0]
        self.popped = deque([None] * 2, maxlen=2)  # frames granted in the last cycles, the latest first
        self.granted, self.started, self.released = [], [], []  # frames; (cycle, frame); cycles
        self.taken, self.adds = b"", 0  # of the frame that was started last; bytes that are not of it
        self.label = 0
        self.reads = []  # cycles of the reads of this frame
        self.stalled = 0  # cycles in all

    async def start(self):
        dut = self.dut
        for name in (
            "has_turn_i",
            "grant_i",
            "popped_i",
            "popped_edit_i",
            "store_data_i",
            "data_ready_i",
            "skip_i",
            "stall_i",
        ):
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await RisingEdge(dut.clk_i)

    def new_frame(self, length):
        """Random bytes in cells anywhere in the store; some lose tags, and the transmitter adds some."""
        tag, r_tag = random.choice((KEEP, REMOVE, INSERT)), random.choice((R_KEEP, R_INSERT, R_REMOVE))
        data = random.randbytes(length)
        others = [cell for cell in range(self.cells) if cell not in self.chain]  # the frame before is being read
        self.chain = chain = random.sample(others, -(-length // CELL))
        for i, cell in enumerate(chain):
            part = data[CELL * i : CELL * (i + 1)]
            self.content[cell] = (
                part + random.randbytes(CELL - len(part)),
                chain[i + 1] if i + 1 < len(chain) else random.randrange(4096),
            )
        release = {
            "valid": 1,
            "pool": random.randrange(3),
            "traffic_class": random.randrange(8),
            "port": random.randrange(8),
            "frame": chain[0],
            "length": length,
        }
        skip = (4 if tag == REMOVE else 0) + (6 if r_tag == R_REMOVE else 0)
        return {
            "frame": chain[0],
            "length": length,
            "tags": (tag, r_tag),
            "edit": {"tag": tag, "r_tag": r_tag},
            "skip": skip,
            "added": growth(tag, r_tag) + skip,  # bytes that the transmitter sends behind the addresses, of its own
            "leaves": data[:12] + data[12 + skip :],
            "release": release,
        }

    async def cycle(self, frame=None, stall=0.0):
        """One cycle; grants `frame` if the reader is ready for it and says whether it was.

        The transmitter stalls.
        """
        dut, turn = self.dut, self.now % self.ports
        dut.has_turn_i.value = int(turn == self.port)
        dut.store_data_i.value = self.answers.pop(0)
        # Who it is, and a cycle later what is known of it.
        popped = {name: random.getrandbits(bits) for name, bits in STRUCTS["release"]}
        dut.popped_edit_i.value, dut.popped_slot_i.value = random.getrandbits(4), random.getrandbits(11)
        now, before = self.popped[0], self.popped[1]
        if now:
            popped |= {name: now["release"][name] for name in ("valid", "traffic_class", "port", "frame")}
        if before:
            popped |= {name: before["release"][name] for name in ("pool", "length")}
            dut.popped_edit_i.value, dut.popped_slot_i.value = pack("edit", **before["edit"]), self.slot(before)
        dut.popped_i.value = pack("release", **popped)
        dut.data_ready_i.value = dut.skip_i.value = dut.stall_i.value = dut.grant_i.value = 0
        await FallingEdge(dut.clk_i)

        grant = frame is not None and int(dut.tx_ready_o.value) == 1
        if grant:
            assert not self.granted or self.complete, "ready for a frame while another one is sent"
            dut.grant_i.value = 1
            self.label = random.getrandbits(width("label"))
            self.reads = []
        read = unpack("store_read", int(dut.store_read_o.value))
        released = unpack("release", int(dut.release_o.value))
        if turn != self.port:
            assert not read["valid"], "in another port's turn"
            assert not released["valid"], "in another port's turn"
            # The answers to other ports' reads are seen by all.
            self.answers.append(
                pack(
                    "store_data",
                    valid=random.getrandbits(1),
                    port=turn,
                    data=random.getrandbits(64),
                    next_cell=random.getrandbits(12),
                )
            )
        elif read["valid"]:
            data, next_cell = self.content[read["cell_index"]]
            word = data[8 * read["word"] : 8 * read["word"] + 8]
            self.answers.append(
                pack(
                    "store_data",
                    valid=1,
                    port=turn,
                    data=int.from_bytes(word, "little"),
                    next_cell=random.getrandbits(12) if read["word"] else next_cell,
                    label_of=self.label if not self.reads else random.getrandbits(width("label")),
                )
            )
            self.reads.append((read["cell_index"], read["word"]))
        else:
            self.answers.append(0)
        if released["valid"]:
            now = self.granted[-1]
            assert released == now["release"]
            assert len(self.reads) == -(-now["length"] // 8), "released before it was read, or read too far"
            assert len(set(self.reads)) == len(self.reads), "a word read twice"
            self.released.append(self.now)
        if int(dut.idle_o.value) and not grant:
            assert self.complete
            assert len(self.released) == len(self.granted)
        if int(dut.start_o.value):
            assert len(self.started) + 1 == len(self.granted)
            frame_now = self.granted[-1]
            self.started.append((self.now, self.granted[-1]))
            self.taken, self.adds = b"", frame_now["added"]
        elif self.started and len(self.started) == len(self.granted):
            start, now = self.started[-1]
            left = len(now["leaves"]) - len(self.taken)
            sent = sent_length(now["length"], *now["tags"])
            assert int(dut.edit_o.value) == pack("edit", **now["edit"])
            assert int(dut.slot_o.value) == self.slot(now)
            assert int(dut.length_o.value) == sent
            assert self.now == start + 1 or int(dut.pad_o.value) == sent - (now["length"] + growth(*now["tags"]))
            if left and self.now >= start + FIRST_BYTE and random.random() < stall:
                dut.stall_i.value = 1
                self.stalled += 1
            elif len(self.taken) == 12 and self.adds:
                self.adds -= 1
            elif left and self.now >= start + FIRST_BYTE:
                assert int(dut.data_valid_o.value), f"byte {len(self.taken)} of {now['length']} comes too late"
                at = len(self.taken)
                assert int(dut.data_o.value) == now["leaves"][at], f"byte {at}"
                if at < 22:
                    assert int(dut.label_o.value) == self.label
                self.taken += now["leaves"][at : at + 1]
                dut.data_ready_i.value = 1
                dut.skip_i.value = now["skip"] if at == 10 else 0
        if grant:
            self.granted.append(frame)
        self.popped.appendleft(frame if grant else None)
        self.now += 1
        await RisingEdge(dut.clk_i)
        return grant

    @property
    def complete(self):
        """The last frame granted has been taken to its end."""
        return not self.granted or (
            len(self.started) == len(self.granted) and len(self.taken) == len(self.granted[-1]["leaves"])
        )

    def slot(self, frame):
        tag, r_tag = frame["tags"]
        return slot_length(frame["length"], tag, self.ports, r_tag)

    def waits(self, frame):
        """By so many cycles it starts later than others."""
        return self.slot(frame) - sent_length(frame["length"], *frame["tags"])

    async def finish(self):
        for _ in range(20_000):
            await self.cycle()
            if self.complete and int(self.dut.idle_o.value):
                break
        assert self.complete
        assert len(self.released) == len(self.granted)
        assert int(self.dut.idle_o.value)


@cocotb.test()
async def without_pause(dut):
    """Frames of all lengths as fast as they can be granted: their starts are as far apart as they are on the wire."""
    bench = Bench(dut)
    await bench.start()
    lengths = [64, 65, 71, 72, 127, 128, 129, 136, 256, 257, 1522, 2000, 64, 64]
    lengths += [random.randrange(64, 400) for _ in range(10)]
    for length in random.sample(lengths, len(lengths)):
        frame = bench.new_frame(length)
        while not await bench.cycle(frame):
            pass
    await bench.finish()
    for (a, frame), (b, other) in zip(bench.started, bench.started[1:], strict=False):
        assert b - bench.waits(other) - (a - bench.waits(frame)) == bench.slot(frame) + WIRE_OVERHEAD_BYTES


@cocotb.test()
async def after_idle_times(dut):
    """A grant in every turn; the start follows after the same time, and the bytes in time for it."""
    bench = Bench(dut)
    await bench.start()
    delays = set()
    for i in range(4 * bench.ports):
        await bench.finish()
        for _ in range(i + random.choice((0, 20))):
            await bench.cycle()
        granted = bench.now
        assert await bench.cycle(bench.new_frame(random.randrange(64, 300))), "not ready when idle"
        await bench.finish()
        start, frame = bench.started[-1]
        delays.add(start - bench.waits(frame) - granted)
    assert delays == {2}


@cocotb.test()
async def transmitter_that_stalls(dut):
    """The next frame comes as much later as the transmitter was held up."""
    bench = Bench(dut)
    await bench.start()
    stalled = []
    for _ in range(12):
        frame, stall = bench.new_frame(random.choice((64, 65, random.randrange(64, 500)))), random.choice((0, 0.1, 0.7))
        while not await bench.cycle(frame, stall=0 if bench.complete else stall):
            pass
        stalled.append(bench.stalled)
    await bench.finish()
    begins = [start - bench.waits(frame) for start, frame in bench.started]
    for n in range(len(begins) - 1):
        slot = bench.slot(bench.started[n][1])
        assert begins[n + 1] - begins[n] == slot + WIRE_OVERHEAD_BYTES + stalled[n + 1] - stalled[n]


@pytest.mark.parametrize(("ports", "port"), [(2, 1), (4, 3), (8, 5)])
def test_pen_egress_reader(ports, port):
    run_module("pen_egress_reader", __name__, {"PORTS": ports, "CELLS": 256, "PORT": port}, env={"TURNS": str(ports)})
