# SPDX-License-Identifier: Apache-2.0
"""Bridges and links made by a rule.

Bridge *i* of topology NAME is called NAME*i*, counted from 0. Links take the low ports, in the way that is written
beside each rule; the ports above them are for stations.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.scenario.model import Topology

Place = tuple[int, int]  # bridge and port


def cables(topology: Topology) -> list[tuple[Place, Place]]:
    """What is joined with what."""
    rule = {"line": _line, "ring": _ring, "star": _star, "tree": _tree, "mesh": _mesh, "grid": _grid}[topology.kind]
    return list(rule(topology))


def free_ports_from(topology: Topology) -> int:
    """The first port that no link takes at any of the bridges."""
    count = topology.bridges
    return {
        "line": 2,
        "ring": 2,
        "star": max(count - 1, 1),
        "tree": 1 + (topology.children or 2),
        "mesh": count - 1,
        "grid": 4,
    }[topology.kind]


def _line(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Port 0 to the bridge before, port 1 to the bridge after.
    for i in range(topology.bridges - 1):
        yield (i, 1), (i + 1, 0)


def _ring(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # As a line, and the last bridge's port 1 to port 0 of the first.
    yield from _line(topology)
    yield (topology.bridges - 1, 1), (0, 0)


def _star(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Bridge 0 is the centre: its port i - 1 to port 0 of bridge i.
    for i in range(1, topology.bridges):
        yield (0, i - 1), (i, 0)


def _tree(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Bridge 0 is the root, filled level by level: port 0 up, ports 1 to `children` down.
    children = topology.children or 2
    for i in range(1, topology.bridges):
        above, number = divmod(i - 1, children)
        yield (above, 1 + number), (i, 0)


def _mesh(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Every bridge to every other: port j to bridge j, and as its own number is left out, port j - 1 to those above.
    for i in range(topology.bridges):
        for j in range(i + 1, topology.bridges):
            yield (i, j - 1), (j, i)


def _grid(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Row by row: port 0 up, 1 right, 2 down, 3 left.
    columns = topology.columns or 1
    for i in range(topology.bridges):
        if (i + 1) % columns and i + 1 < topology.bridges:
            yield (i, 1), (i + 1, 3)
        if i + columns < topology.bridges:
            yield (i, 2), (i + columns, 0)
