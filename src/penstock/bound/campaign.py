# SPDX-License-Identifier: Apache-2.0
"""Networks drawn at random, run in the engine, each stream held against its bound.

Lines, trees and rings of bridges of both kinds, each port with its own mix of gates, credit, turns, ATS and strict
priority, talkers that take all that their contracts allow, best effort that never stops, and clocks that disagree.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock import _engine, plan
from penstock.bound.sources import Conformance, applies
from penstock.bound.way import ways_of
from penstock.command.answer import answer
from penstock.command.console import output
from penstock.command.tables import new_table, print_whole, say
from penstock.errors import InputError
from penstock.scenario import load
from penstock.scenario.network import Network

_IDENTITY = [0, 1, 2, 3, 4, 5, 6, 7]
_LENGTHS = (64, 100, 300, 1000, 1522)


@dataclass(frozen=True)
class Violation:
    """A frame that took longer than its bound."""

    seed: int
    stream: str
    measured_ps: int
    bound_ps: int

    @property
    def said(self) -> str:
        """For people, with how to see it again."""
        return (
            f"seed {self.seed}: {self.stream} took {self.measured_ps / 1e6:.6f} us, above its bound of "
            f"{self.bound_ps / 1e6:.6f} us (penstock bound --campaign 1 --seed {self.seed})"
        )


@dataclass
class Tally:
    """What was looked at, so that nothing is shown by looking at nothing."""

    networks: int = 0
    refused: int = 0  # what the scenario's own checks do not let through
    bounds: int = 0
    without: dict[str, int] = field(default_factory=dict)  # by why there is no bound
    not_conforming: int = 0
    ratios: dict[str, list[float]] = field(default_factory=dict)  # measured of bound, by selection at the first bridge
    violations: list[Violation] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """What `penstock bound --campaign --json` prints."""
        return {
            "ok": not self.violations,
            "networks": self.networks,
            "refused": self.refused,
            "bounds": self.bounds,
            "without": self.without,
            "not_conforming": self.not_conforming,
            "nearest": {how: max(ratios) for how, ratios in self.ratios.items()},
            "median": {how: sorted(ratios)[len(ratios) // 2] for how, ratios in self.ratios.items()},
            "violations": [each.said for each in self.violations],
        }


def campaign(count: int, seed: int, told: Callable[[Tally], None] | None = None) -> Tally:
    """So many networks, from a seed on."""
    tally = Tally()
    for number in range(seed, seed + count):
        hold(number, tally)
        if told is not None:
            told(tally)
    return tally


def run_campaign(count: int, seed: int, as_json: bool) -> bool:
    """The command; whether nothing took longer than its bound."""
    tally = campaign(count, seed)
    if as_json:
        answer(tally.as_json())
        return not tally.violations
    console = output()
    table = new_table(["served by"], ["bounds", "median", "nearest"])
    for how, ratios in sorted(tally.ratios.items()):
        middle = sorted(ratios)[len(ratios) // 2]
        table.add_row(how, f"{len(ratios):,}", f"{middle:.1%}", f"{max(ratios):.2%}")
    print_whole(table, console)
    for violation in tally.violations:
        say(console, f"[red]{violation.said}[/]")
    beside = tally.not_conforming + sum(tally.without.values())
    say(
        console,
        f"{tally.networks:,} networks ({tally.refused:,} refused), {tally.bounds:,} bounds held against what was"
        f" measured, {beside:,} streams without one: {len(tally.violations):,} violations",
    )
    return not tally.violations


def hold(seed: int, tally: Tally) -> None:
    """One network."""
    tally.networks += 1
    try:
        network = load(drawn(seed))
    except InputError:
        tally.refused += 1
        return
    result: dict[str, Any] = dict(_engine.run(json.dumps(plan.network_json(network, {}, {}))))
    statistics = result["statistics"]
    conforming = {
        name: Conformance.from_engine(of["conformance"])
        for name, of in statistics.items()
        if of["conformance"] is not None
    }
    for name, how, bound_ps in _bounds(network, conforming, tally):
        worst = statistics[name]["latency_ps"]["max"]
        if worst is None:
            continue
        tally.bounds += 1
        tally.ratios.setdefault(how, []).append(worst / bound_ps)
        if worst > bound_ps:
            tally.violations.append(Violation(seed, name, worst, bound_ps))


def _bounds(network: Network, conforming: dict[str, Conformance], tally: Tally) -> Iterator[tuple[str, str, int]]:
    for name, stream in network.streams.items():
        ways = ways_of(network, name)
        reason = next((way.reason for way in ways if way.reason is not None), None)
        if reason is not None:
            kind = reason.split(":")[0].split("(")[0].strip()
            tally.without[kind] = tally.without.get(kind, 0) + 1
        elif stream.ats is not None and applies(network, name, conforming) is not None:
            tally.not_conforming += 1
        else:
            yield name, _served(network, name), max(way.total_ps or 0 for way in ways)


def _served(network: Network, name: str) -> str:
    stream = network.streams[name]
    first = stream.tree[0]
    bridge = network.bridges[first.bridge]
    number = network.class_at(stream, first.bridge)
    how: str = bridge.selection(number)
    if how != "ats" or (first.egress[0], number) in bridge.credit:
        how = bridge.selection_at(first.egress[0], number)
    return f"{how}, gated" if first.egress[0] in bridge.gates else how


def drawn(seed: int) -> dict[str, Any]:
    """A scenario."""
    return _Draw(seed).scenario()


class _Draw:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.hardware = self.draw.random() < 0.5
        self.rates = ["1Gb/s"] if self.hardware else ["100Mb/s", "1Gb/s", "1Gb/s", "2.5Gb/s", "10Gb/s"]
        self.drifting = self.draw.random() < 0.3
        self.free: list[int] = []

    def scenario(self) -> dict[str, Any]:
        draw = self.draw
        count = draw.choice([1, 1, 2, 2, 3, 4])
        self.free = [0] * count
        in_line = draw.random() < 0.5
        cables = [(i - 1 if in_line else draw.randrange(i), i) for i in range(1, count)]
        links = {
            f"l{i}": {
                "between": [self.port(a), self.port(b)],
                "rate": draw.choice(self.rates),
                "delay": f"{draw.randint(0, 2000)}ns",
            }
            for i, (a, b) in enumerate(cables)
        }
        stations: dict[str, Any] = {}
        for i in range(draw.randint(3, 7)):
            at = draw.choice([b for b in range(count) if self.free[b] < 8])
            stations[f"e{i}"] = {"at": self.port(at), "rate": draw.choice(self.rates), "clock": self.clock()}
            if draw.random() < 0.3:
                stations[f"e{i}"]["class_of_priority"] = _IDENTITY
                stations[f"e{i}"]["classes"] = {str(number): {"selection": "ats"} for number in range(8)}
        classes = self.classes()
        gates = self.gates() if draw.random() < 0.6 else None
        bridges: dict[str, Any] = {}
        for i in range(count):
            bridge: dict[str, Any] = {"ports": max(2, self.free[i]), "clock": self.clock(), "classes": classes}
            bridge["class_of_priority"] = _IDENTITY
            if gates is not None and draw.random() < 0.8:
                bridge["gates"] = gates if draw.random() < 0.5 else self.gates()
            if not self.hardware:
                bridge["processing_delay"] = f"{draw.randint(0, 5000)}ns"
            if draw.random() < 0.3:
                bridge["count_gap"] = False
            bridges[f"b{i}"] = bridge
        return {
            "name": "drawn",
            "duration": "6ms",
            "nodes": "model",
            "links": links,
            "bridges": bridges,
            "stations": stations,
            "streams": {f"s{i}": self.stream(stations, classes) for i in range(draw.randint(2, 9))},
        }

    def port(self, bridge: int) -> str:
        self.free[bridge] += 1
        return f"b{bridge}.{self.free[bridge] - 1}"

    def clock(self) -> dict[str, Any]:
        if not self.drifting:
            return {}
        draw = self.draw
        clock: dict[str, Any] = {"offset": f"{draw.randint(-5000, 5000)}ns", "drift": f"{draw.randint(-100, 100)}ppm"}
        if draw.random() < 0.5:
            clock["sync"] = draw.choice(["none", {"error": "500ns"}])
        return clock

    def classes(self) -> dict[str, Any]:
        draw = self.draw
        found: dict[str, Any] = {}
        turns = draw.random() < 0.25
        for number in range(8):
            how = draw.choice(["strict", "strict", "ats", "cbs"])
            if turns and number in (1, 3, 4):
                how = "round_robin"
            found[str(number)] = {"selection": how}
            if how == "cbs" or (how == "ats" and draw.random() < 0.2):
                found[str(number)]["idle_slope"] = f"{draw.choice([2, 5, 10, 20])}Mb/s"
        return found

    def gates(self) -> dict[str, Any]:
        draw = self.draw
        entries = []
        for _ in range(draw.randint(1, 4)):
            states = [number for number in range(8) if draw.random() < 0.6]
            entries.append({"open": states, "interval": f"{draw.choice([20, 30, 50, 100, 200])}us"})
        if draw.random() < 0.8:
            entries.append({"open": list(range(8)), "interval": f"{draw.choice([30, 60, 130])}us"})
        return {"entries": entries}

    def stream(self, stations: dict[str, Any], classes: dict[str, Any]) -> dict[str, Any]:
        draw = self.draw
        talker = draw.choice(list(stations))
        others = draw.sample([name for name in stations if name != talker], 2)
        pcp = draw.randrange(8)
        stream: dict[str, Any] = {"from": talker, "to": others[: draw.choice([1, 1, 1, 2])], "vlan": 10, "pcp": pcp}
        length = draw.choice(_LENGTHS)
        if pcp <= 1 and draw.random() < 0.5:
            return stream | {"source": {"frames": f"{length}B", "back_to_back": True}}
        rate = draw.choice([10**6, 2 * 10**6, 5 * 10**6, 2 * 10**7]) // (1 if self.hardware else 2)
        frames = draw.choice([1, 1, 1, 2, 3, 6])
        held = frames * (length + 20)
        period_ns = -(-held * 8 * 10**9 // rate) * (10_003 if self.drifting else 10_000) // 10_000 + 20
        source: dict[str, Any] = {"frames": f"{length}B", "every": f"{period_ns}ns"}
        if frames > 1:
            source["burst"] = frames
        if draw.random() < 0.3 and classes[str(pcp)]["selection"] != "ats":
            source["jitter"] = {"uniform": f"{period_ns // 2}ns"}
            source["seed"] = draw.randint(0, 10**6)
        if draw.random() < 0.7:
            source["start"] = f"{draw.randint(0, 300_000)}ns"
        stream["source"] = source
        if classes[str(pcp)]["selection"] == "ats":
            stream["ats"] = {"rate": f"{rate}b/s", "burst": f"{held}B"}
        return stream
