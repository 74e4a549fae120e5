# SPDX-License-Identifier: Apache-2.0
"""What a data plane is told that stands for a bridge of a network. Pure."""

from __future__ import annotations

from typing import Any

from penstock.ethernet import IPV4_UDP_BYTES, MAC_HEADER_BYTES, TAG_BYTES
from penstock.scenario.checked_stream import Hop, Stream
from penstock.scenario.egress import GateList
from penstock.scenario.limits import START_TIME_NS
from penstock.scenario.network import Bridge, Network

Config = dict[str, Any]
_SEQUENCE_AT = 10  # in the header of `penstock-end`, docs/end-station.md
_SEQUENCE_BYTES = 4
_USUAL_LIMIT = 1024  # frames of a queue that the scenario does not limit


def config_of(network: Network, bridge: Bridge, interfaces: dict[int, str]) -> Config:
    """The bridge's ports by the names of their interfaces, its classes, gates and VLANs, and a rule for each stream."""
    ports = {number: _port(network, bridge, number, name) for number, name in interfaces.items()}
    used = set(bridge.vlans) | {
        network.vlan_at(stream, bridge.name, hop.entry) for stream, hop in network.passing[bridge.name]
    }
    passing = [(stream, hop) for stream, hop in network.passing[bridge.name] if stream.source.program is None]
    return {
        "name": bridge.name,
        "ports": list(ports.values()),
        "max_frame_bytes": bridge.max_frame_bytes,
        "bridge": {
            "class_of_pcp": list(bridge.class_of_pcp),
            "class_of_untagged": bridge.class_of_untagged,
            "vlans": {
                str(vlan): [interfaces[port] for port in sorted(bridge.vlans[vlan]) if port in interfaces]
                for vlan in sorted(used & set(bridge.vlans))
            },
        },
        "table": [_rule(network, bridge, stream, hop, interfaces) for stream, hop in passing],
        "streams": {stream.name: _stream(bridge, stream) for stream, _ in passing},
    }


def _port(network: Network, bridge: Bridge, number: int, interface: str) -> Config:
    classes: dict[str, Config] = {}
    for traffic_class in range(8):
        limit = bridge.queue_limits.get(traffic_class)
        own: Config = {"limit": _USUAL_LIMIT if limit is None or limit.frames is None else limit.frames}
        if (credit := bridge.credit.get((number, traffic_class))) is not None:
            own["idle_slope"] = credit.idle_slope_bps
        if (longest := bridge.max_sdu_bytes.get((number, traffic_class))) is not None:
            own["max_frame_bytes"] = longest
        residence_ns = bridge.max_residence_ns.get((number, traffic_class))
        if residence_ns is None and traffic_class in bridge.classes:
            residence_ns = bridge.classes[traffic_class].max_residence_ns
        if residence_ns is not None:
            own["max_residence"] = residence_ns
        classes[str(traffic_class)] = own
    gates = bridge.gates.get(number)
    return {
        "interface": interface,
        "rate": network.link_at[bridge.name, number].rate_bps,
        "vlan": bridge.port_vlan_id[number],
        "classes": classes,
        "round_robin": sorted(bridge.round_robin.get(number, ())),
        "gates": None if gates is None else gates_of(gates),
    }


def gates_of(gates: GateList) -> Config:
    """A list; its base time counts from the begin of the scenario."""
    return {
        "base_time": (gates.base_time_ns - START_TIME_NS) % gates.cycle_time_ns,
        "cycle_time": gates.cycle_time_ns,
        "cycle_time_extension": gates.cycle_time_extension_ns,
        "entries": [
            {"open": [number for number in range(8) if states >> number & 1], "interval": interval_ns}
            for states, interval_ns in gates.entries
        ],
    }


def _rule(network: Network, bridge: Bridge, stream: Stream, hop: Hop, interfaces: dict[int, str]) -> Config:
    """Leads a stream as the bridge's static addresses would."""
    match: Config = {
        "port": interfaces[hop.entry],
        "vlan": network.vlan_at(stream, bridge.name, hop.entry),
        "destination": _mac(stream.destination_mac),
        "source": _mac(stream.source_mac),
    }
    if stream.vlan is not None:
        match["pcp"] = stream.pcp
    if stream.udp is not None and stream.capture is None:
        match["ipv4"] = {"protocol": stream.udp.protocol, "destination_port": stream.udp.destination_port}
    return {
        "match": match,
        "to": [interfaces[port] for port in hop.egress],
        "queue": network.class_at(stream, bridge.name),
        "stream": stream.name,
    }


def _stream(bridge: Bridge, stream: Stream) -> Config:
    by_udp = stream.udp is not None and stream.capture is None
    payload = MAC_HEADER_BYTES + TAG_BYTES * (stream.vlan is not None) + IPV4_UDP_BYTES * by_udp
    found: Config = {"number": {"offset": payload + _SEQUENCE_AT, "bytes": _SEQUENCE_BYTES}}
    if stream.ats is not None and bridge.is_ats(
        bridge.class_of_untagged if stream.vlan is None else bridge.class_of_pcp[stream.pcp]
    ):
        own = stream.ats.at_node(bridge.name)
        found["ats"] = {"rate": own.rate_bps, "burst": own.burst_bytes}
    return found


def _mac(number: int) -> str:
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))
