# SPDX-License-Identifier: Apache-2.0
"""What the paper leaves for later: more tiles and other traffic, 256 nodes with the schedule at each of their ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.percentile import percentile
from penstock.reproduce import drawing
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.outcome import Outcome, Times
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic import printed
from penstock.reproduce.time_aware_nic.place import FOLDER, route, tiling
from penstock.reproduce.time_aware_nic.pooled import watch
from penstock.reproduce.time_aware_nic.traffic import PATTERNS
from penstock.tiles.walk import Link

_FILE = FOLDER / "tiles.toml"
# Percent of what a node can send, with all links alive and with some dead.
LOADS = {False: (10, 30, 50, 70, 90), True: (10, 50, 90)}
_DEAD = 4  # links, a quarter of all links apart
_FRAME_BYTES = 1500
_SLOTS = {2: 0.9, 0: 0.05}  # by priority: the part of each cycle, and so of what a node sends
_QUEUES = {str(number): {"queue_limit": {"bytes": "16MB"}} for number in range(3)}
WAITS_US = 5.0  # by which the mean of the waits may change where frames take other ways
_HIGH, _LOW = "priority 2", "priority 0"


def dead_links() -> Sequence[Link]:
    """The links that are dead in half of the runs."""
    links = tiling(_FILE).routing.grid.links
    return links[:: len(links) // _DEAD]


@cache
def _routes(pattern: str) -> Mapping[tuple[int, int], list[str] | None]:
    """The ways of a pattern's flows around what is dead, by the numbers of their nodes; None where there is none."""
    grid, dead = tiling(_FILE).routing.grid, dead_links()
    number = {node: index for index, node in enumerate(grid.nodes)}
    return {
        (number[flow.source], number[flow.destination]): route(_FILE, flow.source, flow.destination, dead)
        for flow in PATTERNS[pattern](grid)
    }


def case(pattern: str, load: int, dead: bool) -> Case:
    """Stations at all nodes and the flows of a pattern, each in both priorities."""
    grid = tiling(_FILE).routing.grid
    number = {node: index for index, node in enumerate(grid.nodes)}
    schedule = {"slots": {"times": {"2": "900us", "1": "50us", "0": "50us"}, "order": [2, 1, 0]}}
    station = {"rate": f"{printed.PEAK_GBPS}Gb/s", "gates": schedule, "classes": _QUEUES}
    stations = {f"s{index}": {"at": f"node{index}.3", **station} for index in number.values()}
    streams: dict[str, Any] = {}
    for index, flow in enumerate(PATTERNS[pattern](grid)):
        ends = number[flow.source], number[flow.destination]
        way = _routes(pattern)[ends] if dead else []
        for priority, slot in _SLOTS.items() if way is not None else ():
            rate_gbps = printed.PEAK_GBPS * slot * flow.part * load / 100
            mean_ns = round((_FRAME_BYTES + WIRE_OVERHEAD_BYTES) * 8 / rate_gbps)
            streams[f"f{index}p{priority}"] = {
                "from": f"s{ends[0]}",
                "to": [f"s{ends[1]}"],
                "vlan": 10,
                "pcp": priority,
                "source": {"frames": f"{_FRAME_BYTES}B", "poisson": f"{mean_ns}ns"},
                **({"route": way} if way else {}),
            }
    at = {"pattern": pattern, "load": load, "dead": dead}
    return Case(_FILE, {"stations": stations, "streams": streams}, at, watch)


def _latency_us(outcome: Outcome, priority: str) -> Times:
    frames = outcome.frames[priority]
    return (frames.delivered_ps - frames.created_ps) / 1e6


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    figures = {
        "mean": drawing.figure("load / % of a node's rate", "mean latency / us"),
        "p99": drawing.figure("load / % of a node's rate", "99 % of latencies are below / us"),
    }
    for number, pattern in enumerate(dict.fromkeys(case.at["pattern"] for case, _ in outcomes)):
        of = {
            (case.at["load"], case.at["dead"]): outcome for case, outcome in outcomes if case.at["pattern"] == pattern
        }
        found.rows += _rows(pattern, of)
        for dead in (False, True):
            loads = [load for load, is_dead in of if is_dead is dead]
            high = [_latency_us(of[load, dead], _HIGH) for load in loads]
            called, dash = f"{pattern}, {_DEAD} links dead" if dead else pattern, "dot" if dead else "solid"
            line = {"color": drawing.COLORS[number], "width": 2, "dash": dash}
            for name, y in (("mean", [each.mean() for each in high]), ("p99", [percentile(x, 0.99) for x in high])):
                drawing.curve(figures[name], called, loads, y, drawing.COLORS[number], line=line)
    note = "Priority 2, whose slot is 90 % of each port, from creation to the other node, of 256 nodes in 8 x 8 tiles."
    titles = {"mean": "Mean latency against load", "p99": "The latest hundredth against load"}
    for name, figure in figures.items():
        figure.update_yaxes(type="log")
        found.pictures.append(Picture(titles[name], note, figure))
    return found


def _rows(pattern: str, of: Mapping[tuple[int, bool], Outcome]) -> list[Row]:
    rows = []
    for (load, dead), outcome in of.items():
        name = f"{pattern}.{load}{'.dead' * dead}"
        called = f"{pattern}, load {load} %" + f", {_DEAD} links dead" * dead
        high, low = (_latency_us(outcome, priority) for priority in (_HIGH, _LOW))
        told = outcome.stream(_HIGH)
        mean, alone = float(high.mean()), float(told["alone_us"])
        label = f"mean latency of priority 2, {called}; theory: of its ways alone"
        row = Row.told(
            f"{name}.mean", label, "us", mean, theory=round(alone, 3), requirement="measured at least theory"
        )
        rows.append(replace(row, ok=mean >= alone, key=True))
        rows.append(Row.told(f"{name}.p99", f"99 % of priority 2 are below, {called}", "us", percentile(high, 0.99)))
        label = f"mean latency of priority 2, at most that of priority 0, {called}"
        rows.append(Row.within(f"{name}.order", label, "us", mean, float(low.mean())))
        arrived = 100 * told["delivered"] / told["sent"]
        row = Row.told(f"{name}.arrived", f"of priority 2 arrived before the run ended, {called}", "%", arrived)
        rows.append(replace(row, key=arrived < 100))
    least = min(load for load, _ in of)
    for dead in (False, True):
        told = of[least, dead].stream(_HIGH)
        called = f"{pattern}, load {least} %" + f", {_DEAD} links dead" * dead
        name = f"{pattern}.lost{'.dead' * dead}"
        rows.append(Row.equals(name, f"frames of priority 2 lost, {called}", "", told["dropped"], 0, 0).as_key())
    parted = sum(way is None for way in _routes(pattern).values())
    rows.append(Row.told(f"{pattern}.parted", f"pairs that dead links part, {pattern}", "pairs", parted).as_key())
    means = [float(_latency_us(of[least, dead], _HIGH).mean()) for dead in (False, True)]
    alone_us = [float(of[least, dead].stream(_HIGH)["alone_us"]) for dead in (False, True)]
    rows.append(
        Row.equals(
            f"{pattern}.detour", f"what dead links add to the mean, {pattern}, load {least} %", "us",
            means[1] - means[0], round(alone_us[1] - alone_us[0], 3), WAITS_US,
        ).as_key()
    )  # fmt: skip
    return rows


EXPERIMENTS = (
    Experiment(
        "tiles",
        "8 x 8 tiles, other traffic: latency against load",
        "Section VI",
        [case(pattern, load, dead) for pattern in PATTERNS for dead, loads in LOADS.items() for load in loads],
        _evaluate,
    ),
)
