# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module


def served_first(may_send, members, last):
    """The class of the highest rank; members share that of the highest of them, and take turns from `last` down."""
    turns = [k for k in ((last - step) % 8 for step in range(1, 9)) if members >> k & may_send >> k & 1]
    strict = [k for k in range(8) if may_send >> k & ~members >> k & 1]
    rank = members.bit_length() - 1
    return max([(k, k) for k in strict] + [(rank, k) for k in turns[:1]])[1]


class Bench:
    def __init__(self, dut):
        self.dut, self.members, self.last = dut, 0, 0

    async def start(self):
        dut = self.dut
        dut.enable_i.value = dut.round_robin_i.value = 0
        dut.ready_i.value = dut.fits_i.value = dut.credit_i.value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0

    async def offer(self, enable, may_send, members=None):
        """What is served of these classes; what may not send lacks one of the three reasons, or more.

        Members that are set meanwhile act from the next cycle on.
        """
        dut = self.dut
        ready, fits, credit = (may_send | random.getrandbits(8) for _ in range(3))
        credit &= ~(ready & fits & credit & ~may_send)
        dut.enable_i.value, dut.ready_i.value, dut.fits_i.value, dut.credit_i.value = enable, ready, fits, credit
        if members is not None:
            dut.round_robin_i.value = members
        await FallingEdge(dut.clk_i)
        served = dut.chosen_o.value.to_unsigned().bit_length() - 1 if dut.grant_o.value else None
        await RisingEdge(dut.clk_i)
        expected = served_first(may_send, self.members, self.last) if enable and may_send else None
        assert served == expected, (enable, may_send, self.members, self.last)
        was_member = served is not None and self.members >> served & 1
        if was_member:
            self.last = served
        if members is not None:
            self.members = members
        if served is not None:
            await self.pause()
            await self.pause()
        return served

    async def pause(self, members=None):
        """A cycle without a frame, as two and more follow every grant; members act from the next one on."""
        self.dut.enable_i.value = 0
        if members is not None:
            self.dut.round_robin_i.value = self.members = members
        await RisingEdge(self.dut.clk_i)


@cocotb.test()
async def highest_class_first(dut):
    """Every set of classes that may send, told apart by each of the reasons, with the transmitter free and busy."""
    bench = Bench(dut)
    await bench.start()
    await bench.pause()
    cases = [(enable, may_send) for enable in (0, 1) for may_send in range(256)]
    random.shuffle(cases)
    for enable, may_send in cases:
        assert await bench.offer(enable, may_send) == (may_send.bit_length() - 1 if enable and may_send else None)


@cocotb.test()
async def members_take_turns(dut):
    """Random sets of classes and of members that change meanwhile."""
    bench = Bench(dut)
    await bench.start()
    await bench.pause(0b00101010)
    assert [await bench.offer(1, 0b00111011) for _ in range(5)] == [5, 3, 1, 5, 3]
    for _ in range(4000):
        if random.random() < 0.05:
            await bench.pause(random.choice([0, 0xFF, random.getrandbits(8)]))
        may_send = random.getrandbits(8) & random.choice([0xFF, random.getrandbits(8)])
        members = random.getrandbits(8) if random.random() < 0.05 else None
        await bench.offer(int(random.random() < 0.8), may_send, members)


def test_pen_selection():
    run_module("pen_selection", __name__)
