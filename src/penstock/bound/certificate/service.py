# SPDX-License-Identifier: Apache-2.0
"""What a class is served from a phase on, beside the classes above."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import ceil

from penstock.bound.certificate.curve import Curve, Line
from penstock.bound.certificate.gate import Gate, Phase, Stretch

# What is served, and whether it goes on growing: as long as it is no more, what goes first may still be sent.
Level = tuple[Fraction, bool]


@dataclass(frozen=True)
class Above:
    """A class that goes first: what it may bring, and what its credit lets through."""

    number: int
    arrivals: Curve | None
    credit: Line | None


@dataclass(frozen=True)
class Piece:
    """A stretch of time in which the service grows evenly."""

    begin: Fraction
    end: Fraction | None  # None: never
    usable: bool
    served: Fraction
    slope: Fraction
    opened: Fraction
    may_open: bool

    def at(self, time: Fraction) -> Fraction:
        return self.served + self.slope * (time - self.begin)

    def level(self, time: Fraction) -> Level:
        return self.at(time), self.slope > 0


@dataclass(frozen=True)
class Service:
    """What a class is served beside the classes above."""

    rate: int
    low: int
    above: tuple[Above, ...]
    gate: Gate | None
    frames: tuple[tuple[Stretch, int], ...] | None = None  # when those of the class come; None: at any time
    counted: bool = True  # they are less than what arrivals are otherwise
    each: int | None = None  # what a frame is on the wire, where all are as long and nothing goes first

    def walk(self, phase: Phase) -> Iterator[Piece]:
        """Stretch after stretch in which the service grows evenly."""
        shared = {each.number: phase.slack if phase.others >> each.number & 1 else Fraction(0) for each in self.above}
        opened = dict.fromkeys(shared, phase.slack)
        at, usable_time, own = Fraction(0), Fraction(0), phase.slack
        pieces: Iterator[tuple[Fraction | None, bool, bool, bool, int]]
        pieces = (
            iter([(None, True, True, True, 0xFF)])
            if self.gate is None
            else self.gate.pieces(phase.begin - phase.blocked)
        )
        for length, may_begin, may_open, _, others in pieces:
            left = length
            while left is None or left > 0:
                usable = may_begin and at >= phase.blocked
                step = left
                if at < phase.blocked:
                    step = least(step, phase.blocked - at)
                served, slope = self.rate * usable_time - self.low, Fraction(self.rate if usable else 0)
                for each in self.above:
                    is_open = bool(others >> each.number & 1)
                    lines = self._lines(each, at, is_open, usable, shared[each.number], opened[each.number])
                    line = min(lines)
                    served -= line[0]
                    slope -= line[1]
                    for other in lines:
                        if other[1] < line[1]:
                            step = least(step, (other[0] - line[0]) / (line[1] - other[1]))
                    if each.arrivals is not None:
                        step = least(step, *(turn - at for turn in each.arrivals.turns if turn > at))
                end = None if step is None else at + step
                yield Piece(at, end, usable, served, slope, own, may_open)
                if step is None or end is None:
                    return
                for each in self.above:
                    if others >> each.number & 1:
                        opened[each.number] += step
                        shared[each.number] += step if usable else 0
                usable_time += step if usable else 0
                own += step if may_open else 0
                at, left = end, None if left is None else left - step

    def _lines(
        self, each: Above, at: Fraction, is_open: bool, usable: bool, shared: Fraction, opened: Fraction
    ) -> list[Line]:
        lines: list[Line] = []
        if each.arrivals is not None:
            burst, rate = each.arrivals.line_at(at)
            lines.append((burst + rate * at, rate))
        if each.credit is not None:
            burst, rate = each.credit
            lines.append((burst + rate * opened, rate if is_open else Fraction(0)))
        if self.gate is not None:
            lines.append((self.rate * shared, Fraction(self.rate if is_open and usable else 0)))
        return lines

    @property
    def is_limited(self) -> bool:
        """Whether every class above has a limit."""
        return self.gate is not None or all(each.arrivals is not None or each.credit is not None for each in self.above)

    @property
    def is_undisturbed(self) -> bool:
        """Whether no class above is open when frames of the class can begin."""
        if self.gate is None:
            return False
        above = sum(1 << each.number for each in self.above)
        pieces = islice(self.gate.pieces(0), len(self.gate.cuts()))
        return not any(usable and others & above for _, usable, _, _, others in pieces)

    def phases(self) -> list[Phase]:
        """Of which each is looked at."""
        if self.gate is None:
            return [Phase(0)]
        if self.frames is None or not self.gate.usable:
            return list(self.gate.phases())
        return [phase for window, _ in set(self.frames) for phase in self.gate.phases_within(*window)]

    def came(self, phase: Phase, time: Fraction) -> Fraction:
        """What comes until a time after the class began to wait in a phase."""
        assert self.gate is not None
        assert self.frames is not None
        cycle, begin = self.gate.cycle, phase.begin - phase.blocked
        found = 0
        for (first, last), amount in self.frames:
            turns = (begin + time - first) // cycle - ceil((begin - phase.slack - last) / Fraction(cycle)) + 1
            found += amount * max(0, turns)
        return Fraction(found)


def least(*times: Fraction | None) -> Fraction | None:
    known = [time for time in times if time is not None and time > 0]
    return min(known, default=None)
