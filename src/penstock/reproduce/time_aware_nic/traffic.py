# SPDX-License-Identifier: Apache-2.0
"""Who sends how much to whom: uniform, transpose and hotspot traffic between the nodes of a grid."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.tiles.grid import Grid
from penstock.tiles.identity import Node

_PEERS = 3  # destinations of a node, drawn for all runs alike
_HOT_NODES = 4
_HOT_PART = 0.125  # of what each node sends


@dataclass(frozen=True)
class Flow:
    """Part of what a node sends."""

    source: Node
    destination: Node
    part: float  # of the node's rate


def uniform(grid: Grid) -> list[Flow]:
    """Each node sends to others that are drawn, to each as much."""
    return [
        Flow(node, other, 1 / _PEERS)
        for node, generator in _drawn(grid)
        for other in generator.sample([each for each in grid.nodes if each != node], _PEERS)
    ]


def transpose(grid: Grid) -> list[Flow]:
    """Row and column change places; nodes of the diagonal are silent."""
    return [Flow(node, Node(node.column, node.row), 1.0) for node in grid.nodes if node.row != node.column]


def hotspot(grid: Grid) -> list[Flow]:
    """As uniform, but that an eighth goes to one of four nodes in the quarters of the grid."""
    quarters = [(grid.rows * row // 4, grid.columns * column // 4) for row in (1, 3) for column in (1, 3)]
    hot = [Node(*place) for place in quarters]
    assert len(hot) == _HOT_NODES
    found = [Flow(flow.source, flow.destination, flow.part * (1 - _HOT_PART)) for flow in uniform(grid)]
    for number, node in enumerate(grid.nodes):
        target = hot[number % _HOT_NODES]
        if node != target:
            found.append(Flow(node, target, _HOT_PART))
    return found


PATTERNS: Mapping[str, Callable[[Grid], list[Flow]]] = {"uniform": uniform, "transpose": transpose, "hotspot": hotspot}


def _drawn(grid: Grid) -> Sequence[tuple[Node, random.Random]]:
    return [(node, random.Random(number)) for number, node in enumerate(grid.nodes)]
