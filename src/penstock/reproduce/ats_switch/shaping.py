# SPDX-License-Identifier: Apache-2.0
"""Figures 12 to 15: control of burst and rate, as the standard counts a frame and as the paper's device did.

A frame of 1500 bytes of payload takes 1542 bytes on the wire. The paper's device counted 1522 of them, so its flows
were 1542/1522 times as fast as their committed rate. With `overhead` 0 ours counts the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

import numpy as np

from penstock.reproduce import drawing
from penstock.reproduce.ats_switch import printed
from penstock.reproduce.ats_switch.place import FOLDER
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.outcome import Frames, Times
from penstock.reproduce.row import Row

WIRE_BYTES, FRAME_BYTES = 1542, 1522
_CYCLE_US = 0.008
_BACK_TO_BACK_US = 12.336  # of 1542 bytes at 1 Gb/s
_OVERHEADS = {WIRE_BYTES: "20B", FRAME_BYTES: "0B"}  # by how many bytes of a frame count
_BURSTS = (1, 2, 4, 8, 16, 24, 32, 48, 64)
_RATES = {WIRE_BYTES: (50, *range(100, 1001, 100)), FRAME_BYTES: (100, 500, 900)}  # Mb/s
_COMMITTED = {"slow": 100, "fast": 200}
_SETTLED_PS = 10**9


def _case(scenario: str, counted: int, values: dict[str, str], **at: int) -> Case:
    values = {"bridges.switch.overhead": _OVERHEADS[counted], **values}
    return Case(FOLDER / f"{scenario}.toml", values, {"counted": counted, **at})


def _bursts(bursts: Sequence[int]) -> list[Case]:
    return [
        _case("fig12", counted, {"streams.ats.ats.burst": f"{WIRE_BYTES * n}B"}, burst=n)
        for counted in _OVERHEADS
        for n in bursts
    ]


def _in_burst(n: int, counted: int, rate_mbps: int = 100) -> int:
    """How many intervals are back to back: a bucket of 1542 * n bytes is filled while frames at 1 Gb/s empty it."""
    earned = Fraction(rate_mbps * WIRE_BYTES, 1000)
    return floor((WIRE_BYTES * n - earned) / (counted - earned)) - 1


def _leading(intervals: Times) -> int:
    """How many intervals at the beginning are back to back, to the clock cycle to which eligibility is rounded."""
    short = intervals <= _BACK_TO_BACK_US + _CYCLE_US + 1e-9
    return int(intervals.size if short.all() else np.argmin(short))


def _interval_us(counted: int, rate_mbps: int) -> float:
    return counted * 8 / rate_mbps


def _settled_us(frames: Frames) -> Times:
    """The intervals after what was left of the burst; the paper's are of a flow that has gone on for long."""
    return frames.interval_us[frames.delivered_ps[:-1] > _SETTLED_PS]


def _counts(counted: int) -> str:
    return f"{counted} B counted"


def _fig_12(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    figure = drawing.figure("interval", "time from frame to frame / us")
    n = printed.FIG_12_BURST
    for number, (case, outcome) in enumerate(outcomes):
        counted = case.at["counted"]
        intervals = outcome.frames["ats"].interval_us
        leading = _leading(intervals)
        shaped = intervals[leading + 1 :]  # what was left of the burst shortens the one between
        theory = _interval_us(counted, 100)
        as_paper = counted == FRAME_BYTES
        found.rows += [
            Row.equals(
                f"fig12.{counted}.burst", f"intervals back to back, {_counts(counted)}", "intervals", leading,
                _in_burst(n, counted), 0, paper=printed.FIG_12_INTERVALS,
            ).as_key(),
            Row.equals(
                f"fig12.{counted}.shaped", f"mean interval after the burst, {_counts(counted)}", "us",
                float(shaped.mean()), theory, _CYCLE_US, paper=printed.FIG_12_SHAPED_US if as_paper else None,
            ).as_key(),
            Row.told(
                f"fig12.{counted}.delivered", f"frames of 100 that arrived, {_counts(counted)}", "frames",
                outcome.stream("ats")["delivered"], paper=100,
            ).as_key(),
            Row.equals(
                f"fig12.{counted}.steady", f"largest less smallest interval after the burst, {_counts(counted)}", "us",
                float(np.ptp(shaped)), 0.0, 2 * _CYCLE_US,
            ),
        ]  # fmt: skip
        numbers = range(1, intervals.size + 1)
        drawing.curve(figure, f"ours, {_counts(counted)}", numbers, intervals, drawing.COLORS[number])
    # The paper leaves out its first interval, after which the bucket was full again, and tells those from the 18th on.
    last = outcomes[0][1].frames["ats"].interval_us.size
    x = range(1, last + 1)
    y = [_BACK_TO_BACK_US] * n + [printed.FIG_12_SHAPED_US] * (last - n)
    drawing.paper(figure, "paper", x, y)
    note = "100 frames at 1 Gb/s; CIR 100 Mb/s, CBS 1542 * 16 bytes. The paper's from its second interval on."
    found.pictures.append(Picture("Intervals of arrival", note, figure))
    return found


def _fig_13(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    figure = drawing.figure("N: CBS is 1542 * N bytes", "intervals back to back")
    for number, counted in enumerate(_OVERHEADS):
        ours = []
        for case, outcome in outcomes:
            if case.at["counted"] != counted:
                continue
            n = case.at["burst"]
            leading = _leading(outcome.frames["ats"].interval_us)
            ours.append((n, leading))
            label = f"intervals back to back, N = {n}, {_counts(counted)}"
            theirs = printed.FIG_12_INTERVALS if n == printed.FIG_12_BURST else None
            name = f"fig13.{counted}.{n}"
            row = Row.equals(name, label, "intervals", leading, _in_burst(n, counted), 0, paper=theirs)
            found.rows.append(row.as_key() if n in (1, 64) else row)
        x, y = zip(*ours, strict=True)
        drawing.curve(figure, f"ours, {_counts(counted)}", x, y, drawing.COLORS[number])
        every = range(1, 65)
        expected = [_in_burst(n, counted) for n in every]
        drawing.theory(figure, f"theory, {_counts(counted)}", every, expected, drawing.COLORS[number])
    drawing.paper(figure, "paper", [printed.FIG_12_BURST], [printed.FIG_12_INTERVALS])
    note = "The bucket is filled at CIR while the burst leaves at the rate of the link."
    found.pictures.append(Picture("Length of the burst", note, figure))
    return found


def _fig_14(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    figure = drawing.figure("committed rate / (Mb/s)", "mean interval / us")
    drawing.log_y(figure)
    for number, counted in enumerate(_OVERHEADS):
        ours = []
        for case, outcome in outcomes:
            if case.at["counted"] != counted:
                continue
            rate = case.at["rate"]
            intervals = _settled_us(outcome.frames["ats"])
            ours.append((rate, float(intervals.mean())))
            theory = _interval_us(counted, rate)
            # Each eligibility time is rounded up to the clock; that does not add up.
            tolerance = theory / 1e6 + _CYCLE_US / intervals.size
            label = f"mean interval, CIR {rate} Mb/s, {_counts(counted)}"
            row = Row.equals(f"fig14.{counted}.{rate}", label, "us", ours[-1][1], theory, tolerance)
            found.rows.append(row.as_key() if rate in (100, 900) else row)
            label = f"standard deviation of intervals, CIR {rate} Mb/s, {_counts(counted)}"
            name = f"fig14.{counted}.{rate}.deviation"
            deviation = float(intervals.std()) * 1000
            found.rows.append(Row.at_most(name, label, "ns", deviation, printed.LARGEST_DEVIATION_FIG_14_NS))
        x, y = zip(*ours, strict=True)
        drawing.curve(figure, f"ours, {_counts(counted)}", x, y, drawing.COLORS[number], mode="markers")
        committed = range(40, 1001, 10)
        expected = [_interval_us(counted, rate) for rate in committed]
        drawing.theory(figure, f"CIR, {_counts(counted)}", committed, expected, drawing.COLORS[number])
    note = "A flow at the rate of the link. The paper's intervals are those of CIR."
    found.pictures.append(Picture("Interval over the committed rate", note, figure))
    return found


def _fig_15(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    for case, outcome in outcomes:
        counted = case.at["counted"]
        figure = drawing.figure("time / ms", "time from frame to frame / us")
        for number, (name, rate) in enumerate(_COMMITTED.items()):
            frames = outcome.frames[name]
            settled = _settled_us(frames)
            mean, fluctuation = float(settled.mean()), float(np.ptp(settled)) / 2
            theory = _interval_us(counted, rate)
            theirs, their_fluctuation = printed.FIG_15[name]
            label = f"{rate} Mb/s, {_counts(counted)}"
            found.rows += [
                Row.equals(
                    f"fig15.{counted}.{rate}", f"mean interval, {label}", "us", mean, theory,
                    theory / 1000, paper=theirs,
                ).as_key(),
                Row.told(
                    f"fig15.{counted}.{rate}.fluctuation", f"half of the range of intervals, {label}", "us",
                    fluctuation, paper=their_fluctuation,
                ).as_key(),
            ]  # fmt: skip
            x = frames.delivered_ps[1:] / 1e9
            drawing.points(figure, f"ours, {rate} Mb/s", x, frames.interval_us, drawing.COLORS[number])
            drawing.level(figure, f"theory, {rate} Mb/s: {theory:.2f} us", x, theory, drawing.COLORS[number], "dot")
            drawing.level(figure, f"paper, mean of {rate} Mb/s: {theirs:g} us", x, theirs, drawing.PAPER)
        note = "Two flows of 500 Mb/s in one scheduler group; MaxResidenceTime 134 us."
        found.pictures.append(Picture(f"Intervals of arrival, {_counts(counted)}", note, figure))
    return found


EXPERIMENTS = (
    Experiment("fig12", "Burst control, N = 16", "Figure 12", _bursts([printed.FIG_12_BURST]), _fig_12),
    Experiment("fig13", "Burst control over N", "Figure 13", _bursts(_BURSTS), _fig_13),
    Experiment(
        "fig14",
        "Rate control of one flow",
        "Figure 14",
        [
            _case("fig14", counted, {"streams.ats.ats.rate": f"{rate}Mb/s"}, rate=rate)
            for counted, rates in _RATES.items()
            for rate in rates
        ],
        _fig_14,
    ),
    Experiment(
        "fig15",
        "Rate control of two flows in one scheduler group",
        "Figure 15",
        [_case("fig15", counted, {}) for counted in _OVERHEADS],
        _fig_15,
    ),
)
