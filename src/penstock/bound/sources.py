# SPDX-License-Identifier: Apache-2.0
"""Whether sources keep to their rates and bursts, without which no bound applies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock import _engine
from penstock.bound.terms import ceil_div
from penstock.bound.timing import CLOCK_PS
from penstock.scenario.network import Network

_LONGEST_NS = 10**9  # the scheduler holds no frame for longer


@dataclass(frozen=True)
class Conformance:
    """Whether a source kept to its rate and burst at the bridge's door."""

    ok: bool
    frames: int
    late_frames: int = 0
    worst_ps: int = 0  # by how much the scheduler had to hold the worst frame
    first_late: int | None = field(default=None)  # from 1

    def describe(self) -> str:
        """For people."""
        if self.ok:
            return f"all {self.frames} frames keep to rate and burst"
        return (
            f"{self.late_frames} of {self.frames} frames exceed rate or burst "
            f"(frame {self.first_late} first; shaped by up to {self.worst_ps / 1e6:.3f} us)"
        )


def conformance(
    arrivals: Sequence[tuple[int, int]], rate_bps: int, burst_bytes: int, overhead_bytes: int
) -> Conformance:
    """Whether the scheduler would hold any frame of (last bit in ps, bytes) by more than the grid of the clock."""
    scheduler = _engine.Ats()
    scheduler.set_rate(0, *_engine.ats_rate(rate_bps, burst_bytes))
    scheduler.set_group(0, 0, _LONGEST_NS)
    late, worst, first_late = 0, 0, None
    for number, (time_ps, length) in enumerate(arrivals, 1):
        arrival_ns = ceil_div(time_ps, 1000)
        eligible = scheduler.frame(0, 0, 0, arrival_ns, length + overhead_bytes)
        held_ps = _LONGEST_NS * 1000 if eligible is None else (eligible * 1000 >> 16) - arrival_ns * 1000
        if held_ps > 2 * CLOCK_PS:
            late += 1
            worst = max(worst, held_ps)
            first_late = first_late or number
    return Conformance(late == 0, len(arrivals), late, worst, first_late)


def applies(network: Network, name: str, conforming: Mapping[str, Conformance]) -> str | None:
    """Why the bound does not apply to what was actually sent, or None when it does."""
    stream = network.streams[name]
    own = conforming.get(name)
    if own is not None and not own.ok:
        return f"the source does not conform: {own.describe()}; a bound holds for conforming sources only"
    # Frames of one reception port and class pass in the order of arrival, so that one waits for the other.
    for other in _talker_groups(network)[stream.talker, stream.traffic_class]:
        result = conforming.get(other)
        if result is not None and not result.ok:
            return f'"{other}" of the same scheduler group does not conform'
    return None


def _talker_groups(network: Network) -> dict[tuple[str, int], list[str]]:
    """The streams that share a scheduler group at their first bridge."""
    known: dict[tuple[str, int], list[str]] | None = network.memo.get("talker groups")
    if known is None:
        known = {}
        for stream in network.streams.values():
            known.setdefault((stream.talker, stream.traffic_class), []).append(stream.name)
        network.memo["talker groups"] = known
    return known
