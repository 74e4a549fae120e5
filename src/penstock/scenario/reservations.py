# SPDX-License-Identifier: Apache-2.0
"""Whether what ATS streams reserve fits the links and the hardware."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from penstock.scenario.checked_stream import Ats, Stream
from penstock.scenario.draft import Draft, Place
from penstock.scenario.lengths import came_to
from penstock.scenario.limits import LINE_RATE_BPS
from penstock.scenario.network import Bridge, Network, Station
from penstock.scenario.positions import KeyPath
from penstock.scenario.schedulers import key_of
from penstock.scenario.units import show_rate, show_time


@dataclass
class _Reserved:
    """What is reserved at each egress port."""

    bps: defaultdict[Place, int] = field(default_factory=lambda: defaultdict(int))
    full: set[Place] = field(default_factory=set)
    # Shared schedulers that are counted: with the egress port, and the reception port at which they stand.
    shared: set[tuple[Place, int | None, str]] = field(default_factory=set)


def check_reservations(draft: Draft, network: Network) -> None:
    reserved = _Reserved()
    nodes: dict[str, Bridge | Station] = {**network.bridges, **network.stations}
    for name, node in nodes.items():
        for (port, number), shaper in node.credit.items():
            if number not in node.ats_classes:  # there the rates of the streams count
                reserved.bps[name, port] += shaper.reserved_bps
    report = draft.report
    fits = _fits(network, reserved)
    has_limits = any(bridge.max_residence_ns for bridge in network.bridges.values())
    for stream in network.streams.values():
        if stream.ats is None:
            talker = network.stations[stream.talker]
            if talker.ats_classes and network.class_at_talker(stream) in talker.ats_classes:
                number = network.class_at_talker(stream)
                what = f'class {number} of "{talker.name}" is ATS but the stream has no rate: it passes unshaped'
                report.warn(("streams", stream.name), what)
            elif network.bridges[talker.bridge].is_ats(stream.traffic_class):
                what = f"class {stream.traffic_class} is ATS but the stream has no rate: it passes unshaped"
                report.warn(("streams", stream.name), what)
            continue
        if fits or _reserve(draft, network, stream, reserved):
            for path, ats, held_at in _by_place(network, stream):
                longest = max(came_to(network, stream, node.name)[1] for node in held_at)
                _check_scheduler(draft, path, ats, longest, max(node.overhead_bytes for node in held_at))
        if has_limits:
            _warn_of_residence(draft, network, stream)
        if stream.deadline_ps is None:
            what = "the stream is shaped but has no deadline: only its bound is checked"
            report.warn(("streams", stream.name), what)


def _by_place(network: Network, stream: Stream) -> list[tuple[KeyPath, Ats, list[Bridge | Station]]]:
    """The rates and bursts of a stream, where they are said, and the nodes that have them."""
    assert stream.ats is not None
    passed: list[Bridge | Station] = [network.bridges[hop.bridge] for hop in stream.tree]
    if network.is_held_by_talker(stream):
        passed.append(network.stations[stream.talker])
    if not stream.ats.at:
        return [(key_of(stream, passed[0].name), stream.ats, passed)]
    found: dict[KeyPath, tuple[Ats, list[Bridge | Station]]] = {}
    for node in passed:
        found.setdefault(key_of(stream, node.name), (stream.ats.at_node(node.name), []))[1].append(node)
    return [(path, ats, nodes) for path, (ats, nodes) in found.items()]


def _check_scheduler(draft: Draft, path: KeyPath, ats: Ats, longest: int, overhead: int) -> None:
    from penstock import _engine

    rate, burst = ats.rate_bps, ats.burst_bytes
    least = longest + overhead
    if rate > LINE_RATE_BPS:
        draft.report.add((*path, "rate"), f"{show_rate(rate)} is too fast for a scheduler", "up to 1 Gb/s")
    elif burst < least:
        what = f"{burst} B is less than the longest frame's {least} B "
        around = f"({longest} B and {overhead} B around it)"
        draft.report.add((*path, "burst"), what + around, f"{least}B and above")
    else:
        try:
            _engine.ats_rate(rate, burst)
        except ValueError as error:
            draft.report.add((*path, "burst"), str(error), "a smaller burst or a higher rate")


def _fits(network: Network, reserved: _Reserved) -> bool:
    """Whether each link holds all rates, of streams that share no scheduler and have one rate everywhere."""
    total = reserved.bps.copy()
    for stream in network.streams.values():
        if stream.ats is None:
            continue
        if stream.ats.scheduler is not None or stream.ats.at:
            return False
        rate = stream.ats.rate_bps
        total[stream.talker, 0] += rate
        for hop in stream.tree:
            for port in hop.egress:
                total[hop.bridge, port] += rate
    # Slopes alone may be too much for a port, and are told elsewhere.
    return all(bps <= network.link_at[port].rate_bps for port, bps in total.items() if port in network.link_at)


def _reserve(draft: Draft, network: Network, stream: Stream, reserved: _Reserved) -> bool:
    """Adds the stream's rate to each link on its way, that of a shared scheduler once; False if one is too slow."""
    assert stream.ats is not None
    # Each port, the node whose rate counts there, and where frames come to its schedulers.
    source = stream.talker if network.is_held_by_talker(stream) else stream.tree[0].bridge
    ports: list[tuple[Place, str, int | None]] = [((stream.talker, 0), source, None)]
    ports += [((hop.bridge, egress), hop.bridge, hop.entry) for hop in stream.tree for egress in hop.egress]
    slow = [
        (limit, port, bridge)
        for port, bridge, _ in ports
        if stream.ats.at_node(bridge).rate_bps > (limit := network.link_at[port].rate_bps)
    ]
    if slow:
        limit, port, bridge = min(slow, key=lambda each: each[0])
        rate, link = show_rate(stream.ats.at_node(bridge).rate_bps), show_rate(limit)
        which = "" if port[0] == stream.talker else f" from {port[0]}.{port[1]}"
        draft.report.add(
            (*key_of(stream, bridge), "rate"), f"{rate} is above the link's {link}{which}", f"up to {link}"
        )
        return False
    shared = stream.ats.scheduler
    for port, bridge, entry in ports:
        if shared is not None:
            if (port, entry, shared) in reserved.shared:
                continue
            reserved.shared.add((port, entry, shared))
        own, limit = stream.ats.at_node(bridge).rate_bps, network.link_at[port].rate_bps
        total = reserved.bps[port] = reserved.bps[port] + own
        if total > limit and port not in reserved.full:
            reserved.full.add(port)  # once for each link
            peer = network.peer(*port)
            assert peer is not None
            start = port[0] if port[0] == stream.talker else f"{port[0]}.{port[1]}"
            what = f'the rates reserved on the link from {start} to "{peer[0]}" add up to {show_rate(total)}'
            left = show_rate(limit - total + own)
            draft.report.add(
                (*key_of(stream, bridge), "rate"),
                f"{what}, above its {show_rate(limit)}",
                f"up to {left}, which others leave",
            )
    return True


def _warn_of_residence(draft: Draft, network: Network, stream: Stream) -> None:
    assert stream.ats is not None
    for hop in stream.tree:
        number = network.class_at(stream, hop.bridge)
        limit = network.bridges[hop.bridge].max_residence_ns.get((hop.entry, number))
        if limit is None:
            continue
        ats = stream.ats.at_node(hop.bridge)
        fill_ps = ats.burst_bytes * 8 * 10**12 // ats.rate_bps
        if limit * 1000 < fill_ps // 2:
            draft.report.warn(
                (*draft.origin[hop.bridge], "classes", str(number), "max_residence"),
                f'"{stream.name}" needs {show_time(fill_ps)} to earn its burst; frames above the rate drop early',
            )
            break
