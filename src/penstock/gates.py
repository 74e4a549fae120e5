# SPDX-License-Identifier: Apache-2.0
"""Gate states and credit over time, as the engine's state machines have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock import _engine
from penstock.scenario.limits import START_TIME_NS
from penstock.scenario.network import Bridge, Clock, Station
from penstock.scenario.windows import acting

_BYTE_PS = 8 * 10**12  # at 1 b/s
_PORT_RATE = 1 << 27  # of credit in the time of a byte: 8 bits in units of 2^-24
_BIT = 1 << 24


def gate_states(node: Bridge | Station, port: int, start_ps: int, stop_ps: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and states of each entry that acts between two times of the run."""
    settings, clock = node.gates[port], node.clock
    gates = _engine.Gates(settings.initial_states)
    change_ns = settings.base_time_ns
    begins_ns = _ptp_ns(clock, 0)
    entries = acting(settings)
    gates.propose(begins_ns, entries, entries.start_from(max(change_ns, begins_ns)))
    at_ns = max(_ptp_ns(clock, start_ps), begins_ns)
    begin = start_ps
    while begin < stop_ps:
        edge_ns = gates.next_edge(at_ns)
        end = stop_ps if edge_ns is None else min(_run_ps(clock, edge_ns), stop_ps)
        if end > begin:
            yield begin, end, gates.states(at_ns)
        if edge_ns is None:
            return
        begin, at_ns = end, edge_ns


def cycle_start_ps(node: Bridge | Station, port: int, at_ps: int) -> int:
    """When the cycle that runs at a time began; before the first one, that time."""
    gates = acting(node.gates[port])
    now_ns = _ptp_ns(node.clock, at_ps)
    if now_ns < gates.base_time:
        return at_ps
    return max(_run_ps(node.clock, gates.start_from(now_ns + 1) - gates.cycle_time), 0)


def _ptp_ns(clock: Clock, run_ps: int) -> int:
    """What the node's PTP clock shows."""
    if clock.sync_error_ns is not None:
        return START_TIME_NS + clock.sync_error_ns + run_ps // 1000
    return START_TIME_NS + (clock.offset_ps + run_ps + run_ps * clock.drift_ppb // 10**9) // 1000


def _run_ps(clock: Clock, ptp_ns: int) -> int:
    """When it does."""
    since_ps = (ptp_ns - START_TIME_NS) * 1000
    if clock.sync_error_ns is not None:
        return since_ps - clock.sync_error_ns * 1000
    return (since_ps - clock.offset_ps) * 10**9 // (10**9 + clock.drift_ppb)


@dataclass(frozen=True)
class Occupation:
    """A frame of a class at its port: ready to be selected, selected, and no longer sent. Times of the run in ps."""

    ready: int
    selected: int | None  # None: not in this run
    until: int | None


class CreditOverTime:
    """The credit of a class, replayed by the engine's state machine from when its frames waited and were sent."""

    def __init__(self, bridge: Bridge, port: int, traffic_class: int, rate_bps: int) -> None:
        self._bridge, self._port, self._class, self._rate_bps = bridge, port, traffic_class, rate_bps
        # A tick is the time of a byte at the port's rate, which in hardware is a cycle.
        idle = bridge.credit[port, traffic_class].idle_slope_bps * _PORT_RATE // rate_bps
        self._credit = _engine.Credit(idle, _PORT_RATE)

    def _ticks(self, time_ps: int) -> int:
        return time_ps * self._rate_bps // _BYTE_PS

    def _time_ps(self, ticks: int) -> int:
        return ticks * _BYTE_PS // self._rate_bps

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
            points.append((now, self._credit.credit / _BIT))
            left = self._ticks(then) - self._ticks(now)
            if not sending and is_open and not waiting and 0 < self._credit.ticks_to_zero < left:
                # It rises to zero and stays there.
                rises = self._credit.ticks_to_zero
                self._credit.advance(rises, **state)
                points.append((now + self._time_ps(rises), self._credit.credit / _BIT))
                left -= rises
            if left and not waiting and not sending and self._credit.credit > 0:
                self._credit.advance(1, **state)
                points.append((now, self._credit.credit / _BIT))
                left -= 1
            if left:
                self._credit.advance(left, **state)
            points.append((then, self._credit.credit / _BIT))
        return points
