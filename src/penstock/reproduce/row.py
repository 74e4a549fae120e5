# SPDX-License-Identifier: Apache-2.0
"""A quantity of a paper: what the paper says, what theory says, what was measured, and what is required of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

WITHIN_BOUND = "measured at most the bound"
AS_GOOD_AS_PAPER = "measured at most the paper's"
EQUALS_THEORY = "measured equals theory"
NEAR_PAPER = "measured as the paper's"
NOTHING = None  # shown beside the paper's, without a requirement
_DIGITS = 9  # after the point: what computing with floating point adds is cut off


@dataclass(frozen=True)
class Row:
    """One row of the comparison."""

    id: str
    quantity: str
    unit: str
    measured: float | None
    paper: float | None = None
    theory: float | None = None
    bound: float | None = None
    requirement: str | None = NOTHING
    ok: bool = True
    key: bool = False  # whether it stands for its experiment in short tables

    @classmethod
    def told(cls, name: str, quantity: str, unit: str, measured: float | None, **more: Any) -> Self:
        """Without a requirement."""
        return cls(name, quantity, unit, _rounded(measured), **more)

    @classmethod
    def within(
        cls, name: str, quantity: str, unit: str, measured: float | None, bound: float | None, **more: Any
    ) -> Self:
        """Measured at most the bound; not met where there is no bound or nothing was measured."""
        measured, bound = _rounded(measured), _rounded(bound)
        ok = measured is not None and bound is not None and measured <= bound
        return cls(name, quantity, unit, measured, bound=bound, requirement=WITHIN_BOUND, ok=ok, **more)

    @classmethod
    def at_most(cls, name: str, quantity: str, unit: str, measured: float | None, paper: float, **more: Any) -> Self:
        """At or better than the paper, for quantities of which less is better."""
        measured = _rounded(measured)
        ok = measured is not None and measured <= paper
        return cls(name, quantity, unit, measured, paper=paper, requirement=AS_GOOD_AS_PAPER, ok=ok, **more)

    @classmethod
    def equals(
        cls, name: str, quantity: str, unit: str, measured: float | None, theory: float, tolerance: float, **more: Any
    ) -> Self:
        """Theory and measured differ by at most the tolerance."""
        measured = _rounded(measured)
        ok = measured is not None and round(abs(measured - theory), _DIGITS) <= tolerance
        said = EQUALS_THEORY if not tolerance else f"{EQUALS_THEORY} within {tolerance:.2g} {unit}"
        return cls(name, quantity, unit, measured, theory=theory, requirement=said, ok=ok, **more)

    @classmethod
    def near(
        cls, name: str, quantity: str, unit: str, measured: float | None, paper: float, tolerance: float, **more: Any
    ) -> Self:
        """The paper's and measured differ by at most the tolerance."""
        measured = _rounded(measured)
        ok = measured is not None and round(abs(measured - paper), _DIGITS) <= tolerance
        said = f"{NEAR_PAPER} within {tolerance:.2g} {unit}"
        return cls(name, quantity, unit, measured, paper=paper, requirement=said, ok=ok, **more)

    def as_key(self) -> Self:
        """The same, for short tables."""
        return replace(self, key=True)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
