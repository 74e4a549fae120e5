# SPDX-License-Identifier: Apache-2.0
"""Measures the analysis of bounds: the processor time of one core, without and with what is before it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock._engine import BoundNetwork

Scenario = dict[str, Any]
Row = dict[str, Any]

_CLASSES = {
    "7": {"selection": "ats"},
    "6": {"selection": "ats"},
    "5": {"selection": "cbs", "idle_slope": "200Mb/s"},
    "4": {"selection": "cbs", "idle_slope": "200Mb/s"},
    "3": {"selection": "strict"},
    "2": {"selection": "round_robin"},
    "1": {"selection": "round_robin"},
    "0": {"selection": "strict"},
}
_SHAPED = (6, 7)
_BRIDGES = 400
_LOAD_BPS = 2.5e9  # of all streams together


@dataclass(frozen=True)
class Network:
    """What is analysed, and in how much time it should be."""

    make: Callable[[], Scenario]
    goal_ms: float | None = None  # of the analysis
    whole_goal_ms: float | None = None  # with loading and describing


def tree() -> Scenario:
    """400 bridges, three below each, a station at each, 10,000 streams of all classes, gates of 8 entries."""
    return _joined("tree", {"kind": "tree", "children": 3}, 10_000, 8)


def tree_long() -> Scenario:
    """The tree with gates of 128 entries."""
    return _joined("tree", {"kind": "tree", "children": 3}, 10_000, 128)


def tree_large() -> Scenario:
    """The tree with 100,000 streams."""
    return _joined("tree", {"kind": "tree", "children": 3}, 100_000, 8)


def ring() -> Scenario:
    """A ring of 400 bridges, a station at each, 1,000 streams in circles, gates of 8 entries."""
    return _joined("ring", {"kind": "ring"}, 1_000, 8, furthest=12)


NETWORKS = {
    "tree": Network(tree, goal_ms=100, whole_goal_ms=1000),
    "tree_long": Network(tree_long),
    "tree_large": Network(tree_large, goal_ms=1000),
    "ring": Network(ring),
}


def _joined(name: str, topology: Scenario, streams: int, entries: int, furthest: int | None = None) -> Scenario:
    """A station at each bridge, streams between any of them, or no further round than so many bridges."""
    rng = random.Random(name)
    topology = topology | {"bridges": _BRIDGES, "rate": "10Gb/s"}
    bridge = {"ports": 5, "class_of_priority": list(range(8)), "classes": _CLASSES, "processing_delay": "1us"}
    topology["bridge"] = bridge | {"gates": {"entries": [_entry(rng, at) for at in range(entries)]}}
    drawn = {}
    for number in range(streams):
        talker, listener = rng.sample(range(_BRIDGES), 2)
        if furthest is not None:
            listener = (talker + rng.randint(1, furthest)) % _BRIDGES
        drawn[f"s{number}"] = _stream(rng, f"st{talker}", f"st{listener}", number, _LOAD_BPS / streams)
    stations = {f"st{number}": {"at": f"b{number}.*"} for number in range(_BRIDGES)}
    whole = {"topology": {"b": topology}, "stations": stations, "streams": drawn}
    return {"name": name, "nodes": "model", "duration": "1s", **whole}


def _entry(rng: random.Random, at: int) -> Scenario:
    some = [number for number in range(8) if rng.random() < 0.7]
    return {"open": some if at % 4 else list(range(8)), "interval": f"{rng.choice([40, 50, 100])}us"}


def _stream(rng: random.Random, talker: str, listener: str, number: int, load_bps: float) -> Scenario:
    size, pcp = rng.randrange(64, 500), rng.randrange(8)
    bits = (size + 20) * 8
    every_ns = round(bits * 1e9 / load_bps)
    start_ns = number * 7919 % every_ns
    source = {"frames": f"{size}B", "every": f"{every_ns}ns", "start": f"{start_ns}ns"}
    stream: Scenario = {"from": talker, "to": [listener], "vlan": 10, "pcp": pcp, "source": source}
    if pcp in _SHAPED:
        stream["ats"] = {"rate": f"{max(11, round(bits * 1.1e6 / every_ns))}kb/s", "burst": f"{2 * (size + 20)}B"}
    return stream


@dataclass(frozen=True)
class Result:
    """What was measured of a network."""

    name: str
    streams: int
    ports: int
    queues: int
    without: int  # of them, without a bound
    rounds: int
    analysis_ms: Sequence[float]
    before_ms: float

    @property
    def purpose(self) -> str:
        """What the network is."""
        return (NETWORKS[self.name].make.__doc__ or "").rstrip(".")

    @property
    def found(self) -> str:
        """What came out."""
        whole = "no bound" if self.without == self.queues else f"{self.without:,} without a bound"
        return "each has a bound" if not self.without else whole

    @property
    def median_ms(self) -> float:
        """Of the analysis."""
        return sorted(self.analysis_ms)[len(self.analysis_ms) // 2]

    def rows(self) -> Iterator[Row]:
        """What is told of it, a quantity a row."""
        network = NETWORKS[self.name]
        what = f"{self.name}: {self.streams:,} streams, {self.ports:,} ports, {self.queues:,} queues ({self.found})"
        yield _row(f"{self.name}.analysis", f"{what}, {self.rounds} rounds", "ms", self.median_ms, network.goal_ms)
        whole_ms = self.before_ms + self.median_ms
        yield _row(f"{self.name}.whole", f"{self.name}: with loading", "ms", whole_ms, network.whole_goal_ms)


def _row(identity: str, quantity: str, unit: str, measured: float, goal: float | None) -> Row:
    row: Row = {"id": identity, "quantity": quantity, "unit": unit, "measured": round(measured, 1)}
    ok = goal is None or measured <= goal
    return row | ({} if goal is None else {"goal": goal}) | {"ok": ok}


def bench(names: list[str] | None, rounds: int) -> Iterator[Result]:
    """All networks or these."""
    for name in names or NETWORKS:
        yield _measured(name, rounds)


def _measured(name: str, rounds: int) -> Result:
    network, before_s, ports = _described(name)
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        outcome = network.analyse()
        times.append((time.process_time() - begun) * 1000)
    found = json.loads(outcome.text())
    without = sum(queue["wait_ps"] is None for queue in found["queues"])
    streams = len(found["hops"])
    return Result(name, streams, ports, len(found["queues"]), without, found["rounds"], times, before_s * 1000)


def _described(name: str) -> tuple[BoundNetwork, float, int]:
    """What the engine analyses, the time that it took to get there, and how many ports it has."""
    from penstock.bound.describe import describe
    from penstock.scenario import load

    scenario = NETWORKS[name].make()
    begun = time.process_time()
    told = describe(load(scenario))
    network = told.engine()
    return network, time.process_time() - begun, len(told.ports)


def description(name: str, file: Path) -> None:
    """Writes a network as the analysis takes it."""
    file.write_text(_described(name)[0].text())


def table(results: Sequence[Result]) -> list[str]:
    """For docs/performance.md."""
    head = ["network", "streams", "ports", "queues", "rounds", "analysis, ms", "goal", "with loading, ms", "goal"]
    lines = [f"| {' | '.join(head)} |", "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for result in results:
        cells = [f"`{result.name}`: {result.purpose}; {result.found}", f"{result.streams:,}", f"{result.ports:,}"]
        cells += [f"{result.queues:,}", f"{result.rounds:,}"]
        for row in result.rows():
            goal = f"{row['goal']:,}: {'met' if row['ok'] else 'not met'}" if "goal" in row else ""
            cells += [f"{row['measured']:,.1f}", goal]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
