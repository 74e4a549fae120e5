# SPDX-License-Identifier: Apache-2.0
"""What a frame through a data plane costs, against the kernel's bridge between the same interfaces; its punctuality.

By AF_XDP where it works, and by AF_PACKET, in turns. Frames per second of processor time, of a plane that always has
many to do: a veth does its work in the time of whoever sends, so what the source needs more than for a cable that leads
nowhere counts as forwarding, too.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench import frame_source
from penstock.errors import MachineError
from penstock.lab.machine import Machine
from penstock.lab.probe import probe
from penstock.plane.binary import PROGRAM

SIZES = (64, 1500)
FRAMES_GOAL = 400_000  # of 64 B, by AF_XDP
GATE_ERROR_GOAL_US = 20.0
_SOCKETS = {"AF_XDP": "auto", "AF_PACKET": "packet"}
_RULES = 8
_GATED = 3  # times as long as other runs: a frame in each cycle
_TRIES = 5  # of a pair whose difference is lost in what else the machine does
_CYCLE_NS, _OPEN_NS, _SENT_AT_NS = 1_000_000, 500_000, 700_000
_FRAMES = "frames/s of processor time"


def bench(rounds: int, seconds: float) -> Iterator[dict[str, Any]]:
    """Rows of what was measured, as they come.

    Raises:
        RunError: This machine allows no network namespaces.
        MachineError: It does too much else for the bridge to be told from nothing.

    """
    program = str(PROGRAM.build())
    with Machine() as machine:
        yield from passing(machine, rounds, seconds)
        errors = [
            {family: _gate_errors(machine, program, family, _GATED * seconds) for family in _SOCKETS}
            for _ in range(rounds)
        ]
        for family in _SOCKETS:
            yield from _error_rows(family, [each[family] for each in errors])


def passing(
    machine: Machine, rounds: int, seconds: float, families: Sequence[str] = tuple(_SOCKETS)
) -> Iterator[dict[str, Any]]:
    """Rows of what a frame costs; the bridge has plain priority where the kernel has that.

    Raises:
        MachineError: The machine does too much else for the bridge to be told from nothing.

    """
    program = str(PROGRAM.build())
    prioritized = "prio" not in probe(machine)
    called = f"kernel's bridge with{'' if prioritized else 'out'} priorities"
    for size in SIZES:
        found = [_round(machine, program, size, seconds, families, prioritized=prioritized) for _ in range(rounds)]
        bridge = [turn.bridge for turn in found]
        yield _row(f"bridge_{size}", f"{called}, frames of {size} B", _FRAMES, bridge)
        for family in families:
            yield from _plane_rows(family, size, found)


@dataclass(frozen=True)
class _Passed:
    """Through a plane."""

    sockets: str
    rate: float  # frames per second of processor time
    part: float  # of those offered


@dataclass(frozen=True)
class _Turn:
    bridge: float
    planes: dict[str, _Passed]


def _plane_rows(family: str, size: int, turns: list[_Turn]) -> Iterator[dict[str, Any]]:
    passed = [turn.planes[family] for turn in turns]
    name = f"{family.removeprefix('AF_').lower()}_{size}"
    through = f"plane by {family} ({passed[0].sockets}), frames of {size} B"
    row = _row(name, through, _FRAMES, [each.rate for each in passed])
    if family == "AF_XDP" and size == min(SIZES):
        row |= {"goal": FRAMES_GOAL, "ok": row["measured"] >= FRAMES_GOAL}
    yield row
    ratios = [each.rate / turn.bridge for each, turn in zip(passed, turns, strict=True)]
    yield _row(f"ratio_{name}", f"plane by {family} to bridge, frames of {size} B", "", ratios, digits=2)
    part = 100 * statistics.median(each.part for each in passed)
    yield _row(f"passed_{name}", f"of the offered frames of {size} B the plane sent", "%", [part], digits=1)


def _error_rows(family: str, departures: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for name, key in (("p50", "p50_ns"), ("p99", "p99_ns"), ("p99.9", "p999_ns"), ("largest", "max_ns")):
        row_id = f"gate_error_{family.removeprefix('AF_').lower()}_{name}"
        values = [each[key] / 1e3 for each in departures]
        row = _row(row_id, f"departure by {family} after its gate opened, {name}", "us", values, digits=1)
        if name == "p99" and family == "AF_XDP":
            row |= {"goal": GATE_ERROR_GOAL_US, "ok": row["measured"] <= GATE_ERROR_GOAL_US}
        yield row


def _row(row_id: str, quantity: str, unit: str, values: list[float], digits: int = 0) -> dict[str, Any]:
    places = digits or None  # none: whole numbers
    middle = round(statistics.median(values), places)
    row: dict[str, Any] = {"id": row_id, "quantity": quantity, "unit": unit, "measured": middle, "ok": True}
    if len(values) > 1:
        row |= {"low": round(min(values), places), "high": round(max(values), places)}
    return row


def _round(
    machine: Machine, program: str, size: int, seconds: float, families: Sequence[str], *, prioritized: bool
) -> _Turn:
    """A bridge and planes, one after the other."""
    words = [str(size), str(seconds)]
    for _ in range(_TRIES):
        nowhere = _per_frame(between_hosts(machine, [_source(words)])["source"])
        through = _per_frame(between_hosts(machine, [_source(words)], bridge=True, prioritized=prioritized)["source"])
        if through > nowhere:
            break
    else:
        raise MachineError(
            f"the kernel's bridge seems to cost nothing, {_TRIES} times; longer runs (--seconds) tell it from chance"
        )
    planes = {family: _through_plane(machine, program, family, words, nowhere) for family in families}
    return _Turn(1 / (through - nowhere), planes)


def _through_plane(machine: Machine, program: str, family: str, words: list[str], nowhere_s: float) -> _Passed:
    gates = {"entries": [{"open": "all", "interval": "500us"}, {"open": "all", "interval": "500us"}]}
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        file = str(Path(folder) / "process")
        plane = _plane(program, family, gates)
        plane["command"] = ["/bin/sh", "-c", 'echo $$ >"$0"; exec "$@"', file, *plane["command"]]
        found = between_hosts(machine, [plane, _source([*words, file])])
    port = found["plane"]["counters"]["ports"]["right"]
    sent = port["sent"]["frames"]
    cost = found["plane"]["processor_ns"] / 1e9 / sent + _per_frame(found["source"]) - nowhere_s
    return _Passed(port["sockets"], 1 / cost, sent / found["source"]["sent"])


def _per_frame(source: dict[str, Any]) -> float:
    return float(source["processor_s"] / source["sent"])


def _gate_errors(machine: Machine, program: str, family: str, seconds: float) -> dict[str, Any]:
    """Of frames that wait for their gate, one in each cycle."""
    gates = {
        "cycle_time": _CYCLE_NS,
        "entries": [{"open": "all", "interval": _OPEN_NS}, {"open": [], "interval": _CYCLE_NS - _OPEN_NS}],
    }
    source = _source(["64", str(seconds), str(_CYCLE_NS), str(_SENT_AT_NS)])
    found: dict[str, Any] = between_hosts(machine, [_plane(program, family, gates), source])["plane"]
    departures: dict[str, Any] = found["counters"]["ports"]["right"]["departures"]
    return departures


def _source(words: list[str]) -> dict[str, Any]:
    file = Path(frame_source.__file__)
    command = ["/bin/sh", "-c", 'exec "$@"', "source", sys.executable, "-I", str(file), "eth0", *words]
    return {"name": "source", "host": "a", "command": command}


def _plane(program: str, family: str, gates: dict[str, Any]) -> dict[str, Any]:
    """With rules of which the last one leads the frames."""
    others = [{"match": {"vlan": 20 + number}, "drop": True} for number in range(_RULES - 1)]
    sockets = _SOCKETS[family]
    limits = {str(number): {"limit": 1024} for number in range(8)}
    config = {
        "ports": [
            {"interface": "left", "rate": "10Gb/s", "sockets": sockets},
            {"interface": "right", "rate": "10Gb/s", "sockets": sockets, "gates": gates, "classes": limits},
        ],
        "table": [*others, {"match": {"vlan": 10}, "to": ["right"], "queue": 7}],
    }
    return {"name": "plane", "host": "m", "command": [program, "--config", "{plan}"], "plan": config, "serves": True}


def between_hosts(
    machine: Machine,
    programs: list[dict[str, Any]],
    *,
    bridge: bool = False,
    prioritized: bool = False,
    seconds: int = 60,
) -> dict[str, Any]:
    """Two hosts and one between them, anew; the object that each program printed, if it is one.

    As `came` how many frames came to host b. A bridge that is `prioritized` has the qdisc prio where frames leave.
    """
    paths = {host: machine.ask("namespace", host=host)["path"] for host in ("a", "m", "b")}
    quiet = "for place in all default; do echo 1 >/proc/sys/net/ipv6/conf/$place/disable_ipv6; done"
    for host in paths:
        machine.run(host, ["sh", "-c", quiet])
    lines = []
    for host, name in (("a", "left"), ("b", "right")):
        lines.append(f"link add x type veth peer name y\nlink set x netns {paths[host]} name eth0")
        lines.append(f"link set y netns {paths['m']} name {name}")
    machine.run(None, ["ip", "-batch", "-"], "\n".join(lines) + "\n")
    for host in ("a", "b"):
        machine.run(host, ["ip", "link", "set", "eth0", "up"])
    between = ["link set left up", "link set right up"]
    if bridge:
        between += [
            "link add br0 type bridge",
            "link set left master br0",
            "link set right master br0",
            "link set br0 up",
        ]
    machine.run("m", ["ip", "-batch", "-"], "\n".join(between) + "\n")
    if prioritized:
        machine.run("m", ["tc", "qdisc", "add", "dev", "right", "root", "prio"])
    machine.play(programs, lead_ns=0, raster_ns=1, phase_ns=0, seconds=seconds)
    printed: dict[str, Any] = {}
    for program in programs:
        lines = (machine.results / program["name"] / "stdout").read_text().splitlines()
        if len(lines) == 1:
            printed[program["name"]] = json.loads(lines[0])
    (link,) = json.loads(machine.run("b", ["ip", "-s", "-j", "link", "show", "eth0"]))
    printed["came"] = link["stats64"]["rx"]["packets"]
    machine.ask("forget")
    return printed
