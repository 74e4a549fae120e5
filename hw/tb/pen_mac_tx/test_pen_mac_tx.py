# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module

LEAD = bytes([0x55] * 7 + [0xD5])
START_TO_PREAMBLE = 2
START_TO_DATA = 9
START_TO_READY = 20  # and the length


class Bench:
    """Drives the transmitter cycle by cycle, with a reader that has its bytes from the earliest documented cycle on."""

    def __init__(self, dut):
        self.dut = dut
        self.cycle = 0
        self.started, self.length = -100, 0  # cycle and length of the last frame
        self.data = []  # bytes not yet taken
        self.taken = []  # cycles in which a byte was taken
        self.ready = False
        self.line = []  # (tx_en, tx_er, txd) by cycle

    async def reset(self):
        dut = self.dut
        dut.rst_i.value = 1
        dut.silent_i.value = 0
        dut.start_i.value = dut.data_valid_i.value = dut.length_i.value = dut.data_i.value = 0
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await FallingEdge(dut.clk_i)
        self.ready = dut.ready_o.value == 1

    async def step(self, start=None, valid=True):
        """One cycle; `start` is the length of a frame to start in it."""
        dut = self.dut
        self.line.append((int(dut.gmii_tx_en_o.value), int(dut.gmii_tx_er_o.value), int(dut.gmii_txd_o.value)))
        dut.start_i.value = int(start is not None)
        if start is not None and self.ready:
            self.length = start
            self.started = self.cycle
        sends_preamble = self.started < self.cycle < self.started + START_TO_DATA - 1
        dut.length_i.value = self.length if sends_preamble else random.getrandbits(11)
        take = dut.data_ready_o.value == 1
        valid = valid and bool(self.data)
        dut.data_valid_i.value = int(valid)
        dut.data_i.value = self.data[0] if valid else random.getrandbits(8)
        if take:
            self.taken.append(self.cycle)
            if valid:
                self.data.pop(0)
        await FallingEdge(dut.clk_i)
        self.cycle += 1
        self.ready = dut.ready_o.value == 1


async def bench_of(dut):
    bench = Bench(dut)
    await bench.reset()
    assert bench.ready
    return bench


async def send(bench, frame):
    """Sends one frame in a ready cycle and checks each cycle of the line up to the next ready one."""
    assert bench.ready
    first = bench.cycle
    bench.data, bench.taken = list(frame), []
    await bench.step(start=len(frame))
    while not bench.ready:
        await bench.step()
    assert bench.cycle == first + START_TO_READY + len(frame)
    assert bench.taken == list(range(first + START_TO_DATA, first + START_TO_DATA + len(frame)))
    wire = [(1, 0, byte) for byte in LEAD + frame]
    line = bench.line[first + START_TO_PREAMBLE :]
    assert line[: len(wire)] == wire
    assert set(line[len(wire) :]) == {(0, 0, 0)}
    return first


@cocotb.test()
async def one_frame(dut):
    bench = await bench_of(dut)
    for _ in range(5):
        await bench.step()
    assert set(bench.line) == {(0, 0, 0)}
    await send(bench, random.randbytes(64))


@cocotb.test()
async def back_to_back_with_a_gap_of_twelve(dut):
    bench = await bench_of(dut)
    frames = [random.randbytes(random.choice((1, 2, 64, 65, random.randint(64, 300), 2000))) for _ in range(25)]
    for frame in frames:
        await send(bench, frame)
    for _ in range(3):
        await bench.step()
    runs, gap = [], 0
    for enable, _, _ in bench.line:
        if enable and gap:
            runs.append(gap)
        gap = 0 if enable else gap + 1
    assert runs[1:] == [12] * (len(frames) - 1)


@cocotb.test()
async def random_idle(dut):
    bench = await bench_of(dut)
    for _ in range(40):
        for _ in range(random.choice((0, 0, 1, 2, 30))):
            await bench.step()
        await send(bench, random.randbytes(random.randint(1, 150)))


@cocotb.test()
async def underrun(dut):
    bench = await bench_of(dut)
    for missing in (0, 1, 40, 63):
        frame, first = random.randbytes(64), bench.cycle
        bench.data, bench.taken = list(frame), []
        await bench.step(start=64)
        while not bench.ready:
            await bench.step(valid=len(bench.taken) < missing)
        wire = [(1, 0, byte) for byte in LEAD + frame[:missing]] + [(1, 1, 0)]
        line = bench.line[first + START_TO_PREAMBLE :]
        assert line[: len(wire)] == wire
        assert set(line[len(wire) :]) == {(0, 0, 0)}
        assert len(bench.taken) == missing + 1, "bytes were asked for after the end"
        assert bench.cycle == first + START_TO_READY + missing + 1
        await send(bench, random.randbytes(64))


@cocotb.test()
async def start_is_ignored_while_busy(dut):
    bench = await bench_of(dut)
    frame, first = random.randbytes(64), bench.cycle
    bench.data, bench.taken = list(frame), []
    await bench.step(start=64)
    while not bench.ready:
        await bench.step(start=99 if random.random() < 0.5 else None)
    assert bench.cycle == first + START_TO_READY + 64
    assert [byte for enable, _, byte in bench.line if enable] == list(LEAD + frame)


@cocotb.test()
async def silence_cuts_the_frame_and_its_reader_does_not_notice(dut):
    bench = await bench_of(dut)
    size = 70
    for cycle in range(START_TO_READY + size):
        bench.data, bench.taken, first = list(range(size)), [], bench.cycle
        await bench.step(start=size)
        while not bench.ready:
            dut.silent_i.value = int(bench.cycle - first >= cycle)
            await bench.step()
        assert bench.cycle == first + START_TO_READY + size
        assert bench.taken == [first + START_TO_DATA + n for n in range(size)]
        whole = LEAD + bytes(range(size))
        sent = max(0, cycle - 1)  # bytes before it acts
        line = bench.line[first + START_TO_PREAMBLE :]
        if sent >= len(whole):
            assert line[: len(whole)] == [(1, 0, byte) for byte in whole]
        else:
            error = [(1, 1, 0)] if sent >= len(LEAD) else []
            cut = [(1, 0, byte) for byte in whole[:sent]] + error
            assert line[: len(cut)] == cut
            assert {enable for enable, _, _ in line[len(cut) :]} == {0}
        dut.silent_i.value = 0
        await send(bench, random.randbytes(64))


@cocotb.test()
async def reset_cuts_the_frame(dut):
    bench = await bench_of(dut)
    bench.data, bench.taken = list(range(64)), []
    await bench.step(start=64)
    for _ in range(30):
        await bench.step()
    assert bench.line[-1][0] == 1
    dut.rst_i.value = 1
    await bench.step()
    dut.rst_i.value = 0
    for _ in range(3):
        await bench.step()
        assert bench.line[-1][:2] == (0, 0)
    assert bench.ready
    await send(bench, random.randbytes(64))


def test_pen_mac_tx():
    run_module("pen_mac_tx", __name__)
