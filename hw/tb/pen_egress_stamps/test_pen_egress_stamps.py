# SPDX-License-Identifier: Apache-2.0
"""Frames out of all ports, some of which the host wants to be told of: what it is told when, and what is lost."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module

WAITING = 16
LABEL_TO_FIRST = 2  # cycles from what is known of a frame to its first byte behind the delimiter
TURN_TO_WAITING = 2


class Bench:
    def __init__(self, dut, stamped_share):
        self.dut, self.ports = dut, dut.PORTS.value.to_unsigned()
        self.stamped_share = stamped_share
        self.now, self.clock = 0, random.getrandbits(60)
        self.times = []  # of each cycle
        self.labels = [{} for _ in range(self.ports)]  # by cycle, of the frame that comes: (host is told, tag)
        self.label = [(0, 0)] * self.ports
        self.pins = [{} for _ in range(self.ports)]  # by cycle: the byte
        self.ends = [200] * self.ports  # of what is planned
        self.coming = {}  # by cycle: what may find a place then
        self.waiting, self.lost = deque(), 0
        self.told, self.losses = 0, 0

    async def start(self):
        dut = self.dut
        for name in ("turn", "time", "stamped", "tag", "gmii_txd", "gmii_tx_en", "ready"):
            getattr(dut, f"{name}_i").value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0

    def plan(self, port):
        """The next frame of a port; at times one that a reset keeps from the wire."""
        stamped, tag = random.random() < self.stamped_share, random.getrandbits(8)
        first = self.ends[port] + random.choice((20, 20, random.randrange(20, 60)))
        self.labels[port][first - LABEL_TO_FIRST] = (int(stamped), tag)
        length = random.choice((64, 64, random.randrange(64, 120)))
        self.ends[port] = first + length
        if random.random() < 0.1:
            return
        for n in range(-8, length):
            # Within a frame every byte may look like a delimiter.
            self.pins[port][first + n] = 0x55 if n < -1 else 0xD5 if n == -1 else random.choice((0xD5, 0x55, 7))
        if stamped and port < self.ports - 1:
            turn = first + (port - first) % self.ports
            self.coming[turn + TURN_TO_WAITING] = (port, tag, first)

    async def cycle(self, ready):
        dut, now = self.dut, self.now
        self.clock += random.choice((7 << 8, 8 << 8, 9 << 8, (8 << 8) + 1))
        ns = self.clock >> 8
        moment = (ns // 10**9 % 2**34, ns % 10**9, self.clock & 255)
        self.times.append(moment)
        for port in range(self.ports):
            if self.ends[port] < now + 100:
                self.ends[port] = max(self.ends[port], now + LABEL_TO_FIRST)
                self.plan(port)
        dut.turn_i.value = now % self.ports
        dut.time_i.value = moment[0] << 62 | moment[1] << 32 | moment[2] << 24 | random.getrandbits(24)
        stamped = tags = data = enable = 0
        for port in range(self.ports):
            self.label[port] = self.labels[port].pop(now, self.label[port])
            stamped |= self.label[port][0] << port
            tags |= self.label[port][1] << 8 * port
            byte = self.pins[port].pop(now, None)
            enable |= (byte is not None) << port
            data |= (0xD5 if byte is None else byte) << 8 * port
        dut.stamped_i.value, dut.tag_i.value = stamped, tags
        dut.gmii_txd_i.value, dut.gmii_tx_en_i.value = data, enable
        dut.ready_i.value = int(ready)
        await FallingEdge(dut.clk_i)
        assert int(dut.valid_o.value) == bool(self.waiting)
        if self.waiting:
            stamp = int(dut.stamp_o.value)
            assert stamp & (1 << 24) - 1 == 0
            moment = stamp >> 62 & (1 << 48) - 1, stamp >> 32 & (1 << 30) - 1, stamp >> 24 & 255
            assert (stamp >> 126, stamp >> 118 & 255, stamp >> 110 & 255, moment) == self.waiting[0]
        # What comes is seen from the next cycle on, and what is taken has its place until then.
        comes = self.coming.pop(now + 1, None)
        if comes is not None and len(self.waiting) == WAITING:
            self.lost, self.losses, comes = min(self.lost + 1, 255), self.losses + 1, None
        if ready and self.waiting:
            self.waiting.popleft()
            self.told += 1
        if comes is not None:
            port, tag, first = comes
            self.waiting.append((port, tag, self.lost, self.times[first]))
            self.lost = 0
        self.now += 1
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def a_host_that_keeps_up(dut):
    bench = Bench(dut, 0.5)
    await bench.start()
    for _ in range(6_000):
        await bench.cycle(random.random() < 0.5)
    assert bench.told > 15
    assert bench.losses == 0


@cocotb.test()
async def a_host_that_does_not(dut):
    """16 wait; how many found no place is told with the next one that does, up to 255."""
    bench = Bench(dut, 1.0)
    await bench.start()
    for busy in (3_000, 2_000, 34_000):
        for _ in range(busy):
            await bench.cycle(ready=False)
        for _ in range(400):
            await bench.cycle(ready=True)
    assert bench.told > 45
    assert bench.losses > 255


@pytest.mark.parametrize("ports", [2, 5, 8])
def test_pen_egress_stamps(ports):
    run_module("pen_egress_stamps", __name__, {"PORTS": ports})
