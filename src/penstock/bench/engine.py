# SPDX-License-Identifier: Apache-2.0
"""Measures frame-hops per second of processor time: frames that left an egress port of a bridge or a station.

Each run has a process of its own, so that its memory can be told. What slows a run down is what others do with the same
caches and memory, so all that is compared runs in turns (A B B A ...), and of each turn's ratio the median is told. A
network on several cores is held against itself on one by the time on the wall.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from penstock.bench.build import Build, FailedRunError, this
from penstock.bench.networks import NETWORKS
from penstock.percentile import percentile

Row = dict[str, Any]

MEMORY_GOAL_MIB = 1024
# Two runs of one build in turns differ by so much.
NO_SLOWER = 0.97
PS_PER_MS = 10**9
CORES = 2
# A trace to the end would fill the disk and say no more.
TRACED_PART = 5


class Spread(NamedTuple):
    """The median of several values, and the quartiles around it."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of one value or more."""
        return cls(*(percentile(values, part) for part in (0.25, 0.5, 0.75)))


class Job(NamedTuple):
    """What is run: a network, with the full trace or without, for its whole time or the part that is traced."""

    network: str
    traced: bool = False
    in_part: bool = False
    cores: int = 1


@dataclass(frozen=True)
class Result:
    """Runs of a network, and what they are held against."""

    job: Job
    runs: list[Row]
    reference: Spread | None  # times the speed of the reference
    against: Spread | None  # times the speed of the other build
    against_instructions: float | None  # of a hop, times those of the other build
    refusal: str | None  # why the other build does not run it

    @property
    def identity(self) -> str:
        """For programs."""
        return f"{self.job.network}.{'trace' if self.job.traced else 'cores' if self.job.cores > 1 else 'statistics'}"

    @property
    def what(self) -> str:
        """For people."""
        said = ", full trace to Parquet" if self.job.traced else ""
        return self.job.network + (f", {self.job.cores} cores" if self.job.cores > 1 else said)

    @property
    def purpose(self) -> str:
        """What the network is."""
        return (NETWORKS[self.job.network].make.__doc__ or "").split("\n")[0].rstrip(".")

    @property
    def reference_name(self) -> str | None:
        """What it is held against in the same run."""
        if self.job.cores > 1:
            return "itself on one core"
        return "itself without a trace" if self.job.traced else NETWORKS[self.job.network].reference

    @property
    def goal(self) -> float | None:
        """The least speed, that of the reference being 1."""
        network = NETWORKS[self.job.network]
        if self.job.cores > 1:
            return network.cores_goal
        return network.trace_goal if self.job.traced else network.goal

    @property
    def against_goal(self) -> float | None:
        """The least speed, that of the other build being 1: of networks of strict priority and ATS."""
        return NO_SLOWER if NETWORKS[self.job.network].goal is None and not self.job.traced else None

    @property
    def counted(self) -> str:
        """What a speed counts."""
        run = self.runs[0]
        hops, sends = run["hops"], run["sends"]
        said = f"{hops:,} hops: {hops - sends:,} at bridges, {sends:,} sends of talkers"
        said += f"; percentiles of {run['sketched']:,} of {run['streams']:,} streams sketched, the others exact"
        said += f"; {run['dropped']:,} dropped" if run["dropped"] else ""
        return said + ("; ended early" if run["interrupted"] else "")

    @property
    def speed(self) -> Spread:
        """Hops a second: of processor time, or on several cores on the wall."""
        return Spread.of([(_wall_speed if self.job.cores > 1 else _speed)(run) for run in self.runs])

    @property
    def instructions(self) -> float | None:
        """Of a hop; None where the machine does not count them."""
        return _instructions(self.runs) if self.job.cores == 1 else None  # those of waiting say nothing

    @property
    def memory_mib(self) -> int:
        """Of the whole process."""
        return max(int(run["memory_mib"]) for run in self.runs)

    def rows(self) -> Iterator[Row]:
        """What is told of it, a quantity a row."""
        speed = self.speed
        quantity = f"{self.what}: {self.purpose}; {self.counted}"
        spread = {"low": round(speed.low), "high": round(speed.high)}
        yield self._row("speed", quantity, "frame-hops/s", round(speed.median), ok=True) | spread
        if self.instructions is not None:
            yield self._row("instructions", "instructions of a hop", "", round(self.instructions), ok=True)
        memory = self.memory_mib
        row = self._row("memory", "memory of the whole process", "MiB", memory, ok=memory <= MEMORY_GOAL_MIB)
        yield row | {"goal": MEMORY_GOAL_MIB}
        if self.reference is not None:
            yield self._ratio("ratio", f"times as fast as {self.reference_name}", self.reference, self.goal)
        if self.against is not None:
            yield self._ratio("against", "times as fast as the other build", self.against, self.against_goal)
        if self.against_instructions is not None:
            quantity = "instructions of a hop, times those of the other build"
            yield self._row("against_instructions", quantity, "", round(self.against_instructions, 3), ok=True)
        if self.refusal is not None:
            yield self._row("against", f"the other build does not run it: {self.refusal}", "", None, ok=True)

    def _ratio(self, kind: str, quantity: str, found: Spread, goal: float | None) -> Row:
        measured = round(found.median, 3)
        row = self._row(kind, quantity, "", measured, ok=goal is None or measured >= goal)
        row |= {"low": round(found.low, 3), "high": round(found.high, 3)}
        return row if goal is None else row | {"goal": goal}

    def _row(self, kind: str, quantity: str, unit: str, measured: float | None, *, ok: bool) -> Row:
        if kind != "speed":
            quantity = f"{self.what}: {quantity}"
        return {"id": f"{self.identity}.{kind}", "quantity": quantity, "unit": unit, "measured": measured, "ok": ok}


def bench(names: list[str] | None, duration_ms: int, rounds: int, other: Build | None = None) -> Iterator[Result]:
    """All networks or these, with those that they are held against."""
    wanted = set(names or NETWORKS)
    wanted |= {reference for name in wanted if (reference := NETWORKS[name].reference)}
    groups: dict[str, list[str]] = {}
    for name in filter(wanted.__contains__, NETWORKS):
        groups.setdefault(NETWORKS[name].reference or name, []).append(name)
    for group in groups.values():
        with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
            yield from _Turns(group, duration_ms, Path(folder), other).take(rounds)


@dataclass
class _Turns:
    """Networks that are held against each other, and perhaps against what another build makes of them."""

    networks: list[str]
    duration_ms: int
    folder: Path
    other: Build | None
    _runs: dict[tuple[Job, bool], list[Row]] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)

    def take(self, rounds: int) -> Iterator[Result]:
        """Runs everything so many times, each time in the reverse order of the time before."""
        own = this()
        jobs = []
        for network in self.networks:
            jobs.append(Job(network))
            if NETWORKS[network].trace_goal is not None:
                jobs += [Job(network, in_part=True), Job(network, traced=True, in_part=True)]
        for job in jobs:
            self._describe(own, job, is_other=False)
            if self.other is not None:
                self._describe(self.other, job, is_other=True)
        turns = [(job, is_other) for job in jobs for is_other in ((False, True) if self.other else (False,))]
        several = [
            Job(name, cores=CORES) for name in self.networks if NETWORKS[name].cores_goal and usable_cores() >= CORES
        ]
        turns += [(job, False) for job in several]
        for _ in range(rounds):
            for job, is_other in turns:
                self._run(job, self.other if self.other and is_other else own, is_other=is_other)
            turns.reverse()
        for job in jobs + several:
            if job.traced or not job.in_part:
                yield self._result(job)

    def _file(self, job: Job, *, is_other: bool) -> Path:
        return self.folder / f"{job.network}.{'part' if job.in_part else 'whole'}.{'other' if is_other else 'own'}.json"

    def _describe(self, build: Build, job: Job, *, is_other: bool) -> None:
        network, description = NETWORKS[job.network], self._file(job, is_other=is_other)
        if description.exists() or (is_other and job.network in self._refused):
            return
        if is_other and build.python == this().python:
            description.write_bytes(self._file(job, is_other=False).read_bytes())
            return
        scenario = self.folder / f"{job.network}.json"
        scenario.write_text(json.dumps(network.make()))
        duration_ps = self.duration_ms * network.pace * PS_PER_MS // (TRACED_PART if job.in_part else 1)
        try:
            build.describe(scenario, duration_ps, description)
        except FailedRunError as error:
            if not is_other:
                raise
            self._refused[job.network] = str(error)

    def _run(self, job: Job, build: Build, *, is_other: bool) -> None:
        if is_other and job.network in self._refused:
            return
        try:
            run = build.run(self._file(job, is_other=is_other), job.traced, job.cores)
            self._runs.setdefault((job, is_other), []).append(run)
        except FailedRunError as error:
            if not is_other:
                raise
            self._refused[job.network] = str(error)

    def _result(self, job: Job) -> Result:
        runs, others = self._runs[job, False], self._runs.get((job, True), [])
        reference = None
        if job.cores > 1:
            reference = self._ratios(runs, self._runs[job._replace(cores=1), False], _wall_speed)
        elif job.traced:
            reference = self._ratios(runs, self._runs[job._replace(traced=False), False])
        elif (name := NETWORKS[job.network].reference) is not None:
            reference = self._ratios(runs, self._runs[Job(name), False])
        refusal = self._refused.get(job.network)
        against = self._ratios(runs, others) if others and refusal is None else None
        ours, theirs = _instructions(runs), _instructions(others)
        return Result(job, runs, reference, against, ours / theirs if ours and theirs else None, refusal)

    @staticmethod
    def _ratios(runs: list[Row], others: list[Row], speed: Callable[[Row], float] | None = None) -> Spread:
        speed = speed or _speed
        return Spread.of([speed(run) / speed(other) for run, other in zip(runs, others, strict=True)])


def description(name: str, file: Path, duration_ms: int) -> None:
    """Writes a network as the engine takes it, without a trace."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.json"
        scenario.write_text(json.dumps(NETWORKS[name].make()))
        this().describe(scenario, duration_ms * NETWORKS[name].pace * PS_PER_MS, file)


def _speed(run: Row) -> float:
    return float(run["hops"] / run["seconds"])


def _wall_speed(run: Row) -> float:
    return float(run["hops"] / run["wall_seconds"])


def usable_cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _instructions(runs: list[Row]) -> float | None:
    counted = [run["instructions"] / run["hops"] for run in runs if run["instructions"] is not None]
    return min(counted) if counted else None
