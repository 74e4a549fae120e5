# SPDX-License-Identifier: Apache-2.0
"""For which links frames on a link wait: where these form a circle, links that stop for each other stand still.

Dally and Seitz, Deadlock-Free Message Routing in Multiprocessor Interconnection Networks: where channels are held while
the next is waited for, there is no deadlock if the graph of these dependencies has no cycle. Ethernet drops what it
cannot store and holds nothing, so that cycles matter with PAUSE frames and priority-based flow control only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.tiles.dimension_order import tree
from penstock.tiles.grid import End, Grid

Channel = End  # the direction of a link that leaves a node by a port


def dependencies(grid: Grid) -> dict[Channel, set[Channel]]:
    """From each channel to those that frames take after it, when no link is dead."""
    found: dict[Channel, set[Channel]] = {(node, port): set() for node in grid.nodes for port in grid.neighbours[node]}
    for destination in grid.nodes:
        up = tree(grid, destination)
        for node, port in up.items():
            after, _ = grid.neighbours[node][port]
            if after != destination:
                found[node, port].add((after, up[after]))
    return found


def circles(graph: Mapping[Channel, set[Channel]]) -> Iterator[list[Channel]]:
    """Shortest cycles, until each channel that is on a cycle is on one of them."""
    told: set[Channel] = set()
    for channel in graph:
        if channel not in told:
            found = _back_to(channel, graph)
            if found:
                told.update(found)
                yield found


def _back_to(channel: Channel, graph: Mapping[Channel, set[Channel]]) -> list[Channel]:
    """The shortest way from a channel to itself; empty if there is none."""
    before: dict[Channel, Channel] = {}
    near = [channel]
    while near and channel not in before:
        further = []
        for each in near:
            for after in sorted(graph[each]):
                if after not in before:
                    before[after] = each
                    further.append(after)
        near = further
    if channel not in before:
        return []
    way = [before[channel]]
    while way[-1] != channel:
        way.append(before[way[-1]])
    return way[::-1]
