# SPDX-License-Identifier: Apache-2.0
"""Figure 8: the latency of each frame under four schedulers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from penstock.percentile import percentile
from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.outcome import Outcome, Times
from penstock.reproduce.row import Row
from penstock.reproduce.smartnic_tas import pictures, printed
from penstock.reproduce.smartnic_tas.flows import FLOWS, latency_us
from penstock.reproduce.smartnic_tas.place import SCHEDULERS, case

CARRIED_MBPS = 21  # of a port that carries both flows
_SIMILAR = 0.1  # part by which means of "similar latencies" differ at most
_TALKERS = {True: "aligned", False: "not aligned"}

Range = tuple[float | None, float | None]
Runs = Mapping[tuple[str, bool], Outcome]


def said(scheduler: str, aligned: bool) -> str:
    """A run, for people."""
    return f"{SCHEDULERS[scheduler]}, talker {_TALKERS[aligned]}"


def key(scheduler: str, aligned: bool) -> str:
    """The same in ids of rows."""
    return f"fig8.{scheduler}.{'aligned' if aligned else 'free'}"


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    runs = {(at.at["scheduler"], at.at["aligned"]): run for at, run in outcomes if at.at["rate_mbps"] is None}
    ((_, carried),) = [(at, run) for at, run in outcomes if at.at["rate_mbps"] is not None]
    found = Found()
    for (scheduler, aligned), run in runs.items():
        found.rows += _ranges(scheduler, aligned, run)
    found.rows += _carried(carried)
    found.rows += [bounded(runs["tas", aligned], aligned) for aligned in _TALKERS]
    found.rows += claims(runs) + breaches(runs)
    for aligned, called in _TALKERS.items():
        latencies = {
            scheduler: {flow: latency_us(runs[scheduler, aligned], flow) for flow in FLOWS} for scheduler in SCHEDULERS
        }
        found.pictures += pictures.latencies(f"talker {called}", latencies)
    return found


def quantiles(name: str, called: str, flow: str, latency: Times, paper: Range = (None, None)) -> list[Row]:
    """Least, middle and greatest latency of a flow; `paper` has the least and the greatest of the paper's."""
    rows = []
    for part, what, value, printed_us in (
        ("min", "least latency", latency.min(initial=np.inf), paper[0]),
        ("p50", "half of the latencies are below", percentile(latency, 0.5) if latency.size else np.inf, None),
        ("max", "greatest latency", latency.max(initial=0), paper[1]),
    ):
        label = f"{what}, {FLOWS[flow]}, {called}"
        row = Row.told(f"{name}.{flow}.{part}", label, "us", float(value), paper=printed_us)
        rows.append(replace(row, key=flow == "st" and part != "min"))
    return rows


def _ranges(scheduler: str, aligned: bool, run: Outcome) -> list[Row]:
    paper: Range = printed.LATENCY_US.get(scheduler, (None, printed.TAS_US if scheduler == "tas" else None))
    rows = []
    for flow in FLOWS:
        beside = paper if flow == "st" or scheduler == "rr" else (None, None)
        rows += quantiles(key(scheduler, aligned), said(scheduler, aligned), flow, latency_us(run, flow), beside)
    return rows


def _carried(run: Outcome) -> list[Row]:
    """Round robin where the port carries both: what the paper's range takes."""
    low, high = printed.LATENCY_US["rr"]
    rows = []
    for flow, called in FLOWS.items():
        label = f"greatest latency, {called}, round robin at a port of {CARRIED_MBPS} Mb/s, which carries both"
        value = float(latency_us(run, flow).max())
        row = Row.told(f"fig8.rr.carried.{flow}", label, "us", value, paper=high)
        rows.append(replace(row, requirement="in the paper's range", ok=low <= value <= high, key=True))
    return rows


def bounded(run: Outcome, aligned: bool) -> Row:
    """Each frame of ST within what the gates' windows and store-and-forward allow."""
    label = f"greatest latency, ST, {said('tas', aligned)}, at most its bound"
    row = Row.within(
        f"{key('tas', aligned)}.bound", label, "us", float(run.frames["st"].latency_us.max()), run.bound_us("st")
    )
    return row.as_key()


def claims(runs: Runs) -> list[Row]:
    """The order of the schedulers, and by how much the last is better, of the mean of ST."""
    mean = {at: {flow: float(latency_us(run, flow).mean()) for flow in FLOWS} for at, run in runs.items()}
    rows = []
    for scheduler in ("sp", "taprio"):
        for aligned in _TALKERS:
            st, be = mean[scheduler, aligned]["st"], mean[scheduler, aligned]["be"]
            name, label = (
                f"{key(scheduler, aligned)}.order",
                f"mean of ST, at most that of BE, {said(scheduler, aligned)}",
            )
            rows.append(_other(Row.within(name, label, "us", st, be)))
    for aligned in _TALKERS:
        apart = mean["rr", aligned]["st"] / mean["rr", aligned]["be"]
        label = f"mean of ST over that of BE, {said('rr', aligned)}"
        rows.append(Row.equals(f"{key('rr', aligned)}.similar", label, "", apart, 1, _SIMILAR).as_key())
    tas = mean["tas", True]["st"]
    for scheduler in ("rr", "sp", "taprio"):
        times = 1 if scheduler == "rr" else printed.TIMES_LOWER
        label = f"{times} times the mean of ST under gates, at most that of {SCHEDULERS[scheduler]}, talker aligned"
        rows.append(_other(Row.within(f"fig8.tas<{scheduler}", label, "us", times * tas, mean[scheduler, True]["st"])))
    return rows


def breaches(runs: Runs) -> list[Row]:
    """Frames of ST that took longer than the paper's bound of the time-aware shaper."""
    rows = []
    for scheduler, aligned in runs:
        beyond = 100 * float((latency_us(runs[scheduler, aligned], "st") > printed.TAS_US).mean())
        label = f"frames of ST beyond {printed.TAS_US:g} us, {said(scheduler, aligned)}"
        row = Row.told(f"{key(scheduler, aligned)}.beyond", label, "%", beyond)
        if scheduler == "tas" and aligned:
            row = replace(row, requirement="measured equals the paper's", paper=0.0, ok=beyond == 0)
        rows.append(row.as_key())
    return rows


def _other(row: Row) -> Row:
    return replace(row, requirement="measured at most the other's mean, shown as bound", key=True)


EXPERIMENTS = (
    Experiment(
        "fig8",
        "latency of each frame under four schedulers",
        "Figure 8",
        [case(scheduler, aligned) for aligned in _TALKERS for scheduler in SCHEDULERS]
        + [case("rr", False, rate_mbps=CARRIED_MBPS)],
        _evaluate,
    ),
)
