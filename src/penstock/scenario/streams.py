# SPDX-License-Identifier: Apache-2.0
"""The streams: their ends, their ways, their frames and the class that these are of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from penstock.scenario import model, sources
from penstock.scenario.addresses import told_apart
from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.network import SELECTION_WORDS, Bridge, Station
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import AlreadyToldError
from penstock.scenario.schedulers import committed_of
from penstock.scenario.traffic import Traffic, captured, made
from penstock.scenario.ways import tree_of

_MAX_FRAME = attrgetter("max_frame_bytes")


def resolve_streams(draft: Draft, stations: dict[str, Station], bridges: dict[str, Bridge]) -> dict[str, Stream]:
    """All streams that nothing is wrong with."""
    found: dict[str, Stream] = {}
    draft.shortest_frame_limit = min((bridge.max_frame_bytes for bridge in bridges.values()), default=0)
    for number, (name, stream) in enumerate(draft.scenario.streams.items()):
        with draft.report.part():
            found[name] = _stream(draft, name, number, stream, stations, bridges)
    return told_apart(draft, found, bridges)


def _stream(
    draft: Draft,
    name: str,
    number: int,
    stream: model.Stream,
    stations: dict[str, Station],
    bridges: dict[str, Bridge],
) -> Stream:
    path: KeyPath = ("streams", name)
    _check_program(draft, path, stream)
    talker, listeners = _ends(draft, path, stream, stations)
    tree = tree_of(draft, path, stream, talker, listeners)
    first = bridges[talker.bridge]
    tightest = first
    if first.max_frame_bytes > draft.shortest_frame_limit:
        tightest = min([bridges[hop.bridge] for hop in tree], key=_MAX_FRAME)
    longest = tightest.max_frame_bytes, f'"{tightest.name}"'
    if stream.source.capture is not None:
        traffic = captured(draft, path, stream, longest)
    else:
        traffic = made(draft, path, number, stream, longest, talker, stations)
    ats = None
    if stream.has_scheduler:
        passed = [bridges[hop.bridge] for hop in tree]
        ats = committed_of(draft, path, stream, talker, passed)
        where: KeyPath = (*path, "ats" if stream.scheduler is None else "scheduler")
        at_talker = talker.class_of_pcp[0 if traffic.vlan is None else traffic.pcp] in talker.ats_classes
        _check_class(draft, where, traffic, first, passed, at_talker)
    return Stream(
        name=name,
        talker=stream.talker,
        listeners=tuple(stream.to),
        vlan=traffic.vlan,
        pcp=traffic.pcp,
        traffic_class=_class_at(first, traffic),
        source=stream.source,
        pattern=traffic.pattern,
        jitter=sources.jitter_of(draft.report, (*path, "source", "jitter"), stream.source.jitter, draft.folder),
        handover=sources.handover_of(draft.report, (*path, "source"), stream.source, draft.folder),
        ethertype=traffic.ethertype,
        capture=traffic.capture,
        capture_path=traffic.capture_path,
        destination_mac=traffic.destination,
        source_mac=traffic.source_mac,
        udp=traffic.udp,
        identify=traffic.identify or "destination",
        ats=ats,
        shaped=ats is not None,
        deadline_ps=stream.deadline,
        numbered=stream.numbered,
        min_frame_bytes=min(traffic.lengths),
        max_frame_bytes=max(traffic.lengths),
        tree=tree,
    )


def _ends(
    draft: Draft, path: KeyPath, stream: model.Stream, stations: Mapping[str, Station]
) -> tuple[Station, list[Station]]:
    """The talker and the listeners."""
    report = draft.report
    if len(stream.to) == 1 and (stream.pcp is None or stream.vlan is not None):
        ends = stations.get(stream.talker), stations.get(stream.to[0])
        if ends[0] is not None and ends[1] is not None and ends[0] is not ends[1]:
            return ends[0], [ends[1]]
    seen = len(report.found)
    talker: Station | None = None
    with report.part():
        talker = draft.station_named((*path, "from"), stream.talker, stations)
    listeners = []
    for index, listener in enumerate(stream.to):
        where = (*path, "to", index)
        with report.part():
            listeners.append(draft.station_named(where, listener, stations))
            if listener == stream.talker:
                report.refuse(where, "a stream does not return to its talker", "another station")
            if listener in stream.to[:index]:
                report.refuse(where, f'"{listener}" is there twice', "each listener once")
    if stream.pcp is not None and stream.vlan is None and stream.source.capture is None:
        report.add((*path, "pcp"), "an untagged frame has no priority code point", "pcp together with vlan")
    if talker is None or len(listeners) < len(stream.to) or len(report.found) > seen:
        raise AlreadyToldError
    return talker, listeners


def _check_class(
    draft: Draft, path: KeyPath, traffic: Traffic, first: Bridge, passed: Sequence[Bridge], at_talker: bool
) -> None:
    """Whether a stream that is to be shaped is of a class that is, at a bridge or at its talker."""
    pcp = None if traffic.vlan is None else traffic.pcp
    shaped_at = [bridge for bridge in passed if pcp in bridge.ats_pcps]
    if not shaped_at and not at_talker:
        traffic_class = _class_at(first, traffic)
        selection = first.selection(traffic_class)
        classes = [p for p in range(8) if first.is_ats(first.class_of_pcp[p])]
        draft.report.refuse(
            path,
            f"the stream's frames are of class {traffic_class}, which is {SELECTION_WORDS[selection]}",
            f'classes.{traffic_class} = {{ selection = "ats" }}, or pcp {_any_of(classes)}',
        )
    if len(shaped_at) < len(passed):
        other = next(bridge for bridge in passed if bridge not in shaped_at)
        how = SELECTION_WORDS[other.selection(_class_at(other, traffic))]
        draft.report.warn(path, f'at "{other.name}" its class is {how}: it is not shaped there')


def _class_at(bridge: Bridge, traffic: Traffic) -> int:
    return bridge.class_of_untagged if traffic.vlan is None else bridge.class_of_pcp[traffic.pcp]


def _any_of(numbers: Iterable[int]) -> str:
    return " or ".join(map(str, numbers)) or "of an ATS class"


def _check_program(draft: Draft, path: KeyPath, stream: model.Stream) -> None:
    """What a stream cannot have whose frames a program makes."""
    if stream.source.program is None:
        return
    for key in ("vlan", "udp", "destination"):
        if getattr(stream, key) is not None:
            what = "iperf3 sends without a tag, to the listener's address, from ports of its own"
            draft.report.add((*path, key), what, f'no "{key}"')
    if len(stream.to) > 1:
        draft.report.add((*path, "to"), "iperf3 has one server", "one listener")
