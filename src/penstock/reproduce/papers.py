# SPDX-License-Identifier: Apache-2.0
"""The papers that there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

from penstock.errors import InputError, did_you_mean
from penstock.reproduce.experiment import Experiment, Paper

FEWEST_FRAMES = 10  # below it there is nothing to compare

# Name on the command line: the module that has PAPER.
PAPERS = {
    "ats-switch": "penstock.reproduce.ats_switch",
    "launch-time-talker": "penstock.reproduce.launch_time_talker",
    "linux-shapers": "penstock.reproduce.linux_shapers",
    "smartnic-tas": "penstock.reproduce.smartnic_tas",
    "time-aware-nic": "penstock.reproduce.time_aware_nic",
}


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


def sized(
    paper: Paper, experiments: Sequence[Experiment], nodes: Sequence[str], frames: int | None
) -> list[Experiment]:
    """The experiments with so many frames, or as many as the slowest of the nodes can have; all of one length."""
    length = paper.length
    if length is None:
        if frames is not None:
            raise InputError(f"{paper.name} says itself how long its runs are", allowed="no --frames", file="--frames")
        return list(experiments)
    count = min(length.frames[kind] for kind in nodes) if frames is None else frames
    if count < FEWEST_FRAMES:
        raise InputError(f"{count} are too few", allowed=f"{FEWEST_FRAMES} or more", file="--frames")
    return [replace(each, cases=[length.lengthen(case, count) for case in each.cases]) for each in experiments]
