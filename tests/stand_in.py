# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the compiled engine: an ideal strict-priority switch without shaping, small enough to trust.

It answers in the engine's own form, so that everything after the engine is tested without building it.
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock import plan
from penstock.captures import read_capture
from penstock.scenario import Network
from penstock.trace import EVENTS

BIT_PS = 1000

COLUMNS = ("frame_id", "stream", "node", "port", "event", "time_ps", "bytes", "traffic_class", "reason")


class StandIn:
    """`drop_every=n` drops each n-th frame as queue_full; `lose_every=n` lets it vanish, which a run must notice."""

    idle_ps = 380_000

    def __init__(self, drop_every: int = 0, lose_every: int = 0, fail: Exception | None = None) -> None:
        self.drop_every = drop_every
        self.lose_every = lose_every
        self.fail = fail
        self.network: Network | None = None

    def prepare(self, network: Network, progress: Callable[[str, float], None]) -> dict[str, Any]:
        self.network = network
        names = list(network.bridges)
        return plan.network_json(network, {n: Path("model.so") for n in names}, {n: [] for n in names})

    def run(self, network_json: str, progress: Callable[[str, float], None]) -> dict[str, Any]:
        if self.fail:
            raise self.fail
        assert self.network is not None
        told = json.loads(network_json)
        stations = {s["name"]: i for i, s in enumerate(told["stations"])}
        rows: list[tuple[int, ...]] = []
        delivered: dict[str, list[tuple[int, bytes]]] = {}
        arrivals: list[tuple[int, ...]] = []
        free: dict[str, int] = {}
        frame_id = 0
        for index, stream in enumerate(told["streams"]):
            for time_ps, length in _frames(stream["source"], told["duration_ps"]):
                start = max(time_ps, free.get(stream["from"], 0))
                free[stream["from"]] = start + (length + 20) * 8 * BIT_PS
                station = told["stations"][stations[stream["from"]]]
                node = 1 + stations[stream["from"]]
                received = start + station["delay_ps"]
                rows.append((frame_id, index, node, 0, 0, time_ps, length, 0, 0))
                rows.append((frame_id, index, node, 0, 4, start, length, 0, 0))
                rows.append((frame_id, index, 0, station["port"], 1, received, length, 0, 0))
                arrivals.append((received + length * 8 * BIT_PS, frame_id, index, length))
                frame_id += 1
        for name in stations:
            self._egress(name, told, stations, sorted(arrivals), rows, delivered)
        columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
        return {"trace": {k: list(v) for k, v in columns.items()}, "delivered": delivered, "events": EVENTS}

    def _egress(self, name: str, told: Any, stations: Any, arrivals: Any, rows: Any, delivered: Any) -> None:
        assert self.network is not None
        port = told["stations"][stations[name]]["port"]
        waiting: list[tuple[int, int, int, int, int]] = []
        now, todo = 0, [a for a in arrivals if name in told["streams"][a[2]]["to"]]
        while todo or waiting:
            if not waiting:
                now = max(now, todo[0][0])
            while todo and todo[0][0] <= now:
                arrival, frame_id, index, length = todo.pop(0)
                traffic_class = self.network.streams[told["streams"][index]["name"]].traffic_class
                if self.lose_every and frame_id % self.lose_every == 1:
                    continue
                if self.drop_every and frame_id % self.drop_every == 1:
                    rows.append((frame_id, index, 0, port, 6, arrival, length, traffic_class, 13))
                    continue
                for event in (2, 3):
                    rows.append((frame_id, index, 0, port, event, arrival, length, traffic_class, 0))
                heapq.heappush(waiting, (-traffic_class, arrival, frame_id, index, length))
            if waiting:
                order, _, frame_id, index, length = heapq.heappop(waiting)
                sent = now + self.idle_ps
                rows.append((frame_id, index, 0, port, 4, sent, length, -order, 0))
                at = sent + told["stations"][stations[name]]["delay_ps"]
                rows.append((frame_id, index, 1 + stations[name], 0, 5, at, length, -order, 0))
                delivered.setdefault(name, []).append((at, bytes(length)))
                now += (length + 20) * 8 * BIT_PS


def _frames(source: Any, duration_ps: int) -> list[tuple[int, int]]:
    if source["kind"] == "capture":
        frames = read_capture(Path(source["path"])).frames
        start = frames[0].time_ps
        return [(f.time_ps - start, max(f.original_bytes, 60) + 4) for f in frames if f.time_ps - start < duration_ps]
    random.seed(source["seed"])
    length, time_ps = source["frame_bytes"], source["start_ps"]
    found: list[tuple[int, int]] = []
    step = source.get("period_ps") or source.get("mean_ps") or (length + 20) * 8 * BIT_PS
    while time_ps < duration_ps and len(found) < (source["count"] or 10**9):
        found += [(time_ps, length)] * source.get("size", 1)
        time_ps += step
    return found
