# SPDX-License-Identifier: Apache-2.0
"""What breaks while a network runs: which links and nodes, when, and whether the nodes can do it."""

from __future__ import annotations

import zlib
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

from penstock.scenario import fault_keys
from penstock.scenario.checked_fault import Fault
from penstock.scenario.draft import Draft
from penstock.scenario.network import Link, Network
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import AlreadyToldError, names
from penstock.scenario.units import show_time


def faults_of(draft: Draft, network: Network) -> tuple[Fault, ...]:
    """All faults that nothing is wrong with."""
    found: dict[KeyPath, Fault] = {}
    for number, said in enumerate(draft.scenario.faults):
        path: KeyPath = ("faults", number)
        with draft.report.part():
            # The laboratory of a network of tiles kills each link and each node in turn.
            is_broken = network.nodes == "linux" and bool(network.tilings) and said.bit_error_rate is None
            if network.is_real and not is_broken:
                draft.report.refuse(path, "real Linux is not broken by a scenario", 'nodes = "model"')
            found[path] = _fault(draft, path, said, network)
        if said.at >= network.duration_ps:
            what = f"begins at {show_time(said.at)}, and the run lasts {show_time(network.duration_ps)}"
            draft.report.warn((*path, "at"), what)
    _check_overlaps(draft, found)
    return tuple(found.values())


def _fault(draft: Draft, path: KeyPath, said: fault_keys.Fault, network: Network) -> Fault:
    if said.node is not None:
        nodes = {**network.bridges, **network.stations}
        if said.node not in nodes:
            if draft.is_broken("bridges", said.node) or draft.is_broken("stations", said.node):
                raise AlreadyToldError
            draft.report.unknown((*path, "node"), "node", said.node, nodes)
        if nodes[said.node].has_hardware:
            what = f'"{said.node}" is hardware, whose power is not switched off here'
            draft.report.refuse((*path, "node"), what, f'a link of it, or nodes = "model" for "{said.node}"')
        return Fault("node_down", said.node, f'"{said.node}"', said.at, said.until)
    assert said.link is not None
    number = _link(draft, (*path, "link"), said.link, network)
    link = network.links[number]
    name = f'link "{said.link}"' if isinstance(said.link, str) else f'the link of "{said.link[0]}" and "{said.link[1]}"'
    fault = Fault("link_down", number, name, said.at, said.until)
    if said.bit_error_rate is None:
        return fault
    seed = zlib.crc32(link.name.encode()) if said.seed is None else said.seed
    return replace(fault, kind="bit_errors", bit_error_rate=said.bit_error_rate, seed=seed)


def _link(draft: Draft, path: KeyPath, said: str | list[str], network: Network) -> int:
    """The number of a link that is told by its name, or by the nodes at its ends."""
    if isinstance(said, str):
        if said not in draft.scenario.links.named():
            if draft.is_broken("links", said):
                raise AlreadyToldError
            draft.report.unknown(path, "link", said, draft.scenario.links.named())
        by_name = [number for number, link in enumerate(network.links) if link.name == said]
        if not by_name:
            raise AlreadyToldError
        return by_name[0]
    nodes = {**network.bridges, **network.stations}
    for index, name in enumerate(said):
        if name not in nodes:
            if draft.is_broken("bridges", name) or draft.is_broken("stations", name):
                raise AlreadyToldError
            draft.report.unknown((*path, index), "node", name, nodes)
    ends = set(said)
    numbers = [number for number, link in enumerate(network.links) if {link.a[0], link.b[0]} == ends]
    if not numbers:
        if draft.lacks_links:
            raise AlreadyToldError
        beside = {link.b[0] if link.a[0] == said[0] else link.a[0] for link in network.links if said[0] in _ends(link)}
        draft.report.refuse(path, f'no link joins "{said[0]}" and "{said[1]}"', names(sorted(beside)) or "a link")
    if len(numbers) > 1:
        what = f'{len(numbers)} links join "{said[0]}" and "{said[1]}"'
        draft.report.refuse(path, what, names(network.links[number].name for number in numbers))
    return numbers[0]


def _ends(link: Link) -> tuple[str, str]:
    return link.a[0], link.b[0]


def _check_overlaps(draft: Draft, found: dict[KeyPath, Fault]) -> None:
    at_place: defaultdict[tuple[str, int | str], list[tuple[KeyPath, Fault]]] = defaultdict(list)
    for path, fault in found.items():
        at_place[fault.kind, fault.place].append((path, fault))
    for faults in at_place.values():
        faults.sort(key=lambda each: each[1].at_ps)
        for (_, before), (path, fault) in pairwise(faults):
            if before.overlaps(fault):
                draft.report.add((*path, "at"), f"{before.said}, which overlaps", "one after the other")
