# SPDX-License-Identifier: Apache-2.0
"""The analysis of a whole network by the engine, worked out once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock.bound.describe import Description, Place, describe
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.lengths import Lengths, lengths_at
from penstock.scenario.limits import CELL_BYTES
from penstock.scenario.network import Network
from penstock.scenario.store import cells_of, limit_of_queue


@dataclass(frozen=True)
class Solution:
    """What the engine found: waits by stream and port, and why some queues have none."""

    described: Description
    numbers: dict[str, int]  # of the streams
    queues: dict[tuple[Place, int], dict[str, Any]]  # by port and class
    hops: list[list[dict[str, Any]]]
    rounds: int

    def wait_ps(self, stream: str, place: Place, traffic_class: int, for_any: bool) -> int | None:
        """The longest wait of the stream's frames at a port; `for_any`: of any frame of the class."""
        if for_any:
            found: int | None = self.queues[place, traffic_class]["wait_ps"]
            return found
        own: int | None = self.hops[self.numbers[stream]][self.described.hops_of(stream)[place]]["wait_ps"]
        return own


def solve(network: Network) -> Solution:
    """The bounds of a network."""
    known: Solution | None = network.memo.get("bounds")
    if known is None:
        described = describe(network)
        answer = json.loads(described.engine().analyse().text())
        places = {number: place for place, number in described.port_at.items()}
        known = network.memo["bounds"] = Solution(
            described=described,
            numbers={name: number for number, name in enumerate(network.streams)},
            queues={(places[queue["port"]], queue["class"]): queue for queue in answer["queues"]},
            hops=answer["hops"],
            rounds=answer["rounds"],
        )
    return known


@dataclass(frozen=True)
class Backlog:
    """The most that a queue of a bridge holds: bytes on the wire, frames, and cells of the store."""

    place: Place
    traffic_class: int
    bytes: int | None  # None: no limit is known
    frames: int | None
    cells: int | None
    limit_cells: int  # what the scenario lets it hold
    longest_cells: int  # of a frame of it

    @property
    def fits(self) -> bool:
        """Whether no frame can be lost for want of room in the queue."""
        return self.cells is not None and self.cells <= self.limit_cells


def backlogs(network: Network) -> list[Backlog]:
    """Of each queue of a bridge that streams pass."""
    found = []
    for (place, number), queue in solve(network).queues.items():
        if place[0] not in network.bridges:
            continue
        bridge = network.bridges[place[0]]
        inside = [each for each in network.streams_at[place] if network.class_at(each, place[0]) == number]
        limit = limit_of_queue(network, bridge, number)
        held = queue["backlog_bytes"]
        lengths = [lengths_at(network, each, place) for each in inside]
        longest = max(cells_of(each.came[1]) for each in lengths)
        if held is None:
            found.append(Backlog(place, number, None, None, None, limit, longest))
            continue
        frames = held // (min(each.counted[0] for each in lengths) + WIRE_OVERHEAD_BYTES)
        most = max(map(_cells_per_byte, lengths))
        found.append(Backlog(place, number, held, frames, int(held * most), limit, longest))
    return found


def _cells_per_byte(lengths: Lengths) -> Fraction:
    """What a byte that leaves takes of a store at most, of frames that are stored as they came."""
    least, most = lengths.came
    around = WIRE_OVERHEAD_BYTES + min(
        after - before for before, after in zip(lengths.came, lengths.counted, strict=True)
    )
    # A frame that just begins another cell takes the most.
    begun = (least + CELL_BYTES - 1) // CELL_BYTES * CELL_BYTES + 1
    return max(Fraction(cells_of(size), size + around) for size in {least, min(begun, most)})


def certificate(network: Network) -> dict[str, Any]:
    """What is claimed of a network, for whoever wants to check it: `penstock.bound.certificate`."""
    solution = solve(network)
    ports = solution.described.port_at
    waits = [
        [ports[place], number, queue["wait_ps"]]
        for (place, number), queue in solution.queues.items()
        if queue["wait_ps"] is not None
    ]
    return {"network": solution.described.as_json(), "waits": waits}
