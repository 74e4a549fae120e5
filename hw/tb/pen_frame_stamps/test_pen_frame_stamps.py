# SPDX-License-Identifier: Apache-2.0
"""Frames at all ports, each with the time of its delimiter when it is read much later."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module

DELIMITER_CYCLES = 3
FIRST_BYTE = 5  # cycles from the first byte at the pins to when it is taken, at the least
AFTER_LAST = 17  # and between two frames: preamble, delimiter and gap, less what FIFO and turns take


class Bench:
    def __init__(self, dut):
        self.dut, self.ports = dut, dut.PORTS.value.to_unsigned()
        self.now = 0
        self.times = []  # of each cycle
        self.free = list(range(256))
        random.shuffle(self.free)
        self.stored = {}  # cell: time, and when it was recorded
        self.read = None  # what was asked for in the cycle before
        self.checked = 0
        # Per port: the delimiter's cycles, when bytes are taken (last or not), and the end of what is planned.
        self.delimiters = [[] for _ in range(self.ports)]
        self.bytes = [{} for _ in range(self.ports)]
        self.waiting = [None] * self.ports  # taken whole, and not recorded: (earliest turn, cycle of the first byte)
        self.ends = [20] * self.ports
        self.clock = random.getrandbits(60)

    def plan(self, port):
        """Another frame, of 8 to 100 bytes."""
        first = self.ends[port] + random.choice((AFTER_LAST, AFTER_LAST, random.randrange(AFTER_LAST, 60)))
        length = random.randrange(8, 100)
        self.delimiters[port].append(first)
        begin = first + FIRST_BYTE
        for n in range(length):
            self.bytes[port][begin + n] = (n == length - 1, first)
        self.ends[port] = first + length

    async def start(self):
        dut = self.dut
        for name in ("turn", "time", "delimiter", "taken", "last", "record", "record_frame", "read", "read_frame"):
            getattr(dut, f"{name}_i").value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0

    async def cycle(self):
        dut, now = self.dut, self.now
        self.clock += random.choice((7 << 8, 8 << 8, 9 << 8, (8 << 8) + 1))
        ns = self.clock >> 8
        moment = (ns // 10**9 % 2**34, ns % 10**9, self.clock & 255)
        self.times.append(moment)
        turn = now % self.ports
        delimiter = taken = last = 0
        for port in range(self.ports):
            if self.ends[port] < now + 100:
                self.plan(port)
            if self.delimiters[port][0] + DELIMITER_CYCLES == now:
                self.delimiters[port].pop(0)
                delimiter |= 1 << port
            byte = self.bytes[port].pop(now, None)
            if byte is not None:
                taken |= 1 << port
                last |= byte[0] << port
                if byte[0]:
                    assert self.waiting[port] is None
                    self.waiting[port] = byte[1]
        dut.turn_i.value = turn
        dut.time_i.value = moment[0] << 62 | moment[1] << 32 | moment[2] << 24 | random.getrandbits(24)
        dut.delimiter_i.value, dut.taken_i.value, dut.last_i.value = delimiter, taken, last
        due = self.waiting[turn] if not taken >> turn & 1 else None
        dut.record_i.value = int(due is not None)
        dut.record_frame_i.value = self.free[-1]
        there = [cell for cell, (_, recorded) in self.stored.items() if recorded < now - 1]
        cell = random.choice(there) if there and random.random() < 0.3 and due is None else None
        dut.read_i.value = int(cell is not None)
        dut.read_frame_i.value = random.getrandbits(8) if cell is None else cell
        await FallingEdge(dut.clk_i)
        if self.read is not None:
            stamp = int(dut.stamp_o.value)
            assert (stamp >> 62, stamp >> 32 & (1 << 30) - 1, stamp >> 24 & 255) == self.read
            assert stamp & (1 << 24) - 1 == 0
            self.checked += 1
        self.read = None
        if due is not None:
            self.stored[self.free.pop()] = (self.times[due], now)
            self.waiting[turn] = None
        if cell is not None:
            self.read, _ = self.stored.pop(cell)
            self.free.insert(0, cell)
        self.now += 1
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def frames(dut):
    bench = Bench(dut)
    await bench.start()
    for _ in range(6_000):
        await bench.cycle()
    assert bench.checked > 100


@pytest.mark.parametrize("ports", [2, 5, 8])
def test_pen_frame_stamps(ports):
    run_module("pen_frame_stamps", __name__, {"PORTS": ports, "CELLS": 256})
