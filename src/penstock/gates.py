# SPDX-License-Identifier: Apache-2.0
"""A gate control list as it acts, and credit over time: what the engine makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock import _engine
from penstock.scenario.limits import START_TIME_NS
from penstock.scenario.network import WIRE_OVERHEAD_BYTES, Bridge, GateList

Entry = tuple[int, int]  # states, interval in ns

_PS = 10**12


def acting_entries(gates: GateList) -> Sequence[Entry]:
    """The entries of a cycle as they act: a list that is too long is cut, the last entry of a short one lasts."""
    return _engine.compile_gates(list(gates.entries), gates.cycle_time_ns)


def largest_window_ns(gates: GateList, traffic_class: int) -> int | None:
    """The longest time for which the class is open without a break; None: it never closes."""
    return _engine.largest_windows(list(gates.entries), gates.cycle_time_ns)[traffic_class]


def open_time_ns(gates: GateList, traffic_class: int) -> int:
    """For how much of a cycle the class is open, GateOpenTime of 802.1Q."""
    return sum(interval for states, interval in acting_entries(gates) if states >> traffic_class & 1)


def wire_ns(frame_bytes: int, rate_bps: int) -> int:
    """What a frame takes of a window, with preamble, delimiter and gap; rounded up."""
    return -(-(frame_bytes + WIRE_OVERHEAD_BYTES) * 8 * 10**9 // rate_bps)


def gate_states(bridge: Bridge, port: int, start_ps: int, stop_ps: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and states of each entry that acts between two times of the run, whole entries."""
    gates = bridge.gates[port]
    clock = bridge.clock

    def run_ps(ptp_ns: int) -> int:
        since_ps = (ptp_ns - START_TIME_NS) * 1000
        if clock.sync_error_ns is not None:
            return since_ps - clock.sync_error_ns * 1000
        return (since_ps - clock.offset_ps) * 10**9 // (10**9 + clock.drift_ppb)

    entries = acting_entries(gates)
    ahead_ps = start_ps - run_ps(gates.base_time_ns)
    cycle_ns = gates.base_time_ns
    if ahead_ps > 0:
        # One too many is left out again below; a clock's drift cannot make up for more.
        cycle_ns += max(ahead_ps // (gates.cycle_time_ns * 1000) - 1, 0) * gates.cycle_time_ns
    elif ahead_ps < 0:
        yield start_ps, min(stop_ps, start_ps - ahead_ps), gates.initial_states
    while run_ps(cycle_ns) < stop_ps:
        at = cycle_ns
        for states, interval_ns in entries:
            begin, end = run_ps(at), run_ps(at + interval_ns)
            if end > start_ps and begin < stop_ps:
                yield begin, end, states
            at += interval_ns
        cycle_ns += gates.cycle_time_ns


@dataclass(frozen=True)
class Occupation:
    """A frame of a class at its port: ready to be selected, selected, and no longer sent. Times of the run in ps."""

    ready: int
    selected: int | None  # None: not in this run
    until: int | None


class CreditOverTime:
    """The credit of a class, replayed by the engine's state machine from when its frames waited and were sent."""

    def __init__(self, bridge: Bridge, port: int, traffic_class: int, rate_bps: int) -> None:
        self._bridge, self._port, self._class = bridge, port, traffic_class
        # Units of 10^-12 bit and ticks of 1 ps, so that a slope in b/s is one in units a tick.
        self._credit = _engine.Credit(bridge.credit[port, traffic_class].idle_slope_bps, rate_bps)

    def points(self, frames: Sequence[Occupation], start_ps: int, stop_ps: int) -> list[tuple[int, float]]:
        """Time and credit in bits wherever its slope changes. The first frame is ready at the start or later."""
        changes: list[tuple[int, int, int]] = []  # time, one more that waits, one more that is sent
        for frame in frames:
            changes.append((frame.ready, 1, 0))
            if frame.selected is not None and frame.until is not None:
                changes.append((frame.selected, -1, 1))
                changes.append((frame.until, 0, -1))
        edges: dict[int, bool] = {}
        if self._port in self._bridge.gates:
            for begin, _, states in gate_states(self._bridge, self._port, start_ps, stop_ps):
                edges[max(begin, start_ps)] = bool(states >> self._class & 1)
        times = sorted({start_ps, stop_ps, *edges, *(at for at, _, _ in changes)})
        changes.sort()
        waiting = sending = place = 0
        is_open = True
        points = []
        for now, then in pairwise(at for at in times if start_ps <= at <= stop_ps):
            while place < len(changes) and changes[place][0] <= now:
                waiting += changes[place][1]
                sending += changes[place][2]
                place += 1
            is_open = edges.get(now, is_open)
            state = {"transmitting": sending > 0, "gate_open": is_open, "waiting": waiting > 0}
            self._credit.advance(0, **state)
            points.append((now, self._credit.credit / _PS))
            left = then - now
            if not sending and is_open and not waiting and self._credit.credit < 0:
                # It rises to zero and stays there.
                rises = min(left, self._credit.ticks_to_zero())
                self._credit.advance(rises, **state)
                points.append((now + rises, self._credit.credit / _PS))
                left -= rises
            self._credit.advance(left, **state)
            points.append((then, self._credit.credit / _PS))
        return points
