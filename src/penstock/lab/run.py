# SPDX-License-Identifier: Apache-2.0
"""Runs a scenario on real Linux: hosts, qdiscs, talkers and listeners, and the folder of results of any other run."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from penstock import report
from penstock.end.binary import build as end_station
from penstock.end.trace import write
from penstock.errors import RunError
from penstock.folder import replacing
from penstock.journeys import View
from penstock.lab import programs as making
from penstock.lab import results
from penstock.lab.emulation import Emulation
from penstock.lab.guest import Guest
from penstock.lab.kernel import Tell
from penstock.lab.layout import offloads
from penstock.lab.machine import Machine
from penstock.lab.probe import probe
from penstock.lab.programs import How, Program
from penstock.lab.scene import build, plan_of
from penstock.lab.setup import prepare
from penstock.run import Result
from penstock.scenario.network import Network
from penstock.summary import summarize

_ALWAYS = ("bridge", "clsact", "flower")
_FIRST_LEAD_NS, _LEAD_PER_PROGRAM_NS = 1_000_000_000, 500_000_000
_SLOWEST = 60  # times that an emulated second may take


@dataclass(frozen=True)
class Where:
    """What the hosts are to run on."""

    guest: bool | None = None  # None: in a guest only if this machine's kernel lacks something
    emulation: Emulation | None = None  # None: KVM where it works, else icount, which keeps the machine's load out


def run(network: Network, out: Path, where: Where, how: How, tell: Tell) -> Result:
    """Runs a network and writes its folder.

    Raises:
        InputError: A stream cannot be sent by a Linux host.
        RunError: The machine lacks something, the kernel refused, or a talker or listener failed.

    """
    network, notes = _as_linux_has_it(network)
    hosts = len(network.stations)
    lead_ns = _FIRST_LEAD_NS + hosts * _LEAD_PER_PROGRAM_NS
    todo = making.programs(network, how, lead_ns)
    binary = str(end_station())
    with replacing(out) as folder:
        with _machine(network, where, tell) as machine:
            told = _about(machine)
            tell(f"hosts on {told['kernel']}" + (f" ({told['emulation']})" if told["emulation"] else ""))
            started = time.perf_counter()
            with tempfile.TemporaryDirectory(prefix="penstock-journals-") as journals:
                plans = build(machine, network, Path(journals))
            told["qdiscs_verified"] = {plan.host: [port.interface for port in plan.ports] for plan in plans}
            tell(f"{network.duration_ps / 1e9:g} ms of traffic")
            seconds = _SLOWEST * (network.duration_ps / 1e12 + lead_ns / 1e9) + 30
            played = machine.play(
                [program.request(binary) for program in todo],
                lead_ns=lead_ns,
                raster_ns=making.raster_ns(network),
                phase_ns=making.phase_ns(network),
                seconds=seconds,
            )
            _check(played["programs"])
            taken = round(time.perf_counter() - started, 3)
            trace, metadata = results.collect(network, todo, machine.results)
            told["ends"] = _ends(todo, machine.results)
            for program in todo:
                shutil.copytree(machine.results / program.name, folder / "ends" / program.name)
        notes += _late_talkers(told["ends"], played["base_tai_ns"])
        told |= {"base_tai_ns": played["base_tai_ns"], "stamps": metadata}
        write(folder / "trace.parquet", trace, metadata | {"penstock.laboratory": json.dumps(told)})
        summary = _summary(network, trace, {"seconds": taken, "trace_rows": trace.height}, told, notes)
        (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
        (folder / "report.html").write_text(report.render(network, View(network, trace), summary), encoding="utf-8")
    return Result(summary, out)


def needed(network: Network) -> list[str]:
    """What a kernel has to have for this network; names of `probe.WHAT`."""
    found = list(_ALWAYS)
    for host in (*network.stations, *network.bridges):
        plan = plan_of(network, host)
        for port in plan.ports if plan is not None else ():
            found += [placed.qdisc.kind for placed in port.qdiscs]
            found += ["8021q"] * bool(port.vlans)
    return list(dict.fromkeys(found))


@contextmanager
def _machine(network: Network, where: Where, tell: Tell) -> Iterator[Machine]:
    """The machine's own kernel where it has all that is needed, else a guest."""
    if where.guest is not True:
        lacks = _lacking(network)
        if not lacks:
            tell("namespaces on this machine's kernel; nothing of its own network is touched")
            with Machine() as machine:
                yield machine
            return
        if where.guest is False:
            raise RunError(f"this machine's kernel lacks {', '.join(lacks)}; run it in a guest")
        tell(f"this machine's kernel lacks {', '.join(lacks)}; starting a guest")
    with Guest(prepare(tell), where.emulation, without_kvm=Emulation("icount")) as guest:
        tell(f"the guest started in {guest.seconds_to_start:.1f} s ({guest.emulation})")
        with Machine(guest) as machine:
            yield machine


def _lacking(network: Network) -> list[str]:
    try:
        with Machine() as machine:
            missing = probe(machine)
    except RunError:
        return ["network namespaces"]
    return [name for name in needed(network) if name in missing]


def _as_linux_has_it(network: Network) -> tuple[Network, list[str]]:
    """Linux has no ATS: such streams go unshaped, and no bound is said of them."""
    shaped = [name for name, stream in network.streams.items() if stream.ats is not None]
    streams = {n: replace(s, ats=None, shaped=False) for n, s in network.streams.items()}
    notes = [f"{name}: Linux has no ATS; the stream is not shaped and has no bound here" for name in shaped]
    notes += [f"{place}: what it leaves to its device the kernel does here" for place in offloads(network)]
    return replace(network, streams=streams), notes


def _about(machine: Machine) -> dict[str, Any]:
    about = machine.about
    return {
        "kernel": about.release,
        "kernel_version": about.version,
        "preempt_rt": about.is_real_time,
        "guest": bool(about.emulation),
        "emulation": about.emulation,
        "clock": "one CLOCK_TAI of all hosts",
    }


def _check(programs: Sequence[dict[str, Any]]) -> None:
    """An exit status of 1 says that something was late or lost, which the trace shows."""
    failed = [p for p in programs if p["status"] not in (0, 1)]
    if failed:
        said = "; ".join(f"{p['name']} ({_ending(p['status'])}): {p['stderr'].strip()}" for p in failed)
        raise RunError(f"talkers or listeners failed: {said}")


def _ending(status: int | None) -> str:
    return "its time was up" if status is None else f"exit status {status}"


def _ends(todo: Sequence[Program], folder: Path) -> dict[str, Any]:
    """The summary of each program, as it wrote it."""
    return {program.name: json.loads((folder / program.name / f"{program.role}.json").read_text()) for program in todo}


def _late_talkers(ends: dict[str, Any], base_tai_ns: int) -> list[str]:
    late = [name for name, end in ends.items() if end.get("base_time_tai_ns", base_tai_ns) != base_tai_ns]
    notes = [f"{name} began after the common base time" for name in late]
    for end in ends.values():
        for name, stream in end["streams"].items():
            if stream.get("handed_late"):
                notes.append(f"{name}: the talker handed {stream['handed_late']} of {stream['sent']} frames over late")
    return notes


def _summary(
    network: Network, trace: pl.DataFrame, simulation: dict[str, Any], told: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    summary = summarize(View(network, trace), simulation)
    if told["guest"]:
        notes = [
            *notes,
            f"{told['emulation']}: absolute times are those of an emulated processor, not of hardware; "
            "compare orders and bounds",
        ]
    notes.append("cables of this laboratory have neither rate nor delay")
    return summary | {"nodes": "linux", "laboratory": told, "warnings": [*summary["warnings"], *notes]}
