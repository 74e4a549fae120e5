# SPDX-License-Identifier: Apache-2.0
"""Which node is joined with which: tiles of nodes, and each side of a tile with the tile beside it.

Scionti et al. give a node four ports: two within its tile of 2 x 2, one to another tile, one for management. Which node
of a tile has which side, the paper leaves to its figure. Here the upper row has west and east and the lower row north
and south, since then one dead link costs two forwards more, which is what the paper's 0.35 ms and 0.52 ms say. A tile
of 1 x 1 is a node with all four sides: the plain torus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from penstock.tiles.identity import LARGEST, Identity, Node


class Port(StrEnum):
    """A port of a node: to the neighbour in the same row or column of its tile, or at a side of the tile."""

    ROW = "row"
    COLUMN = "column"
    NORTH = "north"
    EAST = "east"
    SOUTH = "south"
    WEST = "west"


SIDES = {
    (1, 1): {Port.NORTH: (0, 0), Port.EAST: (0, 0), Port.SOUTH: (0, 0), Port.WEST: (0, 0)},
    (2, 2): {Port.WEST: (0, 0), Port.EAST: (0, 1), Port.NORTH: (1, 0), Port.SOUTH: (1, 1)},
}
_OPPOSITE = {Port.NORTH: Port.SOUTH, Port.SOUTH: Port.NORTH, Port.EAST: Port.WEST, Port.WEST: Port.EAST}

End = tuple[Node, Port]


@dataclass(frozen=True)
class Grid:
    """Rows and columns of tiles; a torus, or a mesh that does not wrap.

    `ValueError` where it cannot be one, with what is allowed.
    """

    tiles: tuple[int, int]
    tile: tuple[int, int] = (2, 2)
    wraps: bool = True
    absent: frozenset[Node] = frozenset()

    def __post_init__(self) -> None:
        if self.tile not in SIDES:
            what = "2 x 2, where a node has two ports within the tile and one outside, or 1 x 1, a node with four"
            raise ValueError(f"a tile of {self.tile[0]} x {self.tile[1]}: {what}")
        if min(self.tiles) < 1 or (self.wraps and self.tiles == (1, 1)):
            what = "1 or more rows and columns, and a torus has more than one tile"
            raise ValueError(f"{self.tiles[0]} x {self.tiles[1]} tiles: {what}")
        if max(self.rows, self.columns) > LARGEST:
            what = f"addresses have a byte for the row and one for the column, which leaves {LARGEST} of each"
            raise ValueError(f"{self.rows} x {self.columns} nodes: {what}")
        lost = [node for node in sorted(self.absent) if not (node.row < self.rows and node.column < self.columns)]
        if lost:
            raise ValueError(f"node {self.identity(lost[0])} is absent and outside of the grid")
        if len(self.nodes) < 2:
            raise ValueError("no two nodes are left: 2 or more")
        if len(reached := self.distances(self.nodes[0])) < len(self.nodes):
            lost = [node for node in self.nodes if node not in reached]
            what = f"node {self.identity(lost[0])} and {self.identity(self.nodes[0])} are cut off from each other"
            raise ValueError(f"{what} by nodes that are absent: links lead from each node to all others")

    @property
    def rows(self) -> int:
        """Of nodes."""
        return self.tiles[0] * self.tile[0]

    @property
    def columns(self) -> int:
        """Of nodes."""
        return self.tiles[1] * self.tile[1]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All that are there, row by row."""
        places = (Node(row, column) for row in range(self.rows) for column in range(self.columns))
        return tuple(node for node in places if node not in self.absent)

    def identity(self, node: Node) -> Identity:
        """Its place by tile and within it."""
        return Identity.of(node, self.tile)

    def holder(self, tile_row: int, tile_column: int, side: Port) -> Node:
        """The node that has a side of a tile."""
        return Identity(tile_row, tile_column, *SIDES[self.tile][side]).node(self.tile)

    @cached_property
    def links(self) -> tuple[tuple[End, End], ...]:
        """All links, each once; from west to east and from north to south."""
        return tuple((a, b) for a, b in self._all_links() if a[0] not in self.absent and b[0] not in self.absent)

    @cached_property
    def neighbours(self) -> Mapping[Node, Mapping[Port, End]]:
        """What is at the other end of each port that has a link."""
        found: dict[Node, dict[Port, End]] = {node: {} for node in self.nodes}
        for a, b in self.links:
            found[a[0]][a[1]] = b
            found[b[0]][b[1]] = a
        return {node: {port: found[node][port] for port in Port if port in found[node]} for node in self.nodes}

    def distances(self, node: Node) -> Mapping[Node, int]:
        """How many links it is from a node to each that can be reached, itself included."""
        found, near = {node: 0}, [node]
        while near:
            near = [other for each in near for other, _ in self.neighbours[each].values() if other not in found]
            found |= dict.fromkeys(near, max(found.values()) + 1)
        return found

    def _all_links(self) -> Iterator[tuple[End, End]]:
        for tile_row in range(self.tiles[0]):
            for tile_column in range(self.tiles[1]):
                yield from self._within(tile_row * self.tile[0], tile_column * self.tile[1])
                below, beside = (tile_row + 1) % self.tiles[0], (tile_column + 1) % self.tiles[1]
                if self._joins(tile_column, self.tiles[1]):
                    yield self._across((tile_row, tile_column), (tile_row, beside), Port.EAST)
                if self._joins(tile_row, self.tiles[0]):
                    yield self._across((tile_row, tile_column), (below, tile_column), Port.SOUTH)

    def _within(self, row: int, column: int) -> Iterator[tuple[End, End]]:
        if self.tile == (1, 1):
            return
        for i in (0, 1):
            yield (Node(row + i, column), Port.ROW), (Node(row + i, column + 1), Port.ROW)
            yield (Node(row, column + i), Port.COLUMN), (Node(row + 1, column + i), Port.COLUMN)

    def _across(self, tile: tuple[int, int], other: tuple[int, int], side: Port) -> tuple[End, End]:
        back = _OPPOSITE[side]
        return (self.holder(*tile, side), side), (self.holder(*other, back), back)

    def _joins(self, index: int, count: int) -> bool:
        return index + 1 < count or (self.wraps and count > 1)
