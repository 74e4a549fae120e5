# SPDX-License-Identifier: Apache-2.0
"""The network of tiles of a scenario, and what the words of a command line mean in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from penstock.errors import InputError
from penstock.scenario.network import Network
from penstock.tiles.detours import Routing
from penstock.tiles.identity import Identity, Node, node_of_address
from penstock.tiles.walk import Link, links_of


@dataclass(frozen=True)
class Torus:
    """A topology of tiles, and its name in the scenario."""

    name: str
    routing: Routing
    interfaces: Mapping[str, str]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Those that are there."""
        return self.routing.grid.nodes

    def said(self, node: Node) -> str:
        """A node by its identity."""
        return str(self.routing.grid.identity(node))

    def node(self, text: str) -> Node:
        """The node of an identity, of an address, or by a bridge's name."""
        try:
            found = self._bridge(text) or node_of(text, self.routing.grid.tile)
        except ValueError as error:
            what, _, allowed = str(error).partition(": ")
            raise InputError(what, allowed=allowed, file=self.name) from None
        if found not in self.nodes:
            allowed = f"{self.said(self.nodes[0])} to {self.said(self.nodes[-1])}, less those that are absent"
            raise InputError(f'"{text}" is not there', allowed=allowed, file=self.name)
        return found

    def _bridge(self, text: str) -> Node | None:
        number = text.removeprefix(self.name)
        known = text.startswith(self.name) and number.isdecimal() and int(number) < len(self.nodes)
        return self.nodes[int(number)] if known else None

    def dead(self, texts: Sequence[str]) -> tuple[list[Link], set[Node]]:
        """The links of each `NODE/NODE`, and all of each `NODE`; and these nodes."""
        links: list[Link] = []
        nodes: set[Node] = set()
        for text in texts:
            ends = [self.node(end) for end in text.split("/")]
            if len(ends) == 1:
                nodes.add(ends[0])
                links += links_of(self.routing.grid, ends[0])
                continue
            found = [link for link in self.routing.grid.links if {link[0][0], link[1][0]} == {*ends}]
            if not found:
                near = (self.said(other) for other, _ in self.routing.grid.neighbours[ends[0]].values())
                allowed = f"from {self.said(ends[0])} to {', '.join(dict.fromkeys(near))}"
                raise InputError(f'no link joins "{text}"', allowed=allowed, file=self.name)
            links += found
        return links, nodes

    def cases(self, each: str) -> list[tuple[list[Link], set[Node]]]:
        """What is dead in turn, with the nodes that are: each "link", each "node", or each two links."""
        grid = self.routing.grid
        if each == "node":
            return [([*links_of(grid, node)], {node}) for node in grid.nodes]
        at_once = 1 if each == "link" else 2
        return [([*links], set()) for links in combinations(grid.links, at_once)]


def node_of(text: str, tile: tuple[int, int]) -> Node:
    """The node of an identity or an address. `ValueError` says what is allowed."""
    if ":" in text or text.count(".") == 3:
        return node_of_address(text)
    return Identity.parse(text).node(tile)


def torus_of(network: Network, name: str | None = None) -> Torus:
    """The network of tiles of this name, or the only one."""
    known = network.tilings
    if name is None and len(known) == 1:
        name = next(iter(known))
    if name is None or name not in known:
        what = f'has no torus or mesh2d "{name}"' if name else "has several" if known else "has no torus or mesh2d"
        allowed = " or ".join(known) or '[topology.NAME] with kind = "torus"'
        raise InputError(what, allowed=allowed, file=network.file)
    return Torus(name, known[name].routing, known[name].interfaces)
