# SPDX-License-Identifier: Apache-2.0
"""Runs a scenario on real Linux: hosts, qdiscs, talkers and listeners, and the folder of results of any other run."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from penstock.kept import keep
from penstock.lab import background, planes, results
from penstock.lab import programs as making
from penstock.lab.emulation import Emulation
from penstock.lab.guest import Guest
from penstock.lab.kernel import Tell
from penstock.lab.layout import offloads
from penstock.lab.machine import Machine
from penstock.lab.probe import probe
from penstock.lab.programs import How, Program
from penstock.lab.scene import build, plan_of
from penstock.lab.setup import GUEST_PROGRAMS, OWN_PROGRAMS, prepare
from penstock.run import Result
from penstock.scenario.network import Network
from penstock.summary import summarize
from penstock.system_packages import require

_OF_BRIDGES = ("bridge", "clsact", "flower")
_FIRST_LEAD_NS, _LEAD_PER_PROGRAM_NS = 1_000_000_000, 500_000_000
_NO_ATS = "Linux has no ATS; the stream is not shaped and has no bound here"
_ATS_IN_PART = "Linux has no ATS; the stream is shaped by data planes alone and has no bound here"
_SLOWEST = 60  # times that an emulated second may take


@dataclass(frozen=True)
class Where:
    """What the hosts are to run on."""

    guest: bool | None = None  # None: in a guest only if this machine's kernel lacks something
    emulation: Emulation | None = None  # None: KVM where it works, else icount, which keeps the machine's load out


@dataclass(frozen=True)
class Played:
    """What a network's talkers and listeners left."""

    network: Network  # as Linux has it
    trace: pl.DataFrame
    metadata: Mapping[str, str]
    summary: dict[str, Any]
    programs: Mapping[str, dict[str, Any]]  # status, stdout and stderr of those of others, by name


def run(network: Network, out: Path, where: Where, how: How, tell: Tell) -> Result:
    """Runs a network and writes its folder.

    Raises:
        InputError: A stream cannot be sent by a Linux host.
        RunError: The machine lacks something, the kernel refused, or a talker or listener failed.

    """
    check_talkers(network, how)
    with replacing(out) as folder:
        with hosts([network], where, tell) as machine:
            played = play(machine, network, how, folder / "ends", tell=tell)
        _write(network, played, folder)
    return Result(played.summary, out)


def run_on(machine: Machine, network: Network, out: Path, how: How, tell: Tell) -> Result:
    """The same on a machine that is there and has what the network needs."""
    with replacing(out) as folder:
        played = play(machine, network, how, folder / "ends", tell=tell)
        _write(network, played, folder)
    return Result(played.summary, out)


def check_talkers(network: Network, how: How) -> None:
    """Raises InputError where a stream cannot be sent by a Linux host."""
    making.programs(background.parted(network).network, how, 0)


def _write(network: Network, played: Played, folder: Path) -> None:
    told = json.dumps(played.summary["laboratory"])
    write(folder / "trace.parquet", played.trace, {**played.metadata, "penstock.laboratory": told})
    keep(network, folder)
    (folder / "summary.json").write_text(json.dumps(played.summary, indent=2) + "\n")
    page = report.render(played.network, View(played.network, played.trace), played.summary)
    (folder / "report.html").write_text(page, encoding="utf-8")


def play(
    machine: Machine,
    network: Network,
    how: How,
    ends: Path,
    *,
    beside: Sequence[dict[str, Any]] = (),
    made: Callable[[], None] = lambda: None,
    tell: Tell = lambda _what: None,
) -> Played:
    """Makes a network's hosts on a machine and lets them talk; `ends` gets what each program wrote.

    `beside` are further programs, as `Executor.do_play` takes them; `made` is called when all hosts are there.

    Raises:
        InputError: A stream cannot be sent by a Linux host.
        RunError: The kernel refused, or a talker, a listener or a program of others failed.

    """
    about = machine.about
    tell(f"hosts on {about.release}" + (f" ({about.emulation})" if about.emulation else ""))
    tell(f"{network.duration_ps / 1e9:g} ms of traffic")
    given = network
    whole, notes = _as_linux_has_it(network)
    parts = background.parted(whole)
    network, iperf = parts.network, parts.streams
    notes += [f"{s.name}: frames of iperf3 are not timed: its deadline is not checked" for s in iperf if s.deadline_ps]
    own_planes = planes.requests(given, network, how)
    lead_ns = lead_of(network, len(own_planes) + len(beside))
    todo = making.programs(network, how, lead_ns)
    binary = str(end_station())
    if iperf:
        machine.ask("run", host=None, command=background.READ_FIRST)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="penstock-journals-") as journals:
        plans = build(machine, whole, Path(journals))
    for host, commands in background.commands(whole, iperf).items():
        machine.run(host, ["ip", "-batch", "-"], commands)
    made()
    played = machine.play(
        [
            *own_planes,
            *(program.request(binary) for program in todo),
            *background.programs(whole, iperf, lead_ns),
            *beside,
        ],
        lead_ns=lead_ns,
        raster_ns=making.raster_ns(network),
        phase_ns=making.phase_ns(network),
        seconds=_SLOWEST * (network.duration_ps / 1e12 + lead_ns / 1e9) + 30,
    )
    own = {program.name for program in todo} | {program["name"] for program in own_planes}
    _check([program for program in played["programs"] if program["name"] in own])
    taken = round(time.perf_counter() - started, 3)
    others = {p["name"]: p | {"stdout": _printed(machine, p)} for p in played["programs"] if p["name"] not in own}
    trace, metadata = results.collect(network, todo, machine.results, planes.rows(network, machine.results))
    spoken = {s.name: background.told(s, others[background.name_of(s)]) for s in iperf}
    for name, found in spoken.items():
        tell(background.in_words(name, found))
    told = _about(machine) | {
        "qdiscs_verified": {plan.host: [port.interface for port in plan.ports] for plan in plans},
        "ends": _ends(todo, machine.results),
        "programs": spoken,
        "base_tai_ns": played["base_tai_ns"],
        "planes": (counted := planes.counted(network, machine.results)),
        "stamps": metadata,
    }
    shutil.copytree(machine.results, ends)
    machine.ask("forget")
    notes += planes.notes(network, counted)
    notes += _late_talkers(told["ends"], played["base_tai_ns"])
    summary = _summary(network, trace, {"seconds": taken, "trace_rows": trace.height}, told, notes)
    return Played(network, trace, metadata, summary, others)


def _printed(machine: Machine, program: Mapping[str, Any]) -> str:
    printed: Path = machine.results / program["name"] / "stdout"
    return printed.read_text(errors="replace")


def lead_of(network: Network, others: int = 0) -> int:
    """How long after the programs are started the traffic begins, in ns; `others` are those beside stations'."""
    return _FIRST_LEAD_NS + (len(network.stations) + others) * _LEAD_PER_PROGRAM_NS


def needed(network: Network) -> list[str]:
    """What a kernel has to have for this network; names of `probe.WHAT`."""
    found = list(_OF_BRIDGES) if any(bridge.nodes != "plane" for bridge in network.bridges.values()) else []
    for host in (*network.stations, *network.bridges):
        plan = plan_of(network, host)
        for port in plan.ports if plan is not None else ():
            found += [placed.qdisc.kind for placed in port.qdiscs]
            found += ["8021q"] * bool(port.vlans)
    return list(dict.fromkeys(found))


@contextmanager
def hosts(networks: Sequence[Network], where: Where, tell: Tell) -> Iterator[Machine]:
    """The machine's own kernel where it has all that the networks need, else a guest. Errors as of `machine_with`."""
    beside = {program: package for each in networks for program, package in background.needed_programs(each).items()}
    wanted = dict.fromkeys(name for network in networks for name in needed(network))
    with machine_with(list(wanted), beside, where, tell) as machine:
        yield machine


@contextmanager
def machine_with(wanted: Sequence[str], beside: Mapping[str, str], where: Where, tell: Tell) -> Iterator[Machine]:
    """The machine's own kernel where it has what is wanted of `probe.WHAT`, else a guest; programs by their packages.

    Raises:
        MissingError: Programs are missing and are not to be installed.
        RunError: The kernel lacks something, or the guest did not start.

    """
    if where.guest is not True:
        lacks = _lacking(wanted)
        if not lacks:
            require({**OWN_PROGRAMS, **beside}, tell)
            tell("namespaces on this machine's kernel; nothing of its own network is touched")
            with Machine() as machine:
                yield machine
            return
        if where.guest is False:
            raise RunError(f"this machine's kernel lacks {', '.join(lacks)}; run it in a guest")
        tell(f"this machine's kernel lacks {', '.join(lacks)}; starting a guest")
    require({**GUEST_PROGRAMS, **beside}, tell)
    with Guest(prepare(tell), where.emulation, without_kvm=Emulation("icount")) as guest:
        tell(f"the guest started in {guest.seconds_to_start:.1f} s ({guest.emulation})")
        with Machine(guest) as machine:
            yield machine


def _lacking(wanted: Sequence[str]) -> list[str]:
    try:
        with Machine() as machine:
            missing = probe(machine)
    except RunError:
        return ["network namespaces"]
    return [name for name in wanted if name in missing]


def _as_linux_has_it(network: Network) -> tuple[Network, list[str]]:
    """Linux has no ATS: such streams go unshaped there, and no bound is said of them; planes shape them."""
    streams = {n: replace(s, ats=None, shaped=False) for n, s in network.streams.items()}
    notes = [
        f"{name}: {_of_shaped({network.bridges[hop.bridge].nodes for hop in stream.tree})}"
        for name, stream in network.streams.items()
        if stream.ats is not None
    ]
    notes += [f"{place}: what it leaves to its device the kernel does here" for place in offloads(network)]
    return replace(network, streams=streams), notes


def _of_shaped(kinds: set[str]) -> str:
    """What is said of a stream that ATS shapes, by what the bridges on its way are."""
    if kinds == {"plane"}:
        return "frames and time are real: no bound is said of it"
    return _NO_ATS if "plane" not in kinds else _ATS_IN_PART


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
    summary = summarize(View(network, trace), simulation, bounded=False)
    if told["guest"]:
        notes = [
            *notes,
            f"{told['emulation']}: absolute times are those of an emulated processor, not of hardware; "
            "compare orders and bounds",
        ]
    notes.append("cables of this laboratory have neither rate nor delay")
    return summary | {"nodes": network.nodes, "laboratory": told, "warnings": [*summary["warnings"], *notes]}
