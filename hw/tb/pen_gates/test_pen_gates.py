# SPDX-License-Identifier: Apache-2.0
"""The gates of two ports and their configuration, each cycle against the state machines of the engine.

The clock of a run has any rate from 7 to 9 ns a cycle and leaps over what is quiet, as the simulation of a switch does.
"""

import os
import random
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from runner import SIM, run_module

from penstock._engine import GateList, Gates

pytestmark = pytest.mark.long(130)

PORTS = 2
LEAD = 32768
LONGEST = 8 * 2020  # what a frame of 2000 bytes takes
HORIZON = 16383
SECOND = 1_000_000_000
ERRORS = {"empty": 1, "many": 2, "interval": 3, "operation": 4, "cycle": 5, "base": 6, "past": 7}


class Bench:
    def __init__(self, dut, rng, start_ns=0):
        self.dut, self.rng = dut, rng
        self.entries = dut.ENTRIES.value.to_unsigned()
        self.prepare = max(65536, 512 * self.entries)
        self.longer = self.prepare // 65536  # what is to be beyond it, by how much farther
        self.fine = self.fine_next = start_ns << 32  # gate time in 2^-32 ns: now, and as it is told a cycle ahead
        self.rate = 8 << 32
        self.seen = []  # gate times of the last cycles
        self.gates = [Gates() for _ in range(PORTS)]
        self.enabled = [True] * PORTS
        self.initial = [0xFF] * PORTS
        self.changing = [None] * PORTS  # (since, GateList, time) of what the engine has still to be told
        self.unsure_until = [0] * PORTS  # the look-ahead knows a change two microseconds early
        self.checks = self.guarded = self.edges = 0
        self.last_states = [None] * PORTS

    @property
    def now(self):
        return self.fine >> 32

    async def start(self):
        dut = self.dut
        for name in (
            "stepped_next_i", "write_i", "write_index_i", "write_entry_i", "admin_base_seconds_i",
            "admin_base_nanoseconds_i", "admin_cycle_time_ns_i", "admin_extension_ns_i", "admin_length_i", "commit_i",
            "commit_port_i", "status_i", "status_port_i", "status_which_i",
        ):  # fmt: skip
            getattr(dut, name).value = 0
        dut.gate_time_next_i.value = self.now
        dut.enable_i.value = 3
        dut.initial_states_i.value = 0xFFFF
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(4):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for _ in range(4):
            await self.cycle()

    def set_initial(self, port, states, enabled=True):
        self.initial[port], self.enabled[port] = states, enabled
        self.gates[port].set_initial_states(states)
        self.gates[port].set_enabled(enabled)
        self.dut.initial_states_i.value = self.initial[1] << 8 | self.initial[0]
        self.dut.enable_i.value = self.enabled[1] << 1 | self.enabled[0]
        self.seen = []

    async def cycle(self, leap_to=None, step_to=None):
        """One cycle, or two: a leap or a step is told a cycle ahead."""
        leaps = step_to is None and leap_to is not None and leap_to > self.now + 1000
        if step_to is not None or leaps:
            await self.one_cycle(then=leap_to if leaps else step_to, steps_then=not leaps)
        await self.one_cycle(leaps, step_to is not None)

    async def one_cycle(self, leaps=False, steps=False, then=None, steps_then=False):
        """Time goes on, and the outputs are compared. Inputs change at the falling edge."""
        self.seen.append(self.now)
        last = self.now
        self.fine = self.fine_next
        if steps:
            for port in range(PORTS):
                since = self.now + 8 * self.prepare
                ahead = self.gates[port].stepped(last, self.now + LEAD)
                if self.changing[port]:
                    ahead = self.changing[port][1:]
                if ahead:
                    gate_list, at = ahead
                    if at < since + LEAD:
                        at = gate_list.start_from(since + LEAD)
                    self.changing[port] = (since, gate_list, at)
            self.seen = []
        elif leaps:
            self.seen = []
        self.fine_next = self.fine + self.rate if then is None else then << 32
        self.dut.gate_time_next_i.value = self.fine_next >> 32
        self.dut.stepped_next_i.value = int(steps_then)
        for port in range(PORTS):
            if self.changing[port] and self.now >= self.changing[port][0] - 2048:
                self.unsure_until[port] = self.changing[port][0] + 400
            if self.changing[port] and self.seen and self.seen[-1] >= self.changing[port][0]:
                since, gate_list, at = self.changing[port]
                self.gates[port].propose(since, gate_list, at)
                self.changing[port] = None
        await FallingEdge(self.dut.clk_i)
        if len(self.seen) > 4:
            self.seen.pop(0)
            self.check()

    def check(self):
        """`seen` ends with the gate time of the cycle before, which is what `open_next_o` goes by."""
        dut = self.dut
        at = self.seen[-1]
        open_now, guard = int(dut.open_next_o.value), int(dut.guard_next_o.value)
        remaining, after = int(dut.remaining_next_ns_o.value), int(dut.after_next_ns_o.value)
        for port in range(PORTS):
            gates = self.gates[port]
            states = open_now >> 8 * port & 0xFF
            want = gates.states(at)
            assert states == want, f"port {port} at {at}: states {states:02x}, the engine has {want:02x}"
            if states != self.last_states[port]:
                self.edges += 1
                self.last_states[port] = states
            k = self.rng.randrange(8)
            close = gates.close(at, k)
            assert (close is not None) == bool(want >> k & 1)
            if close is None:
                continue
            expected = min(close - at, LONGEST)
            found = LONGEST
            if guard >> port & 1:
                found = min((remaining >> 16 * port & 0xFFFF) + (after >> 14 * (8 * port + k) & HORIZON), LONGEST)
                self.guarded += found < LONGEST
            if at >= self.unsure_until[port]:
                assert found == expected, f"port {port} class {k} at {at}: open for {found}, the engine has {expected}"
            self.checks += 1

    async def run_until(self, ns, leap=True):
        while self.now < ns:
            wake = int(self.dut.wake_ns_o.value) if leap else 0
            await self.cycle(leap_to=min(wake, ns - 100))

    async def stage(self, entries):
        dut = self.dut
        for index, (operation, states, interval) in enumerate(entries):
            dut.write_i.value = 1
            dut.write_index_i.value = index
            dut.write_entry_i.value = operation << 40 | states << 32 | interval
            while not int(dut.write_ready_o.value):
                await self.cycle()
            await self.cycle()
            dut.write_i.value = 0
            for _ in range(self.rng.randrange(3)):
                await self.cycle()

    async def status(self, port):
        dut = self.dut
        values = []
        for which in range(3):
            dut.status_i.value, dut.status_port_i.value, dut.status_which_i.value = 1, port, which
            await Timer(1, "ns")
            while not int(dut.status_ready_o.value):
                await self.cycle()
                await Timer(1, "ns")
            values.append(int(dut.status_value_o.value))
            errors, error = int(dut.status_errors_o.value), int(dut.status_error_o.value)
            if self.rng.random() < 0.5:
                dut.status_i.value = 0
            await self.cycle()
        dut.status_i.value = 0
        change_time, base_time, cycle = values
        return {
            "change_time_ns": change_time,
            "base_time_ns": base_time,
            "cycle_time_ns": cycle & 0xFFFF_FFFF,
            "extension_ns": cycle >> 32,
            "errors": errors,
            "error": error,
        }

    async def commit(self, port, entries, cycle_time, base=0, extension=0, length=None, seconds=None, error=None):
        """Commits a list; gives its ConfigChangeTime, or none if it has to be refused with `error`."""
        dut = self.dut
        await self.stage(entries[: self.entries])
        dut.admin_base_seconds_i.value = base // SECOND if seconds is None else seconds[0]
        dut.admin_base_nanoseconds_i.value = base % SECOND if seconds is None else seconds[1]
        dut.admin_cycle_time_ns_i.value = cycle_time
        dut.admin_extension_ns_i.value = extension
        dut.admin_length_i.value = len(entries) if length is None else length
        dut.commit_port_i.value = port
        dut.commit_i.value = 1
        await Timer(1, "ns")
        while not int(dut.commit_ready_o.value):
            await self.cycle()
            await Timer(1, "ns")
        await self.cycle()
        taken = self.now
        dut.commit_i.value = 0
        dut.admin_base_seconds_i.value = self.rng.getrandbits(48)
        dut.admin_cycle_time_ns_i.value = self.rng.getrandbits(32)
        dut.admin_length_i.value = self.rng.getrandbits(16)
        if error:
            while int(dut.busy_o.value):
                await self.cycle()
            return None
        gate_list = GateList(entries, cycle_time, base_time=base, extension=extension)
        at = gate_list.start_from(taken + self.prepare + LEAD)
        self.changing[port] = (taken + self.prepare, gate_list, at)
        return at

    async def settle(self):
        """Until no commit is worked on."""
        while int(self.dut.busy_o.value) or any(self.changing):
            ends = [change[0] for change in self.changing if change]
            await self.cycle(leap_to=min([int(self.dut.wake_ns_o.value), *ends]))


def largest(gate_list, k):
    window = gate_list.largest_window(k)
    return HORIZON if window is None else min(window, HORIZON)


async def begin(dut, start_ns=0, rate=None):
    bench = Bench(dut, random.Random(random.getrandbits(32)), start_ns)
    if rate is not None:
        bench.rate = rate
    await bench.start()
    return bench


@cocotb.test()
@cocotb.parametrize(rate=[8 << 32, (9 << 32) - 1, 7 << 32, int(8.0003 * 2**32)])
async def edges_of_64_ns(dut, rate):
    """Entries of the least interval, at rates that make 7 cycles of one."""
    bench = await begin(dut, 10**12 + 5, rate)
    entries = [(0, 1 << (i % 8), 64) for i in range(8)]
    at = await bench.commit(0, entries, 512, base=3)
    single = await bench.commit(1, [(0, 0xA5, 64)], 64)
    await bench.run_until(max(at, single) + 20_000)
    assert bench.edges > 200


@cocotb.test()
async def exact_edges_and_windows(dut):
    """One window in a cycle of 250 us, by hand."""
    bench = await begin(dut, 5 * SECOND)
    bench.set_initial(0, 0x0F)
    entries = [(0, 0x80, 20_000), (0, 0x41, 30_000), (0, 0x01, 200_000)]
    at = await bench.commit(0, entries, 250_000, base=SECOND)
    assert at % 250_000 == 0
    await bench.settle()
    assert int(dut.pending_o.value) == 1
    assert (await bench.status(0))["change_time_ns"] == at
    await bench.run_until(at - 100)
    states = []
    while bench.now < at + 20_100:
        await bench.cycle()
        states.append((bench.seen[-1], int(dut.open_next_o.value) & 0xFF))
    assert all(state == (0x0F if time < at else 0x80 if time < at + 20_000 else 0x41) for time, state in states)
    assert (await bench.status(0))["base_time_ns"] == SECOND
    windows = int(dut.largest_window_ns_o.value)
    assert [windows >> 14 * k & HORIZON for k in range(8)] == [HORIZON, 0, 0, 0, 0, 0, HORIZON, HORIZON]
    await bench.run_until(at + 600_000, leap=False)


@cocotb.test()
async def lists_are_refused(dut):
    """Each mistake has its code; what runs goes on."""
    bench = await begin(dut, SECOND)
    good = [(0, 1, 100), (1, 2, 100), (2, 4, 100)]
    at = await bench.commit(0, good, 300)
    await bench.run_until(at + 1000)
    cases = [
        ("empty", {"entries": good, "cycle_time": 300, "length": 0}),
        ("many", {"entries": good, "cycle_time": 300, "length": bench.entries + 1}),
        ("interval", {"entries": [*good, (0, 1, 63)], "cycle_time": 300}),
        ("interval", {"entries": [(0, 1, 0)], "cycle_time": 300}),
        ("operation", {"entries": [(3, 1, 64)], "cycle_time": 300}),
        ("cycle", {"entries": good, "cycle_time": 0}),
        ("cycle", {"entries": good, "cycle_time": 63}),
        ("base", {"entries": good, "cycle_time": 300, "seconds": (9223372036, 854775808)}),
        ("base", {"entries": good, "cycle_time": 300, "seconds": (2**48 - 1, 0)}),
        ("base", {"entries": good, "cycle_time": 300, "seconds": (0, SECOND)}),
    ]
    for errors, (name, case) in enumerate(cases, 1):
        await bench.commit(0, error=name, **case)
        status = await bench.status(0)
        assert (status["error"], status["errors"]) == (ERRORS[name], errors), name
        assert int(dut.pending_o.value) == 0 and (await bench.status(1))["errors"] == 0
    await bench.run_until(bench.now + 5000)
    # The last time that the clock knows is taken, and may be replaced.
    last = 2**63 - 1
    assert await bench.commit(0, good, 300, base=last) == last
    await bench.settle()
    assert int(dut.pending_o.value) == 1
    assert (await bench.status(0))["change_time_ns"] == last
    await bench.run_until(bench.now + 5000)
    # In the past while a list runs: taken, and counted.
    at = await bench.commit(0, [(0, 0xF0, 200)], 1000, base=5)
    await bench.run_until(at + 5000)
    status = await bench.status(0)
    assert status["error"] == ERRORS["past"]
    # Ahead, but by less than the preparation: late and yet not past.
    for ahead in (bench.prepare + LEAD - 100, 3000):
        at = await bench.commit(0, [(0, 0xF0, 200)], 1000, base=bench.now + ahead)
        await bench.run_until(at + 5000)
        assert (await bench.status(0))["errors"] == status["errors"]


@cocotb.test()
@cocotb.parametrize(
    (
        ("phase", "extension"),
        [
            (0, 0),
            (63, 0),
            (64, 0),
            (500, 500),
            (501, 500),
            (30_065, 0),
            (70_000, 90_000),
        ],
    )
)
async def changes_with_and_without_extension(dut, phase, extension):
    """A list replaces another at some phase of its cycle: the last cycle is cut, or prolonged."""
    bench = await begin(dut, 77 * SECOND + 123)
    entries = [(0, 0x81, 30_000), (0, 0x42, 64), (0, 0x24, 40_000), (0, 0x18, 50_000)]
    at = await bench.commit(0, entries, 100_000, base=17, extension=extension)
    await bench.run_until(at + 50_000)
    change = at + 400_000 * bench.longer + phase
    new = [(0, 0xC3, 15_000), (0, 0x3C, 25_000)]
    assert await bench.commit(0, new, 40_000, base=change) == change
    await bench.run_until(change + 100_000)
    assert int(dut.running_o.value) == 1 and int(dut.pending_o.value) == 0


def random_list(rng, most):
    count = rng.choice([1, 1, 2, 3, rng.randrange(1, most + 1)])
    longest = rng.choice([70, 200, 3_000, 30_000, 200_000])
    states = rng.getrandbits(8)
    entries = []
    for _ in range(count):
        if rng.random() < 0.7:
            states = rng.choice([rng.getrandbits(8), states ^ 1 << rng.randrange(8), 0xFF])
        entries.append((rng.randrange(3), states, rng.choice([64, 65, 72, rng.randrange(64, longest)])))
    total = sum(interval for _, _, interval in entries)
    cycle = rng.choice([total, total, max(64, total - rng.randrange(total)), total + rng.randrange(1, 70_000)])
    return entries, cycle, rng.choice([0, 0, rng.randrange(100), rng.randrange(cycle), 3 * cycle])


@cocotb.test()
async def a_pending_change_is_replaced(dut):
    """A commit takes the place of a pending one; one that comes too late for that waits until it has acted."""
    bench = await begin(dut, 3 * SECOND)
    port = 1
    far = bench.now + 400_000_000
    assert await bench.commit(port, [(0, 0x0F, 1000)], 1000, base=far) == far
    await bench.settle()
    at = await bench.commit(port, [(0, 0x3C, 500), (0, 0xFF, 300)], 1000)
    await bench.run_until(at + 3000)
    # A list that runs, a change far ahead, replaced by one that is near, replaced by the next.
    far = bench.now + 30 * SECOND
    assert await bench.commit(port, [(0, 0xAA, 200)], 200, base=far) == far
    await bench.settle()
    near = bench.now + 500_000 * bench.longer
    assert await bench.commit(port, [(0, 0x55, 200)], 200, base=near) == near
    await bench.settle()
    assert (await bench.status(port))["change_time_ns"] == near
    at = await bench.commit(port, [(0, 0x11, 2000), (0, 0x22, 3000)], 5000, base=7)
    assert at < near
    await bench.run_until(near + 20_000)
    # The last cycle has begun: what is committed then waits.
    near = bench.now + 200_000 * bench.longer
    await bench.commit(port, [(0, 0x77, 200)], 200, base=near)
    await bench.settle()
    await bench.run_until(near - 2000, leap=False)
    assert int(dut.locked_o.value) >> port & 1
    dut.admin_base_seconds_i.value = 0
    dut.admin_base_nanoseconds_i.value = 0
    dut.admin_cycle_time_ns_i.value = 640
    dut.admin_length_i.value = 1
    dut.commit_i.value = 1
    await bench.cycle()
    dut.commit_i.value = 0
    await bench.run_until(near + 20_000, leap=False)  # the one that was locked runs
    assert int(dut.busy_o.value) and not int(dut.pending_o.value) >> port & 1
    bench.seen.clear()
    bench.gates[port] = Gates(enabled=False)
    bench.set_initial(port, 0xFF, enabled=False)
    await bench.run_until(near + 400_000 * bench.longer)
    assert (await bench.status(port))["cycle_time_ns"] == 640
    bench.seen.clear()


@cocotb.test()
async def a_step_holds_the_states(dut):
    """By hand: states stay until the first cycle that begins 32768 ns after the step; a change ahead is set back."""
    bench = await begin(dut, 9 * SECOND)
    for by in (-300, 5_000_000):
        base = bench.now + 200_000 * bench.longer
        at = await bench.commit(0, [(0, 0x01, 10_000), (0, 0x02, 90_000)], 100_000, base=base)
        assert at == base
        await bench.run_until(base + 1_050_000)
        to = bench.now + by
        await bench.cycle(step_to=to)
        earliest = to + LEAD
        start = base + -((earliest - base) // -100_000) * 100_000 if earliest > base else base
        while bench.now < start - 16:
            await bench.cycle()
            assert int(dut.open_next_o.value) & 0xFF == 0x02
        for _ in range(6):
            await bench.cycle()
        assert int(dut.open_next_o.value) & 0xFF == 0x01
        change = bench.now + 1_000_000 * bench.longer
        await bench.commit(0, [(0, 0x10, 1_000)], 1_000, base=change)
        await bench.settle()
        to = bench.now + 700_000
        await bench.cycle(step_to=to)
        await bench.settle()
        earliest = to + 8 * bench.prepare + LEAD
        expected = change if change >= earliest else change + -((earliest - change) // -1000) * 1000
        assert (await bench.status(0))["change_time_ns"] == expected
        await bench.run_until(expected + 10_000)
        assert int(dut.open_next_o.value) & 0xFF == 0x10


@cocotb.test()
async def random_lists(dut):
    """Lists that replace each other on both ports, clocks of any rate, steps; each cycle against the engine."""
    bench = await begin(dut, random.Random(1).randrange(1 << 50))
    rng = bench.rng
    steps = 0
    cycles = [0] * PORTS
    rounds = int(os.environ.get("PENSTOCK_GATE_ROUNDS", "3"))
    for done in range(rounds + 20):  # in some rounds no list comes to run
        if done >= rounds and bench.edges > 500 and bench.guarded > 500:
            break
        if rng.random() < 0.3:
            bench.rate = rng.choice([8 << 32, rng.randrange(7 << 32, (9 << 32) + 1), int(8.0001 * 2**32)])
        for port in rng.sample(range(PORTS), rng.choice([1, 2])):
            if bench.changing[port] or bench.gates[port].pending(bench.now) is not None:
                continue
            if bench.gates[port].running(bench.now) is None:
                bench.set_initial(port, rng.getrandbits(8), rng.random() < 0.9)
            entries, cycle, extension = random_list(rng, bench.entries)
            base = rng.choice([
                rng.randrange(1 << 40),
                bench.now + bench.prepare + LEAD + rng.randrange(200_000),
                bench.now + rng.randrange(2 * (bench.prepare + LEAD)),
            ])  # fmt: skip
            await bench.commit(port, entries, cycle, base=base, extension=extension)
            cycles[port] = cycle
            await bench.settle()
        if rng.random() < 0.25:
            steps += 1
            to = bench.now + rng.choice([1, -1]) * rng.choice([rng.randrange(200), rng.randrange(10**6)])
            await bench.cycle(step_to=to)
        # A few cycles of the longer list: more of a short one would be the same again, and cannot be leapt over.
        span = min(20_000 + rng.choice([1, 4]) * max(cycles), 300_000)
        await bench.run_until(bench.now + span)
        if rng.random() < 0.7:
            await bench.settle()
        pending = [time for gates in bench.gates if (time := gates.pending(bench.now)) is not None]
        if pending and rng.random() < 0.8 and max(pending) < bench.now + 10**7:
            await bench.run_until(max(pending) + span)
            for port in range(PORTS):
                running = bench.gates[port].running(bench.now)
                windows = int(dut.largest_window_ns_o.value) >> 112 * port
                for k in range(8 if running else 0):
                    assert windows >> 14 * k & HORIZON == largest(running, k)
    dut._log.info(f"{bench.checks} windows compared, {bench.guarded} guarded, {bench.edges} edges, {steps} steps")
    assert bench.edges > 500 and bench.guarded > 500


HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(
    "entries", [pytest.param(16), pytest.param(8, marks=pytest.mark.slow), pytest.param(1024, marks=pytest.mark.slow)]
)
def test_pen_gates(entries):
    sources = (SIM / "pen_gates_wake.sv", SIM / "pen_gate_sequence_wake.sv", HERE / "pen_gates_tb.sv")
    run_module("pen_gates_tb", __name__, {"ENTRIES": entries}, extra_sources=sources)
