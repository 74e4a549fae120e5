# SPDX-License-Identifier: Apache-2.0
"""Figures 5 and 6, the clocks of two cards: the paper's numbers, which `penstock plane sync` is held against."""

from __future__ import annotations

from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.smartnic_tas import printed

_ELSEWHERE = "not run here: penstock plane sync"


def _clocks(_outcomes: Outcomes, _options: Options) -> Found:
    drift_ppm = printed.DRIFT_MS_IN_AN_HOUR * 1000 / 3600
    rows = [
        Row.told(
            "fig5.drift", f"drift of one clock from the other, {_ELSEWHERE}", "ppm", None, theory=round(drift_ppm, 3)
        ),
        Row.told(
            "fig5.round_trip",
            f"greatest round trip between the cards, {_ELSEWHERE}",
            "us",
            None,
            paper=printed.ROUND_TRIP_US,
        ),
        Row.told("fig6.error", f'error when drift is compensated, the paper: "tens of ns", {_ELSEWHERE}', "ns", None),
    ]
    return Found([row.as_key() for row in rows])


EXPERIMENTS = (Experiment("clocks", "clocks of two cards", "Figures 5, 6", (), _clocks),)
