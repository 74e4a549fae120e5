# SPDX-License-Identifier: Apache-2.0
"""Figure 9: what the queues of the slow port hold, averaged over 100 ms."""

from __future__ import annotations

from dataclasses import replace

from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.smartnic_tas import pictures, printed
from penstock.reproduce.smartnic_tas.flows import INTERVAL_MS, Held, held
from penstock.reproduce.smartnic_tas.place import case

_NEAR_FRAMES = 4.0  # what "around 64" allows: the queue falls by a window's frames before others come


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    for at, run in outcomes:
        name, called = named(bool(at.at["aligned"]))
        of = held(run)
        found.rows += rows(name, called, of)
        note = f"At the slow port under the time-aware shaper: the integral of the frames over each {INTERVAL_MS} ms."
        found.pictures.append(pictures.occupancy(f"What queues hold, {called}", of.mean, printed.BE_FRAMES, note))
    return found


def named(aligned: bool) -> tuple[str, str]:
    """A talker in ids of rows, and for people."""
    return ("aligned", "talker aligned") if aligned else ("free", "talker not aligned")


def rows(name: str, called: str, of: Held) -> list[Row]:
    """ST under 3 frames, BE around its limit."""
    found = []
    for name_of, what, value in (
        ("mean", "greatest mean of 100 ms", max(of.mean["st"], default=None)),
        ("most", "most at any time", of.most["st"]),
    ):
        label = f"frames of ST, {what}, {called}"
        row = Row.told(f"fig9.{name}.st.{name_of}", label, "frames", value, paper=printed.ST_FRAMES)
        if name_of == "mean":  # which is what the paper reads
            ok = row.measured is not None and row.measured < printed.ST_FRAMES
            row = replace(row, requirement="measured below the paper's", ok=ok)
        found.append(row.as_key())
    last = of.mean["be"][-1] if len(of.mean["be"]) else None
    label = f"frames of BE in the mean of the last 100 ms, {called}"
    found.append(Row.near(f"fig9.{name}.be.mean", label, "frames", last, printed.BE_FRAMES, _NEAR_FRAMES).as_key())
    label = f"frames of BE at most, {called}: the limit of its queue"
    found.append(Row.equals(f"fig9.{name}.be.most", label, "frames", of.most["be"], printed.BE_FRAMES, 0).as_key())
    return found


EXPERIMENTS = (
    Experiment(
        "fig9",
        "what the queues of the slow port hold",
        "Figure 9",
        [case("tas", aligned) for aligned in (True, False)],
        _evaluate,
    ),
)
