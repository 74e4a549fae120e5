# SPDX-License-Identifier: Apache-2.0
"""The SmartNIC paper's testbed, run for a short time: every claim is met, and would not be by anything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.reproduce import papers, work
from penstock.reproduce.experiment import Case, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.smartnic_tas import PAPER, flows
from penstock.reproduce.smartnic_tas.flows import latency_us, means, most
from penstock.reproduce.smartnic_tas.place import case, streams

SHORT = {"duration": "800ms"}
MS = 10**9


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    """Of all cases."""
    of = {each.key: each for name in ("fig8", "fig9", "cycle") for each in papers.chosen(PAPER, [name])[0].cases}
    short = [replace(each, values={**each.values, **SHORT}) for each in of.values()]
    (experiment,) = papers.chosen(PAPER, ["fig8"])
    found = work.do(work.plan([replace(experiment, cases=short)], ["model"]), 1, lambda _done, _of: None)
    return [(each, found[work.Run(each, "model").key]) for each in short]


def rows(outcomes: Outcomes, name: str) -> dict[str, Row]:
    (experiment,) = papers.chosen(PAPER, [name])
    wanted = [each.at for each in experiment.cases]
    found = experiment.evaluate([(at, run) for at, run in outcomes if at.at in wanted], Options())
    assert bool(found.pictures) is name.startswith("fig")
    assert len({row.id for row in found.rows}) == len(found.rows)
    return {row.id: row for row in found.rows}


@pytest.mark.parametrize("name", ["fig8", "fig9", "cycle"])
def test_every_claim_is_met(outcomes: Outcomes, name: str) -> None:
    assert [row.id for row in rows(outcomes, name).values() if row.ok is not True] == []


def test_claims_fail_where_schedulers_are_mistaken(outcomes: Outcomes) -> None:
    other = {"tas": "sp", "sp": "tas"}
    swapped = [
        (Case(at.scenario, at.values, {**at.at, "scheduler": other.get(at.at["scheduler"], at.at["scheduler"])}), run)
        for at, run in outcomes
    ]
    bad = {row.id for row in rows(swapped, "fig8").values() if not row.ok}
    assert {"fig8.tas.aligned.beyond", "fig8.tas<sp", "fig8.tas<taprio"} <= bad


def test_an_aligned_talker_sends_what_the_other_does(outcomes: Outcomes) -> None:
    """25 frames in 20 ms, each alone in the window: 3 us and a frame at 10 Gb/s at each switch, preambles, cables."""
    sent = {at.at["aligned"]: run.stream("st")["sent"] for at, run in outcomes if at.at["scheduler"] == "tas"}
    assert sent == {True: 1000, False: 1000}
    (aligned,) = [run for at, run in outcomes if at.at == case("tas", aligned=True).at]
    least_us = 2 * (3 + 0.8) + 3 * 0.005 + 0.0064 + 8 * 8 / 19
    assert latency_us(aligned, "st").min() == pytest.approx(least_us + 0.0064, abs=0.001)


@pytest.mark.parametrize("cycle_us", [5_000, 10_000])
def test_all_that_an_aligned_talker_sends_comes_in_the_window(cycle_us: int) -> None:
    said = streams(cycle_us)
    starts = [int(each["source"]["start"].removesuffix("us")) for name, each in said.items() if name != "be"]
    took_us = (1000 + 20) * 8 / 19
    assert max(starts) + took_us + 20 < cycle_us * 0.7
    rate = sum(8000 / int(each["source"]["every"].removesuffix("us")) for name, each in said.items() if name != "be")
    assert rate == pytest.approx(10)


def test_frames_that_cannot_be_sent_in_time_break_the_bound() -> None:
    """A talker whose frames come while BE's window is open waits for that of ST: beyond the aligned one's bound."""
    given = case("tas", aligned=True)
    moved = {name: {**each, "source": dict(each["source"])} for name, each in given.values["streams"].items()}
    moved["st0"]["source"]["start"] = "3600us"
    values = {**given.values, **SHORT, "streams": moved}
    run = flows.watch(work.task(replace(given, values=values), "model").network())
    aligned = flows.watch(work.task(replace(given, values={**given.values, **SHORT}), "model").network())
    bound_us = aligned.bound_us("st")
    assert bound_us is not None
    assert 10.9 < latency_us(aligned, "st").max() <= bound_us < 17
    assert latency_us(run, "st").max() > 1300


def test_what_a_queue_holds_by_hand() -> None:
    """A frame from 0 to 150 ms, another from 50 to 60 ms; one comes as another leaves."""
    queued = np.array([0, 50, 150]) * MS
    left = np.array([150, 60, 200]) * MS
    assert means(queued, left, 100 * MS, 200 * MS) == pytest.approx([1.1, 1.0])
    assert most(queued, left) == 2
