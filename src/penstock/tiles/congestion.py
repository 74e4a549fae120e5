# SPDX-License-Identifier: Apache-2.0
"""By which ports a node may lead a frame around one that is congested, so that none goes round in circles.

A frame goes up the tree of ways to its destination. A neighbour that is nearer to the root than the node itself leads
there as well, and since each such step is one nearer, none comes back. Beside a dead link that holds no longer: what is
led out of the part of the tree below it comes up again elsewhere. So no port leads into a part of the tree from where
frames come that a dead link has led out of it, and none to where a frame would find the link up dead and no way on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.tiles.detours import Ports, Reception, Routing, Tree
from penstock.tiles.grid import Port
from penstock.tiles.identity import Node

_State = tuple[Node, Reception]
_Steps = dict[_State, set[Port]]


def nearer(routing: Routing, destination: Node) -> Mapping[_State, Ports]:
    """For each other node and reception port: the ports by which a frame may go in place of the first one."""
    tree, table = Tree(routing.grid, destination), routing.towards(destination)
    steps: _Steps = {state: {*_steps(tree, table, state)} for state in table if state[1] != tree.up[state[0]]}
    for subtree in tree.up:
        for state, port in list(_back_into(tree, subtree, _led_to(tree, table, subtree), steps)):
            steps[state].discard(port)
    return {state: tuple(port for port in tree.neighbours[state[0]] if port in ports) for state, ports in steps.items()}


def _steps(tree: Tree, table: Mapping[_State, Ports], state: _State) -> Iterator[Port]:
    node, reception = state
    for port, (other, entry) in tree.neighbours[node].items():
        is_nearer = port not in (reception, tree.up[node]) and tree.depth[other] < tree.depth[node]
        if is_nearer and (other == tree.root or len(table[other, entry]) > 1):
            yield port


def _led_to(tree: Tree, table: Mapping[_State, Ports], subtree: Node) -> set[_State]:
    """Where frames come out of a subtree whose link up is dead."""
    found = set()
    for reception in (None, *tree.neighbours[subtree]):
        if reception == tree.up[subtree]:
            continue
        node, entry = subtree, reception
        port = next((port for port in table[subtree, reception] if port != tree.up[subtree]), None)
        while port is not None:
            node, entry = tree.neighbours[node][port]
            is_led_on = node != tree.root and entry == tree.up[node]
            port = next(iter(table[node, entry]), None) if is_led_on else None
        if node not in (subtree, tree.root):
            found.add((node, entry))
    return found


def _back_into(tree: Tree, subtree: Node, begin: set[_State], steps: _Steps) -> Iterator[tuple[_State, Port]]:
    """The steps by which frames that come in so may get into a subtree."""
    seen, left = set(begin), [*begin]
    while left:
        state = left.pop()
        node, _ = state
        for port in (tree.up[node], *steps[state]):
            other, entry = tree.neighbours[node][port]
            if tree.is_below(other, subtree):
                yield state, port
            elif other != tree.root and (other, entry) not in seen:
                seen.add((other, entry))
                left.append((other, entry))
