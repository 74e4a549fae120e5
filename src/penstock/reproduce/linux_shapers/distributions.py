# SPDX-License-Identifier: Apache-2.0
"""Figures 4 and 7: the distributions of delay and jitter."""

from __future__ import annotations

from functools import partial

import numpy as np

from penstock.percentile import percentile
from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.linux_shapers import panels, printed, seen
from penstock.reproduce.linux_shapers.packets import packets
from penstock.reproduce.linux_shapers.place import CONFIGURATIONS, by_configuration, cases, key, said
from penstock.reproduce.row import Row

_STEADY_US = 1.0  # what counts as no jitter: the paper's stamps are not finer in its figures


def _evaluate(mixed: bool, outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    of = {name: packets(outcome) for name, outcome in by_configuration(outcomes, mixed).items()}
    for name, called in CONFIGURATIONS.items():
        for part in (0.5, 0.99):
            label = f"{part * 100:g} % of the delays are below, {called}"
            value = percentile(of[name].delay_us, part)
            found.rows.append(Row.told(f"{key(mixed)}.{name}.p{part * 100:g}", label, "us", value))
        steady = float((np.abs(of[name].jitter_us) < _STEADY_US).mean()) * 100
        label = f"packets whose jitter is below {_STEADY_US:g} us, {called}"
        found.rows.append(Row.told(f"{key(mixed)}.{name}.steady", label, "%", steady, paper=printed.STEADY).as_key())
    note = f"Of all packets, with {said(mixed)}."
    delays = {name: of[name].delay_us for name in CONFIGURATIONS}
    jitters = {name: of[name].jitter_us for name in CONFIGURATIONS}
    found.pictures += [
        panels.distribution("Delay", "delay / us", delays, note),
        panels.distribution("Jitter", "jitter / us", jitters, note),
    ]
    return found


EXPERIMENTS = {
    mixed: Experiment(
        "fig7" if mixed else "fig4",
        f"distributions of delay and jitter, {said(mixed)}",
        "Figure 7" if mixed else "Figure 4",
        cases(mixed),
        partial(_evaluate, mixed),
        partial(seen.distributions, mixed, _STEADY_US),
    )
    for mixed in (False, True)
}
