# SPDX-License-Identifier: Apache-2.0
"""A paper's experiments on real Linux: the same cases, fewer frames, their rows in a column of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from penstock.errors import RunError
from penstock.journeys import View
from penstock.lab import background
from penstock.lab import run as lab
from penstock.lab.machine import About
from penstock.reproduce.experiment import Case, Experiment, Found, InLaboratory, OwnLaboratory, Paper
from penstock.reproduce.outcome import Instants, Outcome, outcome_of

Done = Callable[[int, int], None]
Tell = Callable[[str], None]

KVM = "KVM"
AHEAD = "ahead_ns"  # in an outcome's summary of the laboratory; see `_ahead_ns`
_HANDED = {"stream": pl.String, "due_tai_ns": pl.Int64, "handed_tai_ns": pl.Int64}


@dataclass
class Laboratory:
    """What came out of it."""

    about: About
    note: str = ""
    found: dict[str, Found] = field(default_factory=dict)  # by experiment
    runs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def emulated(self) -> bool:
        """Whether times are those of an emulated processor."""
        return is_emulated(self.about)

    @property
    def text(self) -> str:
        """The kernel and what it ran on, and what that means for times."""
        kind = "PREEMPT_RT" if self.about.is_real_time else "no PREEMPT_RT"
        on = f"a virtual machine, {self.about.emulation}" if self.about.emulation else "this machine"
        what = (
            "absolute times are an emulated processor's, not the paper's" if self.emulated else "times are this host's"
        )
        found = f"Linux {self.about.release} ({kind}) on {on}; {what}: compare orders and claims"
        return f"{found}; {self.note}" if self.note else found

    def as_json(self) -> dict[str, Any]:
        """For `summary.json`."""
        about = self.about
        told = {"kernel": about.release, "kernel_version": about.version, "preempt_rt": about.is_real_time}
        return told | {"emulation": about.emulation, "emulated": self.emulated, "note": self.note}


def is_emulated(about: About) -> bool:
    """Whether the processor is made by software."""
    return about.emulation not in ("", KVM)


def run(
    paper: Paper, experiments: Sequence[Experiment], where: lab.Where, tell: Tell, done: Done | None = None
) -> Laboratory:
    """Runs each case once, all on one machine.

    Raises:
        InputError: A scenario is wrong.
        RunError: The machine lacks something, or a run could not be done.

    """
    if isinstance(paper.laboratory, OwnLaboratory):
        return _own(paper.laboratory, experiments, where, tell)
    asked = [each for each in experiments if each.laboratory is not None]
    if paper.laboratory is None or not asked:
        raise RunError(f"nothing of {paper.name} runs in the laboratory")
    cases = list({case.key: case for each in asked for case in each.cases}.values())
    networks = [paper.laboratory.network(case, True) for case in cases]
    for network in networks:
        background.parted(network)  # before anything starts
    with lab.hosts(networks, where, tell) as machine:
        found = Laboratory(machine.about, paper.laboratory.note(is_emulated(machine.about)))
        outcomes = {}
        for number, case in enumerate(cases):
            if done is not None:
                done(number, len(cases))
            outcomes[case.key] = _outcome(paper.laboratory, case, found, machine)
    for each in asked:
        assert each.laboratory is not None
        found.found[each.id] = each.laboratory([(case, outcomes[case.key]) for case in each.cases])
    return found


def _own(paper: OwnLaboratory, experiments: Sequence[Experiment], where: lab.Where, tell: Tell) -> Laboratory:
    with lab.machine_with(paper.needs(), {}, where, tell) as machine:
        seen = paper.found(machine, tell)
        note = paper.note(is_emulated(machine.about))
        return Laboratory(
            machine.about, note, found={each.id: seen[each.id] for each in experiments if each.id in seen}
        )


def _outcome(paper: InLaboratory, case: Case, found: Laboratory, machine: Any) -> Outcome:
    network = paper.network(case, found.emulated)
    with tempfile.TemporaryDirectory(prefix="penstock-laboratory-") as folder:
        ends = Path(folder) / "ends"
        played = lab.play(machine, network, paper.how(case, found.emulated), ends)
        ahead_ns = _ahead_ns(ends)
    told = {key: value for key, value in played.summary["laboratory"].items() if key != "ends"}
    told["emulated"] = found.emulated
    summary = played.summary | {"laboratory": told, "beside": dict(played.programs)}
    found.runs.append({"scenario": network.name, "nodes": "linux", "values": dict(case.at), "summary": summary})
    seen = summary | {"laboratory": told | {AHEAD: ahead_ns}}
    return outcome_of(played.network, seen, View(played.network, played.trace))


def _ahead_ns(ends: Path) -> dict[str, Instants]:
    """By stream, how long before it was due the kernel had each frame."""
    found: dict[str, Instants] = {}
    for file in sorted(ends.glob("talk*/talk.csv")):
        rows = pl.read_csv(file, columns=["stream", "due_tai_ns", "handed_tai_ns"], schema_overrides=_HANDED)
        for (name,), frames in rows.filter(pl.col("handed_tai_ns") > 0).group_by("stream"):
            found[str(name)] = (frames["due_tai_ns"] - frames["handed_tai_ns"]).to_numpy()
    return found
