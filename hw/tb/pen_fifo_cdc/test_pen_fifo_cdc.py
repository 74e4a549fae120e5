# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotb.utils import get_sim_time
from runner import run_module

# (source, destination) periods in ps: equal, 250 ppm apart either way, and far apart either way.
PERIODS = [(8000, 8000), (8002, 8000), (7998, 8000), (8000, 3300), (8000, 21700)]


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.sent, self.received, self.refused = [], [], 0
        self.fill = self.drain = 1.0
        self.width = len(dut.src_data_i)

    async def start(self, source_ps, destination_ps, phase_ps=None):
        dut = self.dut
        dut.src_rst_i.value = dut.dst_rst_i.value = 1
        dut.src_valid_i.value = dut.dst_ready_i.value = dut.src_data_i.value = 0
        cocotb.start_soon(Clock(dut.src_clk_i, source_ps, "ps").start())
        phase_ps = random.randrange(0, destination_ps) if phase_ps is None else phase_ps
        if phase_ps:
            await Timer(phase_ps, "ps")
        cocotb.start_soon(Clock(dut.dst_clk_i, destination_ps, "ps").start())
        for _ in range(4):
            await FallingEdge(dut.src_clk_i)
            await FallingEdge(dut.dst_clk_i)
        dut.dst_rst_i.value = 0
        await FallingEdge(dut.src_clk_i)
        dut.src_rst_i.value = 0
        cocotb.start_soon(self.source())
        cocotb.start_soon(self.destination())

    async def source(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.src_clk_i)
            valid, data = random.random() < self.fill, random.getrandbits(self.width)
            dut.src_valid_i.value, dut.src_data_i.value = int(valid), data
            if valid and dut.src_ready_o.value == 1:
                self.sent.append(data)
            elif valid:
                self.refused += 1

    async def destination(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.dst_clk_i)
            ready = random.random() < self.drain
            dut.dst_ready_i.value = int(ready)
            if ready and dut.dst_valid_o.value == 1:
                self.received.append(dut.dst_data_o.value.to_unsigned())
                # The word before this cycle's source edge at the latest was sent by now.
                assert self.received[-1] == self.sent[len(self.received) - 1]

    async def flush(self):
        self.fill, self.drain = 0, 1
        await Timer(64 * 30, "ns")
        assert self.received == self.sent


def clocks(function):
    return cocotb.parametrize(periods=PERIODS)(function)


@cocotb.test()
@clocks
async def random_idle_and_back_pressure(dut, periods):
    bench = Bench(dut)
    await bench.start(*periods)
    for _ in range(40):
        bench.fill, bench.drain = random.choice((0.1, 0.5, 1)), random.choice((0, 0.1, 0.5, 1, 1))
        await Timer(random.randrange(100, 2000), "ns")
    await bench.flush()
    assert bench.refused > 0 and len(bench.received) > 500


@cocotb.test()
@clocks
async def full_holds_depth_words(dut, periods):
    bench = Bench(dut)
    bench.drain = 0
    await bench.start(*periods)
    await Timer(3000, "ns")
    assert len(bench.sent) == dut.DEPTH.value.to_unsigned()
    await bench.flush()


@cocotb.test()
@cocotb.parametrize(periods=[(8000, 8000), (8002, 8000), (8000, 7900)])
async def a_word_in_each_cycle(dut, periods):
    """A source that is not faster than the destination is never refused, whatever the phase between the clocks."""
    bench = Bench(dut)
    await bench.start(*periods)
    await Timer(20000, "ns")
    assert bench.refused == 0
    await bench.flush()
    assert len(bench.received) > 2400


@cocotb.test()
async def latency_with_one_clock(dut):
    """A word written in cycle w is at the output in cycle w + 3."""
    bench = Bench(dut)
    bench.fill = 0
    await bench.start(8000, 8000, phase_ps=0)
    for _ in range(20):
        for _ in range(random.randint(8, 12)):
            await RisingEdge(dut.src_clk_i)
        await Timer(1, "ns")
        bench.fill, begin = 1, get_sim_time("ps")
        await RisingEdge(dut.src_clk_i)
        bench.fill = 0
        count = len(bench.received)
        while len(bench.received) == count:
            await RisingEdge(dut.dst_clk_i)
        cycles = (get_sim_time("ps") - begin) // 8000
        assert cycles == 3
    await bench.flush()


@cocotb.test()
async def reset_empties(dut):
    bench = Bench(dut)
    bench.drain = 0
    await bench.start(8002, 8000)
    await Timer(200, "ns")
    assert dut.dst_valid_o.value == 1
    bench.fill = 0
    await Timer(50, "ns")
    dut.src_rst_i.value = dut.dst_rst_i.value = 1
    await Timer(50, "ns")
    assert dut.dst_valid_o.value == 0
    dut.src_rst_i.value = dut.dst_rst_i.value = 0
    bench.sent.clear()
    bench.fill = bench.drain = 1
    await Timer(500, "ns")
    await bench.flush()
    assert len(bench.received) > 50


@pytest.mark.parametrize(("width", "depth"), [(13, 32), (8, 8)])
def test_pen_fifo_cdc(width, depth):
    run_module("pen_fifo_cdc", __name__, {"WIDTH": width, "DEPTH": depth})
