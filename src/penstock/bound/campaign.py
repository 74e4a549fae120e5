# SPDX-License-Identifier: Apache-2.0
"""Networks drawn at random, run in the engine with the queues that `bound --store` proposes.

No stream may take longer than its bound, and none may lose a frame for want of room.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from penstock import _engine
from penstock.bound.drawn import drawn
from penstock.bound.proposal import rooms
from penstock.bound.sources import Conformance, applies
from penstock.bound.way import ways_of
from penstock.command.answer import answer
from penstock.command.console import of_runs, output, progress
from penstock.command.tables import new_table, print_whole, say
from penstock.errors import InputError
from penstock.run import CompiledEngine
from penstock.scenario import load
from penstock.scenario.egress import QueueLimit
from penstock.scenario.limits import CELL_BYTES
from penstock.scenario.network import Network
from penstock.scenario.store import store_cells

_ROOM = ("queue_full", "class_full", "store_full", "displaced")
_AT_ONCE = 20  # networks that one process is given


@dataclass(frozen=True)
class Violation:
    """A frame that took longer than its bound, or that was lost."""

    seed: int
    stream: str
    said: str


@dataclass
class Tally:
    """What was looked at, so that nothing is shown by looking at nothing."""

    networks: int = 0
    refused: int = 0  # what the scenario's own checks do not let through
    bounds: int = 0
    queues: int = 0  # with the limit that is proposed, to the cell
    without: dict[str, int] = field(default_factory=dict)  # by why there is no bound
    not_conforming: int = 0
    ratios: dict[str, list[float]] = field(default_factory=dict)  # measured of bound, by selection at the first bridge
    violations: list[Violation] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """All that another one has looked at."""
        self.networks += other.networks
        self.refused += other.refused
        self.bounds += other.bounds
        self.queues += other.queues
        self.not_conforming += other.not_conforming
        for kind, number in other.without.items():
            self.without[kind] = self.without.get(kind, 0) + number
        for how, ratios in other.ratios.items():
            self.ratios.setdefault(how, []).extend(ratios)
        self.violations += other.violations

    def as_json(self) -> dict[str, Any]:
        """What `penstock bound --campaign --json` prints."""
        return {
            "ok": not self.violations,
            "networks": self.networks,
            "refused": self.refused,
            "bounds": self.bounds,
            "queues": self.queues,
            "without": self.without,
            "not_conforming": self.not_conforming,
            "nearest": {how: max(ratios) for how, ratios in self.ratios.items()},
            "median": {how: sorted(ratios)[len(ratios) // 2] for how, ratios in self.ratios.items()},
            "violations": [each.said for each in self.violations],
        }


@dataclass(frozen=True)
class Campaign:
    """Which networks, and what their bridges are."""

    count: int
    seed: int = 1
    nodes: str = "model"

    def run(self, workers: int = 1, told: Callable[[int, int], None] | None = None) -> Tally:
        """Each network by itself, on so many cores."""
        tally = Tally()
        seeds = range(self.seed, self.seed + self.count)
        parts = [seeds[at : at + _AT_ONCE] for at in range(0, len(seeds), _AT_ONCE)]
        for found in self._parts(parts, workers):
            tally.add(found)
            if told is not None:
                told(tally.networks, self.count)
        return tally

    def _parts(self, parts: list[range], workers: int) -> Iterator[Tally]:
        if workers == 1 or len(parts) == 1:
            yield from map(self.part, parts)
            return
        with ProcessPoolExecutor(max_workers=workers) as pool:
            yield from pool.map(self.part, parts)

    def part(self, seeds: range) -> Tally:
        """Some of them."""
        tally = Tally()
        for seed in seeds:
            hold(seed, tally, self.nodes)
        return tally


def run_campaign(asked: Campaign, as_json: bool) -> bool:
    """The command; whether nothing took longer than its bound, and nothing was lost."""
    workers = 1 if asked.nodes == "rtl" else os.cpu_count() or 1
    with progress(quiet=as_json) as tell:
        tally = asked.run(workers, of_runs(tell))
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
        f" measured, {tally.queues:,} queues with the limit that is proposed, {beside:,} streams without a bound:"
        f" {len(tally.violations):,} violations",
    )
    return not tally.violations


def hold(seed: int, tally: Tally, nodes: str = "model") -> None:
    """One network."""
    tally.networks += 1
    try:
        network = load(described(seed, nodes))
    except InputError:
        tally.refused += 1
        return
    whole = _give_room(network, tally)
    prepared = CompiledEngine().prepare(network, lambda _what, _part: None)
    result: dict[str, Any] = dict(_engine.run(json.dumps(prepared)))
    statistics = result["statistics"]
    conforming = {
        name: Conformance.from_engine(of["conformance"])
        for name, of in statistics.items()
        if of["conformance"] is not None
    }
    again = f"(penstock bound --campaign 1 --seed {seed}{'' if nodes == 'model' else f' --nodes {nodes}'})"
    for name, how, bound_ps in _bounds(network, conforming, tally):
        worst = statistics[name]["latency_ps"]["max"]
        lost = sum(statistics[name]["dropped"].get(reason, 0) for reason in _ROOM)
        if lost and all(hop.bridge in whole for hop in network.streams[name].tree):
            said = f"seed {seed}: {name} lost {lost} frames for want of room {again}"
            tally.violations.append(Violation(seed, name, said))
        if worst is None:
            continue
        tally.bounds += 1
        tally.ratios.setdefault(how, []).append(worst / bound_ps)
        if worst > bound_ps:
            took = f"took {worst / 1e6:.6f} us, above its bound of {bound_ps / 1e6:.6f} us"
            tally.violations.append(Violation(seed, name, f"seed {seed}: {name} {took} {again}"))


def described(seed: int, nodes: str) -> dict[str, Any]:
    """A network of the campaign."""
    return drawn(seed, hardware=nodes == "rtl") | {"nodes": nodes}


def _give_room(network: Network, tally: Tally) -> set[str]:
    """Lets each queue hold what is proposed and no more, and all of a bridge: the names of those that lose nothing."""
    whole = set()
    for room in rooms(network):
        bridge = network.bridges[room.bridge]
        limits = {number: QueueLimit(bytes=cells * CELL_BYTES) for number, cells in room.queue_limits.items()}
        tally.queues += sum(queue.cells is not None for queue in room.queues)
        bridge = replace(bridge, queue_limits=limits)
        # The store of hardware is as large as it is.
        if room.needed_cells is not None and bridge.nodes == "model":
            bridge = replace(bridge, store_bytes=room.needed_cells * CELL_BYTES)
        if room.needed_cells is not None and room.needed_cells <= store_cells(bridge):
            whole.add(room.bridge)
        network.bridges[room.bridge] = bridge
    return whole


def _bounds(network: Network, conforming: dict[str, Conformance], tally: Tally) -> Iterator[tuple[str, str, int]]:
    for name, stream in network.streams.items():
        ways = ways_of(network, name)
        reason = next((way.reason for way in ways if way.reason is not None), None)
        if reason is not None:
            kind = reason.split(":")[0].split(";")[0].split("(")[0].strip()
            tally.without[kind] = tally.without.get(kind, 0) + 1
        elif (stream.ats is not None or stream.numbered) and applies(network, name, conforming) is not None:
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
