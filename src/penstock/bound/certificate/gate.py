# SPDX-License-Identifier: Apache-2.0
"""The gate cycle of a port, from the view of a class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

_CLASSES = 8
_PARTS = 4  # of a stretch of phases

Stretch = tuple[int, int]  # from and to, in a cycle and beyond


@dataclass(frozen=True)
class Phase:
    """When a class begins to wait: a place of the cycle, and by how much that may have been sooner."""

    begin: int
    blocked: int = 0
    slack: Fraction = Fraction(0)
    others: int = 0


class Gate:
    """The gate cycle of a port, from the view of a class, whose frames come at any time or when one can begin."""

    def __init__(
        self, gates: Mapping[str, Any], number: int, own: int, lower: Mapping[int, int], *, at_any_time: bool
    ) -> None:
        self.edge, late = gates["edge_ps"], gates.get("late", False)
        self.cycle = sum(interval for _, interval in gates["entries"])
        windows = [self._windows(gates["entries"], of) for of in range(_CLASSES)]
        self.always = windows[number] == [(0, self.cycle)]
        self.wide = [
            [(0, self.cycle)] if late else [self._grown(of, self.edge) for of in windows[k]] for k in range(_CLASSES)
        ]
        frozen = own if gates.get("frozen") else 0
        narrow = (
            windows[number]
            if self.always
            else [(begin, end - frozen) for begin, end in (self._grown(of, -self.edge) for of in windows[number])]
        )
        self.narrow = [of for of in narrow if of[1] > of[0]]
        self.usable: list[tuple[Stretch, int]] = []
        for begin, end in windows[number]:
            meeting = [
                longest
                for of, longest in lower.items()
                if late or any(self._meet(other, (begin, end)) for other in windows[of])
            ]
            blocked = max(meeting, default=0)
            if self.always:
                self.usable.append(((begin, end), blocked))
                continue
            across = [longest for of, longest in lower.items() for _ in range(1) if late]
            for of, longest in lower.items():
                for a, b in windows[of]:
                    for turn in (-self.cycle, 0, self.cycle):
                        if a + turn < begin < b + turn or (b - a >= self.cycle):
                            left = b + turn - begin if b - a < self.cycle else self.cycle
                            across.append(min(longest, left + self.edge))
            first, last = begin + self.edge + max(across, default=0), end - self.edge - own
            if last >= first:
                self.usable.append(((first, last + 1), blocked))
        self.number, self.at_any_time = number, at_any_time

    def _windows(self, entries: Sequence[Sequence[int]], number: int) -> list[Stretch]:
        found: list[Stretch] = []
        at = 0
        for states, interval in entries:
            if states >> number & 1:
                found = (
                    [*found[:-1], (found[-1][0], at + interval)]
                    if found and found[-1][1] == at
                    else [*found, (at, at + interval)]
                )
            at += interval
        if len(found) > 1 and found[0][0] == 0 and found[-1][1] == self.cycle:
            found = [*found[1:-1], (found[-1][0], self.cycle + found[0][1])]
        return found

    def _grown(self, stretch: Stretch, edge: int) -> Stretch:
        begin, end = stretch[0] - edge, stretch[1] + edge
        return (begin, min(end, begin + self.cycle))

    def _meet(self, one: Stretch, other: Stretch) -> bool:
        return any(one[0] + turn < other[1] and other[0] < one[1] + turn for turn in (-self.cycle, 0, self.cycle))

    def _holds(self, stretches: Sequence[Stretch], time: Fraction | int) -> bool:
        return any((time - begin) % self.cycle < end - begin for begin, end in stretches)

    def others(self, time: Fraction | int) -> int:
        """Bit k: the gate of class k may be open."""
        return sum(1 << number for number in range(_CLASSES) if self._holds(self.wide[number], time))

    def cuts(self) -> list[int]:
        """Where anything changes, in a cycle."""
        found = {0}
        for begin, end in [*(of for of, _ in self.usable), *self.narrow, *(of for each in self.wide for of in each)]:
            found |= {begin % self.cycle, end % self.cycle}
        return sorted(found)

    def phases(self) -> Iterator[Phase]:
        """In which the class may begin to wait for others."""
        for (begin, end), blocked in self.usable:
            places = {0, end - begin - 1}
            places |= {(cut - begin) % self.cycle for cut in self.cuts()}
            within = sorted(place for place in places if place < end - begin)
            yield Phase(begin % self.cycle, blocked + self.edge)
            for one, other in pairwise(within):
                mask = self.others(begin + one) & ~(1 << self.number)
                parts = _PARTS if mask else 1
                steps = [one + (other - one) * part // parts for part in range(parts + 1)]
                for a, b in pairwise(steps):
                    if b > a:
                        yield Phase((begin + b) % self.cycle, blocked + self.edge, Fraction(b - a), mask)
            if self.at_any_time and not self.always:
                # Right after the last place to begin at.
                mask = self.others(end - 1) & ~(1 << self.number)
                yield Phase(end % self.cycle, blocked + self.edge + 1, Fraction(1), mask)

    def phases_within(self, first: int, last: int) -> Iterator[Phase]:
        """The same of a class that begins to wait from a time on to another one only."""
        blocked = max((each for _, each in self.usable), default=0) + self.edge
        edges = [edge for cut in self.cuts() for edge in (cut, cut - blocked)]
        cuts = {first, last + 1, *(first + (edge - first) % self.cycle for edge in edges)}
        for begin, end in pairwise(sorted(cut for cut in cuts if cut <= last + 1)):
            over = blocked if self._holds(self.wide[self.number], begin) else 0
            yield Phase(begin + over, over)
            if not self._holds([of for of, _ in self.usable], begin + over):
                continue
            mask = self.others(begin + over) & ~(1 << self.number)
            parts = _PARTS if mask else 1
            steps = [begin + (end - 1 - begin) * part // parts for part in range(parts + 1)]
            for a, b in pairwise(steps):
                if b > a:
                    yield Phase(b + over, over, Fraction(b - a), mask)

    def pieces(self, phase: int) -> Iterator[tuple[Fraction, bool, bool, bool, int]]:
        """From a phase on: length, usable, may be open, is open for certain, others."""
        cuts = [*self.cuts(), self.cycle]
        stretches = [of for of, _ in self.usable]
        at = phase % self.cycle
        while True:
            end = next(cut for cut in cuts if cut > at)
            yield (
                Fraction(end - at), self._holds(stretches, at), self._holds(self.wide[self.number], at),
                self._holds(self.narrow, at), self.others(at),
            )  # fmt: skip
            at = end % self.cycle
