# SPDX-License-Identifier: Apache-2.0
"""The cables between bridges, and the ports that they take."""

from __future__ import annotations

from penstock.scenario.draft import Draft, Place
from penstock.scenario.network import Link
from penstock.scenario.positions import KeyPath
from penstock.scenario.topology import cables


def link_bridges(draft: Draft) -> list[Link]:
    """The links between bridges."""
    common, report = draft.scenario.links, draft.report
    found: list[Link] = []
    for name, link in common.named().items():
        path: KeyPath = ("links", name)
        with report.part():
            ends = [place_named(draft, (*path, "between", i), place) for i, place in enumerate(link.between)]
            if ends[0][0] == ends[1][0]:
                report.refuse((*path, "between"), f'both ends are at "{ends[0][0]}"', "two bridges")
            for i, end in enumerate(ends):
                draft.take((*path, "between", i), end, f'link "{name}"')
            draft.rate_origin[name] = ("links", "rate") if link.rate is None else (*path, "rate")
            delay = common.delay if link.delay is None else link.delay
            found.append(Link(name, ends[0], ends[1], link.rate or common.rate, delay))
    for name, topology in draft.scenario.topology.items():
        path = ("topology", name)
        if ("topology", name) in draft.broken:
            continue
        delay = common.delay if topology.delay is None else topology.delay
        for (i, p), (j, q) in cables(topology):
            a, b = (f"{name}{i}", p), (f"{name}{j}", q)
            with report.part():
                title = f"{a[0]}-{b[0]}"
                for end in (a, b):
                    draft.take(path, end, f'the link "{title}" of this topology')
                draft.rate_origin[title] = ("links", "rate") if topology.rate is None else (*path, "rate")
                found.append(Link(title, a, b, topology.rate or common.rate, delay))
    return found


def place_named(draft: Draft, path: KeyPath, text: str) -> Place:
    """The port that a key names; -1 for any that is free."""
    bridge, port = text.rsplit(".", 1)
    ports = draft.bridge_named(path, bridge).ports or 0
    if port != "*" and int(port) >= ports:
        draft.report.refuse(path, f'"{bridge}" has no port {port}', f"{bridge}.0 to {bridge}.{ports - 1}")
    return bridge, -1 if port == "*" else int(port)
