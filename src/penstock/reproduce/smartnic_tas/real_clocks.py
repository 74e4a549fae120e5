# SPDX-License-Identifier: Apache-2.0
"""Figures 5 and 6 on real packets: two data planes with clocks of their own, and a cable between them.

Stamps are a program's, so that what is left is told and nothing is required of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.lab import planes
from penstock.lab.machine import Machine
from penstock.plane.binary import PROGRAM
from penstock.plane.sync import Plan, difference
from penstock.reproduce.experiment import Found
from penstock.reproduce.row import Row
from penstock.reproduce.smartnic_tas.clocks import DRIFT_PPM
from penstock.reproduce.smartnic_tas.place import SWITCHES

PLAN = Plan(interval_ms=4, probes=800, probes_after_set=200, checks=200)
_BEGIN_NS, _MS_NS = 500_000_000, 10**6
_REST_NS, _READINGS, _BETWEEN_NS = 500_000_000, 10, 100_000_000
_OTHER_CLOCK = {"offset": 7_000_000, "drift": f"{DRIFT_PPM:.3f}ppm"}
_SYNC = {"do": "sync", "port": "trunk"}


def play(machine: Machine, tell: Callable[[str], None], plan: Plan = PLAN) -> Sequence[Sequence[Mapping[str, Any]]]:
    """What both planes answer, once they are through."""
    tell("real packets: the clocks of two planes")
    first, second = SWITCHES
    paths = {host: machine.ask("namespace", host=host)["path"] for host in SWITCHES}
    lines = [f"link add x type veth peer name y\nlink set x netns {paths[first]} name trunk"]
    lines.append(f"link set y netns {paths[second]} name trunk\n")
    machine.run(None, ["ip", "-batch", "-"], "\n".join(lines))
    for host in SWITCHES:
        words = ["link set trunk up", "link add host type veth peer name beyond", "link set host up"]
        machine.run(host, ["ip", "-batch", "-"], "\n".join([*words, ""]))
    configs: dict[str, dict[str, Any]] = {first: _config({}), second: _config({"follows": True})}
    configs[second]["clock"] = _OTHER_CLOCK
    sent = plan.probes + plan.probes_after_set + plan.checks
    over_ns = _BEGIN_NS + round(sent * plan.interval_ms * _MS_NS) + _REST_NS
    readings: list[tuple[int, Mapping[str, Any]]] = [
        (over_ns + number * _BETWEEN_NS, _SYNC) for number in range(_READINGS)
    ]
    begin: tuple[int, Mapping[str, Any]] = (_BEGIN_NS, {**_SYNC, "plan": plan.told()})
    asked: dict[str, list[tuple[int, Mapping[str, Any]]]] = {first: [begin, *readings], second: readings}
    programs = [_plane(name, configs[name]) for name in SWITCHES] + [
        planes.asker(name, asked[name]) for name in SWITCHES
    ]
    machine.play(programs, lead_ns=0, raster_ns=1, phase_ns=0, seconds=60)
    told = [(machine.results / f"ask-{name}" / "stdout").read_text().splitlines() for name in SWITCHES]
    machine.ask("forget")
    return [[json.loads(line)["answer"] for line in lines][-_READINGS:] for lines in told]


def _config(trunk: Mapping[str, Any]) -> dict[str, Any]:
    ports = [{"interface": "trunk", "rate": "10Gb/s", **trunk}, {"interface": "host", "rate": "10Gb/s"}]
    return {"ports": ports, "realtime": {"fifo_priority": 60}}


def _plane(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    command = [str(PROGRAM.build()), "--config", "{plan}", "--control", "{out}.sock"]
    return {"name": f"plane-{name}", "host": name, "command": command, "plan": dict(config), "serves": True}


def seen(answers: Sequence[Sequence[Mapping[str, Any]]]) -> Found:
    """Beside the rows of the model."""
    own, other = answers
    last = own[-1]
    trips_us = [sample["round_trip_ns"] / 1000 for sample in last["samples"]]
    slope_ppm = last["drift"]["slope_ppb"] / 1000 if last["drift"] else None
    ahead_ns = None
    if last["phase"] == "done" and other[-1]["compensated"]:
        ahead = [
            difference(each["clock"], beside["clock"])["error_ns"] for each, beside in zip(own, other, strict=True)
        ]
        ahead_ns = max(map(abs, ahead))
    rows = [
        Row.told("fig5.drift", "drift of one clock from the other, by regression", "ppm", slope_ppm),
        Row.told("fig5.least_trip", "least round trip", "us", min(trips_us, default=None)),
        Row.told("fig5.round_trip", "greatest round trip between the cards", "us", max(trips_us, default=None)),
        Row.told("fig6.error", "greatest error once drift is compensated", "ns", ahead_ns),
    ]
    return Found([row.as_key() for row in rows])
