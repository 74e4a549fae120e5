# SPDX-License-Identifier: Apache-2.0
"""A gate control list for a class whose flows are periodic, from nothing but when their frames came. Pure.

The cycle is the least common multiple of the periods. All frames that came are laid over one cycle; where they lie the
class has its windows, and the others have what is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import InputError
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.plane.flows import FEWEST_FRAMES, Flow, Instants, Periodic, periodic

_MOST_CYCLE_NS = 1_000_000_000
_MOST_WINDOWS = 256
_MOST_OPEN = 0.9  # of the cycle, for one class
_RARE = 0.1  # of the cycles: what came in fewer was late, and gets no window
_GRAIN_NS = 1_000
_CLASSES = range(8)


@dataclass(frozen=True)
class Port:
    """What the list is for."""

    traffic_class: int
    rate_bps: int
    tolerance_ns: int  # by which departures may be late; so much of each window is kept free
    longest_bytes: int = 1522  # of other classes: less time is of no use to them

    def wire_ns(self, frame_bytes: int) -> int:
        """How long a frame takes."""
        return -(-(frame_bytes + WIRE_OVERHEAD_BYTES) * 8 * 10**9 // self.rate_bps)


@dataclass(frozen=True)
class Window:
    """A part of the cycle, in ns after a multiple of it; one that goes beyond the cycle goes on at its begin."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Proposal:
    """A list, and what it is made of."""

    port: Port
    flows: tuple[Periodic, ...]
    cycle_ns: int
    windows: tuple[Window, ...]
    inside: float  # the part of the frames seen that come in a window with room for them

    @property
    def gates(self) -> dict[str, Any]:
        """As a plane takes it; the base time is that of the first window."""
        others = [number for number in _CLASSES if number != self.port.traffic_class]
        entries: list[dict[str, Any]] = []
        for window, following in zip(self.windows, (*self.windows[1:], self.windows[0]), strict=True):
            until = (following.start_ns - window.end_ns - 1) % self.cycle_ns + 1
            entries.append({"open": [self.port.traffic_class], "interval": window.end_ns - window.start_ns})
            entries.append({"open": others, "interval": until})
        return {"cycle_time": self.cycle_ns, "base_time": self.windows[0].start_ns, "entries": entries}

    @property
    def open_part(self) -> float:
        """Of the cycle, for the class."""
        return sum(window.end_ns - window.start_ns for window in self.windows) / self.cycle_ns


def propose(flows: Sequence[Flow], port: Port) -> Proposal:
    """Windows for all flows of a class.

    Raises:
        InputError: Too little came, a flow is not periodic, or no list fits; with what would.

    """
    if not flows:
        raise _refusal("nothing came", "frames while it is watched")
    found = tuple(_periodic(flow) for flow in flows)
    cycle_ns = math.lcm(*(each.period_ns for each in found))
    if cycle_ns > _MOST_CYCLE_NS:
        periods = ", ".join(f"{each.period_ns / 1000:g} us" for each in found)
        raise _refusal(f"periods of {periods} repeat after {cycle_ns / 1e9:g} s", "a common multiple of up to 1 s")
    windows = _windows(found, port, cycle_ns)
    part = sum(window.end_ns - window.start_ns for window in windows) / cycle_ns
    if not windows or part > _MOST_OPEN:
        what = f"frames come all over the cycle: windows would take {min(part, 1.0):.0%} of it"
        raise _refusal(what, f"up to {_MOST_OPEN:.0%}: less jitter, or a faster port")
    if len(windows) > _MOST_WINDOWS:
        raise _refusal(f"{len(windows)} windows in a cycle", f"up to {_MOST_WINDOWS}")
    return Proposal(port, found, cycle_ns, windows, _inside(found, port, cycle_ns, windows))


def _periodic(flow: Flow) -> Periodic:
    if flow.times_ns.size < FEWEST_FRAMES:
        what = f"{flow.name}: {flow.times_ns.size} frames came"
        raise _refusal(what, f"{FEWEST_FRAMES} or more: watch it for longer")
    found = periodic(flow)
    if found is None:
        raise _refusal(f"{flow.name}: its frames are not periodic", "flows of which each frame comes again")
    return found


def _windows(flows: Sequence[Periodic], port: Port, cycle_ns: int) -> tuple[Window, ...]:
    """Around all that came, but for what was seldom there; close ones are joined."""
    needs = [port.wire_ns(each.flow.frame_bytes) for each in flows]
    at = np.concatenate([each.flow.times_ns % cycle_ns for each in flows])
    wire = np.concatenate([np.full(each.flow.times_ns.size, need) for each, need in zip(flows, needs, strict=True)])
    order = np.argsort(at, kind="stable")
    at, wire = at[order], wire[order]
    # A gap in which no frame of another class could pass is none.
    least_gap = port.wire_ns(port.longest_bytes) + port.tolerance_ns
    cycles = max(1, round(max(float(np.ptp(each.flow.times_ns)) for each in flows) / cycle_ns))
    groups = _groups(at, wire, cycle_ns, int(wire.max()))
    often = _groups(at, wire, cycle_ns, least_gap)  # one frame of a flow's jitter may stand apart from the others
    often = [group for group in often if group[2] >= _RARE * cycles]
    made = [_around(group, port, cycles) for group in groups if any(_holds(each, group, cycle_ns) for each in often)]
    return _joined(made, cycle_ns, least_gap)


def _groups(at: Instants, wire: Instants, cycle_ns: int, gap_ns: int) -> list[tuple[int, int, int, int]]:
    """Frames no farther apart than the gap, in the cycle: first and last instant, how many, the longest on the wire."""
    apart = np.diff(at, append=at[0] + cycle_ns)
    ends = np.flatnonzero(apart > gap_ns)
    if not ends.size:
        return [(int(at[0]), int(at[-1]), at.size, int(wire.max()))]
    found = []
    rolled = np.roll(np.arange(at.size), -(int(ends[-1]) + 1))  # the first group begins behind the last gap
    for members in np.split(rolled, np.flatnonzero(apart[rolled] > gap_ns)[:-1] + 1):
        first = int(at[members[0]])
        last = first + int((at[members[-1]] - first) % cycle_ns)
        found.append((first, last, members.size, int(wire[members].max())))
    return found


def _holds(wide: tuple[int, int, int, int], group: tuple[int, int, int, int], cycle_ns: int) -> bool:
    return (group[0] - wide[0]) % cycle_ns <= wide[1] - wide[0]


def _around(group: tuple[int, int, int, int], port: Port, cycles: int) -> Window:
    """With room for all frames of the group that one cycle may bring behind the last instant, and to be late."""
    first, last, count, wire_ns = group
    in_cycle = max(1, math.ceil(count / cycles))
    start = (first - port.tolerance_ns) // _GRAIN_NS * _GRAIN_NS
    end = last + in_cycle * wire_ns + 2 * port.tolerance_ns
    return Window(start, -(-end // _GRAIN_NS) * _GRAIN_NS)


def _joined(windows: Sequence[Window], cycle_ns: int, least_gap_ns: int) -> tuple[Window, ...]:
    """In the order of the cycle, each begin in it; windows without a gap that is of use become one."""
    found: list[Window] = []
    for window in sorted(windows, key=lambda each: each.start_ns):
        if found and window.start_ns - found[-1].end_ns < least_gap_ns:
            found[-1] = Window(found[-1].start_ns, max(found[-1].end_ns, window.end_ns))
        else:
            found.append(window)
    while len(found) > 1 and found[0].start_ns + cycle_ns - found[-1].end_ns < least_gap_ns:
        first = found.pop(0)
        found[-1] = Window(found[-1].start_ns, max(found[-1].end_ns, first.end_ns + cycle_ns))
    length = [min(window.end_ns - window.start_ns, cycle_ns) for window in found]
    starts = [window.start_ns % cycle_ns for window in found]
    return tuple(Window(start, start + size) for start, size in sorted(zip(starts, length, strict=True)))


def _inside(flows: Sequence[Periodic], port: Port, cycle_ns: int, windows: Sequence[Window]) -> float:
    """The part of the frames that come in a window and have room in it."""
    good = total = 0
    for each in flows:
        need = port.wire_ns(each.flow.frame_bytes) + port.tolerance_ns
        total += each.flow.times_ns.size
        fits = np.zeros(each.flow.times_ns.size, bool)
        for window in windows:
            into = (each.flow.times_ns - window.start_ns) % cycle_ns
            fits |= into + need <= window.end_ns - window.start_ns
        good += int(fits.sum())
    return good / total


def _refusal(what: str, allowed: str) -> InputError:
    return InputError(what, allowed=allowed, file="penstock plane propose")
