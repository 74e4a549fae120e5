# SPDX-License-Identifier: Apache-2.0
"""How near to its bound a frame can come: the worst case is searched for in the engine, by hill climbing.

Of random networks of one bridge, the instants at which sources begin are moved so that one stream, the victim, waits as
long as possible: what meets its frames begins to come at the same instant, a little before or after, long frames of
lower classes just before, and all of it where the gate of its class is about to shut. What makes the victim wait for
longer is kept. Each queue is a row: the nearest that any frame of it came to its bound, of all runs.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from penstock import _engine, data, plan
from penstock.bound.drawn import KINDS, drawn
from penstock.bound.way import ways_of
from penstock.command.answer import answer
from penstock.command.console import output
from penstock.command.tables import new_table, print_whole, say
from penstock.errors import InputError
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario import load
from penstock.scenario.network import Network

WORDS = {
    "mix": "all mixed",
    "strict": "strict priority",
    "cbs": "credit",
    "ats": "ATS",
    "round_robin": "turns",
    "gates": "gates",
}
GOAL = 0.8  # of the bound, for the median queue
_MOMENT_PS = 2 * 10**9  # when all of it meets, about
_AFTER_PS = 10**9
_RANDOM_RUNS = 40

Queue = tuple[int, int, int]  # the seed, an egress port and a class


@dataclass(frozen=True)
class Nearest:
    """Of a queue: the bound of a stream, the longest that one of its frames took, and that in runs at random."""

    queue: Queue
    stream: str
    bound_ps: int
    worst_ps: int
    random_ps: int

    @property
    def worst(self) -> float:
        """Part of the bound."""
        return self.worst_ps / self.bound_ps

    @property
    def random(self) -> float:
        """Part of the bound, of runs at random."""
        return self.random_ps / self.bound_ps


@dataclass(frozen=True)
class Tightness:
    """A kind of network, and how near its queues come to their bounds."""

    kind: str
    queues: Sequence[Nearest]

    @property
    def median(self) -> float:
        """Of the queues' worst cases, as a part of the bound."""
        return _median([each.worst for each in self.queues])

    @property
    def ok(self) -> bool:
        """Whether the bound is not much above what can happen, and not below."""
        return self.median >= GOAL and all(each.worst_ps <= each.bound_ps for each in self.queues)

    def as_row(self) -> dict[str, Any]:
        """For programs."""
        return {
            "id": self.kind,
            "quantity": "worst case found, of the bound, median queue",
            "unit": "",
            "measured": round(self.median, 3),
            "goal": GOAL,
            "random": round(_median([each.random for each in self.queues]), 3),
            "least": round(min((each.worst for each in self.queues), default=0), 3),
            "most": round(max((each.worst for each in self.queues), default=0), 5),
            "queues": len(self.queues),
            "bound_ns": round(_median([each.bound_ps / 1000 for each in self.queues]), 3),
            "worst_ns": round(_median([each.worst_ps / 1000 for each in self.queues]), 3),
            "ok": self.ok,
        }


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


def run_tightness(count: int, seed: int, steps: int, as_json: bool, update_docs: bool = False) -> bool:
    """The command; whether the worst cases that are found come near enough to their bounds."""
    found = [tightness(kind, count, seed, steps) for kind in KINDS]
    ok = all(each.ok for each in found)
    rows = [each.as_row() for each in found]
    if update_docs:
        from penstock.bench.page import replace

        replace("tightness", _page(rows), data.page("bound.md"))
    if as_json:
        answer({"ok": ok, "rows": rows})
        return ok
    console = output()
    table = new_table(["served by"], ["queues", "bound, us", "worst found, us", "median", "least", "most", "random"])
    for row in rows:
        parts = [f"{row[key]:.1%}" for key in ("measured", "least", "most", "random")]
        times = [f"{row[key] / 1000:.3f}" for key in ("bound_ns", "worst_ns")]
        table.add_row(row["id"], str(row["queues"]), *times, *parts)
    print_whole(table, console)
    few = [row["id"] for row in rows if not row["ok"]]
    say(
        console, f"the median is at {GOAL:.0%} of the bound or more" + (f", but not of {', '.join(few)}" if few else "")
    )
    return ok


def _page(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The table of docs/bound.md."""
    yield "| kind | queues | bound, us | worst found, us | median | least | median at random |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        times = [f"{row[key] / 1000:.3f}" for key in ("bound_ns", "worst_ns")]
        parts = [f"{100 * row[key]:.1f} %" for key in ("measured", "least", "random")]
        yield f"| {' | '.join([WORDS[row['id']], str(row['queues']), *times, *parts])} |"


def tightness(kind: str, count: int, seed: int, steps: int, workers: int | None = None) -> Tightness:
    """Of so many networks, with so many steps for each queue."""
    work = [(kind, number, steps) for number in range(seed, seed + count)]
    workers = workers or os.cpu_count() or 1
    if workers == 1:
        return Tightness(kind, [each for item in work for each in _of_network(item)])
    with ProcessPoolExecutor(max_workers=workers) as pool:
        return Tightness(kind, [each for found in pool.map(_of_network, work) for each in found])


def _of_network(asked: tuple[str, int, int]) -> list[Nearest]:
    kind, seed, steps = asked
    try:
        network = load(drawn(seed, kind, steady=True))
    except InputError:
        return []
    return list(_Climb(network, seed).nearest(steps))


class _Climb:
    """A network, and the instants at which its sources begin."""

    def __init__(self, network: Network, seed: int) -> None:
        self.network, self.seed = network, seed
        self.random = random.Random(seed)
        self.prepared = plan.network_json(network, {}, {})
        self.prepared["trace"] = {"enabled": False, "events": None, "nodes": None}
        self.prepared["duration_ps"] = _MOMENT_PS + _AFTER_PS
        self.names = list(network.streams)
        self.bounds = {
            name: max(way.total_ps or 0 for way in ways)
            for name, ways in ((name, ways_of(network, name)) for name in self.names)
            if all(way.reason is None for way in ways)
        }
        self.worst: dict[str, int] = dict.fromkeys(self.names, 0)
        (self.bridge,) = network.bridges.values()

    def nearest(self, steps: int) -> Iterator[Nearest]:
        """Of each queue whose streams have bounds, with so many steps for each."""
        queues: dict[Queue, list[str]] = {}
        for name in self.bounds:
            stream = self.network.streams[name]
            number = self.network.class_at(stream, self.bridge.name)
            if len(stream.tree[0].egress) == 1 and not stream.source.back_to_back:
                queues.setdefault((self.seed, stream.tree[0].egress[0], number), []).append(name)
        for _ in range(_RANDOM_RUNS):
            self.run({name: self.random.randrange(_MOMENT_PS) for name in self.names})
        by_chance = dict(self.worst)
        for queue, names in queues.items():
            # That which waits for most of its bound can come nearest: the shortest frame.
            victim = max(names, key=lambda name: self.bounds[name] / self.network.streams[name].min_frame_bytes)
            self.climb(victim, queue, steps)
        for queue, names in queues.items():
            best = max(names, key=lambda name: self.worst[name] / self.bounds[name])
            chance = max(names, key=lambda name: by_chance[name] / self.bounds[name])
            worst_ps, random_ps = self.worst[best], by_chance[chance] * self.bounds[best] // self.bounds[chance]
            yield Nearest(queue, best, self.bounds[best], worst_ps, random_ps)

    def run(self, begins_ps: dict[str, int]) -> dict[str, int]:
        """The longest that a frame of each stream takes, where the sources begin so."""
        for name, stream in zip(self.names, self.prepared["streams"], strict=True):
            stream["source"]["start_ps"] = max(0, begins_ps[name])
        result: dict[str, Any] = dict(_engine.run(json.dumps(self.prepared)))
        statistics = result["statistics"]
        if any(of["conformance"] is not None and of["conformance"]["late_frames"] for of in statistics.values()):
            return dict.fromkeys(self.names, 0)  # sources that met at their talker broke their contracts
        found = {name: of["latency_ps"]["max"] or 0 for name, of in statistics.items()}
        for name, longest in found.items():
            self.worst[name] = max(self.worst[name], longest)
        return found

    def climb(self, victim: str, queue: Queue, steps: int) -> None:
        """Moves what begins when, and keeps what makes the victim wait for longer."""
        moments = self.moments(queue)
        others = [name for name in self.names if queue[1] in self.network.streams[name].tree[0].egress]
        others += [n for n in self.names if n not in others and self.talker(n) in {self.talker(o) for o in others}]
        best: tuple[int, int, dict[str, int]] | None = None
        rounds = max(1, min(len(moments), 6))
        for number in range(rounds):
            # From each moment anew, and from the best of them on.
            moment = moments[number % len(moments)]
            shifts = {name: self.shift(name, victim) for name in others}
            tried = self.step(victim, moment, shifts)
            if best is None or tried > best[0]:
                best = tried, moment, shifts
        for _ in range(steps):
            assert best is not None
            longest, moment, shifts = best
            shifts = dict(shifts)
            if self.random.random() < 0.25:
                near = self.random.choice([1_000, 8_000, 100_000, 1_000_000, 10_000_000])
                moment = self.random.choice([self.random.choice(moments), moment + self.random.randint(-near, near)])
            for name in self.random.sample(others, min(len(others), self.random.choice([1, 1, 2]))):
                shifts[name] = self.moved(shifts[name], name, victim)
            tried = self.step(victim, moment, shifts)
            if tried >= longest:
                best = tried, moment, shifts

    def step(self, victim: str, moment: int, shifts: dict[str, int]) -> int:
        begins = {name: 0 if name in shifts else _MOMENT_PS * 2 for name in self.names}
        begins |= {name: moment - self.before_ps(name) + shift for name, shift in shifts.items()}
        return self.run(begins)[victim]

    def talker(self, name: str) -> str:
        return self.network.streams[name].talker

    def wire_ps(self, name: str, rate: int) -> int:
        frame = (self.network.streams[name].max_frame_bytes + WIRE_OVERHEAD_BYTES) * 8
        return frame * 10**12 // rate

    def before_ps(self, name: str) -> int:
        """From the release of a burst to its last bit at the bridge."""
        station = self.network.stations[self.talker(name)]
        source = self.network.streams[name].source
        return self.wire_ps(name, station.link_rate_bps) * (source.burst or 1) + station.link_delay_ps

    def number(self, name: str) -> int:
        return self.network.class_at(self.network.streams[name], self.bridge.name)

    def shift(self, name: str, victim: str) -> int:
        """At first: what is above comes with the victim or a little before, what is below just before."""
        if name == victim:
            return 0
        return -self.random.choice([1, 8_000, 16_000]) if self.number(name) < self.number(victim) else 0

    def moved(self, shift: int, name: str, victim: str) -> int:
        step = self.random.choice([1, 8_000, 16_000, 100_000, 1_000_000, 10_000_000, 100_000_000])
        rate = self.network.stations[self.talker(victim)].link_rate_bps
        frame = self.wire_ps(self.random.choice(self.names), rate)
        return self.random.choice(
            [
                0,
                self.shift(name, victim),
                shift + self.random.randint(-step, step),
                shift + frame,
                shift - frame,
                -self.random.randint(0, 300_000_000),
                self.random.randint(0, 50_000_000),
            ]
        )

    def moments(self, queue: Queue) -> list[int]:
        """When all of it meets: where the gate of the class shuts, or opens, in a cycle near the middle of the run."""
        gates = self.bridge.gates.get(queue[1])
        if gates is None:
            return [_MOMENT_PS]
        cycle_ps = gates.cycle_time_ns * 1000
        begin = _MOMENT_PS - _MOMENT_PS % cycle_ps
        found, at, before = [], 0, gates.entries[-1][0]
        rate = self.network.link_at[self.bridge.name, queue[1]].rate_bps
        longest = max(self.wire_ps(name, rate) for name in self.names if self.number(name) == queue[2])
        delay = self.bridge.processing_delay_ps if not self.bridge.hardware_timing else 336_000
        for states, interval_ns in gates.entries:
            is_open, was_open = states >> queue[2] & 1, before >> queue[2] & 1
            if was_open and not is_open:
                found.append(begin + at - longest + 1 - delay)
            if is_open and not was_open:
                found.append(begin + at - delay)
            at, before = at + interval_ns * 1000, states
        return found or [_MOMENT_PS]
