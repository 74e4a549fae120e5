# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module


async def start(dut):
    dut.rst_i.value = 1
    dut.req_i.value = dut.done_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0


class Model:
    """The next requester in a circle, kept as indices."""

    def __init__(self, n):
        self.n, self.last, self.granted = n, n - 1, None

    def step(self, requests, done):
        if self.granted is None or done:
            order = [(self.last + 1 + i) % self.n for i in range(self.n)]
            self.granted = next((i for i in order if requests >> i & 1), None)
            if self.granted is not None:
                self.last = self.granted


@cocotb.test()
async def random_requests(dut):
    await start(dut)
    n = dut.N.value.to_unsigned()
    model = Model(n)
    granted = [0] * n
    for _ in range(40):
        density, length = random.choice((0.1, 0.5, 1)), random.choice((1, 2, 10))
        for _ in range(50):
            requests = sum(1 << i for i in range(n) if random.random() < density)
            done = random.random() < 1 / length
            dut.req_i.value, dut.done_i.value = requests, int(done)
            model.step(requests, done)
            await FallingEdge(dut.clk_i)
            assert dut.grant_o.value == (0 if model.granted is None else 1 << model.granted)
            if model.granted is not None:
                granted[model.granted] += 1
    assert min(granted) > 0


@cocotb.test()
async def all_are_served_in_turn(dut):
    await start(dut)
    n = dut.N.value.to_unsigned()
    dut.req_i.value, dut.done_i.value = 2**n - 1, 1
    for i in range(3 * n):
        await FallingEdge(dut.clk_i)
        assert dut.grant_o.value == 1 << i % n


@pytest.mark.parametrize("n", [2, 5, 8])
def test_pen_arbiter_rr(n):
    run_module("pen_arbiter_rr", __name__, {"N": n})
