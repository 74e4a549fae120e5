# SPDX-License-Identifier: Apache-2.0
"""Section IV: a cycle of 10 ms, of which ST has 7, and a cycle time that changes while frames come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from penstock.lab.machine import Machine
from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.smartnic_tas import seen as of_packets
from penstock.reproduce.smartnic_tas import testbed
from penstock.reproduce.smartnic_tas.occupancy import named
from penstock.reproduce.smartnic_tas.place import PRIORITIES, SWITCHES, case, gates
from penstock.reproduce.smartnic_tas.testbed import Played

CYCLE_US = 10_000
_DURATION_MS, _CHANGE_MS = 1_500, 700
_MS_NS, _PORT = 10**6, "port1"


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    for at, run in outcomes:
        name, called = named(bool(at.at["aligned"]))
        label = f"greatest latency, ST, cycle of 10 ms, {called}, at most its bound"
        most = float(run.frames["st"].latency_us.max())
        found.rows.append(Row.within(f"cycle.{name}.bound", label, "us", most, run.bound_us("st")).as_key())
        lost = run.stream("st")["sent"] - run.stream("st")["delivered"]
        found.rows.append(Row.equals(f"cycle.{name}.lost", f"frames of ST lost, {called}", "frames", lost, 0, 0))
    return found


def _list(cycle_us: int) -> Mapping[str, Any]:
    """As a plane takes it."""
    classes = {"scheduled": PRIORITIES["st"], "best_effort": PRIORITIES["be"]}
    said = gates(cycle_us)
    entries = [{**entry, "open": [classes[name] for name in entry["open"]]} for entry in said["entries"]]
    return {"cycle_time": said["cycle_time"], "entries": entries}


def play(machine: Machine, tell: Callable[[str], None]) -> Played:
    """Both planes get a list of 10 ms in the middle of the run."""
    tell("real packets: the cycle time changes from 5 to 10 ms")
    ask = {"do": "gates", "port": _PORT, "gates": _list(CYCLE_US)}
    return testbed.play(machine, case("tas", aligned=False), _DURATION_MS, [(_CHANGE_MS * _MS_NS, ask)])


def seen(played: Played) -> Found:
    """Nothing is lost but what a full queue drops, and nothing departs by a closed gate."""
    ports = {name: played.summary["laboratory"]["planes"][name]["counters"]["ports"] for name in SWITCHES}
    new = sum(each[_PORT]["gates"]["cycle_time_ns"] == CYCLE_US * 1000 for each in ports.values())
    outside = sum(each[_PORT]["departures"]["outside"] for each in ports.values())
    streams = played.summary["streams"]
    lost = sum(stream["sent"] - stream["delivered"] for name, stream in streams.items() if name.startswith("st"))
    missing = sum(_missing(each) for each in ports.values())
    after = of_packets.of_flow(played.frames, "st").filter(of_packets.later_than(_CHANGE_MS + 20))
    label = "greatest latency, ST, behind the change, talker not aligned"
    rows = [
        Row.equals("cycle.change.planes", "planes whose cycle changed from 5 to 10 ms", "", new, len(SWITCHES), 0),
        Row.equals("cycle.change.lost", "frames of ST lost while it changed under load", "frames", lost, 0, 0),
        Row.equals("cycle.change.missing", "frames that no counter has", "frames", missing, 0, 0),
        Row.equals("cycle.change.outside", "departures by a closed gate", "frames", outside, 0, 0),
        Row.told("cycle.change.max", label, "us", of_packets.greatest_us(after)),
    ]
    return Found([replace(row, key=True) for row in rows])


def _missing(ports: Mapping[str, Any]) -> int:
    """What came in by the first port, less what left by the other, was dropped for it, or waits there."""
    out = ports[_PORT]
    left = out["sent"]["frames"] + sum(out["dropped"].values()) + sum(out["waiting"])
    return abs(int(ports["port0"]["received"]["frames"]) - int(left))


EXPERIMENTS = (
    Experiment(
        "cycle",
        "a cycle of 10 ms, and a cycle time that changes",
        "Section IV",
        [case("tas", aligned, CYCLE_US) for aligned in (True, False)],
        _evaluate,
    ),
)
