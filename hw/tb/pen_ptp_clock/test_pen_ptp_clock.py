# SPDX-License-Identifier: Apache-2.0
"""The PTP clock in every cycle against its twin in engine/shaper, with commands of all kinds and leaps of time."""

import random
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from runner import SIM, run_module

from penstock._engine import PtpClock

SECOND = 10**9
NOMINAL = 8 << 32
SET, STEP, SLEW, INCREMENT = 1, 2, 3, 4
NONE, NANOSECONDS, BEYOND, TOO_SLOW, RATE, COMMAND = range(6)
DELAY = 41  # cycles from the one in which a command is taken to the one in which it acts


class Bench:
    """The clock beside its twin; every cycle is compared."""

    def __init__(self, dut):
        self.dut = dut
        self.lead_ns = 8 * dut.LEAD_CYCLES.value.to_unsigned()
        self.pps_high_ns = dut.PPS_HIGH_NS.value.to_unsigned()
        self.twin = PtpClock(0, 0)
        self.cycle = 0
        self.error = NONE
        self.stepped = False
        self.next_gate = None  # gate time, and whether it was stepped, as said a cycle ahead
        self.seen_pps = set()

    async def start(self):
        dut = self.dut
        dut.rst_i.value = 1
        dut.u_drive.go.value = dut.u_drive.cycles.value = 0
        dut.command_valid_i.value = dut.command_i.value = dut.command_data_i.value = 0
        dut.u_drive.gate_wake_ns.value = 2**64 - 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await FallingEdge(dut.clk_i)
        self.cycle = 1
        self.check()

    @property
    def ns(self):
        return self.twin.ns(self.cycle)

    @property
    def time(self):
        """In units of 2^-32 ns."""
        return self.ns << 32 | self.twin.time(self.cycle)[2]

    def check(self, ready=False):
        dut = self.dut
        shown = dut.time_o.value.to_unsigned()
        seconds, ns, fraction = shown >> 62, shown >> 32 & (1 << 30) - 1, shown & 0xFFFFFFFF
        assert ns < SECOND
        assert (seconds, ns, fraction) == self.twin.time(self.cycle), f"cycle {self.cycle}"
        assert self.next_gate in (None, (self.ns + self.lead_ns, int(self.stepped)))
        self.next_gate = dut.gate_time_next_o.value.to_unsigned(), int(dut.stepped_next_o.value)
        assert dut.command_ready_o.value == int(ready)
        assert dut.error_o.value == self.error or not ready
        pps = int(ns < self.pps_high_ns)
        assert dut.pps_o.value == pps
        self.seen_pps.add(pps)

    async def next(self):
        await FallingEdge(self.dut.clk_i)
        self.cycle += 1
        self.stepped = False

    async def run(self, cycles):
        for _ in range(cycles):
            await self.next()
            self.check()

    async def leap(self, cycles):
        drive = self.dut.u_drive
        assert self.dut.idle_o.value == 1
        drive.cycles.value, drive.go.value = cycles, 1
        await Timer(1, "ps")
        drive.go.value = 0
        await Timer(1, "ps")
        self.cycle += cycles
        self.stepped, self.next_gate = False, None
        self.check()

    async def command(self, which, data):
        """Gives a command and follows it until it has been answered; returns the error."""
        dut = self.dut
        dut.command_valid_i.value, dut.command_i.value, dut.command_data_i.value = 1, which, data
        for step in range(1, DELAY + 1):
            await self.next()
            if step == DELAY:
                self.error = self.act(which, data)
                self.stepped = which in (SET, STEP) and self.error == NONE
            self.check(ready=step == DELAY)
        dut.command_valid_i.value = 0
        dut.command_data_i.value = random.getrandbits(80)
        await self.run(1)
        return self.error

    def act(self, which, data):
        """The same in the twin, in this cycle."""
        low, high = data & 0xFFFFFFFF, data >> 32
        if which == SET:
            return self.twin.set(self.cycle, high, low)
        if which == STEP:
            return self.twin.step(self.cycle, high - (high >> 47 << 48), low)
        if which == SLEW:
            return self.twin.slew(self.cycle, low - (low >> 31 << 32), high & 0xFFFFFFFF)
        if which == INCREMENT:
            return self.twin.set_increment(self.cycle, data & (1 << 40) - 1)
        return COMMAND


def moment(seconds, ns):
    return (seconds & (1 << 48) - 1) << 32 | ns


def slew(amount, rate):
    return rate << 32 | amount & 0xFFFFFFFF


@cocotb.test()
async def counts_seconds(dut):
    """Over the border of a second at every phase, with several rates."""
    bench = Bench(dut)
    await bench.start()
    await bench.run(20)
    for increment in (NOMINAL, NOMINAL + 1, NOMINAL - 1, 1 << 32, (1 << 40) - 1, 8_000_800_000 * 2**32 // 10**9):
        assert await bench.command(INCREMENT, increment) == NONE
        for late in random.sample(range(300), 12):
            assert await bench.command(SET, moment(random.getrandbits(32), SECOND - 1 - late)) == NONE
            await bench.run(300 // (increment >> 32) + 4)
    assert bench.seen_pps == {0, 1}


@cocotb.test()
async def steps_over_seconds(dut):
    """Steps forth and back, to either side of a second's border, exact to the fraction."""
    bench = Bench(dut)
    await bench.start()
    await bench.command(INCREMENT, NOMINAL + 0x1234567)
    await bench.command(SET, moment(1000, 0))
    for _ in range(60):
        offset = random.choice((0, 1, -1, 8, -8, SECOND, -SECOND, random.randrange(-5 * SECOND, 5 * SECOND)))
        if random.random() < 0.5:  # to within a few cycles of a border
            target = (bench.ns // SECOND + random.randrange(-2, 3)) * SECOND + random.randrange(-700, 300)
            offset = target - bench.ns
        assert await bench.command(STEP, moment(offset // SECOND, offset % SECOND)) == NONE
        await bench.run(random.choice((0, 1, 2, 40)))


@cocotb.test()
async def slews_exactly(dut):
    bench = Bench(dut)
    await bench.start()
    for amount, rate in ((5, 2**31), (-5, 2**31), (1, 1 << 28), (-3, 0xFFFFFFFF), (7, 0x55555555), (0, 0), (0, 9)):
        before = bench.time - bench.cycle * NOMINAL
        assert await bench.command(SLEW, slew(amount, rate)) == NONE
        while bench.twin.is_slewing(bench.cycle):
            await bench.run(1)
        await bench.run(4)
        assert bench.dut.slewing_o.value == 0
        assert bench.time - bench.cycle * NOMINAL == before + (amount << 32)
    assert await bench.command(SLEW, slew(-(2**31), 77)) == NONE
    await bench.run(50)
    assert bench.dut.slewing_o.value == 1
    assert await bench.command(SLEW, slew(2**31 - 1, 2**30)) == NONE
    await bench.run(50)
    assert await bench.command(STEP, moment(3, 5)) == NONE
    await bench.run(10)
    assert bench.dut.slewing_o.value == 0


@cocotb.test()
async def refuses_what_cannot_be(dut):
    """Refused commands change nothing; the largest and smallest allowed ones are taken."""
    bench = Bench(dut)
    await bench.start()
    end = 2**63
    assert await bench.command(SET, moment(5, SECOND)) == NANOSECONDS
    assert await bench.command(SET, moment(5, 2**32 - 1)) == NANOSECONDS
    assert await bench.command(STEP, moment(0, SECOND)) == NANOSECONDS
    assert await bench.command(SET, moment(end // SECOND, end % SECOND)) == BEYOND
    for bit in range(34, 48):
        assert await bench.command(SET, moment(1 << bit, 0)) == BEYOND
    assert await bench.command(INCREMENT, 0xFFFFFFFF) == TOO_SLOW
    assert await bench.command(SLEW, slew(1, 0)) == RATE
    for which in (0, 5, 6, 7):
        assert await bench.command(which, random.getrandbits(80)) == COMMAND
    assert await bench.command(STEP, moment(-100, 0)) == BEYOND
    assert await bench.command(SET, moment((end - 4000) // SECOND, (end - 4000) % SECOND)) == NONE
    await bench.run(20)
    for forth in (3600, 5000):
        assert await bench.command(STEP, moment(0, forth)) == BEYOND
    assert await bench.command(STEP, moment(-(2**33) - 1, 0)) == BEYOND
    assert await bench.command(STEP, moment(2**33, 0)) == BEYOND
    assert await bench.command(STEP, moment(-(2**33), 0)) == NONE
    assert await bench.command(STEP, moment(-(bench.ns // SECOND), 0)) == NONE
    assert bench.ns < 2 * SECOND
    assert await bench.command(STEP, moment(-1 - bench.ns // SECOND, 0)) == BEYOND
    assert await bench.command(STEP, moment(2**33 - 1, 123)) == NONE


@cocotb.test()
async def anything_goes(dut):
    """Random commands, valid or not, with runs and leaps between them."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(250):
        kind = random.randrange(10)
        if kind < 2:
            ns = random.choice((0, 1, SECOND - 1, SECOND - random.randrange(1, 400), random.getrandbits(30)))
            await bench.command(SET, moment(random.choice((0, random.getrandbits(33), random.getrandbits(34))), ns))
        elif kind < 4:
            offset = random.randrange(-(2 ** random.randrange(1, 62)), 2 ** random.randrange(1, 62))
            await bench.command(STEP, moment(offset // SECOND, offset % SECOND))
        elif kind < 7:
            amount = random.randrange(-(2 ** random.randrange(1, 31)), 2 ** random.randrange(1, 31))
            await bench.command(SLEW, slew(amount, random.getrandbits(random.randrange(1, 33))))
        elif kind < 9:
            near = NOMINAL + random.randrange(-(2**26), 2**26)
            await bench.command(INCREMENT, random.choice((near, near, random.getrandbits(40))))
        else:
            await bench.command(random.randrange(8), random.getrandbits(80))
        await bench.run(random.choice((0, 0, 1, 2, 3, 30)))
        while random.random() < 0.6:
            await bench.leap(random.choice((4, 5, 8, random.randrange(4, 200), random.getrandbits(20) + 4)))
            await bench.run(random.choice((0, 1, 2, 3, 10)))
        if bench.ns > 2**62:
            await bench.command(SET, moment(random.getrandbits(31), 0))


@cocotb.test()
async def wakes_before_anything_happens(dut):
    """Leaps of quiet_cycles never go past an edge of the second or the time that the gates gave, and get there."""
    bench = Bench(dut)
    await bench.start()
    for increment in (NOMINAL, NOMINAL + 2**28, NOMINAL - 2**28):
        await bench.command(INCREMENT, increment)
        await bench.command(SET, moment(7, 0))
        for target in sorted((40_000, bench.pps_high_ns, SECOND, SECOND + bench.pps_high_ns)):
            gate_wake = 7 * SECOND + target if target == 40_000 else 2**64 - 1
            dut.u_drive.gate_wake_ns.value = gate_wake
            leaps = 0
            while True:
                await bench.run(1)
                cycles = dut.u_drive.quiet_cycles.value.to_unsigned()
                if cycles < 6:
                    break
                await bench.leap(cycles - 2)
                leaps += 1
                reached = bench.ns + (bench.lead_ns if target == 40_000 else 0)
                assert reached < 7 * SECOND + target
            assert 7 * SECOND + target - bench.ns < 3000
            assert leaps < 12
            dut.u_drive.gate_wake_ns.value = 2**64 - 1
            while bench.ns < 7 * SECOND + target:
                await bench.run(1)


@pytest.mark.parametrize(("lead", "high"), [(4, 100_000_000), (7, 1000)])
def test_pen_ptp_clock(lead, high):
    leaps = (SIM / "pen_ptp_clock_leap.sv", Path(__file__).parent / "pen_ptp_clock_leap_tb.sv")
    run_module(
        "pen_ptp_clock",
        __name__,
        {"LEAD_CYCLES": lead, "PPS_HIGH_NS": high},
        extra_sources=(SIM / "leap.vlt", *leaps),
    )
