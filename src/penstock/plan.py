# SPDX-License-Identifier: Apache-2.0
"""From a checked network to what the engine runs: the network as JSON, and each bridge's register writes."""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.detours import Detours, detours_of
from penstock.errors import InputError
from penstock.ethernet import SDU_OVERHEAD_BYTES
from penstock.scenario.checked_fault import Fault
from penstock.scenario.checked_stream import Handover, Jitter, Stream, Udp
from penstock.scenario.limits import LINE_RATE_BPS, MOST_GATE_ENTRIES, START_TIME_NS
from penstock.scenario.network import Bridge, Clock, Network, Station
from penstock.scenario.source_keys import Source
from penstock.scenario.store import class_limits_cells, queue_limit_cells, store_cells

if TYPE_CHECKING:
    from penstock.hardware.configure import HardwareSize, SwitchConfig

CYCLE_PS = 8000
_INCREMENT = 8 << 32  # of the PTP clock: 8 ns with 32 bits of fraction
# How long a run goes on after its sources end, at most, for what is still on its way.
DRAIN_PS = 10_000_000_000
_JSON_END = 2**63  # of whole numbers that every reader takes
EXACT_PERCENTILES_UP_TO = 10_000
_PREAMBLE_BYTES = 8  # with the delimiter
_LONGEST_BYTES = 2000
_CARD_READY_NS = 1_000_000  # by then a card in hardware has been set


def network_json(
    network: Network,
    libraries: Mapping[str, Path],
    writes: Mapping[str, list[tuple[int, int]]],
    captures: Path | None = None,
) -> dict[str, Any]:
    """The network as the engine takes it. `libraries` and `writes` are per node that is hardware."""
    from penstock.hardware.configure import model_config

    stations = {name: index for index, name in enumerate(network.stations)}
    nodes = {name: index for index, name in enumerate((*network.bridges, *network.stations))}
    streams = {name: index for index, name in enumerate(network.streams)}
    bridges, detours = [], detours_of(network)
    for bridge in network.bridges.values():
        described: dict[str, Any] = {
            "name": bridge.name,
            # Who asks when frames are created asks the model.
            "kind": "model" if bridge.nodes == "plane" else bridge.nodes,
            "ports": bridge.ports,
            "clock": _clock(bridge.clock),
            "timing": _timing(bridge),
            "config": model_config(switch_config(network, bridge)) | _ptp(bridge) | _drops(bridge),
        }
        if bridge.name in detours:
            described["config"] |= _detours(detours[bridge.name], described["config"]["vlans"])
        if bridge.nodes == "rtl":
            described["library"] = str(libraries[bridge.name])
            described["writes"] = [list(write) for write in writes[bridge.name]]
        bridges.append(described)
    return {
        **_lasting(network),
        "bridges": bridges,
        "stations": [
            _station(network, station, streams) | _card(network, station, libraries)
            for station in network.stations.values()
        ],
        "links": [
            {
                "a": [nodes[link.a[0]], link.a[1]],
                "b": [nodes[link.b[0]], link.b[1]],
                "rate_bps": link.rate_bps,
                "delay_ps": link.delay_ps,
            }
            for link in network.links
        ],
        "streams": [
            {
                "name": stream.name,
                "from": stations[stream.talker],
                "to": [stations[listener] for listener in stream.listeners],
                "frame": _frame(stream, streams[stream.name]),
                "source": _source(stream.source, stream, streams),
                "committed": _committed(network, stream),
                "handover": _handover(stream.handover, network.stations[stream.talker]),
                "downstream": [[nodes[bridge], port, n] for bridge, port, n in downstream(network, stream)],
            }
            for stream in network.streams.values()
        ],
        "trace": {
            "enabled": network.trace.enabled,
            "events": None if network.trace.events is None else list(network.trace.events),
            "nodes": None if network.trace.nodes is None else [nodes[name] for name in network.trace.nodes],
        },
        "faults": [_fault(fault, nodes) for fault in network.faults],
        "captures": None if captures is None else str(captures),
        "statistics": {"exact_up_to": EXACT_PERCENTILES_UP_TO},
    }


def _lasting(network: Network) -> dict[str, Any]:
    lasting = {"duration_ps": _time(network.duration_ps), "drain_ps": DRAIN_PS}
    return lasting | {"years": True} if network.counts_years else lasting


def _time(ps: int) -> int | str:
    """As the engine reads it, also beyond the numbers of JSON."""
    return ps if ps < _JSON_END else str(ps)


def _fault(fault: Fault, nodes: Mapping[str, int]) -> dict[str, Any]:
    described: dict[str, Any] = {"kind": fault.kind, "at_ps": _time(fault.at_ps)}
    described["until_ps"] = None if fault.until_ps is None else _time(fault.until_ps)
    if isinstance(fault.place, str):
        return described | {"node": nodes[fault.place]}
    described["link"] = fault.place
    return described if fault.is_outage else described | {"rate": fault.bit_error_rate, "seed": fault.seed}


def talker_json(network: Network, talker: str) -> dict[str, Any]:
    """A talker without all else: its streams end behind its first bridge, which sees when they come."""
    from penstock.hardware.configure import SwitchConfig, model_config

    station = network.stations[talker]
    first = network.bridges[station.bridge]
    link = {"rate_bps": station.link_rate_bps, "delay_ps": station.link_delay_ps}
    numbers = {stream.name: number for number, stream in enumerate(network.streams_from[talker])}
    return {
        **_lasting(network),
        "bridges": [
            {
                "name": "first",
                "kind": "model",
                "ports": 2,
                "clock": _clock(first.clock),
                "timing": _timing(first),
                "config": model_config(SwitchConfig(ports=2)),
            }
        ],
        "stations": [_station(network, station, numbers) | {"name": "talker"}, {"name": "listener"}],
        "links": [{"a": [0, 0], "b": [1, 0], **link}, {"a": [0, 1], "b": [2, 0], **link}],
        "streams": [
            {
                "name": stream.name,
                "from": 0,
                "to": [1],
                "frame": _frame(stream, number),
                "source": _source(stream.source, stream, {}),
                "committed": _committed(network, stream),
                "handover": _handover(stream.handover, station),
            }
            for number, stream in enumerate(network.streams_from[talker])
        ],
        "trace": {"enabled": False},
    }


def _station(network: Network, station: Station, numbers: Mapping[str, int]) -> dict[str, Any]:
    described = {
        "name": station.name,
        "clock": _clock(station.clock),
        "class_of_pcp": list(station.class_of_pcp),
        "queue_limits": [
            {"class": number, "frames": limit.frames, "bytes": limit.bytes, "drop_oldest": limit.drop_oldest}
            for number, limit in station.queue_limits.items()
        ],
    }
    if station.ats_classes:
        described["ats"] = _ats(network, station, numbers)
    return described | _shapers(station)


def _ats(network: Network, station: Station, numbers: Mapping[str, int]) -> dict[str, Any]:
    """The schedulers of a talker, and the numbers of the streams that each is of."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for stream in network.streams_from[station.name]:
        if stream.ats is None or not network.is_held_by_talker(stream):
            continue
        ats, shared = stream.ats.at_node(station.name), stream.ats.scheduler
        key = ("stream", stream.name) if shared is None else ("scheduler", shared)
        new = {"streams": [], "rate_bps": ats.rate_bps, "burst_bytes": ats.burst_bytes}
        found.setdefault(key, new)["streams"].append(numbers[stream.name])
    return {
        "classes": sorted(station.ats_classes),
        "overhead_bytes": station.overhead_bytes,
        "max_residence_ns": [list(limit) for limit in station.max_residence_ns.items()],
        "schedulers": list(found.values()),
    }


def _card(network: Network, station: Station, libraries: Mapping[str, Path]) -> dict[str, Any]:
    """The card of a station in hardware, if it has one."""
    if station.card is None or not station.card.is_hardware:
        return {}
    writes, start_ns = card_writes(network, station)
    return {
        "card": {
            "library": str(libraries[station.name]),
            "latency_cycles": station.card.memory_latency_cycles,
            "start_cycle": start_ns // 8,
            "writes": writes,
            "launch_queues": sum(1 << queue for queue in network.launch_queues(station.name)),
        }
    }


def port_json(node: Bridge | Station, port: int, rate_bps: int) -> dict[str, Any]:
    """One egress port as the run has it, for pictures of what its gates and credit did."""
    from penstock.hardware.configure import model_shapers

    egress = _egress(node)
    gates = {place: control for place, control in egress["gates"].items() if place == port}
    slopes = {place: slope for place, slope in egress["idle_slope_bps"].items() if place[0] == port}
    shapers = model_shapers(
        **egress | {"gates": gates, "idle_slope_bps": slopes, "max_class_frame_bytes": {}, "round_robin": {}}
    )
    return {
        "clock": _clock(node.clock),
        "hardware": isinstance(node, Bridge) and node.hardware_timing,
        "port": port,
        "rate_bps": rate_bps,
        "shapers": shapers | _ptp(node),
    }


def _clock(clock: Clock) -> dict[str, int]:
    return {"offset_ps": clock.offset_ps, "drift_ppb": clock.drift_ppb}


def _shapers(station: Station) -> dict[str, Any]:
    """What a station's port does beside strict priority; nothing, if that is all."""
    from penstock.hardware.configure import model_shapers

    return {"shapers": model_shapers(**_egress(station)) | _ptp(station)} if station.is_shaped else {}


def _egress(node: Bridge | Station) -> dict[str, Any]:
    """How the ports of a node are set, as `SwitchConfig` has it."""
    from penstock.hardware.configure import GateControl

    return {
        "gates": {
            port: GateControl(
                entries=gates.entries,
                cycle_time_ns=gates.cycle_time_ns,
                base_time_ns=gates.base_time_ns,
                cycle_time_extension_ns=gates.cycle_time_extension_ns,
                initial_states=gates.initial_states,
            )
            for port, gates in node.gates.items()
        },
        "idle_slope_bps": {place: shaper.idle_slope_bps for place, shaper in node.credit.items()},
        "count_gap": node.count_gap,
        "window_without_gap": not node.guard_band_gap,
        "credit_frozen_in_guard_band": node.frozen_in_guard_band,
        "round_robin": {port: set(level) for port, level in node.round_robin.items()},
        "max_class_frame_bytes": {place: sdu + SDU_OVERHEAD_BYTES for place, sdu in node.max_sdu_bytes.items()},
    }


def _ptp(node: Bridge | Station) -> dict[str, Any]:
    """What the clock that gates follow shows when the run begins, and what it adds in 8 ns of the node's own."""
    if not node.gates:
        return {}
    clock = node.clock
    if clock.sync_error_ns is None:
        offset_ns, rest_ps = divmod(clock.offset_ps, 1000)
        return {"ptp": {"start_ns": START_TIME_NS + offset_ns, "start_ps": rest_ps, "increment": _INCREMENT}}
    # A clock that is synchronized makes good for its drift, to half of 2^-32 ns in 8 ns.
    increment = round(_INCREMENT * Fraction(10**9, 10**9 + clock.drift_ppb))
    return {"ptp": {"start_ns": START_TIME_NS + clock.sync_error_ns, "increment": increment}}


def _drops(bridge: Bridge) -> dict[str, Any]:
    """The classes whose full queues lose their first frames."""
    classes = [number for number, limit in bridge.queue_limits.items() if limit.drop_oldest]
    return {"drop_oldest": classes} if classes else {}


def _detours(detours: Detours, vlans: list[tuple[int, int]]) -> dict[str, Any]:
    """Detours, and the members of VLANs for them: all ports with links to other nodes."""
    members = dict.fromkeys(detours.vlans, 0) | dict(vlans)
    for vlan in detours.vlans:
        members[vlan] |= sum(1 << port for port in detours.ports)
    found: dict[str, Any] = {
        "link_detection_ps": detours.link_detection_ps,
        "detours": [
            {"address": address, "vlan": vlan, "ports": orders} for (address, vlan), orders in detours.orders.items()
        ],
        "vlans": list(members.items()),
    }
    if detours.congestion_frames is not None:
        found["congestion_frames"] = detours.congestion_frames
        for each in found["detours"]:
            each["nearer"] = detours.nearer[each["address"], each["vlan"]]
    return found


def _timing(bridge: Bridge) -> dict[str, Any]:
    if bridge.hardware_timing:
        return {"kind": "hardware"}
    return {
        "kind": "ideal",
        "processing_delay_ps": bridge.processing_delay_ps,
        "cut_through_bytes": bridge.cut_through_bytes,
    }


def _committed(network: Network, stream: Stream) -> dict[str, int] | None:
    """What the first bridge would hold its source to."""
    if stream.ats is None:
        return None
    first = network.bridges[stream.tree[0].bridge]
    ats = stream.ats.at_node(first.name)
    found = {"rate_bps": ats.rate_bps, "burst_bytes": ats.burst_bytes, "overhead_bytes": first.overhead_bytes}
    if stream.ats.scheduler is not None:
        shared = sorted({each.ats.scheduler for each in network.streams.values() if each.ats and each.ats.scheduler})
        found["together"] = shared.index(stream.ats.scheduler)
    return found


def downstream(network: Network, stream: Stream) -> list[tuple[str, int, int]]:
    """How many listeners are behind each port by which a stream leaves a bridge."""
    behind: dict[str, int] = {}
    counted = []
    for hop in reversed(stream.tree):
        for port in hop.egress:
            peer = network.peer(hop.bridge, port)
            assert peer is not None, "a stream leaves by a port that has a cable"
            counted.append((hop.bridge, port, behind.get(peer[0], 1)))
            behind[hop.bridge] = behind.get(hop.bridge, 0) + counted[-1][2]
    return counted[::-1]


def _frame(stream: Stream, number: int) -> dict[str, Any]:
    return {
        "destination_mac": show_mac(stream.destination_mac),
        "source_mac": show_mac(stream.source_mac),
        "vlan": stream.vlan,
        "pcp": stream.pcp,
        "payload": _payload(stream.udp, stream.ethertype),
        "media": _media(stream, number),
    }


def _media(stream: Stream, number: int) -> dict[str, Any] | None:
    """What the headers of AVTP and RTP say of a stream of audio or video."""
    if stream.pattern is None:
        return None
    audio = stream.source.audio
    return {
        "unique_id": number % (1 << 16),
        "payload_bytes": stream.pattern.payloads,
        "audio": audio
        and {"sample_rate_millihertz": audio.sample_rate, "channels": audio.channels, "bits": audio.bits},
    }


def _payload(udp: Udp | None, ethertype: int) -> dict[str, Any]:
    if udp is None:
        return {"kind": "raw", "ethertype": ethertype}
    return {
        "kind": "ipv4_udp",
        "source": str(ipaddress.IPv4Address(udp.source)),
        "destination": str(ipaddress.IPv4Address(udp.destination)),
        "source_port": udp.source_port,
        "destination_port": udp.destination_port,
    }


def _source(source: Source, stream: Stream, streams: Mapping[str, int]) -> dict[str, Any]:
    common: dict[str, Any] = {
        "start_ps": _time(source.start),
        "count": source.count,
        # Sources of one seed would do the same at the same time.
        "seed": zlib.crc32(stream.name.encode()) if source.seed is None else source.seed,
        "jitter": _jitter(stream.jitter),
    }
    if stream.capture_path is not None:
        return {"kind": "capture", "path": str(stream.capture_path), **common}
    if stream.pattern is not None:
        pattern = stream.pattern
        sizes = [list(frames) for frames in pattern.sizes]
        return {
            "kind": "pattern",
            "period_ps": pattern.period_ps,
            "sizes": sizes,
            "spread_ps": pattern.spacing_ps,
            **common,
        }
    common["frame_bytes"] = source.frames
    if source.response_to is not None:
        del common["start_ps"]  # it starts with what it answers
        return {"kind": "response", "to_stream": streams[source.response_to], "after_ps": source.after or 0, **common}
    if source.back_to_back:
        return {"kind": "back_to_back", **common}
    if source.poisson is not None:
        return {"kind": "poisson", "mean_ps": _time(source.poisson), **common}
    if source.normal is not None:
        normal = source.normal
        return {"kind": "normal", "mean_ps": _time(normal.mean), "deviation_ps": _time(normal.deviation), **common}
    period_ps = None if source.every is None else _time(source.every)
    if source.burst is not None:
        return {"kind": "burst", "size": source.burst, "period_ps": period_ps, **common}
    return {"kind": "periodic", "period_ps": period_ps, **common}


def _jitter(jitter: Jitter | None) -> dict[str, Any] | None:
    if jitter is None:
        return None
    if jitter.kind == "quantiles":
        return {"quantiles_ps": [list(point) for point in jitter.quantiles_ps]}
    return {f"{jitter.kind}_ps": list(jitter.values_ps) if jitter.kind == "values" else jitter.ps}


def _handover(handover: Handover | None, talker: Station) -> dict[str, Any] | None:
    if handover is None:
        return None
    launch = handover.launch
    # Launch times of a card are those of the first bit behind the delimiter; hardware knows that itself.
    is_early = talker.card is not None and not talker.card.is_hardware
    lead_ps = -(-8 * _PREAMBLE_BYTES * 10**12 // talker.link_rate_bps) if is_early else 0
    return {
        "delay": _jitter(handover.delay),
        "launch": None
        if launch is None
        else {"offset_ps": launch.offset_ps, "lead_ps": lead_ps, "error": _jitter(launch.error)},
    }


def show_mac(mac: int) -> str:
    """02:00:00:00:00:01."""
    return mac.to_bytes(6).hex(":")


def register_writes(network: Network, bridge: Bridge) -> list[tuple[int, int]]:
    """What configures a bridge in hardware for the network."""
    from penstock.hardware.configure import ConfigurationError, configure
    from penstock.hardware.registers import registers

    try:
        return configure(switch_config(network, bridge), registers())
    except ConfigurationError as error:
        raise InputError(error.what, allowed=error.allowed, file=network.file, key=error.where) from None


def card_writes(network: Network, station: Station) -> tuple[list[tuple[int, int]], int]:
    """What sets a station's card in hardware before the run, and what its clock shows in ns when that begins.

    Its clock begins with its reset. By the begin of the run each list that begins before has begun.
    """
    from penstock.hardware.configure import ConfigurationError, SwitchConfig
    from penstock.hardware.configure.card import ats_writes
    from penstock.hardware.configure.shapers import credit_writes, gates_writes, round_robin_writes
    from penstock.hardware.registers import registers

    longest_ns = max((gates.cycle_time_ns for gates in station.gates.values()), default=0)
    start_ns = -(-(_CARD_READY_NS + longest_ns) // 8) * 8
    egress = _egress(station)
    for port, control in egress["gates"].items():
        base_ns = control.base_time_ns - START_TIME_NS + start_ns
        if control.base_time_ns <= START_TIME_NS:
            base_ns %= control.cycle_time_ns
        egress["gates"][port] = replace(control, base_time_ns=base_ns)
    held = network.schedulers_of_queues(station)
    config = SwitchConfig(ports=1, **egress | {"round_robin": {0: set(), **egress["round_robin"]}})
    try:
        found = [write(config, registers()) for write in (round_robin_writes, gates_writes, credit_writes)]
        rates = {queue: (ats.rate_bps, ats.burst_bytes) for queue, ats in held.items()}
        found.append(ats_writes(registers(), rates, station.max_residence_ns, station.overhead_bytes))
    except ConfigurationError as error:
        raise InputError(error.what, allowed=error.allowed, file=network.file, key=error.where) from None
    return [each for writes in found for each in writes], start_ns


def switch_config(network: Network, bridge: Bridge) -> SwitchConfig:
    """What a bridge should do, as hardware and as a model."""
    from penstock.hardware.configure import RESERVED_ADDRESSES, StreamEntry, SwitchConfig, Translation

    entries = []
    for stream, hop in network.passing[bridge.name]:
        shaped = stream.ats is not None and bridge.is_ats(network.class_at(stream, bridge.name))
        numbered = stream.numbered and bridge.name == stream.tree[0].bridge
        if not shaped and not numbered:
            continue
        # One that is not shaped has a scheduler nonetheless, which holds nothing.
        ats = stream.ats.at_node(bridge.name) if stream.ats is not None and shaped else None
        entry = StreamEntry(
            name=stream.name,
            port=hop.entry,
            identify=stream.identify,
            rate_bps=LINE_RATE_BPS if ats is None else ats.rate_bps,
            burst_bytes=_LONGEST_BYTES if ats is None else ats.burst_bytes,
            scheduler="" if stream.ats is None else stream.ats.scheduler or "",
            holds=ats is not None,
            numbered=numbered,
            **_identity(network, stream, bridge.name, hop.entry),
        )
        entries.append(entry)
    delay = bridge.processing_delay_max_ps
    if delay is None and not bridge.hardware_timing:
        delay = -(-bridge.processing_delay_ps // 1000) * 1000
    return SwitchConfig(
        ports=bridge.ports,
        port_vlan_id=list(bridge.port_vlan_id),
        class_of_pcp=list(bridge.class_of_pcp),
        class_of_untagged=bridge.class_of_untagged,
        pcp_of_untagged=bridge.pcp_of_untagged,
        tagging_ports=set(bridge.tagging_ports),
        translating_ports=set(bridge.translating_ports),
        r_tag_removal_ports=set(bridge.r_tag_removal_ports),
        ptp_correction_ports=set(bridge.ptp_correction_ports),
        ats_classes={k for k in range(8) if bridge.is_ats(k)},
        max_frame_bytes=bridge.max_frame_bytes,
        overhead_bytes=bridge.overhead_bytes,
        processing_delay_max_ns=None if delay is None else delay // 1000,
        vlans={vlan: set(ports) for vlan, ports in bridge.vlans.items()},
        untagged={vlan: set(bridge.untagged.get(vlan, ())) for vlan in bridge.vlans if bridge.untagged},
        translations={
            vlan: Translation(to.vlan, to.pcp) for vlan, to in bridge.translations.items() if vlan in bridge.vlans
        },
        static_addresses=static_addresses(network, bridge) if bridge.static_forwarding else [],
        learning=not bridge.static_forwarding,
        streams=entries,
        max_residence_ns=bridge.max_residence_ns,
        host=bridge.has_host,
        reserved_to_host=set(range(RESERVED_ADDRESSES)) if bridge.has_host else set(),
        **_egress(bridge),
        size=_size(bridge),
        queue_limit_cells=queue_limit_cells(network, bridge),
        class_limit_cells=class_limits_cells(network, bridge),
    )


def _size(bridge: Bridge) -> HardwareSize:
    """The hardware's own size. A model with more ports has more to store frames in; its tables hold what they must."""
    from penstock.hardware.configure import HardwareSize

    size = HardwareSize(cells=store_cells(bridge))
    if bridge.nodes == "rtl":
        return size
    return replace(size, gate_entries=MOST_GATE_ENTRIES, shortest_interval_ns=1)


def static_addresses(network: Network, bridge: Bridge) -> list[tuple[int, int, set[int]]]:
    """An entry for each stream's destination, so that listeners that never talk need not be learnt by flooding."""
    found: dict[tuple[int, int], set[int]] = {}
    for stream, hop in network.passing[bridge.name]:
        vlan = network.vlan_at(stream, bridge.name, hop.entry)
        found.setdefault((stream.destination_mac, vlan), set()).update(hop.egress)
    return [(mac, vlan, ports) for (mac, vlan), ports in found.items()]


def identities(network: Network, stream: Stream, bridge: str, port: int) -> dict[str, tuple[object, ...]]:
    """By what a bridge can know a stream, in the order in which it looks."""
    vlan = network.vlan_at(stream, bridge, port)
    found: dict[str, tuple[object, ...]] = {}
    if stream.udp is not None:
        found["ipv4"] = ("ipv4", stream.udp)
    found["destination"] = ("destination", stream.destination_mac, vlan)
    found["source"] = ("source", stream.source_mac, vlan)
    return found


def _identity(network: Network, stream: Stream, bridge: str, port: int) -> dict[str, Any]:
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
    return {"mac": mac, "vlan": network.vlan_at(stream, bridge, port)}
