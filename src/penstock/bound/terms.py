# SPDX-License-Identifier: Apache-2.0
"""What a bound is made of: integers of ps, bytes and b/s, and what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

PS = 10**12
MOST = 2**50  # of ps, b/s or bits that the analysis takes, as engine/bound/src/check.rs has it
_SHOWN = 6  # bursts in an equation; of more the sum


def ceil_div(numerator: int, denominator: int) -> int:
    """The quotient, rounded up: a bound is never rounded down."""
    return -(-numerator // denominator)


@dataclass(frozen=True)
class Term:
    """One part of the bound."""

    name: str
    detail: str
    ps: int


@dataclass(frozen=True)
class Committed:
    """What a stream may send by an egress port, counted on the wire."""

    stream: str
    traffic_class: int
    rate_bps: int
    burst_bytes: int
    fastest_bps: int  # the rate that its scheduler has, after rounding


@dataclass(frozen=True)
class Contention:
    """Equation (1) at an egress port, with its numbers. Lengths are on the wire: frame, preamble and gap."""

    committed: tuple[Committed, ...]  # of the higher classes and, after them, the same: F_H and F_S
    sum_of_bursts_bytes: int  # the sum of b over them
    l_min_bytes: int
    l_lp_bytes: int  # the longest frame of the lower classes; 0 without one
    l_lp_stream: str | None  # whose frame it is
    link_rate_bps: int
    higher_rates_bps: int  # the sum of r over F_H, as their schedulers have it

    @cached_property
    def ps(self) -> int:
        """The longest that a frame waits for others."""
        ahead = self.sum_of_bursts_bytes - self.l_min_bytes + self.l_lp_bytes
        return ceil_div(ahead * 8 * PS, self.link_rate_bps - self.higher_rates_bps)

    @property
    def equation(self) -> str:
        """For people: the right side of equation (1)."""
        said = str(self.sum_of_bursts_bytes)
        if len(self.committed) <= _SHOWN:
            said = " + ".join(str(each.burst_bytes) for each in self.committed)
        rates = f"{self.link_rate_bps // 10**6} - {self.higher_rates_bps / 10**6:g}"
        return f"({said} - {self.l_min_bytes} + {self.l_lp_bytes}) B / ({rates}) Mb/s"


@dataclass(frozen=True)
class HopBound:
    """The worst case of a hop: from the delimiter on the link into a bridge to the delimiter on the link out of it."""

    bridge: str
    entry: int  # reception port
    egress: int
    traffic_class: int
    arrives_from: str  # the node at the other end of the link into the bridge
    max_frame_bytes: int
    cable_ps: int
    frame_ps: int  # the frame's own time on the wire, until it is stored
    processing_ps: int
    processing_said: str  # where that is from
    processing_delay_max_ps: int  # what the bridge adds to eligibility times
    preamble_ps: int
    wait_ps: int
    waits_for: str  # in words or as an equation
    contention: Contention | None  # where equation (1) is about the port
    clock_grid_ps: int
    clock_grid_said: str
    held_ps: int = 0  # for how long its scheduler may hold what waited less than others before; no part of the total

    @property
    def passing_ps(self) -> int:
        """From the last bit in to the delimiter out, of each frame: what is held back here was fast before."""
        return self.held_ps + self.processing_ps + self.wait_ps + self.preamble_ps + self.clock_grid_ps

    @property
    def media_ps(self) -> int:
        """The media-dependent part: cable, the frame's own time on the wire, preamble."""
        return self.cable_ps + self.frame_ps + self.preamble_ps

    @cached_property
    def total_ps(self) -> int:
        """Of the hop alone."""
        return self.media_ps + self.processing_ps + self.wait_ps + self.clock_grid_ps

    @property
    def _contention_said(self) -> str:
        return self.waits_for if self.contention is None else f"equation (1): {self.waits_for}"

    def terms(self, label: str = "") -> tuple[Term, ...]:
        """In the order in which a frame meets them."""
        return (
            Term(f"{label}link to the bridge", self.arrives_from, self.cable_ps),
            Term(f"{label}frame on the wire", f"{self.max_frame_bytes} B stored before it is forwarded", self.frame_ps),
            Term(f"{label}processing", self.processing_said, self.processing_ps),
            Term(f"{label}contention", self._contention_said, self.wait_ps),
            Term(f"{label}preamble", "8 B before the frame's first bit on the link out", self.preamble_ps),
            Term(f"{label}clock grid", self.clock_grid_said, self.clock_grid_ps),
        )


@dataclass(frozen=True)
class WayBound:
    """The bound of a stream on its way to one listener, or why and where there is none."""

    stream: str
    listener: str
    hops: tuple[HopBound, ...] = ()
    last_cable_ps: int = 0  # to the listener
    drift: Term | None = None
    reason: str | None = None
    refused_at: str | None = None  # the bridge whose conditions do not hold

    @cached_property
    def total_ps(self) -> int | None:
        """From the delimiter at the talker to the delimiter at the listener; None without a bound."""
        if self.reason is not None:
            return None
        return sum(hop.total_ps for hop in self.hops) + self.last_cable_ps + self.clock_drift_ps

    @property
    def clock_drift_ps(self) -> int:
        """What clocks that disagree may cost over the run."""
        return 0 if self.drift is None else self.drift.ps

    @property
    def media_ps(self) -> int:
        """All that is media-dependent, the last cable too."""
        return sum(hop.media_ps for hop in self.hops) + self.last_cable_ps

    @property
    def processing_ps(self) -> int:
        """Of all bridges."""
        return sum(hop.processing_ps for hop in self.hops)

    @property
    def contention_ps(self) -> int:
        """Waiting for others, summed over the hops."""
        return sum(hop.wait_ps for hop in self.hops)

    @property
    def clock_ps(self) -> int:
        """Grids and drift."""
        return sum(hop.clock_grid_ps for hop in self.hops) + self.clock_drift_ps

    def terms(self) -> tuple[Term, ...]:
        """All terms; their sum is the total."""
        one = len(self.hops) == 1
        found = [term for hop in self.hops for term in hop.terms("" if one else f"{hop.bridge}: ")]
        found.append(Term("link to the listener", self.listener, self.last_cable_ps))
        return (*found, self.drift) if self.drift is not None else tuple(found)


@dataclass(frozen=True)
class Bound:
    """The bound of a stream, that of its slowest listener, or the reason why there is none."""

    total_ps: int | None
    reason: str | None = None
    terms: tuple[Term, ...] = ()
    contention: str = ""  # what it waits for, hop by hop
    ways: tuple[WayBound, ...] = ()  # to each listener
