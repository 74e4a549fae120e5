# SPDX-License-Identifier: Apache-2.0
"""The way of one stream: the route that the scenario gives, or the shortest."""

from __future__ import annotations

from penstock.scenario import model
from penstock.scenario.checked_stream import Hop
from penstock.scenario.draft import Draft
from penstock.scenario.network import Station
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import AlreadyToldError, names


def tree_of(
    draft: Draft, path: KeyPath, stream: model.Stream, talker: Station, listeners: list[Station]
) -> tuple[Hop, ...]:
    """The way to all listeners: the given one, or the shortest."""
    routes, report = draft.routes, draft.report
    first = talker.bridge
    if stream.route is None and len(listeners) == 1 and not draft.tilings.node:
        straight = routes.straight(first, talker.port, listeners[0].bridge, listeners[0].port)
        if straight is not None:
            return straight
    ends = [(s.bridge, s.port) for s in listeners]
    if stream.route is None:
        goals = list(dict.fromkeys(bridge for bridge, _ in ends))
        found = draft.tilings.ways(first, goals) or routes.shortest(first, goals)
        lost = [bridge for bridge, way in found.items() if way is None]
        for index, listener in enumerate(listeners):
            if listener.bridge in lost and not draft.lacks_links:
                what = f'no links lead from "{talker.name}" at "{first}" to "{listener.name}" at "{listener.bridge}"'
                report.add((*path, "to", index), what, "a link, or bridges with links, between them")
        if lost:
            raise AlreadyToldError
        ways = [way for way in found.values() if way is not None]
    else:
        ways = _given(draft, path, stream.route, talker, listeners)
    tree = routes.tree(talker.port, ways, ends)
    if isinstance(tree, str):
        report.refuse((*path, "route"), f'"{tree}" is reached in two ways', "ways that part and do not meet again")
    return tree


def _given(
    draft: Draft, path: KeyPath, route: list[str] | dict[str, list[str]], talker: Station, listeners: list[Station]
) -> list[list[str]]:
    report = draft.report
    by_name = {s.name: s for s in listeners}
    if isinstance(route, list):
        _check_route(draft, (*path, "route"), route, talker)
        for listener in listeners:
            if listener.bridge not in route:
                what = f'does not pass "{listener.bridge}", where "{listener.name}" is'
                report.refuse((*path, "route"), what, "a route that passes every listener's bridge")
        if route[-1] not in {s.bridge for s in listeners}:
            allowed = names(dict.fromkeys(s.bridge for s in listeners))
            report.refuse((*path, "route"), f'ends at "{route[-1]}", where no listener is', allowed)
        return [route]
    for name in route:
        if name not in by_name:
            report.refuse((*path, "route", name), f'"{name}" is no listener of the stream', names(by_name))
    for name, listener in by_name.items():
        if name not in route:
            report.refuse((*path, "route"), f'there is no way for "{name}"', "a list of bridges for each listener")
        way = route[name]
        _check_route(draft, (*path, "route", name), way, talker)
        if way[-1] != listener.bridge:
            what = f'ends at "{way[-1]}", but "{name}" is at "{listener.bridge}"'
            report.refuse((*path, "route", name), what, f'"{listener.bridge}" at the end')
    return list(route.values())


def _check_route(draft: Draft, path: KeyPath, way: list[str], talker: Station) -> None:
    report = draft.report
    for index, bridge in enumerate(way):
        draft.bridge_named((*path, index), bridge)
    if way[0] != talker.bridge:
        what = f'starts at "{way[0]}", but "{talker.name}" is at "{talker.bridge}"'
        report.refuse((*path, 0), what, f'"{talker.bridge}" at the start')
    for index, bridge in enumerate(way):
        if bridge in way[:index]:
            report.refuse((*path, index), f'"{bridge}" is there twice: the route has a loop', "each bridge once")
        if index and not draft.routes.adjacent(way[index - 1], bridge):
            if draft.lacks_links:
                raise AlreadyToldError
            near = [draft.routes.names[n] for n in draft.routes.neighbours[draft.routes.number[way[index - 1]]]]
            what = f'no link joins "{way[index - 1]}" and "{bridge}"'
            report.refuse((*path, index), what, names(near) or "a link between them")
