# SPDX-License-Identifier: Apache-2.0
"""Figures 2 and 5: the delay of each packet of audio, and its mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.linux_shapers import panels, printed, seen, waits
from penstock.reproduce.linux_shapers.packets import STREAMS, Packets, packets
from penstock.reproduce.linux_shapers.place import CONFIGURATIONS, by_configuration, cases, key, said
from penstock.reproduce.outcome import Outcome
from penstock.reproduce.row import Row

# What a shaper adds cannot make packets earlier: of each pair the first has less to wait for.
_ORDER = (("mqprio", "taprio"), ("mqprio", "cbs-mqprio"), ("taprio", "cbs-taprio"), ("cbs-mqprio", "cbs-taprio"))
# Beside other traffic, gates keep that out; so only what credit adds is certain.
_ORDER_MIXED = (("mqprio", "cbs-mqprio"), ("taprio", "cbs-taprio"))
_ABSOLUTE = (
    "Times of the paper's hosts contain what their kernels, controllers and clocks did; ours have the stated software "
    "delay instead, of which one number is fitted: the mean of mqprio with audio only. Compare orders and bounds."
)


def _evaluate(mixed: bool, outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    runs = by_configuration(outcomes, mixed)
    of = {name: packets(runs[name]) for name in CONFIGURATIONS}
    name_of = key(mixed)
    for name, called in CONFIGURATIONS.items():
        bound = waits.most(name, mixed)
        row = Row.told(
            f"{name_of}.{name}.mean", f"mean delay, {called}", "us", of[name].mean_us,
            paper=printed.MEAN_US[name][mixed],
        )  # fmt: skip
        found.rows.append(row.as_key())
        label = f"longest delay, {called}"
        found.rows.append(
            Row.within(f"{name_of}.{name}.max", label, "us", float(of[name].delay_us.max()), bound.total).as_key()
        )
        found.rows.append(_lost(name_of, name, called, runs[name]))
    for less, more in _ORDER_MIXED if mixed else _ORDER:
        label = f"mean delay of {CONFIGURATIONS[less]}, at most that of {CONFIGURATIONS[more]}"
        row = Row.within(f"{name_of}.{less}<{more}", label, "us", of[less].mean_us, of[more].mean_us)
        found.rows.append(replace(row, requirement="measured at most the other's mean, shown as bound").as_key())
    if mixed:
        found.rows += _isolation(by_configuration(outcomes, False), of)
    note = f"The first packets, with {said(mixed)}; dashed: the paper's mean. {_ABSOLUTE}"
    delays = {name: of[name].delay_us for name in CONFIGURATIONS}
    means = {name: printed.MEAN_US[name][mixed] for name in CONFIGURATIONS}
    found.pictures.append(panels.series("Delay of each packet", "delay / us", delays, note, means))
    return found


def _lost(name_of: str, name: str, called: str, outcome: Outcome) -> Row:
    lost = sum(outcome.stream(stream)["sent"] - outcome.stream(stream)["delivered"] for stream in STREAMS)
    return Row.equals(f"{name_of}.{name}.lost", f"packets lost, {called}", "packets", lost, 0, 0)


def _isolation(alone: Mapping[str, Outcome], mixed: Mapping[str, Packets]) -> list[Row]:
    """What the rest does to each packet: under strict priority a frame at most, behind gates nothing."""
    found = []
    for name, called in CONFIGURATIONS.items():
        if name == "cbs-mqprio":
            continue  # what a frame has to wait is earned as credit, so that others may come earlier
        later = float(np.abs(mixed[name].delay_us - packets(alone[name]).delay_us).max())
        label = f"largest change of a packet's delay by UDP, TCP and SCTP, {called}"
        if name == "mqprio":
            found.append(Row.within("mix.mqprio.change", label, "us", later, waits.longest_frame_us(name)).as_key())
        else:
            found.append(Row.equals(f"mix.{name}.change", label, "us", later, 0, 0).as_key())
    return found


EXPERIMENTS = {
    mixed: Experiment(
        "fig5" if mixed else "fig2",
        f"delay of each packet, {said(mixed)}",
        "Figure 5" if mixed else "Figure 2",
        cases(*((False, True) if mixed else (False,))),
        partial(_evaluate, mixed),
        partial(seen.delays, mixed, _ORDER_MIXED if mixed else _ORDER),
    )
    for mixed in (False, True)
}
