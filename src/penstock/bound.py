# SPDX-License-Identifier: Apache-2.0
"""The proven latency of a shaped stream, hop by hop and term by term.

The contention term of a hop is equation (1) of the ATS switch paper (equation (9) of Specht and Samii, 2016):

    d_CO = (sum of b over F_H and F_S  -  l_min  +  l_LP) / (R  -  sum of r over F_H)

with all lengths counted on the wire and R the rate of the link by which the stream leaves. It holds for frames whose
source keeps to its rate and burst, at a port without gates whose higher and equal classes carry nothing without a
committed rate and burst; where that is not so there is no bound. Lower classes may be shaped by credit: at most one of
their frames is in the way.

The bound of a way is the sum over its bridges, since an ATS scheduler adds nothing to the longest delay of the queue
before it (Le Boudec, 2018): a frame that it holds back had been faster than the slowest of its group. Therefore l_min
is, but for the last bridge, that of all streams of the class at the port, and the streams of a scheduler group must
have shared a queue at the bridge before. What is not ideal is added:

- Arrivals and eligibility times are rounded up to the grid of the bridge's clock; rounding lets a burst grow by what
  comes in one step of the grid. The same holds where ProcessingDelayMax is below what an idle bridge takes.
- A clock that runs slower than the one before lets less pass than comes in. In a run of length T, eligibility times
  fall behind by at most T times the difference of the two drifts; the first bridge's clock is held against the
  network's time, by which sources are judged. All else lasts longer by the largest drift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from penstock import _engine
from penstock.scenario.network import WIRE_OVERHEAD_BYTES, Bridge, Network, Step, Stream, hardware_visible_ps

CLOCK_PS = 8000
_FINE_PS = 1000  # bridges with other timing shape in whole nanoseconds
_PS = 10**12
_PREAMBLE_BYTES = 8

_LONGEST_NS = 10**9  # the scheduler holds no frame for longer

# From a frame's last bit at a port to the first bit after the delimiter at an idle output: what the switch promises.
PROCESSING_PS = 400_000
# The part of it that follows eligibility: selection, preamble and delimiter.
_EGRESS_PS = 120_000
_SELECTED_TO_SENT_PS = 96_000  # within it, what is constant
_SHOWN = 6  # bursts in an equation; of more the sum


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


@dataclass(frozen=True)
class _Port:
    """What the streams of an egress port come to, from the view of one class."""

    bursts: tuple[int, ...]  # of the higher classes and the same
    higher_bps: int
    same_bps: int
    shortest: int  # of the same class, on the wire
    blocking: int  # longest of the lower classes, on the wire
    unshaped: tuple[str, str] | None  # a stream of a higher or the same class without rate, and which


def processing_allowed_ps(bridge: Bridge, rate_bps: int = 10**9) -> int:
    """What an idle bridge may take, from the last bit of a frame to its first bit after the delimiter on its link."""
    delay = bridge.processing_delay_max_ps
    if bridge.hardware_timing:
        idle = max(PROCESSING_PS, _visible_ps(bridge) + _SELECTED_TO_SENT_PS)
        return max(idle, (delay or 0) + _EGRESS_PS)
    fine = -(-bridge.processing_delay_ps // _FINE_PS) * _FINE_PS
    return max(fine, delay or 0) + _ceil(_PREAMBLE_BYTES * 8 * _PS, rate_bps)


def _visible_ps(bridge: Bridge) -> int:
    """From the last bit of a frame to the instant from which it may be selected, if nothing holds it back."""
    if bridge.hardware_timing:
        return hardware_visible_ps(bridge.ports)
    return bridge.processing_delay_ps


def bound(network: Network, name: str, measured_ps: int | Mapping[str, int] | None = None) -> Bound:
    """The largest latency of a stream, from the delimiter at its talker to the delimiter at any listener.

    `measured_ps` is what bridges were seen to take when idle; it counts where it is more than what is promised.
    """
    stream = network.streams[name]
    if stream.ats is None:
        return Bound(None, "the stream has no committed rate and burst (ats)")
    per_listener = [_at_listener(network, stream, listener, measured_ps or 0) for listener in stream.listeners]
    without = next((b for b in per_listener if b.total_ps is None), None)
    return without or max(per_listener, key=lambda b: b.total_ps or 0)


def _at_listener(network: Network, stream: Stream, listener: str, measured_ps: int | Mapping[str, int]) -> Bound:
    talker, end = network.stations[stream.talker], network.stations[listener]
    way = network.way(stream, listener)
    one = len(way) == 1
    terms: list[Term] = []
    equations: list[str] = []
    before: Step | None = None
    for step in way:
        reason = _no_bound(network, stream, step, before)
        if reason is not None:
            return Bound(None, reason if one else f'{reason} (at "{step.bridge}")')
        label = "" if one else f"{step.bridge}: "
        link = network.link_at[step.bridge, step.entry]
        bridge = network.bridges[step.bridge]
        measured = measured_ps if isinstance(measured_ps, int) else measured_ps.get(step.bridge, 0)
        rate = network.link_at[step.bridge, step.egress].rate_bps
        port = _port(network, step, network.class_at(stream, step.bridge))
        own = stream.min_frame_bytes + WIRE_OVERHEAD_BYTES
        shortest = own if step is way[-1] else port.shortest
        contention = _ceil((sum(port.bursts) - shortest + port.blocking) * 8 * _PS, rate - port.higher_bps)
        bursts = " + ".join(map(str, port.bursts)) if len(port.bursts) <= _SHOWN else str(sum(port.bursts))
        equations.append(
            f"({bursts} - {shortest} + {port.blocking}) B / ({rate // 10**6} - {port.higher_bps / 10**6:g}) Mb/s"
        )
        grid, grid_detail = _grid(bridge, port, rate)
        terms += [
            Term(f"{label}link to the bridge", talker.name if before is None else before.bridge, link.delay_ps),
            Term(
                f"{label}frame on the wire",
                f"{stream.max_frame_bytes} B stored before it is forwarded",
                _ceil(stream.max_frame_bytes * 8 * _PS, link.rate_bps),
            ),
            Term(
                f"{label}processing",
                f"last bit in to first bit out of {bridge.name}, idle",
                max(processing_allowed_ps(bridge, rate), measured),
            ),
            Term(f"{label}contention", f"equation (1): {equations[-1]}", contention),
            Term(f"{label}clock grid", grid_detail, grid),
        ]
        before = step
    terms.append(Term("link to the listener", end.name, end.link_delay_ps))
    drift = _drift(network, way, sum(term.ps for term in terms))
    if drift is not None:
        terms.append(drift)
    return Bound(sum(t.ps for t in terms), None, tuple(terms), "; ".join(equations))


def _no_bound(network: Network, stream: Stream, step: Step, before: Step | None) -> str | None:
    """Why equation (1) says nothing about the stream at a bridge."""
    bridge = network.bridges[step.bridge]
    traffic_class = network.class_at(stream, step.bridge)
    if not bridge.is_ats(traffic_class):
        how = "served by credit" if bridge.selection(traffic_class) == "cbs" else "strict priority"
        return f"class {traffic_class} is {how}: the stream is not shaped"
    if step.egress in bridge.gates:
        return "the port has gates, and equation (1) is about a link that is always there"
    if bridge.cut_through:
        return "the bridge forwards by cut-through, and equation (1) is about whole frames"
    if not bridge.static_forwarding:
        return "the bridge learns its addresses, and may flood other streams to the same port"
    port = _port(network, step, traffic_class)
    if port.unshaped is not None:
        name, which = port.unshaped
        return f'"{name}" in the {which} class has no committed rate and burst'
    link = network.link_at[step.bridge, step.egress]
    total = port.higher_bps + port.same_bps
    if total > link.rate_bps or port.higher_bps == link.rate_bps:
        peer = network.peer(step.bridge, step.egress)
        return f"the committed rates add up to {total / 1e6:g} Mb/s, above the link to {peer[0] if peer else 'nothing'}"
    if before is not None and len(_classes_before(network, step, before, traffic_class)) > 1:
        return "streams of its scheduler group were of different classes at the bridge before"
    return None


def _port(network: Network, step: Step, traffic_class: int) -> _Port:
    known: _Port | None = network.memo.get(("port", step.bridge, step.egress, traffic_class))
    if known is not None:
        return known
    bridge = network.bridges[step.bridge]
    bursts = []
    higher_bps, same_bps, shortest, blocking = 0, 0, 0, 0
    unshaped: dict[str, str] = {}
    for stream in network.streams_at[step.bridge, step.egress]:
        of = network.class_at(stream, step.bridge)
        if of < traffic_class:
            blocking = max(blocking, stream.max_frame_bytes + WIRE_OVERHEAD_BYTES)
            continue
        if stream.ats is None or not bridge.is_ats(of):
            unshaped.setdefault("higher" if of > traffic_class else "same", stream.name)
            continue
        bursts.append((of == traffic_class, stream.ats.burst_bytes))
        if of > traffic_class:
            higher_bps += stream.ats.rate_bps
        else:
            same_bps += stream.ats.rate_bps
            least = stream.min_frame_bytes + WIRE_OVERHEAD_BYTES
            shortest = min(shortest or least, least)
    # The higher classes come first in the equation.
    ordered = tuple(burst for _, burst in sorted(bursts, key=lambda b: b[0]))
    wild = next(((unshaped[which], which) for which in ("higher", "same") if which in unshaped), None)
    found = _Port(ordered, higher_bps, same_bps, shortest, blocking, wild)
    network.memo["port", step.bridge, step.egress, traffic_class] = found
    return found


def _classes_before(network: Network, step: Step, before: Step, traffic_class: int) -> set[int]:
    """Of which classes the streams of a scheduler group were at the bridge before."""
    key = ("group", step.bridge, step.entry, traffic_class)
    known: set[int] | None = network.memo.get(key)
    if known is None:
        known = {
            network.class_at(other, before.bridge)
            for other in network.streams_at[before.bridge, before.egress]
            if other.ats is not None and network.class_at(other, step.bridge) == traffic_class
        }
        network.memo[key] = known
    return known


def _grid(bridge: Bridge, port: _Port, rate_bps: int) -> tuple[int, str]:
    step = CLOCK_PS if bridge.hardware_timing else _FINE_PS
    delay = bridge.processing_delay_max_ps
    early = 0 if delay is None else max(0, _visible_ps(bridge) - delay)
    growth = _ceil((port.higher_bps + port.same_bps) * (step + early), rate_bps - port.higher_bps)
    said = "two cycles of 8 ns" if bridge.hardware_timing else "twice 1 ns"
    return 2 * step + growth, f"{said}: arrival and eligibility are rounded up, and what comes meanwhile"


def _drift(network: Network, way: Sequence[Step], total_ps: int) -> Term | None:
    drifts = [network.bridges[step.bridge].clock.drift_ppb for step in way]
    if not any(drifts):
        return None
    apart = sum(abs(after - before) for before, after in pairwise((0, *drifts)))
    most = max(map(abs, drifts))
    # What falls behind does so for as long as the run lasts, and that includes this term and the stretch.
    stretched = total_ps + _ceil(total_ps * most, 10**9 - most)
    behind = _ceil((network.duration_ps + stretched) * apart, 10**9 - apart)
    detail = f"{apart / 1000:g} ppm from clock to clock over the run, and {most / 1000:g} ppm of all else"
    return Term("clock drift", detail, stretched - total_ps + behind)


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


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
