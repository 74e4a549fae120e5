# SPDX-License-Identifier: Apache-2.0
"""Bridges and links made by a rule.

Bridge *i* of topology NAME is called NAME*i*, counted from 0. Links take the low ports, in the way that is written
beside each rule; the ports above them are for stations.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.scenario.model import Topology
from penstock.tiles.grid import Port

Place = tuple[int, int]  # bridge and port


def cables(topology: Topology) -> list[tuple[Place, Place]]:
    """What is joined with what."""
    rules = {"line": _line, "ring": _ring, "star": _star, "tree": _tree, "mesh": _mesh, "grid": _grid}
    return list(rules.get(topology.kind, _tiles)(topology))


def free_ports_from(topology: Topology) -> int:
    """The first port that no link takes at any of the bridges."""
    count = topology.count
    return {
        "line": 2,
        "ring": 2,
        "star": max(count - 1, 1),
        "tree": 1 + (topology.children or 2),
        "mesh": count - 1,
        "grid": 4,
    }.get(topology.kind, 4 if topology.tile == (1, 1) else 3)


def _line(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Port 0 to the bridge before, port 1 to the bridge after.
    for i in range(topology.count - 1):
        yield (i, 1), (i + 1, 0)


def _ring(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # As a line, and the last bridge's port 1 to port 0 of the first.
    yield from _line(topology)
    yield (topology.count - 1, 1), (0, 0)


def _star(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Bridge 0 is the centre: its port i - 1 to port 0 of bridge i.
    for i in range(1, topology.count):
        yield (0, i - 1), (i, 0)


def _tree(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Bridge 0 is the root, filled level by level: port 0 up, ports 1 to `children` down.
    children = topology.children or 2
    for i in range(1, topology.count):
        above, number = divmod(i - 1, children)
        yield (above, 1 + number), (i, 0)


def _mesh(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Every bridge to every other: port j to bridge j, and as its own number is left out, port j - 1 to those above.
    for i in range(topology.count):
        for j in range(i + 1, topology.count):
            yield (i, j - 1), (j, i)


def _grid(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # Row by row: port 0 up, 1 right, 2 down, 3 left.
    columns = topology.columns or 1
    for i in range(topology.count):
        if (i + 1) % columns and i + 1 < topology.count:
            yield (i, 1), (i + 1, 3)
        if i + columns < topology.count:
            yield (i, 2), (i + columns, 0)


# Of a tile of 2 x 2: the neighbour in the row, that in the column, the tile's side; of 1 x 1 as a grid.
_WITHIN = {Port.ROW: 0, Port.COLUMN: 1}
_AROUND = {Port.NORTH: 0, Port.EAST: 1, Port.SOUTH: 2, Port.WEST: 3}


def port_of(tile: tuple[int, int], port: Port) -> int:
    """The number of a port of a node in tiles of this size."""
    return _AROUND[port] if tile == (1, 1) else _WITHIN.get(port, 2)


def _tiles(topology: Topology) -> Iterator[tuple[Place, Place]]:
    # The nodes that are there, row by row of the whole grid.
    grid = topology.grid
    number = {node: i for i, node in enumerate(grid.nodes)}
    for (a, p), (b, q) in grid.links:
        yield (number[a], port_of(grid.tile, p)), (number[b], port_of(grid.tile, q))
