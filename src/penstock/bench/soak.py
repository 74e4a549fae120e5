# SPDX-License-Identifier: Apache-2.0
"""A random mix through a data plane for as long as one likes: every frame is counted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from penstock.bench import mixed_source
from penstock.bench.plane import between_hosts
from penstock.lab.machine import Machine
from penstock.plane.binary import PROGRAM

_GATES = {"entries": [{"open": [5, 6, 7], "interval": "700us"}, {"open": [0, 1, 2, 3, 4], "interval": "300us"}]}
_CONFIG = {
    "ports": [
        {"interface": "left", "rate": "1Gb/s"},
        {"interface": "right", "rate": "200Mb/s", "gates": _GATES, "classes": {"2": {"idle_slope": "20Mb/s"}}},
    ],
    "table": [{"match": {"vlan": 10}, "queue": 7}, {"match": {"vlan": 20}, "tag": "remove", "stream": "s"}],
    "streams": {"s": {"ats": {"rate": "5Mb/s", "burst": "8kB"}}},
}


def soak(seconds: float, seed: int) -> list[dict[str, Any]]:
    """Rows of counts, of which each has to be what another is.

    Raises:
        RunError: This machine allows no network namespaces.

    """
    words = ["eth0", str(seconds), str(seed)]
    command = [sys.executable, "-I", str(Path(mixed_source.__file__)), *words]
    source = {"name": "source", "host": "a", "command": command}
    program = [str(PROGRAM.build()), "--config", "{plan}"]
    plane = {"name": "plane", "host": "m", "command": program, "plan": _CONFIG, "serves": True}
    with Machine() as machine:
        found = between_hosts(machine, [plane, source], seconds=round(seconds) + 60)
    return _rows(found["source"]["sent"], found["plane"]["counters"], found["came"])


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


def _row(row_id: str, quantity: str, measured: int, counted: int) -> dict[str, Any]:
    told = {"id": row_id, "quantity": f"{quantity}, all counted", "unit": "frames"}
    return told | {"measured": measured, "goal": counted, "ok": measured == counted}
