# SPDX-License-Identifier: Apache-2.0
"""Frames to the host: the header, the bytes, when they come, and what a slow host and a reset of the port do."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module

HEADER_BYTES = 16


class Bench:
    """A reader that has its bytes, and a host that takes them."""

    def __init__(self, dut):
        self.dut = dut
        self.now = 0
        self.data, self.port, self.traffic_class = [], 0, 0
        self.stamp = (0, 0, 0)  # seconds, nanoseconds, fraction
        self.started = 0
        self.stream, self.frames = [], []  # (cycle, byte); whole frames: ([(cycle, byte)], tuser)
        self.stalls = 0
        self.taken = False  # a stamp
        self.held = None  # what stands on the stream and was not taken

    async def start(self):
        dut = self.dut
        for name in (
            "start",
            "length",
            "port",
            "traffic_class",
            "stamp",
            "silent",
            "free",
            "stamp_valid",
            "stamp_told",
            "data_valid",
            "data",
            "m_axis_tready",
        ):
            getattr(dut, f"{name}_i").value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0

    async def cycle(self, frame=None, ready=True, silent=False):
        dut = self.dut
        dut.start_i.value = int(frame is not None)
        if frame is not None:
            self.data = list(frame)
            self.port, self.traffic_class = random.randrange(8), random.randrange(8)
            self.stamp = random.getrandbits(34), random.randrange(10**9), random.getrandbits(8)
            self.started = self.now
        is_told = self.now == self.started + 1
        dut.length_i.value = len(self.data) if is_told else random.getrandbits(11)
        dut.port_i.value = self.port if is_told else random.randrange(8)
        dut.traffic_class_i.value = self.traffic_class if is_told else random.randrange(8)
        seconds, ns, fraction = self.stamp
        is_there = self.now >= self.started + 2
        dut.stamp_i.value = seconds << 62 | ns << 32 | fraction << 24 if is_there else random.getrandbits(110)
        dut.silent_i.value = int(silent)
        dut.data_valid_i.value = int(bool(self.data))
        dut.data_i.value = self.data[0] if self.data else random.getrandbits(8)
        dut.m_axis_tready_i.value = int(ready)
        await FallingEdge(dut.clk_i)
        valid = int(dut.m_axis_tvalid_o.value)
        there = (int(dut.m_axis_tdata_o.value), int(dut.m_axis_tlast_o.value), int(dut.m_axis_tuser_o.value))
        assert self.held is None or (valid and there == self.held), "what stands on the stream stays until it is taken"
        self.held = there if valid and not ready else None
        assert int(dut.stall_o.value) == int(valid and not ready)
        self.stalls += valid and not ready
        if valid and ready:
            self.stream.append((self.now, there[0]))
            if there[1]:
                self.frames.append((self.stream, there[2]))
                self.stream = []
        self.taken = int(dut.stamp_ready_o.value) == 1
        assert not self.taken or (valid and ready and there[1])
        if int(dut.data_ready_o.value):
            self.data.pop(0)
        is_ready = int(dut.ready_o.value) == 1
        self.now += 1
        await RisingEdge(dut.clk_i)
        return is_ready

    async def send(self, frame, busy=0.0, silent=lambda: False):
        """One frame, to its end; the cycle of its start, and how long the host held it up."""
        start, before = self.now, self.stalls
        assert await self.cycle(frame, silent=silent())
        while not await self.cycle(ready=random.random() >= busy, silent=silent()):
            pass
        assert not self.data, "the reader is left with bytes"
        return start, self.stalls - before

    def check(self, frame, start):
        """The last frame came whole; the cycles of its bytes, from its start."""
        stream, _ = self.frames[-1]
        data = bytes(byte for _, byte in stream)
        seconds, ns, fraction = self.stamp
        stamp = seconds.to_bytes(6, "little") + ns.to_bytes(4, "little") + bytes([fraction, 0])
        assert data[:HEADER_BYTES] == bytes([0, self.port, self.traffic_class, 0]) + stamp
        assert data[HEADER_BYTES:] == frame
        return [cycle - start for cycle, _ in stream]


@cocotb.test()
async def at_full_speed(dut):
    """A byte in each cycle from the one behind the start on: done before a wire would be."""
    bench = Bench(dut)
    await bench.start()
    for length in (1, 2, 64, 65, 1522, *random.sample(range(1, 300), 10)):
        frame = random.randbytes(length)
        start, _ = await bench.send(frame)
        assert bench.check(frame, start) == list(range(1, 1 + HEADER_BYTES + length))
        assert bench.frames[-1][1] == 0


@cocotb.test()
async def a_slow_host(dut):
    """Each byte comes once, however long it waits, and it takes as much longer as is said."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(30):
        frame = random.randbytes(random.randrange(1, 200))
        start, stalls = await bench.send(frame, random.choice((0.1, 0.5, 0.9)))
        assert bench.check(frame, start)[-1] == HEADER_BYTES + len(frame) + stalls


@cocotb.test()
async def a_reset_of_the_port(dut):
    """A frame that begins in it stays away; one that has begun ends as one that is not to be used."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(60):
        frame, before = random.randbytes(random.randrange(1, 80)), len(bench.frames)
        first = bench.now + random.choice((0, 1, random.randrange(2, 40)))
        start, _ = await bench.send(frame, random.choice((0, 0.4)), lambda first=first: bench.now >= first)
        if first == start:
            assert len(bench.frames) == before
        else:
            bench.check(frame, start)
            last = bench.frames[-1][0][-1][0]
            assert bench.frames[-1][1] == 1 or first + 1 >= last, "silent, and not told"


@cocotb.test()
async def stamps(dut):
    """Each comes whole as soon as the port is free, one behind the other, and to the end in a reset of the port."""
    bench = Bench(dut)
    await bench.start()
    for n in range(60):
        busy, reset_at = random.choice((0, 0, 0.5)), random.choice((None, random.randrange(20)))
        told = [(random.randrange(8), *random.randbytes(2), random.getrandbits(34), random.randrange(10**9),
                 random.getrandbits(8)) for _ in range(random.choice((1, 2, 5)))]  # fmt: skip
        waits, begin, expected = random.choice((0, random.randrange(1, 30))), bench.now, []
        for port, tag, lost, seconds, ns, fraction in told:
            dut.stamp_told_i.value = ((port << 8 | tag) << 8 | lost) << 110 | seconds << 62 | ns << 32 | fraction << 24
            moment = seconds.to_bytes(6, "little") + ns.to_bytes(4, "little")
            expected.append(bytes([1, port, lost, tag]) + moment + bytes([fraction, 0]))
            dut.stamp_valid_i.value = 1
            taken = False
            while not taken:
                dut.free_i.value = int(bench.now >= begin + waits)
                silent = reset_at is not None and bench.now >= begin + reset_at
                is_ready = random.random() >= busy
                await bench.cycle(ready=is_ready, silent=silent)
                taken = bench.taken
                assert bench.now < begin + 2_000
        dut.stamp_valid_i.value = dut.free_i.value = 0
        assert not bench.stream
        got, bench.frames = bench.frames, []
        assert [bytes(byte for _, byte in stream) for stream, _ in got] == expected
        assert not any(tuser for _, tuser in got)
        if not busy:
            firsts = [stream[0][0] for stream, _ in got]
            assert firsts == [begin + waits + 1 + (HEADER_BYTES + 1) * k for k in range(len(told))]
        if n % 3 == 0:
            frame = random.randbytes(64)
            start, _ = await bench.send(frame)
            assert bench.check(frame, start) == list(range(1, 1 + HEADER_BYTES + 64))
            bench.frames = []


def test_pen_host_tx():
    run_module("pen_host_tx", __name__)
