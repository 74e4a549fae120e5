# SPDX-License-Identifier: Apache-2.0
"""Faults of a checked network, in base units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.scenario.units import show_time


@dataclass(frozen=True)
class Fault:
    """A link that is cut, a node that dies, or bits that flip on a link."""

    kind: Literal["link_down", "node_down", "bit_errors"]
    place: int | str  # of the network's links, or the name of a node
    name: str  # for people
    at_ps: int
    until_ps: int | None  # None: for ever
    bit_error_rate: float = 0.0
    seed: int = 0

    @property
    def is_outage(self) -> bool:
        """Whether nothing passes while it lasts."""
        return self.kind != "bit_errors"

    @property
    def said(self) -> str:
        """For people."""
        end = "on" if self.until_ps is None else f"to {show_time(self.until_ps)}"
        what = f"flips {self.bit_error_rate:g} of its bits" if self.kind == "bit_errors" else "is down"
        return f"{self.name} {what} from {show_time(self.at_ps)} {end}"

    def overlaps(self, other: Fault) -> bool:
        """Whether both last at some time."""
        ends_before = self.until_ps is not None and self.until_ps <= other.at_ps
        begins_after = other.until_ps is not None and other.until_ps <= self.at_ps
        return not ends_before and not begins_after
