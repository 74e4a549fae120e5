# SPDX-License-Identifier: Apache-2.0
"""The networks of tiles of the scenarios, and ways through them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from penstock.reproduce.experiment import SCENARIOS
from penstock.scenario import load
from penstock.scenario.tilings import Tiling
from penstock.tiles.identity import Node
from penstock.tiles.walk import Link, Outcome, follow

FOLDER = SCENARIOS / "time-aware-nic"


@cache
def tiling(file: Path) -> Tiling:
    """The network of tiles of a scenario."""
    (found,) = load(file).tilings.values()
    return found


def route(file: Path, source: Node, destination: Node, dead: Sequence[Link]) -> list[str] | None:
    """The bridges of a way around what is dead; None where there is none."""
    routing = tiling(file).routing
    way = follow(routing, source, destination, dead)
    names = {node: f"node{number}" for number, node in enumerate(routing.grid.nodes)}
    return [names[node] for node in way.nodes] if way.outcome is Outcome.ARRIVED else None
