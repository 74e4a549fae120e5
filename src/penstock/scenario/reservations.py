# SPDX-License-Identifier: Apache-2.0
"""Whether what ATS streams reserve fits the links and the hardware."""

from __future__ import annotations

from collections import defaultdict

from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft, Place
from penstock.scenario.egress import Egress
from penstock.scenario.limits import LINE_RATE_BPS
from penstock.scenario.network import Network
from penstock.scenario.positions import KeyPath
from penstock.scenario.units import show_rate, show_time


def check_reservations(draft: Draft, network: Network) -> None:
    from penstock import _engine

    reserved: defaultdict[Place, int] = defaultdict(int)
    nodes: dict[str, Egress] = {**network.bridges, **network.stations}
    for name, node in nodes.items():
        for (port, _), shaper in node.credit.items():
            reserved[name, port] += shaper.reserved_bps
    full: set[Place] = set()
    report = draft.report
    for stream in network.streams.values():
        path: KeyPath = ("streams", stream.name)
        talker = network.stations[stream.talker]
        if stream.ats is None:
            if network.bridges[talker.bridge].is_ats(stream.traffic_class):
                report.warn(path, f"class {stream.traffic_class} is ATS but the stream has no rate: it passes unshaped")
            continue
        rate, burst = stream.ats.rate_bps, stream.ats.burst_bytes
        overhead = max(network.bridges[hop.bridge].overhead_bytes for hop in stream.tree)
        least = stream.max_frame_bytes + overhead
        if not _check_reserved(draft, network, stream, reserved, full):
            pass
        elif rate > LINE_RATE_BPS:
            what = f"{show_rate(rate)} is too fast for a scheduler"
            report.add((*path, "ats", "rate"), what, "up to 1 Gb/s")
        elif burst < least:
            report.add(
                (*path, "ats", "burst"),
                f"{burst} B is less than the longest frame's {least} B "
                f"({stream.max_frame_bytes} B and {overhead} B around it)",
                f"{least}B and above",
            )
        else:
            try:
                _engine.ats_rate(rate, burst)
            except ValueError as error:
                report.add((*path, "ats", "burst"), str(error), "a smaller burst or a higher rate")
        _warn_ats(draft, network, stream, rate, burst)


def _check_reserved(
    draft: Draft, network: Network, stream: Stream, reserved: defaultdict[Place, int], full: set[Place]
) -> bool:
    """Adds the stream's rate to each link on its way."""
    assert stream.ats is not None
    rate, path = stream.ats.rate_bps, ("streams", stream.name, "ats", "rate")
    ports: list[Place] = [(stream.talker, 0), *((hop.bridge, p) for hop in stream.tree for p in hop.egress)]
    slowest = min(ports, key=lambda port: network.link_at[port].rate_bps)
    limit = network.link_at[slowest].rate_bps
    if rate > limit:
        link = show_rate(limit)
        which = "" if slowest[0] == stream.talker else f" from {slowest[0]}.{slowest[1]}"
        draft.report.add(path, f"{show_rate(rate)} is above the link's {link}{which}", f"up to {link}")
        return False
    for port in ports:
        limit = network.link_at[port].rate_bps
        reserved[port] += rate
        if reserved[port] > limit and port not in full:
            full.add(port)  # once for each link
            peer = network.peer(*port)
            assert peer is not None
            start = port[0] if port[0] == stream.talker else f"{port[0]}.{port[1]}"
            what = f'the rates reserved on the link from {start} to "{peer[0]}" add up to {show_rate(reserved[port])}'
            left = show_rate(limit - reserved[port] + rate)
            draft.report.add(path, f"{what}, above its {show_rate(limit)}", f"up to {left}, which others leave")
    return True


def _warn_ats(draft: Draft, network: Network, stream: Stream, rate: int, burst: int) -> None:
    fill_ps = burst * 8 * 10**12 // rate if rate else 0
    for hop in stream.tree:
        number = network.class_at(stream, hop.bridge)
        limit = network.bridges[hop.bridge].max_residence_ns.get((hop.entry, number))
        if limit is not None and limit * 1000 < fill_ps // 2:
            draft.report.warn(
                (*draft.origin[hop.bridge], "classes", str(number), "max_residence"),
                f'"{stream.name}" needs {show_time(fill_ps)} to earn its burst; frames above the rate drop early',
            )
            break
    if stream.deadline_ps is None:
        draft.report.warn(
            ("streams", stream.name), "the stream is shaped but has no deadline: only its bound is checked"
        )
