# SPDX-License-Identifier: Apache-2.0
"""The way that a frame takes by the tables, with links or nodes dead; and which pairs of nodes dead ones cut."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from penstock.tiles.detours import Reception, Routing
from penstock.tiles.grid import End, Grid
from penstock.tiles.identity import Node

Link = tuple[End, End]
HOP_LIMIT = 64  # links that a frame may take, on Linux (net.ipv4.ip_default_ttl) and in the engine


class Outcome(Enum):
    """What becomes of a frame."""

    ARRIVED = "arrived"
    STUCK = "no port is left"
    LOOPED = "the same link again"  # ended by its hop limit
    SPENT = "its hop limit is reached"


@dataclass(frozen=True)
class Way:
    """The nodes that a frame passes, the first and the last included, up to where it is dropped."""

    nodes: tuple[Node, ...]
    outcome: Outcome

    @property
    def links(self) -> int:
        """Over how many links it went."""
        return len(self.nodes) - 1


def follow(routing: Routing, source: Node, destination: Node, dead: Collection[Link] = ()) -> Way:
    """Follows the tables from one node to another."""
    table, neighbours = routing.towards(destination), routing.grid.neighbours
    closed = {end for link in dead for end in link}
    node, reception = source, None  # type: Node, Reception
    way = [source]
    met: set[tuple[Node, Reception]] = set()
    while node != destination:
        if (node, reception) in met:
            return Way(tuple(way), Outcome.LOOPED)
        if len(met) == HOP_LIMIT:
            return Way(tuple(way), Outcome.SPENT)
        met.add((node, reception))
        port = next((port for port in table[node, reception] if (node, port) not in closed), None)
        if port is None:
            return Way(tuple(way), Outcome.STUCK)
        node, reception = neighbours[node][port]
        way.append(node)
    return Way(tuple(way), Outcome.ARRIVED)


def links_of(grid: Grid, node: Node) -> tuple[Link, ...]:
    """The links of a node: dead with it."""
    return tuple(link for link in grid.links if node in (link[0][0], link[1][0]))


def cut(routing: Routing, dead: Collection[Link], without: Collection[Node] = ()) -> Iterator[tuple[Node, Node, Way]]:
    """The ordered pairs of nodes that dead links part, each with how far a frame gets."""
    nodes = [node for node in routing.grid.nodes if node not in without]
    for destination in nodes:
        for source in nodes:
            if source != destination:
                way = follow(routing, source, destination, dead)
                if way.outcome is not Outcome.ARRIVED:
                    yield source, destination, way
