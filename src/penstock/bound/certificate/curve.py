# SPDX-License-Identifier: Apache-2.0
"""Arrival curves in fractions."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

Line = tuple[Fraction, Fraction]  # burst and rate


@dataclass(frozen=True)
class Curve:
    """The sum of some curves, each the least of some lines."""

    parts: tuple[tuple[Line, ...], ...]

    @cached_property
    def pieces(self) -> tuple[tuple[Fraction, Fraction, Fraction], ...]:
        """From when on which line holds: its burst and rate."""
        found: list[tuple[Fraction, Fraction, Fraction]] = []
        for time in self._crossings():
            lines = [min(lines, key=lambda line: (line[0] + line[1] * time, line[1])) for lines in self.parts]
            burst, rate = sum((line[0] for line in lines), Fraction(0)), sum((line[1] for line in lines), Fraction(0))
            if not found or found[-1][1:] != (burst, rate):
                found.append((time, burst, rate))
        return tuple(found)

    def _crossings(self) -> list[Fraction]:
        found = {Fraction(0)}
        for lines in self.parts:
            for one, (a, fast) in enumerate(lines):
                for b, slow in lines[one + 1 :]:
                    if fast != slow:
                        found.add((b - a) / (fast - slow))
        return sorted(time for time in found if time >= 0)

    def line_at(self, time: Fraction) -> tuple[Fraction, Fraction]:
        """Burst and rate of the line that holds from a time on."""
        _, burst, rate = self.pieces[bisect_right(self.turns, time) - 1]
        return burst, rate

    def at(self, time: Fraction) -> Fraction:
        burst, rate = self.line_at(time)
        return burst + rate * time

    @property
    def rate(self) -> Fraction:
        """In the end."""
        return self.pieces[-1][2]

    @cached_property
    def turns(self) -> list[Fraction]:
        """Where it turns, at first zero."""
        return [time for time, _, _ in self.pieces]

    def moved(self, time: int | Fraction) -> Curve:
        return Curve(tuple(tuple((burst + rate * time, rate) for burst, rate in lines) for lines in self.parts))

    def with_more(self, factor: Fraction, more: Fraction, less: int) -> Curve:
        """Times a factor, of what is above `less`, and something more."""
        whole = self.envelope()
        return Curve(
            (tuple(((max(burst - less, Fraction(0))) * factor + more, rate * factor) for burst, rate in whole),)
        )

    def envelope(self) -> tuple[Line, ...]:
        """All lines that it is made of, as one least."""
        return tuple((burst, rate) for _, burst, rate in self.pieces)
