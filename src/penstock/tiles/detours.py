# SPDX-License-Identifier: Apache-2.0
"""The table by which nodes route: from each reception port the ports to a destination, in the order to try them.

The ways to one destination form a tree (`dimension_order`), and the first port is always the one towards its root.
Where that link is dead, a frame has to leave the subtree below it. It goes down the tree, away from the destination,
until a link that is not of the tree leads out of the subtree; from there the tree leads on, by ways that do not meet
the dead link. A node knows such a frame by the port that it comes in by, the one towards the root: so the table needs
no mark in the frame, and none goes back over the link that it came from.

Exits are chosen from the root down, the shortest first. A node through which one was led keeps it for all above: what
leaves the larger subtree leaves the smaller one too. A node's own frames try all of its ports in the end, for the case
that two links are dead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from penstock.tiles.circles import without_circles
from penstock.tiles.dimension_order import tree
from penstock.tiles.grid import Grid, Port
from penstock.tiles.identity import Node

Ports = tuple[Port, ...]
Reception = Port | None  # None: the frame is the node's own


@dataclass(frozen=True)
class Routing:
    """The tables of a grid, made when they are asked for."""

    grid: Grid
    _made: dict[Node, Mapping[tuple[Node, Reception], Ports]] = field(default_factory=dict, repr=False, compare=False)

    def towards(self, destination: Node) -> Mapping[tuple[Node, Reception], Ports]:
        """For each other node and reception port: the ports in order."""
        if destination not in self._made:
            tree = Tree(self.grid, destination)
            self._made[destination] = without_circles(tree.table(), tree.up, self.grid.neighbours)
        return self._made[destination]

    def ports(self, node: Node, reception: Reception, destination: Node) -> Ports:
        """The ports to try in order, for a frame that came in by `reception`."""
        return self.towards(destination)[node, reception]


@dataclass(frozen=True, order=True)
class _Exit:
    """A way out of a subtree, and how many links it is from there to the destination."""

    length: int
    steps: tuple[tuple[Node, Port], ...]

    @property
    def port(self) -> Port:
        return self.steps[0][1]


class Tree:
    """The tree of the ways to one destination, and the exits of its subtrees."""

    def __init__(self, grid: Grid, root: Node) -> None:
        self.neighbours = grid.neighbours
        self.root = root
        self.up = tree(grid, root)
        # The port by which a frame goes on that has come down the tree to a node, or that finds its link up dead.
        self.down: dict[Node, Port] = {}

    def table(self) -> Mapping[tuple[Node, Reception], Ports]:
        found: dict[tuple[Node, Reception], Ports] = {}
        for node in sorted(self.up, key=lambda n: (self.depth[n], n)):
            up = self.up[node]
            out = self._exit(node, node, self._ways_down(node))
            self._keep(out)
            found[node, None] = tuple(dict.fromkeys((up, *((out.port,) if out else ()), *self.neighbours[node])))
            found[node, up] = (self.down[node],) if node in self.down else ()
            for reception in self.neighbours[node]:
                if reception != up:
                    other = out
                    if out is None or out.port == reception:
                        other = self._exit(node, node, (p for p in self._beside(node) if p != reception))
                        self._keep(other, below=node)
                    found[node, reception] = (up, other.port) if other else (up,)
        return found

    @cached_property
    def depth(self) -> Mapping[Node, int]:
        """Links from each node to the root."""
        found = {self.root: 0}
        for node in self.up:
            way = [node]
            while way[-1] not in found:
                way.append(self._above(way[-1]))
            for number, each in enumerate(reversed(way)):
                found[each] = found[way[-1]] + number
        return found

    @cached_property
    def span(self) -> Mapping[Node, tuple[int, int]]:
        """Each node's number from the root down, and the largest in its subtree."""
        size = dict.fromkeys((self.root, *self.up), 1)
        below: dict[Node, list[Node]] = {node: [] for node in size}
        for node in self.up:
            below[self._above(node)].append(node)
        order: list[Node] = []
        stack = [self.root]
        while stack:
            order.append(stack.pop())
            stack += below[order[-1]]
        for node in reversed(order[1:]):
            size[self._above(node)] += size[node]
        return {node: (number, number + size[node] - 1) for number, node in enumerate(order)}

    def _above(self, node: Node) -> Node:
        return self.neighbours[node][self.up[node]][0]

    def _beside(self, node: Node) -> tuple[Port, ...]:
        return tuple(port for port in self.neighbours[node] if port != self.up[node])

    def _ways_down(self, node: Node) -> tuple[Port, ...]:
        return (self.down[node],) if node in self.down else self._beside(node)

    def _keep(self, out: _Exit | None, below: Node | None = None) -> None:
        for node, port in out.steps if out else ():
            if node != below:
                self.down.setdefault(node, port)

    def _exit(self, subtree: Node, node: Node, ports: Iterable[Port]) -> _Exit | None:
        """The shortest way out of a subtree from one of its nodes by one of these ports."""
        return min((each for port in ports if (each := self._by(subtree, node, port))), default=None)

    def _by(self, subtree: Node, node: Node, port: Port) -> _Exit | None:
        other, entry = self.neighbours[node][port]
        step = (node, port)
        if self.up.get(other) == entry:
            further = self._exit(subtree, other, self._ways_down(other))
            return further and _Exit(further.length + 1, (step, *further.steps))
        return None if self.is_below(other, subtree) else _Exit(self.depth[other] + 1, (step,))

    def is_below(self, node: Node, subtree: Node) -> bool:
        """Whether a node is in a subtree, of which the top is one."""
        first, last = self.span[subtree]
        return first <= self.span[node][0] <= last
