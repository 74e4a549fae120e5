# SPDX-License-Identifier: Apache-2.0
"""Figure 16: fixed priority under 1 Gb/s."""

from __future__ import annotations

import numpy as np

from penstock.reproduce import drawing
from penstock.reproduce.ats_switch.contention import FLOW, RATES, periodic_source
from penstock.reproduce.ats_switch.place import FOLDER
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.outcome import Outcome, wire_bits
from penstock.reproduce.row import Row

_LINK_MBPS = 1000
_FROM_PS, _TO_PS = 10**9, 6 * 10**9
_FRAME_MBPS = 1542 * 8 / ((_TO_PS - _FROM_PS) / 10**6)  # one frame more or less within that time
_LOWER = "best_effort"


def _rates_mbps(outcome: Outcome) -> tuple[float, float, float]:
    """What arrives of each flow and of both, on the wire, from one arrival to another as far as possible after it."""
    at = np.concatenate([outcome.frames[name].delivered_ps for name in (FLOW, _LOWER)])
    at = at[(at >= _FROM_PS) & (at < _TO_PS)]
    first, last = int(at.min()), int(at.max())
    rates = []
    for name in (FLOW, _LOWER):
        frames = outcome.frames[name]
        inside = (frames.delivered_ps > first) & (frames.delivered_ps <= last)
        rates.append(float(np.sum(wire_bits(frames)[inside])) * 1e6 / (last - first))
    return rates[0], rates[1], sum(rates)


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    curves: dict[str, list[float]] = {"ATS, class 7": [], "best effort, class 5": [], "both": []}
    for case, outcome in outcomes:
        rate = case.at["rate"]
        values = _rates_mbps(outcome)
        for curve, value in zip(curves.values(), values, strict=True):
            curve.append(value)
        at = f"ATS sends {rate} Mb/s"
        flow = outcome.stream(FLOW)
        expected = (rate, _LINK_MBPS - rate, _LINK_MBPS)
        for name, value, theory in zip(("ats", "best_effort", "both"), values, expected, strict=True):
            # A frame that begins or ends beside the time counts wholly or not at all.
            row = Row.equals(
                f"fig16.{rate}.{name}", f"arrival rate of {name}, {at}", "Mb/s", value, theory, _FRAME_MBPS
            )
            found.rows.append(row.as_key() if rate in (100, 500) and name != "both" else row)
        lost = flow["sent"] - flow["delivered"]
        found.rows.append(Row.equals(f"fig16.{rate}.lost", f"ATS frames lost, {at}", "frames", lost, 0, 0, paper=0))
    figure = drawing.figure("rate of the ATS flow / (Mb/s)", "arrival rate / (Mb/s)")
    rates = [case.at["rate"] for case, _ in outcomes]
    for number, (name, values_of) in enumerate(curves.items()):
        drawing.curve(figure, f"ours: {name}", rates, values_of, drawing.COLORS[number])
    drawing.paper(figure, "paper: both, 1 Gb/s throughout", rates, [_LINK_MBPS] * len(rates))
    found.pictures.append(Picture("Arrival rates", "Best effort sends 1 Gb/s.", figure))
    return found


EXPERIMENTS = (
    Experiment(
        "fig16",
        "Fixed priority under 1 Gb/s",
        "Figure 16",
        [
            Case(FOLDER / "fig16.toml", {"streams.ats.source": periodic_source(rate)}, {"rate": rate})
            for rate in RATES[1:]
        ],
        _evaluate,
    ),
)
