# SPDX-License-Identifier: Apache-2.0
"""Whether sources keep to their rates and bursts, without which no bound applies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, gcd
from typing import Any

from penstock import _engine
from penstock.bound.terms import ceil_div
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Ats
from penstock.scenario.lengths import Ends
from penstock.scenario.network import Network
from penstock.words import count


@dataclass(frozen=True)
class Conformance:
    """Whether a source kept to its rate and burst at the bridge's door."""

    ok: bool
    frames: int
    late_frames: int = 0
    worst_ps: int = 0  # by how much the scheduler had to hold the worst frame
    first_late: int | None = None  # from 1

    @classmethod
    def from_engine(cls, seen: Mapping[str, Any]) -> Conformance:
        """From what the engine saw."""
        return cls(ok=not seen["late_frames"], **seen)

    def describe(self) -> str:
        """For people."""
        if self.ok:
            return f"of {count(self.frames, 'frame')} none exceeds rate and burst"
        return (
            f"{self.late_frames} of {self.frames} frames exceed rate or burst "
            f"(frame {self.first_late} first; shaped by up to {self.worst_ps / 1e6:.3f} us)"
        )


def conformance(
    arrivals: Sequence[tuple[int, int]], rate_bps: int, burst_bytes: int, overhead_bytes: int,
    others: Sequence[tuple[int, int]] = (),
) -> Conformance:  # fmt: skip
    """Whether the scheduler would hold any frame of (last bit in ps, bytes) by more than the grid of the clock.

    `others` are frames that pass the same scheduler, in the order of their time.
    """
    return Conformance.from_engine(_engine.conformance(arrivals, rate_bps, burst_bytes, overhead_bytes, others))


# Of the time in which rates are counted: a tick of an ATS scheduler, 2^-16 ns, is a whole number of them.
UNITS_PER_PS = 2**13
_UNITS_PER_TICK = 125


def committed(rate_bps: int, burst_bytes: int) -> tuple[Callable[[int], int], int]:
    """What so many bytes cost at a committed rate, and the burst, as a scheduler counts them, in units of time."""
    ns_per_byte, empty_to_full = _engine.ats_rate(rate_bps, burst_bytes)

    def cost(counted_bytes: int) -> int:
        return (counted_bytes * ns_per_byte >> 8) * _UNITS_PER_TICK

    return cost, empty_to_full * _UNITS_PER_TICK


@cache
def fastest_bps(rate_bps: int, shortest_bytes: int) -> int:
    """The rate that a scheduler really has, for frames of so many counted bytes or more: it rounds towards more."""
    ns_per_byte, _ = _engine.ats_rate(rate_bps, 1)
    most_cut = 2**8 - gcd(ns_per_byte, 2**8)  # of a frame's time, which is held in whole ticks
    return ceil_div(8 * 10**9 * 2**24 * shortest_bytes, ns_per_byte * shortest_bytes - most_cut)


def on_wire(ats: Ats, overhead_bytes: int, came: Ends, leaves: Ends) -> tuple[int, int, int]:
    """The rate, that which it really is, and the burst of a scheduler's frames, of so many bytes as they leave.

    What counts less than is on the wire lets more pass, and frames may get longer behind it.
    """
    counted = [size + min(overhead_bytes, WIRE_OVERHEAD_BYTES) for size in came]
    factor = max(Fraction(size + WIRE_OVERHEAD_BYTES, least) for size, least in zip(leaves, counted, strict=True))
    fastest = fastest_bps(ats.rate_bps, counted[0])
    return ceil(ats.rate_bps * factor), ceil(fastest * factor), ceil(ats.burst_bytes * factor)


def applies(network: Network, name: str, conforming: Mapping[str, Conformance]) -> str | None:
    """Why the bound does not apply to what was actually sent, or None when it does."""
    stream = network.streams[name]
    own = conforming.get(name)
    if own is not None and not own.ok:
        return f"the source does not conform: {own.describe()}; a bound holds for conforming sources only"
    # Frames of one reception port and class pass in the order of arrival, so that one waits for the other.
    for other in talker_groups(network)[stream.talker, stream.traffic_class]:
        result = conforming.get(other)
        if result is not None and not result.ok:
            return f'"{other}" of the same scheduler group does not conform'
    return None


def talker_groups(network: Network) -> dict[tuple[str, int], list[str]]:
    """The streams that share a scheduler group at their first bridge."""
    known: dict[tuple[str, int], list[str]] | None = network.memo.get("talker groups")
    if known is None:
        known = {}
        for stream in network.streams.values():
            known.setdefault((stream.talker, stream.traffic_class), []).append(stream.name)
        network.memo["talker groups"] = known
    return known
