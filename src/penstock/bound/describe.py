# SPDX-License-Identifier: Apache-2.0
"""A network as the analysis of the engine takes it (`engine/bound/src/told.rs`): plain numbers.

Times and rates are those of the network's clock: what a node's own clock makes of them is made good for here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from math import ceil, floor
from typing import Any, NamedTuple

from pydantic_core import to_json

from penstock import _engine
from penstock.bound.contracts import brought, contract_of
from penstock.bound.phases import acts_for_all, begun, between, released
from penstock.bound.sources import on_wire, talker_groups
from penstock.bound.terms import MOST, PS, ceil_div
from penstock.bound.timing import STATION_STEP_PS, grid_step_ps, processing, visible_early_ps
from penstock.collection import without_collection
from penstock.ethernet import GAP_BYTES, WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Ats, Hop, Stream
from penstock.scenario.egress import CreditShaper, GateList
from penstock.scenario.lengths import Ends, edits, lengths_at, lengths_of
from penstock.scenario.limits import START_TIME_NS
from penstock.scenario.network import Bridge, Network, Station
from penstock.scenario.windows import acting

Place = tuple[str, int]  # a node and its egress port

_HARDWARE_SLOPE_BITS = 27  # units of 2^-24 bit in 8 ns, of which 10^9 b/s are 2^27
_HARDWARE_MOST_CREDIT_BITS = 1 << 22
_MOST_CREDIT_BITS = 1 << 40
# Rounding to whole picoseconds, of a frame's first bit and its last.
_ROUNDING_PS = 2
_AT_ONCE_PS = 500_000  # so soon after the run begins no frame has come anywhere


@dataclass
class Description:
    """The network as the engine takes it, and where in it everything is."""

    network: Network
    ports: list[dict[str, Any]] = field(default_factory=list)
    regulators: list[dict[str, int]] = field(default_factory=list)
    passages: list[dict[str, Any]] = field(default_factory=list)
    streams: list[dict[str, Any]] = field(default_factory=list)
    port_at: dict[Place, int] = field(default_factory=dict)
    # Of a hop, by its identity, the passages to its egress ports.
    passages_of: dict[int, list[int]] = field(default_factory=dict)
    node_of: dict[str, _Node] = field(default_factory=dict)  # what schedulers of a node have in common
    _hops_of: dict[str, dict[Place, int]] = field(default_factory=dict)

    def hops_of(self, name: str) -> dict[Place, int]:
        """By port, the hops of a stream as the engine counts them: its talker's, and each after the one before it."""
        known = self._hops_of.get(name)
        if known is None:
            stream = self.network.streams[name]
            places = [(stream.talker, 0), *((hop.bridge, port) for hop in stream.tree for port in hop.egress)]
            known = self._hops_of[name] = {place: number for number, place in enumerate(places)}
        return known

    def engine(self) -> _engine.BoundNetwork:
        """The network in the engine."""
        told = {"ports": self.ports, "regulators": self.regulators, "passages": self.passages, "streams": self.streams}
        return _engine.BoundNetwork.told(to_json(told).decode())

    def as_json(self) -> dict[str, Any]:
        """The network hop by hop."""
        found: dict[str, Any] = json.loads(self.engine().text())
        return found


class _Node(NamedTuple):
    """What of a node its schedulers depend on."""

    overhead_bytes: int
    drift_ppb: int
    step_ps: int  # of its times


def describe(network: Network) -> Description:
    """The whole network: also streams without a bound are in the way of others."""
    with without_collection():
        return _described(network)


def _described(network: Network) -> Description:
    told = Description(network)
    lengths = _lengths(network)
    for place in _places(network):
        told.port_at[place] = len(told.ports)
        told.ports.append(_port(network, place, lengths[place]))
    for hop, _ in network.by_hop:
        told.passages_of[id(hop)] = [*range(len(told.passages), len(told.passages) + len(hop.egress))]
        told.passages += [_passage(network, told, hop, port) for port in hop.egress]
    known = _Known()
    told.streams += [_stream(network, stream, told, known) for stream in network.streams.values()]
    return told


def _places(network: Network) -> Iterable[Place]:
    """The ports by which frames leave, as streams come to them."""
    found: dict[Place, None] = {}
    streams = iter(network.streams.values())
    at: Stream | None = None
    for hop, passing in network.by_hop:
        while at is not passing[0]:
            at = next(streams)
            found[at.talker, 0] = None
        found.update(dict.fromkeys((hop.bridge, port) for port in hop.egress))
    return found | dict.fromkeys((stream.talker, 0) for stream in streams)


def _lengths(network: Network) -> dict[Place, tuple[int, int]]:
    """The shortest and the longest frame that leaves by a port."""
    found: dict[Place, tuple[int, int]] = {}

    def take(streams: list[Stream], places: Iterable[Place]) -> None:
        least, most = min([each.min_frame_bytes for each in streams]), max([each.max_frame_bytes for each in streams])
        for place in places:
            if edits(network):
                ends = [lengths_at(network, each, place).counted for each in streams]
                least, most = min([shortest for shortest, _ in ends]), max([longest for _, longest in ends])
            known = found.get(place, (least, most))
            found[place] = min(known[0], least), max(known[1], most)

    for talker, streams in network.streams_from.items():
        if streams:
            take(streams, [(talker, 0)])
    for hop, streams in network.by_hop:
        take(streams, [(hop.bridge, port) for port in hop.egress])
    return found


def _node(network: Network, name: str) -> Bridge | Station:
    return network.bridges[name] if name in network.bridges else network.stations[name]


def _port(network: Network, place: Place, lengths: tuple[int, int]) -> dict[str, Any]:
    name, port = place
    node = _node(network, name)
    rate = network.link_at[place].rate_bps
    drift = Fraction(10**9 + node.clock.drift_ppb, 10**9)
    slowest: Fraction = rate * drift
    if node.clock.drift_ppb or 8 * PS % rate:
        # Each frame may take a picosecond more.
        bits = (lengths[0] + WIRE_OVERHEAD_BYTES) * 8
        slowest = bits * PS / (bits * PS / slowest + 1)
    told: dict[str, Any] = {
        "slowest_bps": floor(slowest),
        "fastest_bps": ceil(rate * drift),
        "credit": _credits(network, node, port, drift),
        "turns": sum(1 << number for number in node.round_robin.get(port, ())),
    }
    if isinstance(node, Bridge):
        held_ps = held_ps_of(network, node, rate)
        told["held_ps"] = min(held_ps, MOST)
        if not node.static_forwarding or held_ps > MOST:
            told["unknown"] = True
    if port in node.gates:
        gates = _gates(network, place, node, node.gates[port], rate, lengths[1])
        if gates is None:
            told["unknown"] = True
        else:
            told["gates"] = gates | begun(network, node, node.gates[port])
    return told


def held_ps_of(network: Network, bridge: Bridge, rate_bps: int) -> int:
    """For how long a frame is in a queue beside its wait and its own time on the wire.

    A scheduler with a slow clock falls behind one with a fast clock for as long as the run lasts.
    """
    processing_ps, _ = processing(bridge, rate_bps, 0)
    behind_ps = ceil_div(network.duration_ps * _drifts_apart(network), 10**9)
    own_ps = processing_ps + 2 * grid_step_ps(bridge)
    return own_ps + ceil_div(own_ps * abs(bridge.clock.drift_ppb), 10**9) + behind_ps


def _drifts_apart(network: Network) -> int:
    """By how many ppb the clocks of bridges disagree, and with the network's time."""
    known: int | None = network.memo.get("drifts apart")
    if known is None:
        drifts = [each.clock.drift_ppb for each in network.bridges.values()]
        known = network.memo["drifts apart"] = max(0, *drifts) - min(0, *drifts)
    return known


def _credits(network: Network, node: Bridge | Station, port: int, drift: Fraction) -> list[dict[str, int]]:
    """The same of all nodes that are described in one place."""
    hardware = isinstance(node, Bridge) and node.hardware_timing
    key = "credit", id(node.credit), port, node.clock.drift_ppb, hardware, node.count_gap
    known: list[dict[str, int]] | None = network.memo.get(key)
    if known is None:
        shapers = [(number, shaper) for (of, number), shaper in node.credit.items() if of == port]
        known = network.memo[key] = [_credit(node, number, shaper, drift) for number, shaper in shapers]
    return known


def _credit(node: Bridge | Station, traffic_class: int, shaper: CreditShaper, drift: Fraction) -> dict[str, int]:
    slope = Fraction(shaper.idle_slope_bps)
    hardware = isinstance(node, Bridge) and node.hardware_timing
    slower = Fraction(floor(slope * 2**_HARDWARE_SLOPE_BITS / 10**9) * 10**9, 2**_HARDWARE_SLOPE_BITS)
    return {
        "class": traffic_class,
        "slowest_bps": max(1, floor((slower if hardware else slope) * drift)),
        "fastest_bps": ceil(slope * drift),
        "free_bytes": 0 if node.count_gap else GAP_BYTES,
        "most_bits": _HARDWARE_MOST_CREDIT_BITS if hardware else _MOST_CREDIT_BITS,
    }


def begins_late(node: Bridge | Station, gates: GateList) -> bool:
    """Whether frames may meet the gates before their list acts."""
    clock = node.clock
    shown_ns = START_TIME_NS + (clock.offset_ps // 1000 if clock.sync_error_ns is None else clock.sync_error_ns)
    return (gates.base_time_ns - shown_ns) * 1000 > _AT_ONCE_PS


def _gates(
    network: Network, place: Place, node: Bridge | Station, gates: GateList, rate: int, longest: int
) -> dict[str, Any] | None:
    """None: some are shut before the list acts, for as long as that lasts."""
    late = begins_late(node, gates) and not acts_for_all(network, place, gates)
    if late and gates.initial_states != 0xFF:
        return None
    hardware = isinstance(node, Bridge) and node.hardware_timing
    drift = node.clock.drift_ppb
    # An edge acts in the next tick, and a frame may take longer or shorter than the gate's clock says.
    wire_ps = ceil_div((longest + WIRE_OVERHEAD_BYTES) * 8 * PS, rate)
    edge = (2 * 8000 if hardware else 2) + ceil_div(wire_ps * abs(drift), 10**9)
    entries = _entries(gates)
    if drift:
        edge += _SYNTONIZED_PS
    if not node.guard_band_gap:
        edge += ceil_div(GAP_BYTES * 8 * PS, rate)  # which may last beyond the end of a window
    if drift and node.clock.sync_error_ns is None:
        entries = [(states, round(Fraction(interval * 10**9, 10**9 + drift))) for states, interval in entries]
    return {"entries": entries, "edge_ps": edge, "late": late, "frozen": node.frozen_in_guard_band}


@lru_cache(maxsize=256)
def _entries(gates: GateList) -> list[tuple[int, int]]:
    """States and intervals in ps, as the list acts."""
    return [(states, interval * 1000) for _, states, interval in acting(gates).entries]


# What the lengths of cycles may add up to that are rounded to picoseconds, or to the increments of a clock.
_SYNTONIZED_PS = 20_000


def source_bucket(network: Network, stream: Stream) -> list[dict[str, int]]:
    """What the source releases, as far as it is known before a run."""
    if stream.source.response_to is not None:
        return []
    rate = network.stations[stream.talker].link_rate_bps
    found = brought(network, stream, rate)
    if found is None:
        return []
    at_once, share = found
    rate_bps = ceil_div(share.numerator * rate, share.denominator)
    if rate_bps > MOST:
        return []  # which is more than any link carries
    ps = at_once.numerator + _ROUNDING_PS * at_once.denominator
    return [{"burst_millibits": ceil_div(ps * rate * 1000, at_once.denominator * PS), "rate_bps": rate_bps}]


@dataclass
class _Known:
    """Schedulers that are told: of one stream, by what it is and where; and the numbers of those that are shared."""

    buckets: dict[tuple[_Node, int, int, tuple[Ends, Ends]], dict[str, int]] = field(default_factory=dict)
    shared: dict[tuple[str, int, int, str], int] = field(default_factory=dict)


def _stream(network: Network, stream: Stream, told: Description, known: _Known) -> dict[str, Any]:
    held: int | None = None
    regulators: list[int | None] = []
    conforms = False
    if stream.ats is not None:
        known.buckets.clear()
        if network.is_held_by_talker(stream):
            held = _regulator(network, stream, (stream.talker, 0), told, known)
        pcp = None if stream.vlan is None else stream.pcp
        is_held = [pcp in network.bridges[hop.bridge].ats_pcps for hop in stream.tree]
        for hop, is_held_there in zip(stream.tree, is_held, strict=True):
            number = _regulator(network, stream, (hop.bridge, hop.entry), told, known) if is_held_there else None
            regulators += [number] * len(hop.egress)
        conforms = is_held[0] and _all_conform(network, stream)
    elif goes_with_schedulers(network, stream):
        conforms = True
    return {
        "port": told.port_at[stream.talker, 0],
        "class": network.class_at_talker(stream),
        "held_by": held,
        "pcp": None if stream.vlan is None else stream.pcp,
        "way": [*chain.from_iterable(map(told.passages_of.__getitem__, map(id, stream.tree)))],
        "regulators": regulators,
        "conforms": conforms,
        "buckets": source_bucket(network, stream),
        "min_frame_bytes": stream.min_frame_bytes,
        "max_frame_bytes": stream.max_frame_bytes,
        "lengths": _counted(network, stream),
        "fills": bool(stream.source.back_to_back),
        "releases": released(network, stream),
    }


def goes_with_schedulers(network: Network, stream: Stream) -> bool:
    """Whether it is told by its number, and comes after what schedulers of its group hold since it is early."""
    first = stream.tree[0].bridge
    return stream.ats is None and stream.numbered and network.bridges[first].is_ats(network.class_at(stream, first))


def _counted(network: Network, stream: Stream) -> list[Ends]:
    """By passage, how long its frames are as the port behind it counts them; none where they stay as they are."""
    if not edits(network):
        return []
    found = lengths_of(network, stream)
    return [found[hop.bridge, port].counted for hop in stream.tree for port in hop.egress]


def _passage(network: Network, told: Description, hop: Hop, egress: int) -> dict[str, Any]:
    """From the port before a bridge to one of its own."""
    before = network.peer(hop.bridge, hop.entry)
    assert before is not None, "a tree leads from its talker on"
    bridge = network.bridges[hop.bridge]
    entry = network.link_at[hop.bridge, hop.entry]
    return {
        "port": told.port_at[hop.bridge, egress],
        "before": told.port_at[before],
        "classes": [*bridge.class_of_pcp, bridge.class_of_untagged],
        "jitter_ps": grid_step_ps(bridge) + _ROUNDING_PS,
        "rate_bps": entry.rate_bps,
        "delay_ps": entry.delay_ps,
        **between(network, _node(network, before[0]), hop, egress),
    }


def _all_conform(network: Network, stream: Stream) -> bool:
    """Whether it is proven of all streams of its scheduler group at the first bridge that none is held there."""
    key = ("all conform", stream.talker, stream.traffic_class)
    if key not in network.memo:
        network.memo[key] = _group_conforms(network, stream)
    found: bool = network.memo[key]
    return found


def _group_conforms(network: Network, stream: Stream) -> bool:
    if stream.talker in _answering(network):
        return False  # what is known of answers follows from this analysis
    return all(_is_kept(network, other) for other in talker_groups(network)[stream.talker, stream.traffic_class])


def _answering(network: Network) -> frozenset[str]:
    """The talkers that answer a stream."""
    known: frozenset[str] | None = network.memo.get("answering")
    if known is None:
        answers = (stream for stream in network.streams.values() if stream.source.response_to is not None)
        known = network.memo["answering"] = frozenset(stream.talker for stream in answers)
    return known


def _is_kept(network: Network, name: str) -> bool:
    found = contract_of(network, name)
    return found is not None and found.state == "kept"


def _regulator(network: Network, stream: Stream, at: Place, told: Description, known: _Known) -> int:
    """The scheduler of a stream at a bridge's reception port, or at its talker."""
    assert stream.ats is not None
    name, entry = at
    ats, node = stream.ats.at_node(name), told.node_of.get(name)
    if node is None:
        node = told.node_of[name] = _timing(_node(network, name))
    came = _came(network, stream, at)
    key = node, ats.rate_bps, ats.burst_bytes, came
    bucket = known.buckets.get(key)
    if bucket is None:
        bucket = known.buckets[key] = _bucket(ats, node, came)
    shared = stream.ats.scheduler
    if shared is None:
        told.regulators.append(bucket)
        return len(told.regulators) - 1
    # One of all streams that share it.
    traffic_class = network.class_at(stream, name) if name in network.bridges else network.class_at_talker(stream)
    place = name, entry, traffic_class, shared
    if place not in known.shared:
        known.shared[place] = len(told.regulators)
        told.regulators.append(bucket)
    else:
        there = told.regulators[known.shared[place]]
        told.regulators[known.shared[place]] = {what: max(there[what], value) for what, value in bucket.items()}
    return known.shared[place]


def _timing(node: Bridge | Station) -> _Node:
    step_ps = grid_step_ps(node) + visible_early_ps(node) if isinstance(node, Bridge) else STATION_STEP_PS
    return _Node(node.overhead_bytes, node.clock.drift_ppb, step_ps)


def _came(network: Network, stream: Stream, at: Place) -> tuple[Ends, Ends]:
    """How long frames come to a node, and how long they had the port before; of a talker, as they are released."""
    before = network.peer(*at) if at[0] in network.bridges and edits(network) else None
    if before is None:
        released = stream.min_frame_bytes, stream.max_frame_bytes
        return released, released
    found = lengths_at(network, stream, before)
    return found.sent, found.counted


def _bucket(ats: Ats, node: _Node, lengths: tuple[Ends, Ends]) -> dict[str, int]:
    came, wire = lengths
    _, fastest_bps, burst_bytes = on_wire(ats, node.overhead_bytes, came, wire)
    rate = ceil_div(fastest_bps * (10**9 + node.drift_ppb), 10**9)
    # Its times are rounded up to the clock, and bursts grow by what comes in a step of it.
    grown = burst_bytes * 8000 + ceil_div(1000 * rate * node.step_ps, PS)
    return {"burst_millibits": max(grown, (wire[1] + WIRE_OVERHEAD_BYTES) * 8000), "rate_bps": rate}
