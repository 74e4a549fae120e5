# SPDX-License-Identifier: Apache-2.0
"""The testbed of real packets: hosts in namespaces, switches that are data planes, or Linux's own with taprio."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from penstock.end.trace import ORIGIN
from penstock.errors import RunError
from penstock.ethernet import FCS_BYTES
from penstock.journeys import View
from penstock.lab import planes
from penstock.lab import run as lab
from penstock.lab.machine import Machine
from penstock.lab.programs import How
from penstock.lab.scene import plan_of
from penstock.linux.commands import commands
from penstock.reproduce import work
from penstock.reproduce.experiment import Case
from penstock.reproduce.smartnic_tas.flows import FLOWS, INTERVAL_MS, SLOW
from penstock.reproduce.smartnic_tas.place import PRIORITIES, SWITCHES
from penstock.scenario import load
from penstock.scenario.network import Network

_LIMIT = 64  # frames
_MS_NS = 10**6
_STEPS = ("received", "sent")


@dataclass(frozen=True)
class Played:
    """What a run left."""

    network: Network
    summary: Mapping[str, Any]
    frames: pl.DataFrame  # see `_frames`
    answers: Sequence[Mapping[str, Any]]  # of the slow port's plane, in order


def document(case: Case, duration_ms: int) -> dict[str, Any]:
    """A case as real hosts are to have it."""
    nodes = "linux" if case.at["scheduler"] == "taprio" else "plane"
    said: dict[str, Any] = copy.deepcopy(work.task(case, nodes).scenario)
    said["duration"] = f"{duration_ms}ms"
    for bridge in said["bridges"].values():
        bridge["processing_delay"] = "0ns"  # the machine takes what it takes
    for number, stream in enumerate(said["streams"].values()):
        stream["source"].pop("software", None)  # the hosts have their own
        stream["destination"] = f"02:00:00:00:10:{number:02x}"  # by which its frames are told apart
    return said


def play(machine: Machine, case: Case, duration_ms: int, asks: Sequence[tuple[int, Mapping[str, Any]]] = ()) -> Played:
    """Runs a case; `asks` are for both planes, in ns after the begin of the traffic."""
    network = load(document(case, duration_ms))
    asking = network.nodes == "plane"
    beside = [planes.asker(name, _asks(network, asks)) for name in SWITCHES] if asking else []

    def made() -> None:
        if not asking:
            _slow_down(machine, network)

    with tempfile.TemporaryDirectory(prefix="penstock-testbed-") as folder:
        played = lab.play(machine, network, How(), Path(folder) / "ends", beside=beside, made=made)
    answers: list[Mapping[str, Any]] = []
    for name in SWITCHES if asking else ():
        program = played.programs[f"ask-{name}"]
        if program["status"] != 0:
            raise RunError(f"{name} was not asked: {program['stderr'].strip()}")
        answers = [json.loads(line) for line in program["stdout"].splitlines()]
    frames = _frames(network, View(network, played.trace), played.summary)
    for flow, called in FLOWS.items():
        if not frames["stream"].str.starts_with(flow).any():
            raise RunError(f"{case.at['scheduler']}: no frame of {called} arrived")
    return Played(network, played.summary, frames, answers)


def _asks(network: Network, others: Sequence[tuple[int, Mapping[str, Any]]]) -> list[tuple[int, Mapping[str, Any]]]:
    """What queues held, each 100 ms, and others."""
    count = network.duration_ps // 1000 // (INTERVAL_MS * _MS_NS)
    readings = [(number * INTERVAL_MS * _MS_NS, {"do": "occupancy"}) for number in range(count + 1)]
    return sorted([*readings, *others], key=lambda each: each[0])


def _slow_down(machine: Machine, network: Network) -> None:
    """A veth has no rate: a token bucket of one frame behind each gate is the link's."""
    node, port = SLOW
    rate_bps = network.link_at[node, port].rate_bps
    frame = max(stream.max_frame_bytes for stream in network.streams.values()) - FCS_BYTES
    for priority in PRIORITIES.values():
        bucket = f"tbf rate {rate_bps}bit burst {frame + 100} limit {_LIMIT * (frame + 4)}"
        words = f"qdisc replace dev port{port} parent {_parent(machine, node, port, priority)} {bucket}"
        machine.run(node, ["tc", *words.split()])
    # What is put below taprio stops its gates until they are set anew.
    plan = plan_of(network, node)
    assert plan is not None
    (own,) = (each for each in plan.ports if each.interface == f"port{port}")
    machine.run(node, next(list(words) for words in commands(own) if words[0] == "tc"))


def _parent(machine: Machine, node: str, port: int, priority: int) -> str:
    """The handle of the queue that frames of a priority are in."""
    shown = json.loads(machine.run(node, ["tc", "-j", "qdisc", "show", "dev", f"port{port}"]))
    (root,) = (each for each in shown if each["kind"] == "taprio")
    queue = root["options"]["queues"][root["options"]["map"][priority]]["offset"]
    return f"{root['handle']}{queue + 1:x}"


def _frames(network: Network, view: View, summary: Mapping[str, Any]) -> pl.DataFrame:
    """Each frame that arrived, as it was sent: `stream`, times in ps, and whether a plane was late.

    Columns: `stream`, `number`, `due`, `created`, `received_NODE`, `sent_NODE`, `late_NODE`, `delivered`. `due` is when
    the scenario has it sent, `in_cycle` how long after the begin of the gates' cycle. Linux's own switch tells nothing.
    """
    text = pl.col("stream", "node").cast(pl.String)
    found = view.journeys.filter(pl.col("delivered").is_not_null()).select(
        "frame_id", pl.col("stream").cast(pl.String), "created", "delivered"
    )
    hops = view.hops.with_columns(text)
    late = view.rows.filter((pl.col("event") == "sent") & (pl.col("reason") == planes.LATE)).select(
        "frame_id", pl.col("node").cast(pl.String), late=pl.lit(True)
    )
    hops = hops.join(late, on=["frame_id", "node"], how="left").with_columns(pl.col("late").fill_null(False))
    for node in SWITCHES:
        own = hops.filter(pl.col("node") == node).select(
            "frame_id", *(pl.col(step).alias(f"{step}_{node}") for step in (*_STEPS, "late"))
        )
        found = found.join(own, on="frame_id", how="left")
    told = summary["laboratory"]
    base_ps = (told["base_tai_ns"] - int(told["stamps"][ORIGIN])) * 1000
    known = {s.name: (s.source.start, s.source.every or 0) for s in network.streams.values()}
    start, period = (
        pl.col("stream").replace_strict({name: each[place] for name, each in known.items()}, return_dtype=pl.Int64)
        for place in (0, 1)
    )
    number = (pl.col("frame_id") % 2**32).cast(pl.Int64)
    since = start + number * period
    cycle_ps = max((gates.cycle_time_ns for gates in network.bridges[SLOW[0]].gates.values()), default=0) * 1000
    in_cycle = since % cycle_ps if cycle_ps else pl.lit(0)
    return found.with_columns(number=number, due=base_ps + since, in_cycle=in_cycle).sort("due", "stream")
