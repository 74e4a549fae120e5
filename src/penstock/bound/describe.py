# SPDX-License-Identifier: Apache-2.0
"""A network as the analysis of the engine takes it (`engine/bound/src/describe.rs`): plain numbers, on the wire.

Times and rates are those of the network's clock: what a node's own clock makes of them is made good for here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any

from pydantic_core import to_json

from penstock.bound.contracts import brought, contract_of
from penstock.bound.phases import acts_for_all, begun, reach_ps, released
from penstock.bound.sources import fastest_bps
from penstock.bound.terms import MOST, PS, ceil_div
from penstock.bound.timing import STATION_STEP_PS, TOLERANCE_PS, grid_step_ps, processing, visible_early_ps
from penstock.collection import without_collection
from penstock.ethernet import GAP_BYTES, WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Hop, Stream
from penstock.scenario.egress import CreditShaper, GateList
from penstock.scenario.limits import START_TIME_NS
from penstock.scenario.network import Bridge, Network, Station
from penstock.scenario.tagging import inserts
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
    """The network as JSON, and where in it everything is."""

    ports: list[dict[str, Any]] = field(default_factory=list)
    regulators: list[dict[str, int]] = field(default_factory=list)
    streams: list[dict[str, Any]] = field(default_factory=list)
    port_at: dict[Place, int] = field(default_factory=dict)
    hop_at: list[dict[Place, int]] = field(default_factory=list)  # by stream
    # What all streams that enter a bridge by a port have in common there.
    entered: dict[Place, tuple[Place, Bridge | Station, Bridge, int]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """What the engine takes."""
        return {"ports": self.ports, "regulators": self.regulators, "streams": self.streams}

    def text(self) -> str:
        """That as JSON."""
        return to_json(self.as_json()).decode()


def describe(network: Network) -> Description:
    """The whole network: also streams without a bound are in the way of others."""
    with without_collection():
        return _described(network)


def _described(network: Network) -> Description:
    told = Description()
    places: dict[Place, None] = {}
    for stream in network.streams.values():
        places[stream.talker, 0] = None
        for hop in stream.tree:
            places.update(dict.fromkeys((hop.bridge, port) for port in hop.egress))
    shortest = _shortest(network)
    for place in places:
        told.port_at[place] = len(told.ports)
        told.ports.append(_port(network, place, shortest[place]))
    regulators: dict[Any, int] = {}
    for stream in network.streams.values():
        _add(network, stream, told, regulators)
    return told


def _shortest(network: Network) -> dict[Place, tuple[int, int]]:
    """The shortest and the longest frame that leaves by a port."""
    found: dict[Place, tuple[int, int]] = {}
    for stream in network.streams.values():
        shortest, longest = stream.min_frame_bytes, stream.max_frame_bytes
        for place in [(stream.talker, 0), *((hop.bridge, port) for hop in stream.tree for port in hop.egress)]:
            least, most = found.get(place, (shortest, longest))
            if shortest <= least or longest >= most:
                found[place] = min(least, shortest), max(most, longest)
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
        "credit": [
            _credit(node, traffic_class, shaper, drift)
            for (of, traffic_class), shaper in node.credit.items()
            if of == port
        ],
        "turns": sum(1 << number for number in node.round_robin.get(port, ())),
    }
    if isinstance(node, Bridge):
        held_ps = held_ps_of(network, node, rate)
        told["held_ps"] = min(held_ps, MOST)
        if not node.static_forwarding or held_ps > MOST or inserts(network, place):
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
    drifts = [each.clock.drift_ppb for each in network.bridges.values()]
    behind_ps = ceil_div(network.duration_ps * (max(0, *drifts) - min(0, *drifts)), 10**9)
    own_ps = processing_ps + 2 * grid_step_ps(bridge)
    return own_ps + ceil_div(own_ps * abs(bridge.clock.drift_ppb), 10**9) + behind_ps


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
    entries = [(states, interval * 1000) for _, states, interval in acting(gates).entries]
    if drift:
        edge += _SYNTONIZED_PS
    if not node.guard_band_gap:
        edge += ceil_div(GAP_BYTES * 8 * PS, rate)  # which may last beyond the end of a window
    if drift and node.clock.sync_error_ns is None:
        entries = [(states, round(Fraction(interval * 10**9, 10**9 + drift))) for states, interval in entries]
    return {"entries": entries, "edge_ps": edge, "late": late, "frozen": node.frozen_in_guard_band}


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


def _add(network: Network, stream: Stream, told: Description, regulators: dict[Any, int]) -> None:
    talker = network.stations[stream.talker]
    held = _regulator(network, stream, 0, talker, told, regulators) if network.is_held_by_talker(stream) else None
    hops: list[dict[str, Any]] = [
        {"port": told.port_at[stream.talker, 0], "class": network.class_at_talker(stream), "from": None,
         "jitter_ps": 0, "regulator": held}
    ]  # fmt: skip
    at: dict[Place, int] = {(stream.talker, 0): 0}
    first = stream.tree[0].bridge
    for hop in stream.tree:
        entered = told.entered.get((hop.bridge, hop.entry))
        if entered is None:
            entered = told.entered[hop.bridge, hop.entry] = _entered(network, hop)
        before, sender, bridge, jitter = entered
        traffic_class = bridge.class_of_untagged if stream.vlan is None else bridge.class_of_pcp[stream.pcp]
        regulated = stream.ats is not None and bridge.is_ats(traffic_class)
        conforms = regulated and hop.bridge == first and _all_conform(network, stream)
        if conforms:
            jitter += TOLERANCE_PS
        if bridge.cut_through_bytes is not None:
            entry = network.link_at[hop.bridge, hop.entry]
            jitter += ceil_div(stream.max_frame_bytes * 8 * PS, entry.rate_bps)
        scheduler = _regulator(network, stream, hop.entry, bridge, told, regulators) if regulated else None
        for port in hop.egress:
            at[hop.bridge, port] = len(hops)
            hops.append(
                {
                    "port": told.port_at[hop.bridge, port],
                    "class": traffic_class,
                    "from": at[before],
                    "jitter_ps": jitter,
                    "regulator": scheduler,
                    "conforms": conforms,
                    "reach_ps": None if regulated else reach_ps(network, stream, sender, hop, port),
                }
            )
    told.hop_at.append(at)
    told.streams.append(
        {
            "buckets": source_bucket(network, stream),
            "min_bytes": stream.min_frame_bytes + WIRE_OVERHEAD_BYTES,
            "max_bytes": stream.max_frame_bytes + WIRE_OVERHEAD_BYTES,
            "fills": bool(stream.source.back_to_back),
            "releases": released(network, stream),
            "hops": hops,
        }
    )


def _entered(network: Network, hop: Hop) -> tuple[Place, Bridge | Station, Bridge, int]:
    """The port that is before a bridge's, its node, the bridge, and by how much that may take longer at times."""
    before = network.peer(hop.bridge, hop.entry)
    assert before is not None, "a tree leads from its talker on"
    bridge = network.bridges[hop.bridge]
    return before, _node(network, before[0]), bridge, grid_step_ps(bridge) + _ROUNDING_PS


def _all_conform(network: Network, stream: Stream) -> bool:
    """Whether it is proven of all streams of its scheduler group at the first bridge that none is held there."""
    key = ("all conform", stream.talker, stream.traffic_class)
    if key not in network.memo:
        network.memo[key] = _group_conforms(network, stream)
    found: bool = network.memo[key]
    return found


def _group_conforms(network: Network, stream: Stream) -> bool:
    if any(other.source.response_to is not None for other in network.streams_from[stream.talker]):
        return False  # what is known of answers follows from this analysis
    traffic_class = stream.traffic_class
    group = [other for other in network.streams_from[stream.talker] if other.traffic_class == traffic_class]
    return all(other.ats is not None and _is_kept(network, other) for other in group)


def _is_kept(network: Network, stream: Stream) -> bool:
    found = contract_of(network, stream.name)
    return found is not None and found.state == "kept"


def committed_on_wire(node: Bridge | Station, stream: Stream) -> tuple[int, int]:
    """Rate and burst at a node, as its scheduler really has them.

    What counts less than is on the wire lets more pass.
    """
    assert stream.ats is not None
    counted = stream.min_frame_bytes + min(node.overhead_bytes, WIRE_OVERHEAD_BYTES)
    on_wire = stream.min_frame_bytes + WIRE_OVERHEAD_BYTES
    ats = stream.ats.at_node(node.name)
    return ceil_div(fastest_bps(ats.rate_bps, counted) * on_wire, counted), ceil_div(ats.burst_bytes * on_wire, counted)


def _regulator(
    network: Network, stream: Stream, entry: int, node: Bridge | Station, told: Description, known: dict[Any, int]
) -> int:
    """The scheduler of a stream at a node; one of several streams where they share it."""
    assert stream.ats is not None
    shared = stream.ats.scheduler
    number = network.class_at(stream, node.name) if isinstance(node, Bridge) else network.class_at_talker(stream)
    key = (node.name, entry, number, shared or (stream.name,))
    rate_bps, burst_bytes = committed_on_wire(node, stream)
    rate = ceil_div(rate_bps * (10**9 + node.clock.drift_ppb), 10**9)
    # Its times are rounded up to the clock, and bursts grow by what comes in a step of it.
    step_ps = grid_step_ps(node) + visible_early_ps(node) if isinstance(node, Bridge) else STATION_STEP_PS
    grown = burst_bytes * 8000 + ceil_div(1000 * rate * step_ps, PS)
    most = max(grown, (stream.max_frame_bytes + WIRE_OVERHEAD_BYTES) * 8000)
    bucket = {"burst_millibits": most, "rate_bps": rate}
    if key not in known:
        known[key] = len(told.regulators)
        told.regulators.append(bucket)
    else:
        there = told.regulators[known[key]]
        for what, value in bucket.items():
            there[what] = max(there[what], value)
    return known[key]
