# SPDX-License-Identifier: Apache-2.0
"""A random mix through a data plane that is changed all the while, for as long as one likes: every frame is counted."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench import mixed_source
from penstock.bench.plane import between_hosts
from penstock.lab import planes
from penstock.lab.machine import Machine
from penstock.plane.binary import PROGRAM

_GATES = {"entries": [{"open": [5, 6, 7], "interval": "700us"}, {"open": [0, 1, 2, 3, 4], "interval": "300us"}]}
_TABLE = [{"match": {"vlan": 10}, "queue": 7}, {"match": {"vlan": 20}, "tag": "remove", "stream": "s"}]
_STREAMS = {"s": {"ats": {"rate": "5Mb/s", "burst": "8kB"}}}
_CONFIG = {
    "ports": [
        {"interface": "left", "rate": "1Gb/s"},
        {"interface": "right", "rate": "200Mb/s", "gates": _GATES, "classes": {"2": {"idle_slope": "20Mb/s"}}},
    ],
    "table": _TABLE,
    "streams": _STREAMS,
}
_LEAST_REST_NS, _MOST_REST_NS = 50_000_000, 950_000_000  # from one request to the next
_FIRST_NS = 500_000_000  # by then it listens
_PLANE = "m"


@dataclass(frozen=True)
class _Ask:
    at_ns: int
    request: Mapping[str, Any]
    is_right: bool


def soak(seconds: float, seed: int) -> list[dict[str, Any]]:
    """Rows of counts, of which each has to be what another is.

    Raises:
        RunError: This machine allows no network namespaces.

    """
    words = ["eth0", str(seconds), str(seed)]
    command = [sys.executable, "-I", str(Path(mixed_source.__file__)), *words]
    source = {"name": "source", "host": "a", "command": command}
    program = [str(PROGRAM.build()), "--config", "{plan}", "--control", "{out}.sock"]
    name = f"plane-{_PLANE}"
    plane = {"name": name, "host": _PLANE, "command": program, "plan": _CONFIG, "serves": True}
    asks = list(_asks(round(seconds * 1e9), random.Random(seed)))
    asker = planes.asker(_PLANE, [(each.at_ns, each.request) for each in asks])
    with Machine() as machine:
        found = between_hosts(machine, [plane, source, asker], seconds=round(seconds) + 60)
        answers = (machine.results / asker["name"] / "stdout").read_text().splitlines()
    return [
        *_rows(found["source"]["sent"], found[name]["counters"], found["came"]),
        _of_requests(asks, [json.loads(line)["answer"] for line in answers]),
    ]


def _asks(until_ns: int, draw: random.Random) -> Iterator[_Ask]:
    """Other gates, tables and limits, readings, and requests that are wrong."""
    at_ns = _FIRST_NS
    while at_ns <= max(until_ns, _FIRST_NS):
        made = draw.choice((_gates, _table, _limit, _reading, _wrong))
        yield _Ask(at_ns, made(draw), made is not _wrong)
        at_ns += draw.randint(_LEAST_REST_NS, _MOST_REST_NS)


def _gates(draw: random.Random) -> dict[str, Any]:
    """Each class is open in one of both windows."""
    first = [number for number in range(8) if draw.random() < 0.5]
    others = [number for number in range(8) if number not in first]
    entries = [{"open": classes, "interval": f"{draw.randint(300, 5000)}us"} for classes in (first, others)]
    return {"do": "gates", "port": "right", "gates": {"entries": entries}}


def _table(draw: random.Random) -> dict[str, Any]:
    queue = {"match": {"vlan": 10}, "queue": draw.randrange(8)}
    tag = {"match": {"pcp": draw.randrange(8)}, "tag": {"set": {"vlan": draw.randint(1, 4094), "pcp": 3}}}
    drop = {"match": {"ethertype": 0x0800}, "drop": True}
    return {"do": "table", "table": draw.sample([queue, tag, drop, *_TABLE], 3), "streams": _STREAMS}


def _limit(draw: random.Random) -> dict[str, Any]:
    return {"do": "limit", "port": "right", "class": draw.randrange(8), "frames": draw.randint(1, 200)}


def _reading(draw: random.Random) -> dict[str, Any]:
    return {"do": draw.choice(["counters", "occupancy", "metrics"])}


def _wrong(draw: random.Random) -> dict[str, Any]:
    wrong: Sequence[dict[str, Any]] = (
        {"do": "gates", "port": "right", "gates": {"entries": [{"open": [0], "interval": "10ns"}]}},
        {"do": "gates", "port": "nowhere", "gates": _GATES},
        {"do": "table", "table": [{"match": {"vlan": 5000}, "drop": True}]},
        {"do": "limit", "port": "right", "class": 8, "frames": 1},
        {"do": "nothing"},
    )
    return draw.choice(wrong)


def _of_requests(asks: Sequence[_Ask], answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A right one is done, a wrong one is told what is allowed."""
    as_due = (
        answer["ok"] if ask.is_right else bool(answer["error"]["allowed"])
        for ask, answer in zip(asks, answers, strict=False)
    )
    return _row("requests", "requests while it ran", sum(as_due), len(asks), "answered as they have to be")


def _rows(offered: int, counters: dict[str, Any], came: int) -> list[dict[str, Any]]:
    left, right = counters["ports"]["left"], counters["ports"]["right"]
    received = left["received"]["frames"]
    dropped = sum(sum(port["dropped"].values()) for port in (left, right))
    passed = right["sent"]["frames"]
    return [
        _row("offered", "frames that were sent to the plane", offered, received + left["overruns"]),
        _row("kept", "frames that it received", received, passed + dropped + counters["frames_held"]),
        _row("passed", "frames that it sent on", passed, came),
    ]


def _row(row_id: str, quantity: str, measured: int, counted: int, what: str = "all counted") -> dict[str, Any]:
    unit = "requests" if row_id == "requests" else "frames"
    told = {"id": row_id, "quantity": f"{quantity}, {what}", "unit": unit}
    return told | {"measured": measured, "goal": counted, "ok": measured == counted}
