# SPDX-License-Identifier: Apache-2.0
"""Dimension-order routing: first along the rows of tiles, then along their columns, then within the tile.

Where nodes are absent that such a way needs, the shortest one is taken.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.tiles.grid import SIDES, Grid, Port
from penstock.tiles.identity import Node


def tree(grid: Grid, destination: Node) -> Mapping[Node, Port]:
    """The port of each other node on its way to a destination, when no link is dead."""
    up = {node: preferred(grid, node, destination) for node in grid.nodes if node != destination}
    if not grid.absent:
        return up
    # A node keeps its way if no node of it is absent: all nodes on it do. From any other a way leads nearer.
    whole = {destination: True}
    for node in up:
        way = [node]
        while way[-1] not in whole:
            end = grid.neighbours[way[-1]].get(up[way[-1]])
            if end is None:
                break
            way.append(end[0])
        arrives = whole.get(way[-1], False)
        whole.update(dict.fromkeys(way, arrives))
    distance = grid.distances(destination)
    for node in up:
        if not whole[node]:
            ends = grid.neighbours[node]
            up[node] = min(ends, key=lambda port: distance[ends[port][0]])
    return up


def preferred(grid: Grid, node: Node, destination: Node) -> Port:
    """The port by which a frame leaves a node that is not its destination, when no link is dead."""
    here, there = grid.identity(node), grid.identity(destination)
    place = here.row, here.column
    side = _side(grid, place, there.tile_column - here.tile_column, grid.tiles[1], Port.WEST, Port.EAST)
    side = side or _side(grid, place, there.tile_row - here.tile_row, grid.tiles[0], Port.NORTH, Port.SOUTH)
    row, column = SIDES[grid.tile][side] if side else (there.row, there.column)
    if side and place == (row, column):
        return side
    return Port.ROW if here.column != column else Port.COLUMN


def _side(grid: Grid, place: tuple[int, int], distance: int, count: int, back: Port, forth: Port) -> Port | None:
    """The side by which the tile is left, the shorter way round; where both are as long, that which is nearer."""
    if not grid.wraps:
        return forth if distance > 0 else back if distance < 0 else None
    distance %= count
    if distance == 0:
        return None
    if 2 * distance == count:
        sides = SIDES[grid.tile]
        return back if _far(place, sides[back]) < _far(place, sides[forth]) else forth
    return forth if 2 * distance < count else back


def _far(a: tuple[int, int], b: tuple[int, int]) -> int:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])
