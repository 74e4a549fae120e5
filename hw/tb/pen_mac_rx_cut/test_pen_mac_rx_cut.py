# SPDX-License-Identifier: Apache-2.0
"""Beats with random idle and back-pressure through random cuts: each frame that begins ends once."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module

PORT_DISABLED = 7


def beat(last, reason, data, short_gap=0):
    return last << 12 | short_gap << 11 | reason << 8 | data


@cocotb.test()
async def every_frame_ends_once(dut):
    dut.rst_i.value = 1
    dut.cut_i.value = dut.valid_i.value = dut.beat_i.value = dut.ready_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    inside, ends, whole, cut_left, owed = False, 0, 0, 0, 0
    fed = []  # beats of the frame that the MAC is giving
    for _ in range(20_000):
        if cut_left == 0 and random.random() < 0.01:
            cut_left = random.choice((1, 2, 5, 40))
        cut = cut_left > 0
        cut_left -= cut
        if cut:
            fed = []  # the reset of the MAC
        elif not fed:
            size = random.choice((1, 2, 10))
            fed = [beat(0, 0, random.getrandbits(8)) for _ in range(size)]
            fed.append(beat(1, random.choice((0, 5)), random.getrandbits(8), random.getrandbits(1)))
        valid = bool(fed) and random.random() < 0.8
        ready = random.random() < 0.7
        dut.cut_i.value, dut.ready_i.value, dut.valid_i.value = int(cut), int(ready), int(valid)
        dut.beat_i.value = fed[0] if valid else random.getrandbits(13)
        await FallingEdge(dut.clk_i)
        if owed:
            assert dut.valid_o.value == 1 and dut.ready_o.value == 0
            assert dut.beat_o.value == beat(1, PORT_DISABLED, 0)
            if ready:
                inside, owed, ends = False, False, ends + 1
        else:
            assert dut.valid_o.value == int(valid and not cut)
            assert dut.ready_o.value == int(ready and not cut)
            if valid and not cut:
                assert dut.beat_o.value == fed[0]
                if ready:
                    last = fed.pop(0) >> 12
                    inside = not last
                    whole += last
            owed = inside and cut
        await RisingEdge(dut.clk_i)
    assert ends > 50 and whole > 500


def test_pen_mac_rx_cut():
    run_module("pen_mac_rx_cut", __name__)
