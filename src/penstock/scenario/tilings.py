# SPDX-License-Identifier: Apache-2.0
"""The ways through networks of tiles: by dimension, as their nodes route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from penstock.scenario.model import Topology
from penstock.scenario.tile_keys import KINDS
from penstock.tiles.detours import Routing
from penstock.tiles.grid import Grid
from penstock.tiles.identity import Node
from penstock.tiles.walk import Outcome, follow


@dataclass(frozen=True)
class Tiling:
    """A topology of tiles: how its nodes route, and the names of their interfaces where they are Linux hosts."""

    routing: Routing
    interfaces: Mapping[str, str]
    link_detection_ps: int
    congestion_frames: int | None = None  # queued at a port, from which on frames are led around it


@lru_cache(maxsize=8)
def _routing(grid: Grid) -> Routing:
    """The tables of a grid, which are much work for a large one: the same for all who load it."""
    return Routing(grid)


class Tilings:
    """The topologies of a scenario that are made of tiles, and the bridges that are their nodes."""

    def __init__(self, topologies: Mapping[str, Topology]) -> None:
        self.by_name = {
            name: Tiling(_routing(each.grid), each.interfaces, each.link_detection, each.congestion_detour)
            for name, each in topologies.items()
            if each.kind in KINDS
        }
        self.node: dict[str, tuple[str, Node]] = {}
        self.bridge: dict[tuple[str, Node], str] = {}
        for name, tiling in self.by_name.items():
            for number, node in enumerate(tiling.routing.grid.nodes):
                bridge = f"{name}{number}"
                self.node[bridge] = name, node
                self.bridge[name, node] = bridge

    def ways(self, start: str, goals: Sequence[str]) -> dict[str, list[str] | None] | None:
        """The way to each of these bridges, None where there is none; None if not all are of one topology of tiles."""
        if not self.node:
            return None
        nodes = [self.node.get(bridge) for bridge in (start, *goals)]
        if nodes[0] is None or any(node is None or node[0] != nodes[0][0] for node in nodes):
            return None
        found: dict[str, list[str] | None] = {}
        for goal in goals:
            (name, source), (_, destination) = self.node[start], self.node[goal]
            way = follow(self.by_name[name].routing, source, destination)
            arrived = way.outcome is Outcome.ARRIVED
            found[goal] = [self.bridge[name, node] for node in way.nodes] if arrived else None
        return found
