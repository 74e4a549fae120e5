# SPDX-License-Identifier: Apache-2.0
"""The analysis of a whole network by the engine, worked out once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from penstock import _engine
from penstock.bound.describe import Description, Place, describe
from penstock.scenario.network import Network


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
        number = self.numbers[stream]
        own: int | None = self.hops[number][self.described.hop_at[number][place]]["wait_ps"]
        return own


def solve(network: Network) -> Solution:
    """The bounds of a network."""
    known: Solution | None = network.memo.get("bounds")
    if known is None:
        described = describe(network)
        answer = json.loads(_engine.bounds(json.dumps(described.as_json())))
        places = {number: place for place, number in described.port_at.items()}
        known = network.memo["bounds"] = Solution(
            described=described,
            numbers={name: number for number, name in enumerate(network.streams)},
            queues={(places[queue["port"]], queue["class"]): queue for queue in answer["queues"]},
            hops=answer["hops"],
            rounds=answer["rounds"],
        )
    return known


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
