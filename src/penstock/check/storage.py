# SPDX-License-Identifier: Apache-2.0
"""Whether what may meet at a bridge has room there.

An estimate by arrival curves: a stream brings a burst at once and then its mean rate, by its link no faster than that
carries it; a port sends at its rate, while the gate is open, and no faster than credit allows. What waits in the worst
case is held against the limits of queues and the shares of the store. Of sources by chance nothing is known but a
committed rate and burst.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from penstock.bound.answers import learn_answers
from penstock.bound.contracts import brought
from penstock.bound.terms import PS
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Stream
from penstock.scenario.findings import Finding, Places
from penstock.scenario.limits import CELL_BYTES
from penstock.scenario.network import Bridge, Network
from penstock.scenario.report import names
from penstock.scenario.store import cells_of, limit_of_class, limit_of_queue, shares, store_cells
from penstock.scenario.units import show_rate
from penstock.scenario.windows import acting

_MOST_CURVES = 50
_BEYOND = 1.0 + 1e-9  # of a sum of fractions that is meant to be 1


@dataclass(frozen=True)
class _Curve:
    """What a stream brings in any time: the least of some bursts with what comes at a rate after each. On the wire."""

    stream: Stream
    pieces: tuple[tuple[float, float], ...]  # bytes, bytes a second

    def at(self, t: float) -> float:
        """Bytes within a time in s."""
        return min(burst + rate * t for burst, rate in self.pieces)

    @property
    def rate(self) -> float:
        """As long as it lasts, in bytes a second."""
        return min(rate for _, rate in self.pieces)

    @property
    def turns(self) -> Iterator[float]:
        """Where one piece ends and another begins, or may."""
        for (a, slow), (b, fast) in permutations(self.pieces, 2):
            if fast > slow and a > b:
                yield (a - b) / (fast - slow)

    @property
    def cells_per_byte(self) -> float:
        """What a byte on the wire takes of a store."""
        longest = self.stream.max_frame_bytes
        return cells_of(longest) / (longest + WIRE_OVERHEAD_BYTES)


@dataclass(frozen=True)
class _Reception:
    """The streams that come by one port, whose link carries no more than its rate."""

    curves: tuple[_Curve, ...]
    link: float  # bytes a second

    @property
    def rate(self) -> float:
        """As long as they last, in bytes a second."""
        return min(sum(curve.rate for curve in self.curves), self.link)

    def _by_link(self, t: float) -> float:
        return max(curve.stream.max_frame_bytes for curve in self.curves) + WIRE_OVERHEAD_BYTES + self.link * t

    def _by_streams(self, t: float) -> float:
        return sum(curve.at(t) for curve in self.curves)

    def at(self, t: float) -> float:
        """Bytes within a time in s."""
        return min(self._by_link(t), self._by_streams(t))

    @property
    def turns(self) -> list[float]:
        """Where the rate changes: there of the streams, and where the link is no longer what holds them."""
        found = sorted({0.0, *(t for curve in self.curves for t in curve.turns)})
        ends = [*found[1:], found[-1] + 1.0]
        for begin, end in zip(found[:], ends, strict=True):
            before, after = (self._by_streams(t) - self._by_link(t) for t in (begin, end))
            # Straight from one to the next; after the last it goes on so.
            if before > after and (before > 0 > after or (end is ends[-1] and before > 0)):
                found.append(begin + (end - begin) * before / (before - after))
        return found


@dataclass(frozen=True)
class _Queue:
    """The worst case of a class at an egress port."""

    egress: int
    traffic_class: int
    cells: float | None  # None: it grows for as long as the sources last
    offered_bps: float
    served_bps: float
    streams: tuple[str, ...]


def storage_findings(network: Network, places: Places) -> Iterator[Finding]:
    """What may be dropped for want of room, by bridge; nothing of real hosts."""
    if network.is_real:
        return
    for bridge in network.bridges.values():
        yield from _of_bridge(network, bridge, places)


def _of_bridge(network: Network, bridge: Bridge, places: Places) -> Iterator[Finding]:
    path = places.bridge(bridge.name)
    queues = [
        queue
        for egress in range(bridge.ports)
        if (bridge.name, egress) in network.streams_at
        for queue in _queues(network, bridge, egress)
    ]
    share = shares(store_cells(bridge), bridge.ports)
    beyond_guarantees = 0.0
    for queue in queues:
        limit = limit_of_queue(network, bridge, queue.traffic_class)
        held = limit if queue.cells is None else min(queue.cells, limit)
        beyond_guarantees += max(0.0, held - share.queue_guarantee)
        where = f"{bridge.class_name(queue.traffic_class)} at {bridge.name}.{queue.egress}"
        who = names(f'"{name}"' for name in queue.streams)
        if queue.cells is None:
            what = (
                f"{where} is served with {show_rate(queue.served_bps)}, and {who} with what goes first come with "
                f"{show_rate(queue.offered_bps)} on the wire: as long as they last the queue grows, "
                "and drops frames when it is full (queue_full)"
            )
            yield places.finding((*path, "classes", str(queue.traffic_class)), what)
        elif queue.cells > limit:
            what = (
                f"{where} may have to hold {queue.cells:,.0f} cells of {CELL_BYTES} B of {who}, and its queue holds "
                f"{limit:,}: frames may be dropped (queue_full); queue_limit can be more"
            )
            yield places.finding((*path, "classes", str(queue.traffic_class), "queue_limit"), what)
    yield from _of_classes(network, bridge, queues, places)
    entries = {hop.entry for _, hop in network.passing[bridge.name]}
    room = share.shared + share.reception_guarantee * len(entries)
    if beyond_guarantees > room:
        what = (
            f"its queues may hold {beyond_guarantees:,.0f} cells of {CELL_BYTES} B beyond what is guaranteed to each, "
            f"and its store has {room:,} for that: frames may be dropped (store_full)"
        )
        yield places.finding(path, what)


def _of_classes(network: Network, bridge: Bridge, queues: list[_Queue], places: Places) -> Iterator[Finding]:
    """A class has a limit of its own over all ports."""
    held: dict[int, float] = defaultdict(float)
    for queue in queues:
        limit = limit_of_queue(network, bridge, queue.traffic_class)
        held[queue.traffic_class] += limit if queue.cells is None else min(queue.cells, limit)
    for number, cells in held.items():
        limit = limit_of_class(network, bridge, number)
        if cells > limit:
            what = (
                f"{bridge.class_name(number)} may have to hold {cells:,.0f} cells of {CELL_BYTES} B at all ports "
                f"together, and is given {limit:,}: frames may be dropped (class_full)"
            )
            yield places.finding((*places.bridge(bridge.name), "classes", str(number)), what)


def _queues(network: Network, bridge: Bridge, egress: int) -> Iterator[_Queue]:
    """The worst case of each class at a port that streams leave by."""
    rate = network.link_at[bridge.name, egress].rate_bps / 8
    by_class: dict[int, list[tuple[int, _Curve]]] = defaultdict(list)
    for stream, hop in network.passing[bridge.name]:
        curve = _curve(network, stream, bridge) if egress in hop.egress else None
        if curve is not None:
            by_class[network.class_at(stream, bridge.name)].append((hop.entry, curve))
    ahead: list[tuple[int, tuple[int, _Curve]]] = []
    for number in sorted(by_class, reverse=True):
        own = by_class[number]
        credit = bridge.credit.get((egress, number))
        share, closed_ps = _open(bridge, egress, number)
        served = share * (rate if credit is None else min(credit.idle_slope_bps / 8, rate))
        # What is ahead is served first, unless it has times of its own; a class with credit has its own rate.
        others = [] if credit is not None else [each for k, each in ahead if _is_within(bridge, egress, k, number)]
        receptions = _receptions(network, bridge, [*others, *own])
        cells = _backlog(receptions, [curve for _, curve in own], served, closed_ps / PS)
        offered = sum(reception.rate for reception in receptions)
        yield _Queue(egress, number, cells, offered * 8, served * 8, tuple(curve.stream.name for _, curve in own))
        ahead += [(number, each) for each in own]


def _receptions(network: Network, bridge: Bridge, counted: list[tuple[int, _Curve]]) -> list[_Reception]:
    groups: dict[int, list[_Curve]] = defaultdict(list)
    for entry, curve in counted:
        groups[entry].append(curve)
    return [
        _Reception(_few(curves), network.link_at[bridge.name, entry].rate_bps / 8) for entry, curves in groups.items()
    ]


def _few(curves: list[_Curve]) -> tuple[_Curve, ...]:
    """Many are taken for one that brings no less: what it takes to look at them grows with their square."""
    if len(curves) <= _MOST_CURVES:
        return tuple(curves)
    lasting = [min(curve.pieces, key=lambda piece: piece[1]) for curve in curves]
    longest = max(curves, key=lambda curve: curve.stream.max_frame_bytes).stream
    return (_Curve(longest, ((sum(burst for burst, _ in lasting), sum(rate for _, rate in lasting)),)),)


def _is_within(bridge: Bridge, egress: int, other: int, number: int) -> bool:
    """Whether a class is open only while another one is."""
    gates = bridge.gates.get(egress)
    return gates is None or all(states >> number & 1 for _, states, _ in acting(gates).entries if states >> other & 1)


def _open(bridge: Bridge, egress: int, number: int) -> tuple[float, int]:
    """The part of the time in which a class may be sent, and for how long it may not at a stretch."""
    gates = bridge.gates.get(egress)
    if gates is None:
        return 1.0, 0
    cycle = acting(gates)
    closed = longest = 0
    for _, states, interval in cycle.entries * 2:  # a stretch may go on in the next cycle
        closed = 0 if states >> number & 1 else closed + interval
        longest = max(longest, closed)
    return cycle.open_time(number) / cycle.cycle_time, longest * 1000


def _curve(network: Network, stream: Stream, bridge: Bridge) -> _Curve | None:
    """As the source has it, as it is committed to, and as the slowest link on its way there carries it."""
    rate = network.stations[stream.talker].link_rate_bps
    pieces = []
    learn_answers(network)
    found = brought(network, stream, rate)
    # What a scheduler of the talker held may come closer together than it was released.
    if found is not None and not network.stations[stream.talker].ats_classes:
        pieces.append((float(found[0]) * rate / (8 * PS), float(found[1]) * rate / 8))
    if stream.ats is not None and stream.ats.scheduler is None:
        ats = stream.ats.at_node(stream.tree[0].bridge)
        pieces.append((ats.burst_bytes, ats.rate_bps / 8))
    if not pieces:
        return None
    slowest = _slowest_links(network, stream)[bridge.name]
    return _Curve(stream, (*pieces, (stream.max_frame_bytes + WIRE_OVERHEAD_BYTES, slowest / 8)))


def _slowest_links(network: Network, stream: Stream) -> dict[str, int]:
    """By bridge, the rate of the slowest link on the stream's way there, in b/s."""
    known: dict[str, int] | None = network.memo.get(("slowest links", stream.name))
    if known is None:
        known = network.memo["slowest links", stream.name] = {}
        for hop in stream.tree:
            rate, before = network.link_at[hop.bridge, hop.entry].rate_bps, network.peer(hop.bridge, hop.entry)
            known[hop.bridge] = min(rate, known.get(before[0], rate)) if before is not None else rate
    return known


def _backlog(receptions: list[_Reception], own: list[_Curve], served: float, closed: float) -> float | None:
    """What waits at most, in cells; None if more comes than is served. In bytes a second, and s."""
    if sum(reception.rate for reception in receptions) > served * _BEYOND:
        return None
    turns = {0.0, closed, *(t for reception in receptions for t in reception.turns)}
    waits = max(sum(each.at(t) for each in receptions) - served * max(0.0, t - closed) for t in turns)
    # No more of a class waits than comes of it meanwhile.
    most = sum(curve.at(closed + waits / served) for curve in own)
    return min(waits, most) * max(curve.cells_per_byte for curve in own)
