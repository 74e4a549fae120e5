# SPDX-License-Identifier: Apache-2.0
"""The keys of a topology that is made of tiles."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from penstock.scenario.keys import Table, Whole, refuse, said
from penstock.scenario.limits import Wait
from penstock.scenario.linux_keys import Interface
from penstock.tiles.grid import Grid
from penstock.tiles.identity import Identity

KINDS = ("torus", "mesh2d")

_Number = Annotated[int, Whole(1, 254)]
RowsAndColumns = tuple[_Number, _Number]


def _identity(value: Any) -> Identity:
    try:
        return Identity.parse(value)
    except (TypeError, ValueError):
        raise refuse(f"{said(value)} is no node", '"TILE_ROW,TILE_COLUMN,ROW,COLUMN", such as "0,1,1,0"') from None


TileNode = Annotated[
    Identity, BeforeValidator(_identity), WithJsonSchema({"type": "string", "title": "node", "examples": ["0,1,1,0"]})
]


class Tiles(Table):
    """How many tiles, of how many nodes, and without which."""

    tiles: RowsAndColumns | None = Field(default=None, description="Rows and columns of tiles, of a torus or a mesh2d.")
    tile: RowsAndColumns | None = Field(default=None, description="Rows and columns of a tile: [2, 2] or [1, 1].")
    absent: list[TileNode] = Field(default_factory=list, description="Nodes that are not there.")
    link_detection: Wait = Field(
        default=0, description="How long after a link goes down or up the nodes at its ends know of it."
    )
    congestion_detour: Annotated[int | None, Whole(1, 100_000)] = Field(
        default=None,
        description="So many frames queued at a port lead others around it, where another port leads nearer too.",
    )
    interfaces: dict[str, Interface] = Field(
        default_factory=dict,
        description="Of nodes that are Linux hosts: row, column and side, or north, east and so on.",
    )

    def check_tiles(self) -> None:
        """Whether there is such a grid."""
        try:
            _ = self.grid
        except ValueError as error:
            what, _, allowed = str(error).partition(": ")
            raise refuse(what, allowed) from None
        if self.interfaces:
            keys = ("north", "east", "south", "west") if self.tile == (1, 1) else ("row", "column", "side")
            if set(self.interfaces) != set(keys) or len(set(self.interfaces.values())) < len(keys):
                raise refuse("are not one interface for each port of a node", f"{', '.join(keys)}", "interfaces")

    @cached_property
    def grid(self) -> Grid:
        """The nodes, each of them a bridge, and their links. `ValueError` with what is allowed if there is none."""
        if self.tiles is None:
            raise ValueError('the key "tiles" is missing: rows and columns, tiles = [2, 3]')
        tile = self.tile or (2, 2)
        wraps = getattr(self, "kind", None) == "torus"
        return Grid(self.tiles, tile, wraps, frozenset(node.node(tile) for node in self.absent))
