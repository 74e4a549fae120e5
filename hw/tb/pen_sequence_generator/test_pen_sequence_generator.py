# SPDX-License-Identifier: Apache-2.0
"""Numbers of random streams, in cycles that follow each other too, against counters."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module


class Bench:
    def __init__(self, dut):
        self.dut, self.streams = dut, int(dut.STREAMS.value)
        self.next = [0] * self.streams
        self.numbered = [False] * self.streams
        self.due = None  # the stream that was read in the cycle before, and whether it was numbered then

    async def start(self):
        dut = self.dut
        for name in ("read_i", "stream_i", "take_i", "write_i", "write_index_i", "write_numbered_i"):
            getattr(dut, name).value = 0
        dut.init_busy_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        await FallingEdge(dut.clk_i)
        for index in range(self.streams + 5):
            dut.init_index_i.value = index
            await FallingEdge(dut.clk_i)
        dut.init_busy_i.value = 0

    async def cycle(self, stream=None, takes=True, write=None):
        """One cycle, in which a stream is read and what was read in the one before may be taken."""
        dut = self.dut
        dut.read_i.value, dut.stream_i.value = int(stream is not None), stream or 0
        dut.write_i.value = int(write is not None)
        dut.write_index_i.value, dut.write_numbered_i.value = write or (0, 0)
        dut.take_i.value = 0
        if self.due is not None:
            read, numbered = self.due
            assert int(dut.numbered_o.value) == int(numbered)
            assert int(dut.number_o.value) == self.next[read]
            if takes:
                dut.take_i.value = 1
                self.next[read] = (self.next[read] + 1) % 0x10000
        self.due = None if stream is None else (stream, self.numbered[stream])
        if write is not None and write[0] < self.streams:
            self.numbered[write[0]] = bool(write[1])
        await FallingEdge(dut.clk_i)


@cocotb.test()
async def random_streams(dut):
    bench = Bench(dut)
    await bench.start()
    some = [random.randrange(bench.streams) for _ in range(3)]
    for _ in range(3000):
        stream = random.choice((None, *some, random.randrange(bench.streams)))
        write = (
            (random.choice((*some, random.getrandbits(16))), random.getrandbits(1)) if random.random() < 0.2 else None
        )
        await bench.cycle(stream, random.random() < 0.8, write)
    assert max(bench.next) > 100


@cocotb.test()
async def behind_the_last_number_comes_zero(dut):
    bench = Bench(dut)
    await bench.start()
    for _ in range(0x10000 + 3):
        await bench.cycle(1)
    assert bench.next[1] == 2


@pytest.mark.parametrize("streams", [2, 256])
def test_pen_sequence_generator(streams):
    run_module("pen_sequence_generator", __name__, {"STREAMS": streams})
