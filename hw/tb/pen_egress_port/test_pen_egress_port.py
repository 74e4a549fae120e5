# SPDX-License-Identifier: Apache-2.0
"""Frames out of a model of the store: bytes, instants and gaps on the wire, and what is released when."""

import random
from itertools import pairwise

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import pack, unpack

from penstock.ethernet import GAP_BYTES

WRAP = 1 << 28
LOW, HIGH, READ = 0, 1, 2  # samples of credit
START = 4  # cycles from selection to the first byte of the preamble


class Bench:
    """The store as a dictionary of cells, answering in two cycles; a monitor at the wire."""

    def __init__(self, dut):
        self.dut, self.cycle_count = dut, random.getrandbits(28)
        self.ports, self.port = dut.PORTS.value.to_unsigned(), dut.PORT.value.to_unsigned()
        self.cells = {}  # cell: (bytes, next cell)
        self.free = list(range(dut.CELLS.value.to_unsigned()))
        random.shuffle(self.free)
        self.answers = [0, 0]
        self.turn = 0
        self.sent, self.events, self.released, self.samples = [], [], [], []
        self.overruns = []  # classes
        self.on_wire = None

    async def start(self):
        dut = self.dut
        dut.rst_i.value = 1
        dut.port_reset_i.value = 0
        dut.m_axis_tready_i.value = 1
        dut.stamp_i.value = dut.stamp_valid_i.value = dut.stamp_told_i.value = 0
        dut.has_turn_i.value = 0
        dut.enqueue_i.value = 0
        dut.store_data_i.value = 0
        dut.late_cycle_i.value = self.cycle_count
        for name in (
            "init_busy",
            "init_index",
            "guard_next",
            "remaining_next_ns",
            "after_next_ns",
            "count_gap",
            "round_robin",
            "gate_enable",
        ):
            getattr(dut, f"{name}_i").value = 0
        for name in ("write", "write_class", "write_enable", "write_idle_slope"):
            getattr(dut, f"credit_{name}_i").value = 0
        for name in ("status_class", "credit_read", "credit_sample_ready"):
            getattr(dut, f"{name}_i").value = 0
        dut.open_i.value = dut.open_next_i.value = 0xFF
        dut.largest_window_ns_i.value = (1 << 14 * 8) - 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        for index in range(16):
            dut.init_busy_i.value, dut.init_index_i.value = 1, index
            await RisingEdge(dut.clk_i)
        dut.init_busy_i.value = 0
        dut.rst_i.value = 0
        await RisingEdge(dut.clk_i)

    def frame(self, length, k, p, visible):
        """A frame with random bytes in cells anywhere in the store."""
        data = random.randbytes(length)
        chain = [self.free.pop(0) for _ in range(-(-length // 128))]
        for i, cell in enumerate(chain):
            self.cells[cell] = (
                data[128 * i : 128 * (i + 1)].ljust(128, b"\xee"),
                chain[i + 1] if i + 1 < len(chain) else random.getrandbits(8),
            )
        return {
            "data": data,
            "chain": chain,
            "class": k,
            "port": p,
            "visible": visible % WRAP,
            "pool": random.randrange(3),
        }

    async def cycle(self, frame=None):
        dut = self.dut
        dut.has_turn_i.value = int(self.turn == self.port)
        dut.credit_sample_ready_i.value = int(self.turn == self.port)
        dut.late_cycle_i.value = self.cycle_count % WRAP
        dut.store_data_i.value = self.answers.pop(0)
        dut.enqueue_i.value = (
            0
            if frame is None
            else pack(
                "enqueue",
                destination=1 << self.port,
                pool=[frame["pool"]] * 8,
                traffic_class=frame["class"],
                port=frame["port"],
                frame=frame["chain"][0],
                length=len(frame["data"]),
                slot=[len(frame["data"])] * 8,
                visible=frame["visible"],
            )
        )
        await FallingEdge(dut.clk_i)
        read = unpack("store_read", int(dut.store_read_o.value))
        release = unpack("release", int(dut.release_o.value))
        if self.turn != self.port:
            assert not read["valid"] and not release["valid"]
            # The answers to other ports' reads are seen by all.
            other = random.random() < 0.8
            self.answers.append(pack("store_data", valid=int(other), port=self.turn, data=random.getrandbits(64)))
        elif read["valid"]:
            data, next_cell = self.cells[read["cell_index"]]
            self.answers.append(
                pack(
                    "store_data",
                    valid=1,
                    port=self.port,
                    data=int.from_bytes(data[8 * read["word"] : 8 * read["word"] + 8], "little"),
                    next_cell=next_cell if read["word"] == 0 else random.getrandbits(12),
                )
            )
        else:
            self.answers.append(0)
        if release["valid"]:
            self.released.append(release)
        sample = unpack("credit_sample", int(dut.credit_sample_o.value))
        if sample["valid"] and self.turn == self.port:
            bits = sample["bits"] - (1 << 24 if sample["bits"] >> 23 else 0)
            self.samples.append((sample["kind"], sample["traffic_class"], bits))
            if sample["kind"] == READ:
                dut.credit_read_i.value = 0
        if int(dut.overrun_o.value):
            self.overruns.append(int(dut.overrun_class_o.value))
        if self.events and self.events[-1][0] == self.cycle_count - 3:
            self.events[-1][1]["length"] = int(dut.sent_length_o.value)
        event = unpack("egress_event", int(dut.event_o.value))
        if event["sent"]:
            self.events.append((self.cycle_count - 2, event))
        assert not int(dut.gmii_tx_er_o.value), "the reader was too slow"
        if int(dut.gmii_tx_en_o.value):
            if self.on_wire is None:
                self.on_wire = (self.cycle_count, bytearray())
            self.on_wire[1].append(int(dut.gmii_txd_o.value))
        elif self.on_wire:
            self.sent.append(self.on_wire)
            self.on_wire = None
        self.cycle_count += 1
        self.turn = (self.turn + 1) % self.ports
        await RisingEdge(dut.clk_i)

    def check(self, frames):
        """All frames on the wire, in this order and undamaged, each at its constant time after its selection."""
        assert len(self.sent) == len(frames)
        for (start, data), (selected, event), release, frame in zip(
            self.sent, self.events, self.released, frames, strict=True
        ):
            assert start == selected + START
            assert bytes(data) == b"\x55" * 7 + b"\xd5" + frame["data"]
            assert event["frame"] == release["frame"] == frame["chain"][0]
            assert event["length"] == release["length"] == len(frame["data"])
            assert event["traffic_class"] == release["traffic_class"] == frame["class"]
            assert release["port"] == frame["port"] and release["pool"] == frame["pool"]

    def gaps(self):
        return [b[0] - (a[0] + len(a[1])) for a, b in zip(self.sent, self.sent[1:], strict=False)]


async def drain(bench, count):
    for _ in range(count * 2100 + 200):
        await bench.cycle()
        if len(bench.sent) == count and int(bench.dut.idle_o.value):
            return
    raise AssertionError(f"{len(bench.sent)} of {count} frames came")


@cocotb.test()
async def back_to_back(dut):
    """Frames that wait follow each other with the exact gap, whatever their length."""
    bench = Bench(dut)
    await bench.start()
    frames = [
        bench.frame(length, 3, (bench.port + 1) % bench.ports, bench.cycle_count + 5)
        for length in [64, 65, 71, 72, 127, 128, 129, 256, 257, 1522, 64, 64, random.randrange(64, 2001)]
    ]
    for frame in frames:
        await bench.cycle(frame)
    await drain(bench, len(frames))
    bench.check(frames)
    assert set(bench.gaps()) == {GAP_BYTES}


@cocotb.test()
async def instants(dut):
    """A frame into the idle port is selected in its visible cycle, in every turn."""
    bench = Bench(dut)
    await bench.start()
    frames = []
    for i in range(3 * bench.ports):
        visible = bench.cycle_count + 2 + i % 4
        frames.append(
            bench.frame(random.randrange(64, 300), random.randrange(8), (bench.port + 1) % bench.ports, visible)
        )
        await bench.cycle(frames[-1])
        await drain(bench, len(frames))
        for _ in range(random.choice([i, 1])):
            await bench.cycle()
    bench.check(frames)
    for (start, _), frame in zip(bench.sent, frames, strict=True):
        assert (start - START - frame["visible"]) % WRAP == 0


@cocotb.test()
async def mixed(dut):
    """Random lengths and pauses in one class."""
    bench = Bench(dut)
    await bench.start()
    frames = []
    for _ in range(12):
        frames.append(
            bench.frame(
                random.choice([64, random.randrange(64, 700)]),
                0,
                (bench.port + 1) % bench.ports,
                bench.cycle_count + random.randrange(2, 200),
            )
        )
        await bench.cycle(frames[-1])
        for _ in range(random.randrange(0, 500)):
            await bench.cycle()
    await drain(bench, len(frames))
    bench.check(frames)
    assert min(bench.gaps()) >= GAP_BYTES


async def gates(bench, states, remaining_ns=None):
    """The gates from the next cycle on: the states now, and the time in which all that is open stays so."""
    dut = bench.dut
    dut.open_next_i.value = states
    dut.guard_next_i.value = int(remaining_ns is not None)
    dut.remaining_next_ns_i.value = remaining_ns or 0
    await bench.cycle()
    dut.open_i.value = states


async def credit(bench, k):
    bench.dut.status_class_i.value, bench.dut.credit_read_i.value = k, 1
    samples = len(bench.samples)
    while bench.samples[samples:] == [] or bench.samples[-1][:2] != (READ, k):
        await bench.cycle()
    return bench.samples[-1][2]


@cocotb.test()
async def exactly_fitting(dut):
    """A frame leaves in the cycle in which its window opens if it just fits; one byte longer, it waits for another."""
    bench = Bench(dut)
    await bench.start()
    frames = []
    for length in (64, 1000, 1522):
        for excess in (0, 1):
            await gates(bench, 0)
            frames.append(bench.frame(length + excess, 4, (bench.port + 1) % bench.ports, bench.cycle_count + 3))
            await bench.cycle(frames[-1])
            for _ in range(20):
                await bench.cycle()
            opens = bench.cycle_count + 1
            await gates(bench, 0xFF, 8 * (length + 20))
            for left in range(length + 19, 0, -1):
                dut.remaining_next_ns_i.value = 8 * left
                await bench.cycle()
            await gates(bench, 0)
            assert len(bench.events) == len(frames) - excess
            if not excess:
                assert bench.events[-1][0] == opens
            again = bench.cycle_count + 1
            await gates(bench, 0xFF)
            await drain(bench, len(frames))
            assert not excess or bench.events[-1][0] == again
    bench.check(frames)
    assert bench.overruns == []


@cocotb.test()
async def credit_spaces_frames(dut):
    """Frames of a shaped class leave at their cost over idleSlope; those of a class below fill the time between."""
    bench = Bench(dut)
    await bench.start()
    share, length, k = 4, 200, 6
    dut.credit_write_class_i.value, dut.credit_write_enable_i.value = k, 1
    dut.credit_write_idle_slope_i.value = (1 << 27) // share
    dut.credit_write_i.value = 1
    await bench.cycle()
    dut.credit_write_i.value = 0
    reception = (bench.port + 1) % bench.ports
    shaped = [bench.frame(length, k, reception, bench.cycle_count + 8) for _ in range(5)]
    for frame in shaped:
        await bench.cycle(frame)
    await drain(bench, len(shaped))
    bench.check(shaped)
    times = [cycle for cycle, _ in bench.events]
    assert {b - a for a, b in pairwise(times)} == {share * (length + 8)}
    begun, ended = (HIGH, k, 0), (LOW, k, -8 * (length + 8) * (share - 1) // share)
    assert bench.samples == [begun, ended] * len(shaped)
    while await credit(bench, k):
        pass

    # A frame of the class below holds up one of the shaped class, which catches up.
    low = bench.frame(600, 2, reception, bench.cycle_count + 4)
    visible = bench.cycle_count + 6
    more = [bench.frame(length, k, reception, visible) for _ in range(3)]
    await bench.cycle(low)
    for frame in more:
        await bench.cycle(frame)
    await drain(bench, len(shaped) + 4)
    bench.check([*shaped, low, *more])
    start, *times = [cycle for cycle, _ in bench.events[-4:]]
    assert start < visible and times[0] == start + 620
    assert (HIGH, k, 8 * (times[0] - visible) // share) in bench.samples
    # The credit saved in the wait lets the second follow at once, and is used up by the third.
    assert times[1] == times[0] + length + 20
    assert times[2] == max(visible + 2 * share * (length + 8), times[1] + length + 20)


@cocotb.test()
async def overrun(dut):
    """A gate that is closed while a frame of its class is on the wire is counted, and the frame goes on."""
    bench = Bench(dut)
    await bench.start()
    frame = bench.frame(300, 3, (bench.port + 1) % bench.ports, bench.cycle_count + 3)
    await bench.cycle(frame)
    for _ in range(100):
        await bench.cycle()
    await gates(bench, 0xF7)
    await drain(bench, 1)
    bench.check([frame])
    await gates(bench, 0)
    assert bench.overruns == [3]


@pytest.mark.parametrize(("ports", "port"), [(2, 1), (3, 0), pytest.param(4, 3, marks=pytest.mark.slow), (8, 5)])
def test_pen_egress_port(ports, port):
    run_module("pen_egress_port", __name__, {"PORTS": ports, "CELLS": 256, "PORT": port})
