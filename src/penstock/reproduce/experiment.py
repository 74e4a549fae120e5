# SPDX-License-Identifier: Apache-2.0
"""What a paper's experiment is: the runs that it takes, and what is read from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import plotly.graph_objects as go  # type: ignore[import-untyped]

from penstock import data
from penstock.reproduce.outcome import Outcome, watch
from penstock.reproduce.row import Row
from penstock.scenario.network import Network

if TYPE_CHECKING:
    from penstock.lab.machine import Machine
    from penstock.lab.programs import How

SCENARIOS = data.SCENARIOS / "papers"


@dataclass(frozen=True)
class Case:
    """One run: a scenario with some keys set, and where it stands in its experiment."""

    scenario: Path
    values: Mapping[str, Any] = field(default_factory=dict)  # by dotted key of the scenario
    at: Mapping[str, Any] = field(default_factory=dict)  # what the experiment calls it: {"rate": 500}
    # Runs it and reads it, where one needs less or more than all frames; a function of a module, for other processes.
    watch: Callable[[Network], Outcome] = watch

    @property
    def key(self) -> str:
        """The same for two cases that are the same run."""
        return json.dumps([str(self.scenario), dict(self.values)], sort_keys=True)


@dataclass(frozen=True)
class Picture:
    """An interactive figure of the report."""

    title: str
    note: str
    figure: go.Figure


@dataclass
class Found:
    """What an experiment gave."""

    rows: list[Row] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


Outcomes = Sequence[tuple[Case, Outcome]]


@dataclass(frozen=True)
class Options:
    """What the command line asks of experiments that no run answers."""

    synthesize: bool = False
    card: bool = False  # the network card in hardware, which is Verilated for that
    guest: bool = False  # that card behind Linux, in an emulated guest
    tell: Callable[[str], None] = lambda _what: None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper."""

    id: str
    title: str
    place: str  # where the paper has it
    cases: Sequence[Case]
    evaluate: Callable[[Outcomes, Options], Found]
    # The same of runs on real Linux; a row with an id of `evaluate` stands beside that one.
    laboratory: Callable[[Outcomes], Found] | None = None


@dataclass(frozen=True)
class Length:
    """How many frames a run has, where one may choose."""

    frames: Mapping[str, int]  # by what the nodes are, unless the command line says otherwise
    lengthen: Callable[[Case, int], Case]


class InLaboratory(Protocol):
    """What a paper says of its cases on real Linux."""

    def network(self, case: Case, emulated: bool) -> Network:
        """The hosts of a case; on an emulated processor at a rate that it can keep up with."""

    def how(self, case: Case, emulated: bool) -> How:
        """How hosts send."""

    def note(self, emulated: bool) -> str:
        """What a reader has to know of these runs beside where they were; empty for nothing."""


@runtime_checkable
class OwnLaboratory(Protocol):
    """A paper whose experiments on real Linux are no runs of its cases."""

    def needs(self) -> Sequence[str]:
        """What the kernel has to have, of `penstock.lab.probe.WHAT`."""

    def note(self, emulated: bool) -> str:
        """What a reader has to know of these runs beside where they were; empty for nothing."""

    def found(self, machine: Machine, tell: Callable[[str], None]) -> Mapping[str, Found]:
        """What hosts on a machine gave, by experiment."""


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments, in its order."""

    name: str
    title: str
    source: str  # how it is cited
    experiments: Sequence[Experiment]
    length: Length | None = None  # None: the scenarios say
    laboratory: InLaboratory | OwnLaboratory | None = None  # None: it has no experiment on real Linux
