# SPDX-License-Identifier: Apache-2.0
"""Frames on the host's stream, with pauses of both sides: what comes out of each, and what is said about it."""

import random
import zlib
from dataclasses import dataclass

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import unpack

NONE, PREAMBLE, GIANT, RUNT, FCS = 0, 1, 3, 4, 5
LIMIT_CYCLES = 4


@dataclass
class Sent:
    """A frame on the stream, and what is to come of it."""

    header: bytes
    data: bytes
    reason: int

    def way(self, ports):
        """(direct, ports, class or nothing, port)."""
        direct, place, traffic_class = self.header[0] & 1, self.header[1], self.header[2] & 7
        if direct:
            return 1, place, traffic_class, ports - 1
        return (0, 0, None, place) if place < ports else (1, 0, traffic_class, ports - 1)


class Bench:
    def __init__(self, dut):
        self.dut, self.ports = dut, dut.PORTS.value.to_unsigned()
        self.limit = 1522
        self.got, self.beats = [], []  # whole frames: (ways, bytes, reason)

    async def start(self):
        dut = self.dut
        for name in ("cut", "s_axis_tvalid", "s_axis_tdata", "s_axis_tlast", "ready"):
            getattr(dut, f"{name}_i").value = 0
        dut.max_frame_bytes_i.value = self.limit
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(LIMIT_CYCLES + 1):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0

    def frame(self, length=None, header=None, kind="good"):
        length = length or random.choice((64, 65, 128, random.randrange(64, 300), self.limit))
        body = random.randbytes(length - 4)
        data = body + zlib.crc32(body).to_bytes(4, "little")
        header = header or bytes([random.getrandbits(8), random.choice((*range(9), 255)), *random.randbytes(2)])
        if kind == "fcs":
            place = random.randrange(length)
            data = data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]
            return Sent(header, data, FCS)
        if kind == "runt":
            return Sent(header, data[: random.randrange(1, 64)], RUNT)
        if kind == "giant":
            return Sent(header, random.randbytes(self.limit + random.choice((1, 2, 60))), GIANT)
        if kind == "header":
            return Sent(header[: random.randrange(1, 5)], b"", PREAMBLE)
        return Sent(header, data, NONE)

    async def cycle(self, byte=None, last=False, ready=True):
        """Says whether the byte was taken."""
        dut = self.dut
        dut.s_axis_tvalid_i.value = int(byte is not None)
        dut.s_axis_tdata_i.value = random.getrandbits(8) if byte is None else byte
        dut.s_axis_tlast_i.value = random.getrandbits(1) if byte is None else int(last)
        dut.ready_i.value = int(ready)
        await FallingEdge(dut.clk_i)
        taken = byte is not None and int(dut.s_axis_tready_o.value) == 1
        if ready and int(dut.valid_o.value):
            beat, way = unpack("rx_beat", int(dut.beat_o.value)), int(dut.way_o.value)
            self.beats.append((way, beat["data"]))
            if beat["last"]:
                self.got.append((*zip(*self.beats, strict=True), beat["reason"]))
                self.beats = []
        await RisingEdge(dut.clk_i)
        return taken

    async def send(self, sent, idle=0.0, busy=0.0):
        stream = sent.header + sent.data
        for n, byte in enumerate(stream):
            while random.random() < idle:
                await self.cycle(ready=random.random() >= busy)
            while not await self.cycle(byte, n + 1 == len(stream), random.random() >= busy):
                pass

    def check(self, sent):
        ways, data, reason = self.got.pop(0)
        assert reason == sent.reason
        if sent.reason == PREAMBLE:
            assert len(data) == 1
            return
        assert bytes(data) == sent.data[: self.limit + 1]
        direct, ports, traffic_class, port = sent.way(self.ports)
        assert len(set(ways)) == 1, "the way holds for the whole frame"
        stamped, tag = ways[0] >> 23, ways[0] >> 15 & 255
        assert (stamped, tag) == (sent.header[0] >> 1 & 1, sent.header[3])
        got = ways[0] >> 14 & 1, ways[0] >> 6 & 255, ways[0] >> 3 & 7 if direct else None, ways[0] & 7
        assert got == (direct, ports, traffic_class, port)


@cocotb.test()
async def frames(dut):
    """Sound and damaged ones, with and without pauses; each is checked, and its way stands beside each of its bytes."""
    bench = Bench(dut)
    await bench.start()
    for n in range(80):
        kind = random.choice(("good", "good", "good", "fcs", "runt", "giant", "header"))
        sent = bench.frame(kind=kind)
        if n % 20 == 19:
            bench.limit = random.randrange(64, 2001)
            dut.max_frame_bytes_i.value = bench.limit
            for _ in range(LIMIT_CYCLES):
                await bench.cycle()
            sent = bench.frame(kind=random.choice(("giant", "good")))
        await bench.send(sent, random.choice((0, 0, 0.3)), random.choice((0, 0, 0.5)))
        for _ in range(3):
            await bench.cycle()
        bench.check(sent)
    assert not bench.got
    assert not bench.beats


@cocotb.test()
async def without_pauses(dut):
    """A byte in each cycle goes on in the next one, frame behind frame."""
    bench = Bench(dut)
    await bench.start()
    all_sent = [bench.frame() for _ in range(10)]
    for sent in all_sent:
        for n, byte in enumerate(sent.header + sent.data):
            assert await bench.cycle(byte, n + 1 == len(sent.header) + len(sent.data))
    await bench.cycle()
    for sent in all_sent:
        bench.check(sent)


@cocotb.test()
async def a_header_does_not_disturb_the_frame_before(dut):
    """The last byte of a frame waits while the next header comes: it keeps its way."""
    bench = Bench(dut)
    await bench.start()
    first, second = (bench.frame(64, header=header) for header in (b"\x01\x01\x03\0", b"\x01\x02\x05\0"))
    await bench.send(first)
    for byte in second.header[:3]:
        await bench.cycle(byte, ready=False)
    await bench.cycle()
    bench.check(first)


@cocotb.test()
async def cut(dut):
    """A frame that a reset of the port meets is swallowed to its end, and the next one is whole."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(30):
        sent = bench.frame(64)
        place, length = random.randrange(68), random.choice((1, 2, 10, 80))
        stream = sent.header + sent.data
        for n, byte in enumerate(stream):
            dut.cut_i.value = int(place <= n < place + length)
            while not await bench.cycle(byte, n + 1 == len(stream)):
                pass
        dut.cut_i.value = 0
        await bench.cycle()
        bench.got.clear()
        bench.beats.clear()
        whole = bench.frame(64)
        await bench.send(whole)
        await bench.cycle()
        bench.check(whole)


@pytest.mark.parametrize("ports", [2, 5, 8])
def test_pen_host_rx(ports):
    run_module("pen_host_rx", __name__, {"PORTS": ports})
