# SPDX-License-Identifier: Apache-2.0
import random
from collections import Counter
from dataclasses import dataclass

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer
from cocotb.utils import get_sim_time
from gmii import IDLE, NONE, OVERRUN, REASONS, carrier, fields_of_beat, random_carrier, random_frame, receive
from runner import run_module

LATENCY = 5  # cycles from the last byte at the pins to its pop, one clock for both sides
CORE_PS = 8000


@dataclass
class Popped:
    data: bytes
    reason: int
    short_gap: bool
    cycle: int  # core cycle of the last beat


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.frames = []
        self.cycle = 0  # of the core
        self.ready = lambda: True
        self.rx_clock = None

    def start_rx_clock(self, period_ps):
        self.rx_clock = cocotb.start_soon(Clock(self.dut.gmii_rx_clk_i, period_ps, "ps").start())

    async def start(self, rx_ps=CORE_PS, phase_ps=0, max_frame_bytes=1522, rx_clock=True):
        dut = self.dut
        dut.rst_i.value = 1
        dut.gmii_rx_dv_i.value = dut.gmii_rx_er_i.value = dut.gmii_rxd_i.value = dut.gmii_rx_clk_i.value = 0
        dut.ready_i.value = 0
        dut.max_frame_bytes_i.value = max_frame_bytes
        cocotb.start_soon(Clock(dut.clk_i, CORE_PS, "ps").start())
        if phase_ps:
            await Timer(phase_ps, "ps")
        if rx_clock:
            self.start_rx_clock(rx_ps)
        await ClockCycles(dut.clk_i, 4)
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        cocotb.start_soon(self.pop())
        if rx_clock:
            for _ in range(20):
                await FallingEdge(dut.gmii_rx_clk_i)

    async def pop(self):
        dut, data = self.dut, bytearray()
        while True:
            await FallingEdge(dut.clk_i)
            self.cycle += 1
            ready = self.ready()
            dut.ready_i.value = int(ready)
            if ready and dut.valid_o.value == 1:
                last, short_gap, reason, byte = fields_of_beat(dut.beat_o.value.to_unsigned())
                data.append(byte)
                if last:
                    self.frames.append(Popped(bytes(data), reason, bool(short_gap), self.cycle))
                    data.clear()
                else:
                    assert (short_gap, reason) == (0, 0)

    async def play(self, samples, idle=60):
        dut = self.dut
        for dv, er, data in samples + [IDLE] * idle:
            dut.gmii_rx_dv_i.value, dut.gmii_rx_er_i.value, dut.gmii_rxd_i.value = dv, er, data
            await FallingEdge(dut.gmii_rx_clk_i)

    def check(self, samples, max_frame_bytes):
        """Compares all frames popped with the reference receiver; returns how often each reason came."""
        expected = receive(samples, max_frame_bytes)
        assert len(self.frames) == len(expected), "not one last beat for each carrier"
        for got, want in zip(self.frames, expected, strict=True):
            if got.reason == OVERRUN:
                # Cut somewhere, and closed by a beat of no meaning.
                assert want.data.startswith(got.data[:-1])
                continue
            assert REASONS[got.reason] == REASONS[want.reason]
            assert got.short_gap == want.short_gap
            assert got.data == want.data if want.data else len(got.data) == 1
        return Counter(frame.reason for frame in self.frames)


@cocotb.test()
async def latency_with_one_clock(dut):
    bench = Bench(dut)
    await bench.start()
    for size in (64, 65, 100, 1522):
        await bench.play(carrier(random_frame(size), gap=random.randint(12, 30)), idle=0)
        last = bench.cycle  # the core cycle in which the last byte was driven
        await bench.play([], idle=40)
        assert bench.frames[-1].reason == NONE
        assert bench.frames[-1].cycle == last + LATENCY


@cocotb.test()
@cocotb.parametrize(rx_ps=[7998, 8000, 8002])
async def delimiters_are_told(dut, rx_ps):
    """Each one once: three cycles before began as the byte behind it came to the pins, or less than a cycle before."""
    bench = Bench(dut)
    phase_ps = 0 if rx_ps == CORE_PS else random.randrange(1, CORE_PS)
    await bench.start(rx_ps, phase_ps)
    told, came = [], []

    async def watch():
        while True:
            await FallingEdge(dut.clk_i)
            if dut.delimiter_o.value == 1:
                told.append(get_sim_time("ps") - CORE_PS // 2 - 3 * CORE_PS)

    cocotb.start_soon(watch())
    for _ in range(60):
        preamble = random.choice((0, 7))
        samples = carrier(random_frame(random.choice((64, 65, 90))), preamble, gap=random.choice((1, 12, 30)))
        behind = next(n for n, sample in enumerate(samples) if sample[0]) + preamble + 1
        await bench.play(samples[:behind], idle=0)
        came.append(get_sim_time("ps") - rx_ps // 2)  # driven in the middle of the cycle that it stands for
        await bench.play(samples[behind:], idle=0)
    await bench.play([])
    assert len(told) == len(came)
    errors = [stamp - time for stamp, time in zip(told, came, strict=True)]
    if phase_ps == 0:
        assert set(errors) == {0}
    assert all(-CORE_PS <= error <= 0 for error in errors)


@cocotb.test()
@cocotb.parametrize(rx_ps=[7998, 8000, 8002])  # 250 ppm fast, equal, 250 ppm slow
async def clocks_apart(dut, rx_ps):
    """Long frames back to back, all phases between the clocks: nothing is lost, nothing is late."""
    bench = Bench(dut)
    await bench.start(rx_ps, random.randrange(1, CORE_PS))
    samples = [s for _ in range(8) for s in carrier(random_frame(random.choice((64, 1522, 1522))))]
    await bench.play(samples)
    assert bench.check(samples, 1522) == Counter({NONE: 8})


@cocotb.test()
@cocotb.parametrize(rx_ps=[7998, 8000, 8002])
async def pause_between_frames(dut, rx_ps):
    """A reader that stops for up to 20 cycles behind each frame loses nothing at the shortest legal gap."""
    bench = Bench(dut)
    await bench.start(rx_ps, random.randrange(1, CORE_PS))
    pause_until, seen = 0, 0

    def ready():
        nonlocal pause_until, seen
        if len(bench.frames) > seen:
            seen, pause_until = len(bench.frames), bench.cycle + 20
        return bench.cycle >= pause_until

    bench.ready = ready
    samples = [s for _ in range(20) for s in carrier(random_frame(random.choice((64, 64, 65, 200))))]
    await bench.play(samples)
    assert bench.check(samples, 1522) == Counter({NONE: 20})


@cocotb.test()
@cocotb.parametrize(rx_ps=[7998, 8000, 8002])
async def random_carriers(dut, rx_ps):
    max_frame_bytes = 256
    bench = Bench(dut)
    await bench.start(rx_ps, random.randrange(1, CORE_PS), max_frame_bytes)
    samples = [IDLE] * 12 + [s for _ in range(80) for s in random_carrier(max_frame_bytes)]
    await bench.play(samples)
    seen = bench.check(samples, max_frame_bytes)
    assert OVERRUN not in seen and len(seen) >= 4


@cocotb.test()
async def overrun_ends_every_frame_once(dut):
    """Random back-pressure up to long standstills: each carrier still gives one last beat, good frames stay whole."""
    max_frame_bytes = 200
    bench = Bench(dut)
    await bench.start(random.choice((7998, 8002, 8000)), random.randrange(1, CORE_PS), max_frame_bytes)
    rate, until = 1.0, 0

    def ready():
        nonlocal rate, until
        if bench.cycle >= until:
            rate = random.choice((0, 0.3, 0.9, 1, 1, 1))
            until = bench.cycle + random.choice((20, 100, 500))
        return random.random() < rate

    bench.ready = ready
    samples = [IDLE] * 12 + [s for _ in range(150) for s in random_carrier(max_frame_bytes)]
    await bench.play(samples)
    bench.ready = lambda: True
    await bench.play([])
    seen = bench.check(samples, max_frame_bytes)
    cocotb.log.info("%s", {REASONS[reason]: count for reason, count in seen.items()})
    assert seen[OVERRUN] > 5 and seen[NONE] > 5


@cocotb.test()
async def frames_lost_whole(dut):
    bench = Bench(dut)
    await bench.start()
    bench.ready = lambda: False
    lost = [s for _ in range(10) for s in carrier(random_frame(64))]
    await bench.play(lost)
    assert not bench.frames
    bench.ready = lambda: True
    await bench.play([])
    assert bench.check(lost, 1522) == Counter({OVERRUN: 10})
    assert len(bench.frames[0].data) == 33  # what the FIFO holds, and the closing beat
    assert all(len(frame.data) == 1 for frame in bench.frames[1:])
    good = carrier(random_frame(64))
    await bench.play(good)
    assert bench.check(lost + good, 1522) == Counter({OVERRUN: 10, NONE: 1})


@cocotb.test()
async def room_comes_with_the_next_frame(dut):
    """The reader goes on at every possible moment around the first byte of the frame behind the one that was cut."""
    bench = Bench(dut)
    await bench.start()
    seen = Counter()
    for preamble, gap in ((7, 12), (0, 1)):
        cut = carrier(random_frame(64), gap=12)
        samples = cut + carrier(random_frame(64), preamble, gap)
        first = len(cut) + gap + preamble + 1
        for moment in range(first - 12, first + 8):
            bench.ready = lambda: False
            await bench.play(samples[:moment], idle=0)
            bench.ready = lambda: True
            await bench.play(samples[moment:])
            seen += bench.check(samples, 1522)
            bench.frames.clear()
    assert seen[NONE] > 0 and seen[OVERRUN] > 40


@cocotb.test()
async def receive_clock_starts_late(dut):
    """Nothing comes out before the receive side has been reset; that needs its clock."""
    bench = Bench(dut)
    await bench.start(rx_clock=False)
    await Timer(1, "us")
    assert dut.valid_o.value == 0
    bench.start_rx_clock(8002)
    await bench.play([], idle=20)
    samples = carrier(random_frame(64))
    await bench.play(samples)
    assert bench.check(samples, 1522) == Counter({NONE: 1})


@cocotb.test()
async def reset_while_the_receive_clock_stands_still(dut):
    bench = Bench(dut)
    await bench.start()
    bench.ready = lambda: False
    await bench.play(carrier(random_frame(64))[:50], idle=0)  # the clock stops within a frame
    bench.rx_clock.cancel()
    await Timer(100, "ns")
    assert dut.valid_o.value == 1
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    bench.ready = lambda: True
    await Timer(1, "us")
    assert not bench.frames and dut.valid_o.value == 0
    dut.gmii_rx_dv_i.value = 0
    bench.start_rx_clock(7998)
    await bench.play([], idle=20)
    samples = carrier(random_frame(64))
    await bench.play(samples)
    assert bench.check(samples, 1522) == Counter({NONE: 1})


@cocotb.test()
async def limit_follows_the_setting(dut):
    bench = Bench(dut)
    await bench.start(8002, 1000, max_frame_bytes=100)
    samples = carrier(random_frame(101))
    await bench.play(samples)
    bench.check(samples, 100)
    bench.frames.clear()
    dut.max_frame_bytes_i.value = 2000
    await bench.play([], idle=20)
    samples = carrier(random_frame(2000))
    await bench.play(samples)
    assert bench.check(samples, 2000) == Counter({NONE: 1})


def test_pen_mac_rx_fifo():
    run_module("pen_mac_rx_fifo", __name__)
