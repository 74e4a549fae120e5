# SPDX-License-Identifier: Apache-2.0
"""From a checked network to what the engine runs: the network as JSON, and each bridge's register writes."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.scenario.model import Source
from penstock.scenario.network import Bridge, Network, Stream, Udp

CYCLE_PS = 8000


def network_json(
    network: Network, libraries: dict[str, Path], writes: dict[str, list[tuple[int, int]]]
) -> dict[str, Any]:
    """The network as the engine takes it. `libraries` and `writes` are per bridge."""
    indices = {name: index for index, name in enumerate(network.bridges)}
    return {
        "duration_ps": network.duration_ps,
        "clock": {"cycle_ps": CYCLE_PS},
        "bridges": [
            {
                "name": bridge.name,
                "ports": bridge.ports,
                "model": network.nodes,
                "library": str(libraries[bridge.name]),
                "writes": [list(write) for write in writes[bridge.name]],
            }
            for bridge in network.bridges.values()
        ],
        "stations": [
            {
                "name": station.name,
                "bridge": indices[station.bridge],
                "port": station.port,
                "rate_bps": station.link_rate_bps,
                "delay_ps": station.link_delay_ps,
            }
            for station in network.stations.values()
        ],
        "streams": [
            {
                "name": stream.name,
                "from": stream.talker,
                "to": list(stream.listeners),
                "frame": _frame(stream),
                "source": _source(stream.source, stream),
            }
            for stream in network.streams.values()
        ],
    }


def _frame(stream: Stream) -> dict[str, Any]:
    return {
        "destination_mac": show_mac(stream.destination_mac),
        "source_mac": show_mac(stream.source_mac),
        "vlan": stream.vlan,
        "pcp": stream.pcp,
        "payload": _payload(stream.udp),
    }


def _payload(udp: Udp | None) -> dict[str, Any]:
    if udp is None:
        return {"kind": "raw"}
    return {
        "kind": "ipv4_udp",
        "source": str(ipaddress.IPv4Address(udp.source)),
        "destination": str(ipaddress.IPv4Address(udp.destination)),
        "source_port": udp.source_port,
        "destination_port": udp.destination_port,
    }


def _source(source: Source, stream: Stream) -> dict[str, Any]:
    if stream.capture_path is not None:
        return {"kind": "capture", "path": str(stream.capture_path), "start_ps": source.start, "count": source.count}
    common: dict[str, Any] = {
        "frame_bytes": source.frames,
        "start_ps": source.start,
        "count": source.count,
        "seed": source.seed or 0,
    }
    if source.back_to_back:
        return {"kind": "back_to_back", **common}
    if source.poisson is not None:
        return {"kind": "poisson", "mean_ps": source.poisson, **common}
    if source.normal is not None:
        deviation = source.normal.deviation
        return {"kind": "normal", "mean_ps": source.normal.mean, "deviation_ps": deviation, **common}
    if source.burst is not None:
        return {"kind": "burst", "size": source.burst, "period_ps": source.every, **common}
    jitter = None
    if source.jitter is not None:
        normal, uniform = source.jitter.normal, source.jitter.uniform
        jitter = {"normal_ps": normal} if normal is not None else {"uniform_ps": uniform}
    return {"kind": "periodic", "period_ps": source.every, "jitter": jitter, **common}


def show_mac(mac: int) -> str:
    """02:00:00:00:00:01."""
    return mac.to_bytes(6).hex(":")


def register_writes(network: Network, bridge: Bridge) -> list[tuple[int, int]]:
    """What configures a bridge for the network."""
    from penstock.hardware.configure import ConfigurationError, StreamEntry, SwitchConfig, configure
    from penstock.hardware.registers import registers

    streams = [s for s in network.streams.values() if network.stations[s.talker].bridge == bridge.name]
    entries = []
    for stream in streams:
        if stream.ats is None:
            continue
        port = network.stations[stream.talker].port
        entry = StreamEntry(
            name=stream.name,
            port=port,
            identify=stream.identify,
            rate_bps=stream.ats.rate_bps,
            burst_bytes=stream.ats.burst_bytes,
            **_identity(stream, bridge, port),
        )
        entries.append(entry)
    delay = bridge.processing_delay_max_ps
    config = SwitchConfig(
        ports=bridge.ports,
        port_vlan_id=list(bridge.port_vlan_id),
        class_of_pcp=list(bridge.class_of_pcp),
        class_of_untagged=bridge.class_of_untagged,
        ats_classes={k for k in range(8) if bridge.is_ats(k)},
        max_frame_bytes=bridge.max_frame_bytes,
        overhead_bytes=bridge.overhead_bytes,
        processing_delay_max_ns=None if delay is None else delay // 1000,
        vlans={vlan: set(ports) for vlan, ports in bridge.vlans.items()},
        static_addresses=static_addresses(network, bridge) if bridge.static_forwarding else [],
        streams=entries,
        max_residence_ns=bridge.max_residence_ns,
    )
    try:
        return configure(config, registers())
    except ConfigurationError as error:
        raise InputError(error.what, allowed=error.allowed, file=network.file, key=error.where) from None


def static_addresses(network: Network, bridge: Bridge) -> list[tuple[int, int, set[int]]]:
    """An entry for each stream's destination, so that listeners that never talk need not be learnt by flooding."""
    found: dict[tuple[int, int], set[int]] = {}
    for stream in network.streams.values():
        talker = network.stations[stream.talker]
        if talker.bridge != bridge.name:
            continue
        vlan = vlan_at(stream, bridge, talker.port)
        ports = found.setdefault((stream.destination_mac, vlan), set())
        ports.update(network.stations[listener].port for listener in stream.listeners)
    return [(mac, vlan, ports) for (mac, vlan), ports in found.items()]


def vlan_at(stream: Stream, bridge: Bridge, port: int) -> int:
    """The VLAN that the bridge puts the stream's frames into."""
    return stream.vlan if stream.vlan else bridge.port_vlan_id[port]


def _identity(stream: Stream, bridge: Bridge, port: int) -> dict[str, Any]:
    if stream.identify == "ipv4":
        assert stream.udp is not None
        return {
            "ipv4_source": stream.udp.source,
            "ipv4_destination": stream.udp.destination,
            "protocol": stream.udp.protocol,
            "source_port": stream.udp.source_port,
            "destination_port": stream.udp.destination_port,
        }
    mac = stream.destination_mac if stream.identify == "destination" else stream.source_mac
    return {"mac": mac, "vlan": vlan_at(stream, bridge, port)}
