# SPDX-License-Identifier: Apache-2.0
"""Figures 3 and 6: how the delay changes from packet to packet of a stream."""

from __future__ import annotations

from functools import partial

import numpy as np

from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.linux_shapers import panels, printed, seen, waits
from penstock.reproduce.linux_shapers.packets import packets
from penstock.reproduce.linux_shapers.place import CONFIGURATIONS, by_configuration, cases, key, said
from penstock.reproduce.row import Row


def _evaluate(mixed: bool, outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    runs = by_configuration(outcomes, mixed)
    jitters = {name: packets(runs[name]).jitter_us for name in CONFIGURATIONS}
    for name, called in CONFIGURATIONS.items():
        largest, bound = float(np.abs(jitters[name]).max()), waits.most(name, mixed)
        row = Row.within(
            f"{key(mixed)}.{name}.jitter", f"largest jitter, either way, {called}", "us", largest,
            bound.jitter, paper=printed.JITTER_US,
        )  # fmt: skip
        found.rows.append(row.as_key())
        deviation = float(jitters[name].std())
        label = f"standard deviation of jitter, {called}"
        found.rows.append(Row.told(f"{key(mixed)}.{name}.jitter.deviation", label, "us", deviation))
    note = f"With {said(mixed)}: the delay of each packet less that of the packet before it of its stream."
    found.pictures.append(panels.series("Jitter of each packet", "jitter / us", jitters, note, {}))
    return found


EXPERIMENTS = {
    mixed: Experiment(
        "fig6" if mixed else "fig3",
        f"jitter of each packet, {said(mixed)}",
        "Figure 6" if mixed else "Figure 3",
        cases(mixed),
        partial(_evaluate, mixed),
        partial(seen.jitters, mixed),
    )
    for mixed in (False, True)
}
