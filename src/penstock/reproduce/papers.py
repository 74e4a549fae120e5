# SPDX-License-Identifier: Apache-2.0
"""The papers that there are."""

from __future__ import annotations

from importlib import import_module

from penstock.errors import InputError, did_you_mean
from penstock.reproduce.experiment import Experiment, Paper

# Name on the command line: the module that has PAPER.
PAPERS = {"ats-switch": "penstock.reproduce.ats_switch"}


def load(name: str) -> Paper:
    """A paper with its experiments. Raises InputError, which lists what there is, for an unknown name."""
    if name not in PAPERS:
        what = f'there is no paper "{name}"{did_you_mean(name, PAPERS)}'
        raise InputError(what, allowed=", ".join(PAPERS), file="penstock reproduce")
    paper: Paper = import_module(PAPERS[name]).PAPER
    return paper


def chosen(paper: Paper, only: list[str] | None) -> list[Experiment]:
    """All experiments, or those named. Raises InputError, which lists what there is, for an unknown one."""
    known = {experiment.id: experiment for experiment in paper.experiments}
    for name in only or ():
        if name not in known:
            what = f'there is no experiment "{name}"{did_you_mean(name, known)}'
            raise InputError(what, allowed=", ".join(known), file="--only")
    return [experiment for experiment in paper.experiments if not only or experiment.id in only]
