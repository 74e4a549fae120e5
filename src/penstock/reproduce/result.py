# SPDX-License-Identifier: Apache-2.0
"""Runs a paper's experiments on one kind of nodes or on both, and holds everything side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import RunError
from penstock.reproduce import work
from penstock.reproduce.experiment import Experiment, Found, Options, Paper, Picture
from penstock.reproduce.laboratory import Laboratory
from penstock.reproduce.outcome import Outcome
from penstock.reproduce.row import Row

BOTH = ("model", "rtl")
_SECTIONS = ("stations", "streams")  # of a scenario, each of hundreds of tables where one is made


@dataclass(frozen=True)
class Compared:
    """A row with what each kind of nodes gave."""

    row: Row
    by_nodes: dict[str, float | None]
    laboratory: Row | None = None  # the same on real Linux

    @property
    def agree(self) -> bool:
        """Whether all nodes gave the same."""
        return len(set(self.by_nodes.values())) <= 1

    @property
    def ok(self) -> bool:
        """Whether the requirement is met on all nodes and in the laboratory, and the nodes agree."""
        return self.row.ok and self.agree and (self.laboratory is None or self.laboratory.ok)

    @property
    def requirement(self) -> str | None:
        """What is required of the nodes, or else of the laboratory."""
        return self.row.requirement or (None if self.laboratory is None else self.laboratory.requirement)

    def as_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        row = self.row
        told: dict[str, Any] = {
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
        if self.laboratory is not None:
            told |= {
                "laboratory": self.laboratory.measured,
                "laboratory_bound": self.laboratory.bound,
                "laboratory_requirement": self.laboratory.requirement,
            }
        return told | (dict(self.by_nodes) if len(self.by_nodes) > 1 else {})


@dataclass
class Section:
    """An experiment with what came out."""

    experiment: Experiment
    rows: list[Compared]
    pictures: list[Picture]

    def add(self, found: Found) -> None:
        """What the laboratory found, beside the rows that it is about and below them."""
        seen = {row.id: row for row in found.rows}
        self.rows = [replace(each, laboratory=seen.pop(each.row.id, None)) for each in self.rows]
        for row in seen.values():
            alone = replace(row, measured=None, bound=None, requirement=None, ok=True)
            self.rows.append(Compared(alone, {}, row))
        self.pictures += found.pictures

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
    laboratory: Laboratory | None = None

    def add(self, laboratory: Laboratory) -> None:
        """The same experiments on real Linux."""
        self.laboratory = laboratory
        self.runs += laboratory.runs
        for section in self.sections:
            if section.experiment.id in laboratory.found:
                section.add(laboratory.found[section.experiment.id])

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
        told: dict[str, Any] = {"ok": self.ok, "paper": self.paper.name, "nodes": list(self.nodes)}
        if self.laboratory is not None:
            told["laboratory"] = self.laboratory.as_json()
        return told | {"rows": [row.as_json() for row in self.rows]}


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
    at = {work.Run(case, kind).key: case.at for kind in nodes for each in experiments for case in each.cases}
    for key, task in tasks.items():
        result.runs.append(
            {
                "scenario": task.scenario["name"],
                "nodes": key[1],
                "values": _set(task.values, at[key]),
                "summary": outcomes[key].summary,
            }
        )
    return result


def _set(values: Mapping[str, Any], at: Mapping[str, Any]) -> dict[str, Any]:
    """What was set of a scenario; instead of whole tables what they were made from."""
    found = {name: value for name, value in values.items() if name != "nodes"}
    return dict(at) if any(name in _SECTIONS for name in found) else found


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
