# SPDX-License-Identifier: Apache-2.0
"""Section IV: latency and jitter from one single node to the other, on the shortest path and around a dead link."""

from __future__ import annotations

import numpy as np

from penstock.reproduce import drawing
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.outcome import Outcome, Times
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic import printed
from penstock.reproduce.time_aware_nic.place import FOLDER
from penstock.scenario import load

_FILE = FOLDER / "testbed.toml"
_WAYS = {"shortest": "on the shortest path", "dead": "with a link of it dead"}
_GAIN = 16  # of the estimate of jitter, RFC 3550, 6.4.1
_NEAR_US = 1.0
_LOST = 1  # a datagram that is on the link when it dies


def delays_us(outcome: Outcome) -> dict[str, Times]:
    """From the program's call at the one node to the other node's station, before the fault and after."""
    frames, fault_ps = outcome.frames["iperf"], load(_FILE).faults[0].at_ps
    found = (frames.delivered_ps - frames.created_ps) / 1e6
    return {"shortest": found[frames.delivered_ps < fault_ps], "dead": found[frames.created_ps >= fault_ps]}


def jitter_us(delays: Times) -> Times:
    """The estimate that iperf3 prints, after each datagram but the first."""
    found, estimate = [], 0.0
    for change in np.abs(np.diff(delays)):
        estimate += (change - estimate) / _GAIN
        found.append(estimate)
    return np.array(found[_GAIN * 4 :])  # it begins at zero and has to rise


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    figure = drawing.figure("latency / us", "part of the datagrams / %")
    ((_, outcome),) = outcomes
    for way, delays in delays_us(outcome).items():
        called = _WAYS[way]
        paper = printed.LATENCY_MS[way] * 1000
        found.rows.append(
            Row.near(
                f"latency.{way}", f"mean latency {called}", "us", float(delays.mean()), paper,
                printed.LATENCY_ROUNDING_US,
            ).as_key()
        )  # fmt: skip
        jitter = jitter_us(delays)
        found.rows.append(
            Row.near(
                f"jitter.{way}", f"mean of the jitter that iperf3 prints, {called}", "us", float(jitter.mean()),
                printed.JITTER_US, _NEAR_US,
            ).as_key()
        )  # fmt: skip
        label = f'standard deviation of that, {called}; the paper: "few us"'
        found.rows.append(Row.told(f"jitter.{way}.deviation", label, "us", float(jitter.std())).as_key())
        parts = 100 * np.arange(1, delays.size + 1) / delays.size
        drawing.curve(figure, called, np.sort(delays), parts, drawing.COLORS[len(figure.data)], mode="lines")
    lost = outcome.stream("iperf")["sent"] - outcome.stream("iperf")["delivered"]
    label = "datagrams lost, of which one can be on the link when it dies"
    found.rows.append(Row.within("lost", label, "", lost, _LOST).as_key())
    drawing.paper(figure, "the paper's means", [ms * 1000 for ms in printed.LATENCY_MS.values()], [50, 50])
    note = "From the program's call to the other node. 85 us at each of four hosts, or of six around the dead link."
    found.pictures.append(Picture("Latency between the single nodes", note, figure))
    return found


EXPERIMENTS = (Experiment("latency", "latency and jitter between the single nodes", "IV-A", (Case(_FILE),), _evaluate),)
