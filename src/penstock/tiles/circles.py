# SPDX-License-Identifier: Apache-2.0
"""Tables without the detours by which frames would go round for ever when two links are dead.

With the links up of two nodes dead, a frame that the one leads away may come to the other, and from there back to the
first. At a node it comes either up the tree or over a link that is not of the tree. With one link dead none comes over
such a link to the node that leads around it: what that has led away never comes back. So the detour of such a reception
port serves two faults only, and where it would close a circle, it is left out: the frame is dropped there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.tiles.grid import End, Port
from penstock.tiles.identity import Node

State = tuple[Node, Port | None]  # a node, and the port by which a frame came to it; None: its own
Ports = tuple[Port, ...]


def without_circles(
    table: Mapping[State, Ports], up: Mapping[Node, Port], neighbours: Mapping[Node, Mapping[Port, End]]
) -> dict[State, Ports]:
    """The table of one destination, of which `up` is the tree, with fewer detours."""
    mended = dict(table)
    met = {state: tuple(_led_to(state, table, up, neighbours)) for state in table if state[1] != up[state[0]]}
    for start, others in met.items():
        for other in others:
            for state in _circle(start, other, met):
                node, reception = state
                if reception is not None and not _is_below(node, reception, up, neighbours):
                    mended[state] = (up[node],)
                    met[state] = ()
                    break
    return mended


def _led_to(
    state: State,
    table: Mapping[State, Ports],
    up: Mapping[Node, Port],
    neighbours: Mapping[Node, Mapping[Port, End]],
) -> Iterator[State]:
    """What a frame of which the link up is dead comes to on its way up again."""
    node, reception = state
    port = next((port for port in table[state] if port != up[node]), None)
    while port is not None:
        node, reception = neighbours[node][port]
        if node not in up:
            return
        port = next(iter(table[node, reception]), None) if reception == up[node] else None
    while node in up and reception != up[node]:
        yield node, reception
        node, reception = neighbours[node][up[node]]


def _circle(start: State, other: State, met: Mapping[State, tuple[State, ...]]) -> list[State]:
    """The states that a frame comes to again and again with the links up of these two nodes dead; none: it ends."""
    passed = [start]
    state: State | None = other
    while state is not None and state not in passed:
        passed.append(state)
        beyond = other[0] if state[0] == start[0] else start[0]
        state = next((each for each in met[state] if each[0] == beyond), None)
    return [] if state is None else passed[passed.index(state) :]


def _is_below(
    node: Node, reception: Port, up: Mapping[Node, Port], neighbours: Mapping[Node, Mapping[Port, End]]
) -> bool:
    """Whether a frame comes by this port up the tree."""
    other, port = neighbours[node][reception]
    return up.get(other) == port
