# SPDX-License-Identifier: Apache-2.0
"""The bridges: their classes, tables and timing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from penstock.scenario import model
from penstock.scenario.clock import clock_of
from penstock.scenario.cut_through import header_bytes
from penstock.scenario.draft import Draft
from penstock.scenario.gate_lists import able_of, check_guard_band
from penstock.scenario.limits import (
    HARDWARE_PORTS,
    LINE_RATE_BPS,
    SHORTEST_INTERVAL_NS,
)
from penstock.scenario.network import REAL, Bridge, Link, NodeKind, TrafficClass, hardware_visible_ps
from penstock.scenario.port_keys import (
    CLASSES,
    PortKeys,
    check_class_keys,
    check_residence,
    classes_of_priority,
    index,
    keys_of_bridge,
)
from penstock.scenario.positions import KeyPath
from penstock.scenario.shapers import shapers_of
from penstock.scenario.tagging import check_port_tags, translations_of
from penstock.scenario.units import show_rate

_FORWARDED = "static"


def kinds_of(draft: Draft, override: str | None, chosen: str) -> dict[str, NodeKind]:
    """What each bridge is."""
    found: dict[str, NodeKind] = {}
    for name, settings in draft.settings.items():
        kind = chosen if override is not None else settings.nodes or chosen
        if (kind in REAL) is not (chosen in REAL):
            path = (*draft.origin[name], "nodes")
            what = f'"{kind}" stands beside "{chosen}": real Linux and simulated time do not meet'
            draft.report.add(path, what, 'all nodes "linux" or "plane", or none')
        found[name] = "rtl" if kind == "rtl" else "plane" if kind == "plane" else "model"
    return found


def build_bridges(draft: Draft, kinds: Mapping[str, NodeKind], links: list[Link]) -> dict[str, Bridge]:
    """The bridges, but for their VLANs."""
    links_of: defaultdict[str, list[Link]] = defaultdict(list)
    for link in links:
        for node, _ in (link.a, link.b):
            links_of[node].append(link)
    found: dict[str, Bridge] = {}
    for name, settings in draft.settings.items():
        other = settings.processing_delay is not None or settings.switching is not None
        odd = [link for link in links_of[name] if link.rate_bps != LINE_RATE_BPS]
        ports = settings.ports or 0
        if kinds[name] == "rtl":
            _check_rtl(draft, name, settings, odd)
        rates = {port: link.rate_bps for link in links_of[name] for node, port in (link.a, link.b) if node == name}
        other |= bool(_dropping_oldest(settings))
        like_hardware = not other and not odd and ports <= HARDWARE_PORTS
        if settings.host:
            _check_host(draft, name, kinds[name], ports, links_of[name], like_hardware=like_hardware)
        found[name] = _bridge(draft, name, settings, kinds[name], like_hardware, rates)
    return found


def _check_host(draft: Draft, name: str, kind: NodeKind, ports: int, links: list[Link], *, like_hardware: bool) -> None:
    """A host port is one of the hardware, or of a model of it, and a station's."""
    path = (*draft.origin[name], "host")
    if kind not in ("model", "rtl") or not like_hardware:
        draft.once(
            path, "only the hardware and models with its timing have a host port", 'nodes "rtl" or "model", 1Gb/s'
        )
    ends = {end: other for link in links for end, other in ((link.a, link.b), (link.b, link.a))}
    peer = ends.get((name, ports - 1))
    if peer is None or peer[0] in draft.settings:
        there = "nothing" if peer is None else f'bridge "{peer[0]}"'
        what = f'the last port of "{name}" leads to {there}, where its processor is to be'
        draft.once(path, what, f'a station at "{name}.{ports - 1}"')


def _dropping_oldest(settings: model.Bridge) -> list[str]:
    """The classes in which the frame that comes stays, and the first ones give way."""
    limits = {key: entry.queue_limit for key, entry in settings.classes.items()}
    return [key for key, limit in limits.items() if limit is not None and limit.drop == "oldest"]


def _check_rtl(draft: Draft, name: str, settings: model.Bridge, odd: list[Link]) -> None:
    path = draft.origin[name]
    remedy = 'nodes = "model"'
    ports = settings.ports or 0
    if ports > HARDWARE_PORTS:
        draft.once((*path, "ports"), f"the hardware does not come with {ports}", f"2 to 8, or {remedy}")
    for key in ("processing_delay", "switching", "cut_through_header", "store"):
        if getattr(settings, key) is not None:
            draft.once((*path, key), "the hardware is what it is", f'no "{key}", or {remedy} for "{name}"')
    for key in _dropping_oldest(settings):
        what = "the hardware drops the frame that comes when a queue is full"
        draft.once((*path, "classes", key, "queue_limit", "drop"), what, f'"newest", or {remedy} for "{name}"')
    if settings.overhead < 0:
        what = "the hardware counts whole frames and what is around them"
        draft.once((*path, "overhead"), what, f"0B to 255B, or {remedy}")
    check_guard_band(draft, path, settings, "the hardware", f'{remedy} for "{name}"')
    for link in odd:
        what = f'the ports of "{name}" are hardware and do not run at {show_rate(link.rate_bps)}'
        draft.once(draft.rate_origin[link.name], what, f'"1Gb/s", or {remedy} for "{name}"')


def _bridge(
    draft: Draft,
    name: str,
    settings: model.Bridge,
    kind: NodeKind,
    hardware_timing: bool,
    rates_bps: Mapping[int, int],
) -> Bridge:
    path, report = draft.origin[name], draft.report
    ports = settings.ports or 0
    keys, classes = draft.memo.get(("classes", path)) or _classes(draft, path, settings)
    table = classes_of_priority(draft, path, settings.class_of_priority)
    processing = settings.processing_delay
    residence_ns = {
        (port, number): entry.max_residence_ns
        for number, entry in classes.items()
        if entry.max_residence_ns is not None
        for port in range(ports)
    }
    port_vlan = [1] * ports
    tagging: set[int] = set()
    untagged: defaultdict[int, set[int]] = defaultdict(set)
    translating: set[int] = set()
    removing: set[int] = set()
    correcting: set[int] = set()
    for key, port in settings.port.items():
        with report.part():
            number = index(draft, (*path, "port", key), key, ports, "port")
            if port.vlan is not None:
                port_vlan[number] = port.vlan
            check_port_tags(draft, (*path, "port", key), port, kind, settings)
            if port.tagging:
                tagging.add(number)
            if port.translation:
                translating.add(number)
            if port.r_tag_removal:
                removing.add(number)
            if port.ptp_correction:
                correcting.add(number)
            for vlan in port.untagged:
                untagged[vlan].add(number)
            for class_key, value in port.max_residence.items():
                where = (*path, "port", key, "max_residence", class_key)
                traffic_class = index(draft, where, class_key, CLASSES, "traffic class")
                if keys.selection(traffic_class) != "ats":
                    report.refuse(where, f"class {traffic_class} is not ATS", "an ATS class")
                residence_ns[number, traffic_class] = value // 1000
            for class_key, own in port.classes.items():
                with report.part():
                    check_class_keys(draft, keys, (*path, "port", key, "classes", class_key), own, number)
    if draft.nodes in REAL:
        what_is = "a data plane" if kind == "plane" else "Linux"
        check_guard_band(draft, path, settings, what_is, 'nodes = "model"')
    able = "linux" if draft.nodes in REAL and kind != "plane" else kind
    shapers = shapers_of(draft, keys, able_of(able), rates_bps)
    # The cycles of 8 ns of the hardware are too long for what is shorter.
    hardware_timing &= all(gates.shortest_ns >= SHORTEST_INTERVAL_NS for gates in shapers.gates.values())
    return Bridge(
        name=name,
        ports=ports,
        nodes=kind,
        clock=clock_of(name, settings.clock),
        hardware_timing=hardware_timing,
        processing_delay_ps=idle_processing_ps(ports) if processing is None else processing,
        cut_through_bytes=header_bytes(draft, path, settings),
        classes=classes,
        class_of_pcp=table,
        class_of_untagged=settings.class_of_untagged,
        port_vlan_id=tuple(port_vlan),
        vlans={},
        max_residence_ns=residence_ns,
        processing_delay_max_ps=settings.processing_delay_max,
        max_frame_bytes=settings.max_frame,
        overhead_bytes=settings.overhead,
        store_bytes=settings.store,
        static_forwarding=settings.forwarding == _FORWARDED,
        tagging_ports=frozenset(tagging),
        untagged={vlan: frozenset(members) for vlan, members in untagged.items()},
        translating_ports=frozenset(translating),
        translations=translations_of(draft, path, settings),
        pcp_of_untagged=settings.pcp_of_untagged,
        r_tag_removal_ports=frozenset(removing),
        ptp_correction_ports=frozenset(correcting),
        has_host=settings.host,
        gates=shapers.gates,
        credit=shapers.credit,
        max_sdu_bytes=shapers.max_sdu_bytes,
        round_robin=shapers.round_robin,
        count_gap=settings.count_gap,
        guard_band_gap=settings.guard_band_gap,
        frozen_in_guard_band=settings.guard_band_credit == "frozen",
        class_names=shapers.names,
        queue_limits=shapers.queue_limits,
    )


def _classes(draft: Draft, path: KeyPath, settings: model.Bridge) -> tuple[PortKeys, dict[int, TrafficClass]]:
    """The keys of the ports and the classes of all bridges that are described in one place."""
    keys = keys_of_bridge(path, settings)
    found: dict[int, TrafficClass] = {}
    for key, entry in settings.classes.items():
        with draft.report.part():
            number = index(draft, (*path, "classes", key), key, CLASSES, "traffic class")
            residence = None if entry.max_residence is None else entry.max_residence // 1000
            check_residence(draft, keys, (*path, "classes", key), entry.max_residence)
            check_class_keys(draft, keys, (*path, "classes", key), entry, None)
            found[number] = TrafficClass(keys.selection(number), residence)
    draft.memo["classes", path] = keys, found
    return keys, found


def idle_processing_ps(ports: int) -> int:
    """The processing delay by which a bridge with other timing, at 1 Gb/s, is as fast as the hardware when idle.

    The hardware sends the first bit after the delimiter 12 cycles after it selects a frame, eight of them preamble.
    """
    return hardware_visible_ps(min(ports, HARDWARE_PORTS)) + (12 - 8) * 8000
