# SPDX-License-Identifier: Apache-2.0
"""What a scenario says and nothing needs: stations, shaped classes and sources that no frame comes from."""

from __future__ import annotations

from collections import defaultdict

from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.egress import Egress
from penstock.scenario.network import SELECTION_WORDS, Bridge, Network
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import names
from penstock.scenario.units import show_time


def check_use(draft: Draft, network: Network) -> None:
    """Warns of what is there in vain, and of streams that bridges do not agree about."""
    _check_stations(draft, network)
    _check_classes(draft, network)
    _check_turns(draft, network)
    if network.is_real:
        _check_queues_of_linux(draft, network)
    agree = _agree(network)
    for stream in network.streams.values():
        _check_source(draft, network, stream)
        if not agree:
            _check_class_on_the_way(draft, network, stream)


def _check_stations(draft: Draft, network: Network) -> None:
    used = {n for s in network.streams.values() for n in (s.talker, *s.listeners)}
    for name in network.stations:
        if name not in used:
            draft.report.warn(("stations", name), "no stream comes from it or goes to it")


def _check_queues_of_linux(draft: Draft, network: Network) -> None:
    nodes: dict[str, Egress] = {**network.bridges, **network.stations}
    for name, node in nodes.items():
        is_plane = isinstance(node, Bridge) and node.nodes == "plane"
        for number, limit in node.queue_limits.items():
            path = (*draft.origin.get(name, ("stations", name)), "classes", str(number), "queue_limit")
            if not is_plane:
                draft.report.warn(path, "says nothing of real Linux, whose qdiscs have limits of their own")
            elif limit.frames is None or limit.drop_oldest:
                draft.report.warn(path, "a data plane counts frames, and drops the one that comes")


def _check_classes(draft: Draft, network: Network) -> None:
    """A class that is shaped and that no stream is of; of all bridges of a topology together."""
    said: dict[KeyPath, list[tuple[str, int]]] = defaultdict(list)
    for name, bridge in network.bridges.items():
        at_ports = {number for _, number in bridge.credit}.union(*bridge.round_robin.values())
        shaped = {number for number, entry in bridge.classes.items() if entry.selection != "strict"} | at_ports
        for number in shaped:
            said[*draft.origin[name], "classes", str(number)].append((name, number))
    passing: dict[str, list[list[Stream]]] = defaultdict(list)
    for hop, streams in network.by_hop:
        passing[hop.bridge].append(streams)
    for path, places in said.items():
        used = any(
            network.class_at(stream, name) == number
            for name, number in places
            for streams in passing.get(name, ())
            for stream in streams
        )
        if not used:
            name, number = places[0]
            bridge = network.bridges[name]
            everywhere = (bridge.selection(number), *(bridge.selection_at(at, number) for at in range(bridge.ports)))
            how = next(selection for selection in everywhere if selection != "strict")
            what = f"the class is {SELECTION_WORDS[how]}, and no stream is of it"
            draft.report.warn(path, what + _meant(network, [name for name, _ in places], number))


def _check_turns(draft: Draft, network: Network) -> None:
    """A class that shares its level with no other."""
    nodes: dict[str, Egress] = {**network.bridges, **network.stations}
    alone = {
        (*draft.origin.get(name, ("stations", name)), "classes", str(min(level)))
        for name, node in nodes.items()
        for level in node.round_robin.values()
        if len(level) == 1
    }
    for path in sorted(alone, key=str):
        what = 'no other class of the port takes turns with it, so that it is served as selection = "strict" is'
        draft.report.warn(path, what)


def _meant(network: Network, bridges: list[str], number: int) -> str:
    """Who takes a priority for a class has a stream whose PCP is that number."""
    for name in bridges:
        bridge = network.bridges[name]
        for stream, _ in network.passing[name]:
            of = network.class_at(stream, name)
            if stream.vlan is not None and stream.pcp == number and of != number:
                leads = names(str(pcp) for pcp in range(8) if bridge.class_of_pcp[pcp] == number)
                remedy = f"pcp {leads} is class {number}" if leads else f"no pcp is class {number}"
                return f': "{stream.name}" has pcp {number}, which class_of_priority makes class {of}; {remedy}'
    return ""


def _check_source(draft: Draft, network: Network, stream: Stream) -> None:
    path: KeyPath = ("streams", stream.name, "source")
    start, duration = stream.source.start, network.duration_ps
    # In the network's time, which the talker's clock may be ahead of.
    first = start - network.stations[stream.talker].clock.offset_ps
    if start >= duration:
        what = f"starts at {show_time(start)}, and the run lasts {show_time(duration)}: nothing is sent"
        draft.report.warn((*path, "start"), what)
    elif first >= duration:
        what = f"its talker's clock shows {show_time(start)} only at {show_time(first)}: nothing is sent"
        draft.report.warn(path, what)
    elif stream.capture is not None:
        length = stream.capture.frames[-1].time_ps - stream.capture.frames[0].time_ps
        if length + start > duration:
            what = f"the capture lasts {show_time(length)}: its end is not sent in {show_time(duration)}"
            draft.report.warn((*path, "capture"), what)
    asked = network.streams.get(stream.source.response_to or "")
    if asked is not None and asked.source.start >= duration:
        what = f'"{asked.name}" sends nothing, and so nothing is answered'
        draft.report.warn((*path, "response_to"), what)


def _agree(network: Network) -> bool:
    """Whether all nodes have one table of classes, so that there is nothing to look for."""
    bridges = {(bridge.class_of_pcp, bridge.class_of_untagged) for bridge in network.bridges.values()}
    tables = {table for table, _ in bridges} | {station.class_of_pcp for station in network.stations.values()}
    return len(bridges) <= 1 and len(tables) <= 1


def _check_class_on_the_way(draft: Draft, network: Network, stream: Stream) -> None:
    """Whether all bridges put a stream into the same class."""
    found: dict[int, list[str]] = defaultdict(list)
    if stream.vlan is not None:
        found[network.class_at_talker(stream)].append(stream.talker)
    for hop in stream.tree:
        found[network.class_at(stream, hop.bridge)].append(hop.bridge)
    if len(found) > 1:
        classes = ", ".join(f"class {number} at {names(nodes)}" for number, nodes in found.items())
        which, key = (f"pcp {stream.pcp}", "priority") if stream.vlan is not None else ("untagged frames", "untagged")
        what = f"nodes do not agree about {which}: {classes} (class_of_{key})"
        draft.report.warn(("streams", stream.name), what)
