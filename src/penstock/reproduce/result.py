# SPDX-License-Identifier: Apache-2.0
"""Runs a paper's experiments on one kind of nodes or on both, and holds everything side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import RunError
from penstock.reproduce import work
from penstock.reproduce.experiment import Experiment, Options, Paper, Picture
from penstock.reproduce.outcome import Outcome
from penstock.reproduce.row import Row

BOTH = ("model", "rtl")


@dataclass(frozen=True)
class Compared:
    """A row with what each kind of nodes gave."""

    row: Row
    by_nodes: dict[str, float | None]

    @property
    def agree(self) -> bool:
        """Whether all nodes gave the same."""
        return len(set(self.by_nodes.values())) == 1

    @property
    def ok(self) -> bool:
        """Whether the requirement is met on all nodes, and they agree."""
        return self.row.ok and self.agree

    def as_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        row = self.row
        told = {
            "id": row.id,
            "quantity": row.quantity,
            "unit": row.unit,
            "paper": row.paper,
            "theory": row.theory,
            "bound": row.bound,
            "measured": row.measured,
            "requirement": row.requirement,
            "ok": self.ok,
        }
        return told | (dict(self.by_nodes) if len(self.by_nodes) > 1 else {})


@dataclass
class Section:
    """An experiment with what came out."""

    experiment: Experiment
    rows: list[Compared]
    pictures: list[Picture]

    @property
    def ok(self) -> bool:
        """Whether each of its rows is."""
        return all(row.ok for row in self.rows)


@dataclass
class Reproduction:
    """All of it."""

    paper: Paper
    nodes: tuple[str, ...]
    sections: list[Section] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)  # each with its scenario, what was set, and its summary

    @property
    def rows(self) -> list[Compared]:
        """Of all experiments."""
        return [row for section in self.sections for row in section.rows]

    @property
    def ok(self) -> bool:
        """Whether each row is."""
        return all(row.ok for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints and `summary.json` holds."""
        return {
            "ok": self.ok,
            "paper": self.paper.name,
            "nodes": list(self.nodes),
            "rows": [row.as_json() for row in self.rows],
        }


def reproduce(
    paper: Paper,
    experiments: Sequence[Experiment],
    nodes: tuple[str, ...],
    *,
    options: Options | None = None,
    workers: int | None = None,
    done: work.Done | None = None,
) -> Reproduction:
    """Runs the experiments on each kind of nodes.

    Raises:
        InputError: A scenario is wrong.
        RunError: A run could not be done.
        KeyboardInterrupt: It was interrupted.

    """
    tasks = work.plan(experiments, nodes)
    outcomes = work.do(tasks, workers, done or (lambda _done, _of: None))
    result = Reproduction(paper, nodes)
    for experiment in experiments:
        result.sections.append(_section(experiment, nodes, outcomes, options or Options()))
    for key, task in tasks.items():
        values = {name: value for name, value in task.values.items() if name != "nodes"}
        summary = outcomes[key].summary
        result.runs.append({"scenario": task.scenario["name"], "nodes": key[1], "values": values, "summary": summary})
    return result


def _section(
    experiment: Experiment, nodes: tuple[str, ...], outcomes: dict[tuple[str, str], Outcome], options: Options
) -> Section:
    found = []
    for kind in nodes:
        of_kind = [(case, outcomes[work.Run(case, kind).key]) for case in experiment.cases]
        try:
            found.append(experiment.evaluate(of_kind, options))
        except (ValueError, IndexError) as error:  # of streams of which nothing arrived
            raise RunError(f"{experiment.id} on {kind}: frames are missing: {error}") from error
    rows = []
    for same in zip(*(each.rows for each in found), strict=True):
        by_nodes = {kind: row.measured for kind, row in zip(nodes, same, strict=True)}
        rows.append(Compared(replace(same[-1], ok=all(row.ok for row in same)), by_nodes))
    return Section(experiment, rows, found[-1].pictures)
