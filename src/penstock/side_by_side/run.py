# SPDX-License-Identifier: Apache-2.0
"""Runs a scenario once for each kind of nodes. Those of real Linux are on one kernel, so that they may be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import run as engine
from penstock.errors import InputError, check_known
from penstock.journeys import View
from penstock.lab import run as lab
from penstock.lab.machine import Machine
from penstock.lab.programs import How
from penstock.scenario import NODES, load
from penstock.scenario.network import REAL, Network
from penstock.trace import read_trace

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Side:
    """What a run on one kind of nodes left."""

    nodes: str
    summary: dict[str, Any]
    view: View


def kinds_of(text: str) -> list[str]:
    """`model,plane`: two kinds of nodes or more; raises InputError."""
    found = [word.strip() for word in text.split(",")]
    for kind in found:
        check_known(kind, NODES, "--nodes")
    twice = [kind for kind in NODES if found.count(kind) > 1]
    if twice:
        raise InputError(f"{twice[0]} stands there twice", allowed="each kind of nodes once", file="--nodes")
    return found


def run(scenario: Path, kinds: Sequence[str], folder: Path, tell: Tell, where: lab.Where, how: How) -> list[Side]:
    """A folder for each kind of nodes in `folder`, named by it, as each would leave alone.

    All that is wrong with the scenario is found before anything runs.

    Raises:
        InputError: The scenario is wrong, or some kind of nodes cannot do what it says.
        RunError: The machine lacks something, or a run failed.

    """
    networks = {kind: load(scenario, kind) for kind in kinds}
    if any(network.tilings for kind, network in networks.items() if kind in REAL):
        raise InputError("networks of tiles are surveyed on real Linux, not run", allowed="model,rtl", file="--nodes")
    real = [networks[kind] for kind in kinds if kind in REAL]
    for network in real:
        lab.check_talkers(network, how)
    with ExitStack() as stack:
        machine = stack.enter_context(lab.hosts(real, where, tell)) if real else None
        return run_on(machine, networks, folder, tell, how)


def run_on(machine: Machine | None, networks: Mapping[str, Network], folder: Path, tell: Tell, how: How) -> list[Side]:
    """The same of networks that are read, by their kinds of nodes; real Linux is the machine."""
    sides = []
    for kind, network in networks.items():
        tell(f"{network.name} on {kind} nodes")
        out = folder / kind
        if machine is not None and kind in REAL:
            result = lab.run_on(machine, network, out, how, tell)
        else:
            result = engine.run(network, out, trace="full")
        sides.append(Side(kind, result.summary, View(network, read_trace(out / "trace.parquet"))))
    return sides
