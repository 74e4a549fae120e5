# SPDX-License-Identifier: Apache-2.0
"""Figures 17 to 22: the latency of an ATS flow that meets others, against equation (1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from penstock.reproduce import drawing
from penstock.reproduce.ats_switch import printed
from penstock.reproduce.ats_switch.place import FOLDER
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.outcome import Outcome
from penstock.reproduce.row import Row

FLOW = "ats"  # the stream whose latency is measured, in all these scenarios
WIRE_BITS = 1542 * 8
RATES = tuple(range(0, 1001, 100))  # Mb/s
_SERIES_RATE = 500  # at which the paper shows each frame
_SILENT = {"frames": "1522B", "every": "1s", "start": "1s"}  # begins after the run


def periodic_source(rate_mbps: int) -> dict[str, Any]:
    """Frames of 1500 bytes of payload at this rate on the wire, periodically."""
    if rate_mbps == 0:
        return _SILENT
    return {"frames": "1522B", "every": f"{-(-WIRE_BITS * 10**6 // rate_mbps)}ps"}


def _over_rates(name: str, rates: Sequence[int]) -> list[Case]:
    scenario = FOLDER / f"{name}.toml"
    key = "streams.best_effort.source"
    return [Case(scenario, {key: periodic_source(rate)}, {"rate": rate}) for rate in rates]


def _over_committed_rates(name: str, rates: Sequence[int]) -> list[Case]:
    scenario = FOLDER / f"{name}.toml"
    return [Case(scenario, {"streams.other.ats.rate": f"{rate}Mb/s"}, {"rate": rate}) for rate in rates]


def _contention_us(outcome: Outcome) -> float:
    """Equation (1), as the bound of the run has it."""
    return outcome.term_us(FLOW, "contention")


def _most_increase_us(outcome: Outcome) -> float:
    """Equation (1) and the grid of the clock, to which arrival and eligibility are rounded."""
    return _contention_us(outcome) + outcome.term_us(FLOW, "clock grid")


def _over(name: str, axis: str, outcomes: Outcomes, _options: Options) -> Found:
    """Least, mean and greatest latency over a rate."""
    found = Found()
    curves: dict[str, list[float]] = {"minimum": [], "mean": [], "maximum": []}
    deviation, increase = 0.0, 0.0
    for case, outcome in outcomes:
        rate = case.at["rate"]
        latency = outcome.frames[FLOW].latency_us
        values = {"minimum": latency.min(), "mean": latency.mean(), "maximum": latency.max()}
        for what, value in values.items():
            curves[what].append(float(value))
        deviation = max(deviation, float(latency.std()))
        increase = max(increase, float(latency.max() - latency.min()))
        found.rows += _of_rate(name, f"{axis} {rate} Mb/s", rate, outcome, curves)
    first = outcomes[0][1]
    contention, most = _contention_us(first), _most_increase_us(first)
    found.rows += [
        Row.within(
            f"{name}.increase", "largest increase over the least latency", "us", increase, most,
            paper=printed.INCREASE_US[name], theory=contention,
        ).as_key(),
        _equation(name, contention),
        Row.told(
            f"{name}.deviation", "largest standard deviation of latency", "us", deviation,
            paper=printed.DEVIATION_US[name],
        ).as_key(),
    ]  # fmt: skip
    found.pictures.append(_picture(name, axis, outcomes, curves, increase))
    outcome = next(outcome for case, outcome in outcomes if case.at["rate"] == _SERIES_RATE)
    found.pictures.append(_frame_by_frame(name, outcome, f"{axis[0].upper()}{axis[1:]} {_SERIES_RATE} Mb/s."))
    return found


def _of_rate(name: str, at: str, rate: int, outcome: Outcome, curves: dict[str, list[float]]) -> list[Row]:
    """The rows of one run; its values are the last of the curves."""
    worst_of_paper = printed.FIG_17_WORST_US if name == "fig17" else None
    least_of_paper = printed.FIG_17_WORST_US - printed.INCREASE_US["fig17"] if name == "fig17" else None
    least, mean, worst = (curves[what][-1] for what in ("minimum", "mean", "maximum"))
    of_rate = f"{name}.{rate}"
    return [
        Row.told(f"{of_rate}.min", f"least latency, {at}", "us", least, paper=least_of_paper),
        Row.told(f"{of_rate}.mean", f"mean latency, {at}", "us", mean),
        Row.within(
            f"{of_rate}.max", f"worst latency, {at}", "us", worst, outcome.bound_us(FLOW), paper=worst_of_paper
        ),
        Row.equals(
            f"{of_rate}.lost", f"frames of the flow that were lost, {at}", "frames",
            outcome.stream(FLOW)["sent"] - outcome.stream(FLOW)["delivered"], 0, 0,
        ),
    ]  # fmt: skip


def _equation(name: str, contention_us: float) -> Row:
    """Our value of equation (1) is the paper's, which is printed with one decimal."""
    theirs = printed.EQUATION_1_US[name]
    label = "equation (1), from the scenario"
    return Row.equals(f"{name}.equation_1", label, "us", contention_us, theirs, 0.05, paper=theirs).as_key()


def _picture(name: str, axis: str, outcomes: Outcomes, curves: dict[str, list[float]], increase: float) -> Picture:
    figure = drawing.figure(f"{axis} / (Mb/s)", "latency / us")
    rates = [case.at["rate"] for case, _ in outcomes]
    for number, (what, values) in enumerate(curves.items()):
        drawing.curve(figure, f"ours: {what}", rates, values, drawing.COLORS[(2, 0, 1)[number]])
    bounds = [outcome.bound_us(FLOW) for _, outcome in outcomes]
    drawing.theory(figure, "ours: bound", rates, bounds, drawing.BOUND)
    least, theirs = min(curves["minimum"]), printed.INCREASE_US[name]
    drawing.level(figure, f"our minimum and the paper's increase, {theirs:g} us", rates, least + theirs, drawing.PAPER)
    if name == "fig17":
        drawing.log_y(figure)
        worst = printed.FIG_17_WORST_US
        drawing.level(figure, f"paper: worst, about {worst:g} us", rates, worst, drawing.PAPER, "dot")
        drawing.level(figure, f"paper: minimum, {worst - theirs:g} us", rates, worst - theirs, drawing.THEORY, "dot")
    note = (
        f"Increase over the least latency: ours {increase:.3f} us at most, the paper's about {theirs:g} us, "
        f"equation (1) {_contention_us(outcomes[0][1]):.3f} us."
    )
    return Picture("Least, mean and greatest latency", note, figure)


def _series(name: str, outcomes: Outcomes, _options: Options) -> Found:
    """Figures 18 and 22: frame by frame."""
    ((_, outcome),) = outcomes
    latency = outcome.frames[FLOW].latency_us
    after = {"fig18": "fig17", "fig22": "fig21"}[name]
    increase = float(latency.max() - latency.min())
    free = float((latency < latency.min() + 0.1).mean()) * 100
    rows = [
        Row.within(
            f"{name}.max", "worst latency", "us", float(latency.max()), outcome.bound_us(FLOW),
            paper=printed.FIG_17_WORST_US if name == "fig18" else None,
        ),
        Row.within(
            f"{name}.increase", "largest increase over the least latency", "us", increase, _most_increase_us(outcome),
            paper=printed.INCREASE_US[after], theory=_contention_us(outcome),
        ).as_key(),
        Row.told(f"{name}.free", "frames that met nobody", "%", free),
    ]  # fmt: skip
    note = "The flows' periods differ, so that the possibility of a conflict comes and goes."
    return Found(rows, [_frame_by_frame(after, outcome, note)])


def _frame_by_frame(name: str, outcome: Outcome, note: str) -> Picture:
    latency = outcome.frames[FLOW].latency_us
    ends = (1, latency.size)
    figure = drawing.figure("frame", "latency / us")
    drawing.points(figure, "ours, each frame", range(1, latency.size + 1), latency, drawing.COLORS[0])
    bound = outcome.bound_us(FLOW)
    if bound is not None:
        drawing.level(figure, "ours: bound", ends, bound, drawing.BOUND)
    theirs = printed.INCREASE_US[name]
    label = f"our minimum and the paper's increase, {theirs:g} us"
    drawing.level(figure, label, ends, float(latency.min()) + theirs, drawing.PAPER)
    return Picture("Latency of each frame", note, figure)


_BEST_EFFORT = "best effort"
EXPERIMENTS = (
    Experiment(
        "fig17",
        "ATS against best effort",
        "Figure 17",
        _over_rates("fig17", RATES),
        partial(_over, "fig17", _BEST_EFFORT),
    ),
    Experiment(
        "fig18",
        "ATS against 500 Mb/s of best effort, frame by frame",
        "Figure 18",
        [Case(FOLDER / "fig18.toml")],
        partial(_series, "fig18"),
    ),
    Experiment(
        "fig19",
        "ATS against another ATS flow of its class",
        "Figure 19",
        _over_committed_rates("fig19", RATES[1:-1]),
        partial(_over, "fig19", "committed rate of the other flow"),
    ),
    Experiment(
        "fig20",
        "ATS against a lower ATS class and best effort",
        "Figure 20",
        _over_rates("fig20", RATES[:-1]),
        partial(_over, "fig20", _BEST_EFFORT),
    ),
    Experiment(
        "fig21",
        "ATS against a higher ATS class and best effort",
        "Figure 21",
        _over_rates("fig21", RATES[:-1]),
        partial(_over, "fig21", _BEST_EFFORT),
    ),
    Experiment(
        "fig22",
        "ATS against a higher ATS class and 500 Mb/s of best effort, frame by frame",
        "Figure 22",
        [Case(FOLDER / "fig22.toml")],
        partial(_series, "fig22"),
    ),
)
