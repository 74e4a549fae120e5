# SPDX-License-Identifier: Apache-2.0
"""Does the runs of experiments, each once however many experiments read it, over the machine's cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock import sweep as sweeps
from penstock.errors import RunError
from penstock.reproduce.experiment import Case, Experiment
from penstock.reproduce.outcome import Outcome, watch
from penstock.scenario.network import Network
from penstock.sweep import Task

Done = Callable[[int, int], None]


@dataclass(frozen=True)
class Run:
    """A case on one kind of nodes."""

    case: Case
    nodes: str

    @property
    def key(self) -> tuple[str, str]:
        """The same for two that are the same run."""
        return self.case.key, self.nodes


@dataclass(frozen=True)
class Watched(Task):
    """A run, and what is read of it."""

    watch: Callable[[Network], Outcome] = watch


def plan(experiments: Sequence[Experiment], nodes: Sequence[str]) -> dict[tuple[str, str], Watched]:
    """All runs, checked before any starts. Raises InputError if a scenario is wrong."""
    tasks: dict[tuple[str, str], Watched] = {}
    for kind in nodes:
        for experiment in experiments:
            for case in experiment.cases:
                key = Run(case, kind).key
                if key not in tasks:
                    tasks[key] = replace(task(case, kind), number=len(tasks))
    return tasks


def task(case: Case, nodes: str) -> Watched:
    """The run of a case on one kind of nodes. Raises InputError if the scenario is wrong."""
    settings = [sweeps.setting(key, (value,)) for key, value in {**case.values, "nodes": nodes}.items()]
    (found,) = sweeps.plan(case.scenario, settings)
    return Watched(found.number, found.values, found.seed, found.scenario, case.watch)


def do(tasks: dict[tuple[str, str], Watched], workers: int | None, done: Done) -> dict[tuple[str, str], Outcome]:
    """What each run gave. Raises RunError if one cannot be done, KeyboardInterrupt when interrupted."""
    result = sweeps.run(list(tasks.values()), workers=workers, done=done, work=work)
    if result.error is not None:
        raise RunError(result.error)
    if result.interrupted:
        raise KeyboardInterrupt
    by_number = {row["run"]: row["outcome"] for row in result.rows}
    return {key: by_number[task.number] for key, task in tasks.items()}


def work(task: Task) -> list[dict[str, Any]]:
    """One run, as a process of a sweep does it."""
    assert isinstance(task, Watched)
    return [{"run": task.number, "outcome": task.watch(task.network())}]
