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

import numpy as np

from penstock import plan
from penstock.captures import CapturedFrame, read_capture, write_pcapng
from penstock.scenario import Network

BIT_PS = 1000

EVENTS = ("created", "received", "queued", "eligible", "sent", "delivered", "dropped", "missed")
REASONS = ("none", *(f"reason{n}" for n in range(1, 13)), "queue_full")
COLUMNS = ("frame_id", "stream", "node", "port", "event", "time_ps", "bytes", "traffic_class", "reason")
TYPES = dict(zip(COLUMNS, ("u8", "u4", "u4", "u2", "u1", "u8", "u4", "u1", "u1"), strict=True))

SMALL = """
name = "small"
duration = "5ms"
bridges.sw.ports = 4
stations = { a = { at = "sw.0" }, b = { at = "sw.1" }, c = { at = "sw.2" }, d = { at = "sw.3" } }
[streams.fast]
from = "a"
to = ["c", "d"]
vlan = 10
pcp = 3
source = { frames = "100B", every = "50us" }
ats = { rate = "30Mb/s", burst = "300B" }
deadline = "20us"
[streams.bulk]
from = "b"
to = ["c"]
vlan = 10
pcp = 0
source = { frames = "1522B", back_to_back = true, count = 100 }
"""


class StandIn:
    """`drop_every=n` drops each n-th frame as queue_full; `lose_every=n` lets it vanish, which a run must notice."""

    idle_ps = 380_000
    events = EVENTS
    reasons = REASONS

    def __init__(self, drop_every: int = 0, lose_every: int = 0, fail: Exception | None = None) -> None:
        self.drop_every = drop_every
        self.lose_every = lose_every
        self.fail = fail
        self.network: Network | None = None

    def prepare(self, network: Network, progress: Callable[[str, float], None]) -> dict[str, Any]:
        self.network = network
        names = list(network.bridges)
        return plan.network_json(network, {n: Path("model.so") for n in names}, {n: [] for n in names})

    def run(self, network_json: str, sink: Any, progress: Callable[[float], bool]) -> dict[str, Any]:
        if self.fail:
            raise self.fail
        assert self.network is not None
        network = self.network
        told = json.loads(network_json)
        node = {name: index for index, name in enumerate([*network.bridges, *network.stations])}
        rows: list[tuple[int, ...]] = []
        arrivals: list[tuple[int, ...]] = []
        free: dict[str, int] = {}
        frame_id = 0
        for index, stream in enumerate(network.streams.values()):
            station = network.stations[stream.talker]
            for time_ps, length in _frames(told["streams"][index]["source"], told["duration_ps"]):
                start = max(time_ps, free.get(station.name, 0))
                free[station.name] = start + (length + 20) * 8 * BIT_PS
                received = start + station.link_delay_ps
                rows.append((frame_id, index, node[station.name], 0, 0, time_ps, length, 0, 0))
                rows.append((frame_id, index, node[station.name], 0, 4, start, length, 0, 0))
                rows.append((frame_id, index, 0, station.port, 1, received, length, 0, 0))
                arrivals.append((received + length * 8 * BIT_PS, frame_id, index, length))
                frame_id += 1
        for name in network.stations:
            frames = self._egress(name, node[name], sorted(arrivals), rows)
            if frames:
                write_pcapng(Path(told["captures"]) / f"{name}.pcapng", frames, interface=name)
        rows = self.changed(rows)
        # Two chunks, and not in the order of time.
        for part in (rows[1::2], rows[::2]):
            if sink is not None and part:
                columns = dict(zip(COLUMNS, zip(*part, strict=True), strict=True))
                sink({"rows": len(part)} | {c: np.array(v, dtype=TYPES[c]).tobytes() for c, v in columns.items()})
        return {"interrupted": not progress(1.0), "simulation": {"end_ps": told["duration_ps"]}}

    def changed(self, rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """For those that make it worse."""
        return rows

    def _egress(self, name: str, node: int, arrivals: Any, rows: Any) -> list[CapturedFrame]:
        assert self.network is not None
        streams = list(self.network.streams.values())
        station = self.network.stations[name]
        port, delay_ps = station.port, station.link_delay_ps
        waiting: list[tuple[int, int, int, int, int]] = []
        frames = []
        now, todo = 0, [a for a in arrivals if name in streams[a[2]].listeners]
        while todo or waiting:
            if not waiting:
                now = max(now, todo[0][0])
            while todo and todo[0][0] <= now:
                arrival, frame_id, index, length = todo.pop(0)
                traffic_class = streams[index].traffic_class
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
                rows.append((frame_id, index, node, 0, 5, sent + delay_ps, length, -order, 0))
                frames.append(CapturedFrame(sent + delay_ps, bytes(length - 4), length - 4))
                now += (length + 20) * 8 * BIT_PS
        return frames


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
