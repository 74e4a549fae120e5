# SPDX-License-Identifier: Apache-2.0
"""The proven latency of a shaped stream through one bridge, term by term.

The contention term is equation (1) of the ATS switch paper (equation (9) of Specht and Samii, 2016):

    d_CO = (sum of b over F_H and F_S  -  l_min  +  l_LP) / (R  -  sum of r over F_H)

with all lengths counted on the wire. It holds for frames whose source keeps to its rate and burst, at a port whose
higher and equal classes carry nothing without a committed rate and burst; where that is not so there is no bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock import _engine
from penstock.scenario.network import WIRE_OVERHEAD_BYTES, Bridge, Network, Stream

CLOCK_PS = 8000
_PS = 10**12

_LONGEST_NS = 10**9  # the scheduler holds no frame for longer

# From a frame's last bit at a port to the first bit after the delimiter at an idle output: what the switch promises.
PROCESSING_PS = 400_000
# The part of it that follows eligibility: selection, preamble and delimiter.
_EGRESS_PS = 120_000


@dataclass(frozen=True)
class Term:
    """One part of the bound."""

    name: str
    detail: str
    ps: int


@dataclass(frozen=True)
class Bound:
    """The bound, or the reason why there is none."""

    total_ps: int | None
    reason: str | None = None
    terms: tuple[Term, ...] = ()
    contention: str = ""  # equation (1) with its numbers


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


def processing_allowed_ps(bridge: Bridge) -> int:
    """What an idle bridge may take, from the last bit of a frame to its first bit after the delimiter."""
    return max(PROCESSING_PS, (bridge.processing_delay_max_ps or 0) + _EGRESS_PS)


def bound(network: Network, name: str, measured_ps: int | None = None) -> Bound:
    """The largest latency of a stream, from the delimiter at its talker to the delimiter at any listener.

    `measured_ps` is what the bridge was seen to take when idle; it counts where it is more than what is promised.
    """
    stream = network.streams[name]
    if stream.ats is None:
        return Bound(None, "the stream has no committed rate and burst (ats)")
    per_listener = [_at_listener(network, stream, listener, measured_ps or 0) for listener in stream.listeners]
    without = next((b for b in per_listener if b.total_ps is None), None)
    return without or max(per_listener, key=lambda b: b.total_ps or 0)


def _at_listener(network: Network, stream: Stream, listener: str, measured_ps: int) -> Bound:
    assert stream.ats is not None
    talker, end = network.stations[stream.talker], network.stations[listener]
    bridge = network.bridges[end.bridge]
    rate = end.link_rate_bps
    beside = [s for s in network.streams.values() if listener in s.listeners]
    higher = [s for s in beside if s.traffic_class > stream.traffic_class]
    same = [s for s in beside if s.traffic_class == stream.traffic_class]
    lower = [s for s in beside if s.traffic_class < stream.traffic_class]
    for other in (*higher, *same):
        if other.ats is None:
            kind = "higher" if other in higher else "same"
            return Bound(None, f'"{other.name}" in the {kind} class has no committed rate and burst')

    bursts = [s.ats.burst_bytes for s in (*higher, *same) if s.ats]
    reserved = sum(s.ats.rate_bps for s in higher if s.ats)
    total_rate = reserved + sum(s.ats.rate_bps for s in same if s.ats)
    if total_rate > rate:
        return Bound(None, f"the committed rates add up to {total_rate / 1e6:g} Mb/s, above the link to {listener}")
    shortest = stream.min_frame_bytes + WIRE_OVERHEAD_BYTES
    blocking = max((s.max_frame_bytes + WIRE_OVERHEAD_BYTES for s in lower), default=0)
    numerator = sum(bursts) - shortest + blocking
    contention = _ceil(numerator * 8 * _PS, rate - reserved)
    equation = (
        f"({' + '.join(map(str, bursts))} - {shortest} + {blocking}) B / ({rate // 10**6} - {reserved / 10**6:g}) Mb/s"
    )
    processing = max(processing_allowed_ps(bridge), measured_ps)
    terms = (
        Term("link to the bridge", talker.name, talker.link_delay_ps),
        Term(
            "frame on the wire",
            f"{stream.max_frame_bytes} B stored before it is forwarded",
            _ceil(stream.max_frame_bytes * 8 * _PS, talker.link_rate_bps),
        ),
        Term("processing", f"last bit in to first bit out of {bridge.name}, idle", processing),
        Term("contention", f"equation (1): {equation}", contention),
        Term("clock grid", "two cycles of 8 ns: arrival and eligibility are rounded up", 2 * CLOCK_PS),
        Term("link to the listener", end.name, end.link_delay_ps),
    )
    return Bound(sum(t.ps for t in terms), None, terms, equation)


def conformance(
    arrivals: Sequence[tuple[int, int]], rate_bps: int, burst_bytes: int, overhead_bytes: int
) -> Conformance:
    """Whether the scheduler would hold any frame of (last bit in ps, bytes) by more than the grid of the clock."""
    scheduler = _engine.Ats()
    scheduler.set_rate(0, *_engine.ats_rate(rate_bps, burst_bytes))
    scheduler.set_group(0, 0, _LONGEST_NS)
    late, worst, first_late = 0, 0, None
    for number, (time_ps, length) in enumerate(arrivals, 1):
        arrival_ns = _ceil(time_ps, 1000)
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
    for other in network.streams.values():
        # Frames of one reception port and class pass in the order of arrival, so that one waits for the other.
        group = (other.talker, other.traffic_class) == (stream.talker, stream.traffic_class)
        result = conforming.get(other.name)
        if group and result is not None and not result.ok:
            return f'"{other.name}" of the same scheduler group does not conform'
    return None


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
