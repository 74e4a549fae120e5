# SPDX-License-Identifier: Apache-2.0
"""In-band synchronization through bridges of a run: models for hours, the hardware for seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.in_band import Way, drifting_clock, unwrapped
from penstock.reproduce import papers, work
from penstock.reproduce.experiment import Options
from penstock.reproduce.outcome import Outcome
from penstock.reproduce.smartnic_tas import PAPER, clocks


def ran(nodes: str, **more: Any) -> tuple[Any, Outcome]:
    case = clocks.case(nodes)
    case = type(case)(case.scenario, {**case.values, **more}, case.at, case.watch)
    return case, clocks.watch(work.task(case, "model").network())


def rows(case: Any, outcome: Outcome) -> Mapping[str, Any]:
    (experiment,) = papers.chosen(PAPER, ["clocks"])
    return {row.id: row for row in experiment.evaluate([(case, outcome)], Options()).rows}


def test_an_hour_of_collecting_and_the_error_stays_below_50_ns() -> None:
    case, outcome = ran("model")
    found = rows(case, outcome)
    assert [name for name, row in found.items() if row.ok is not True] == []
    assert outcome.summary["phase"] == "done"
    assert len(outcome.summary["truth"]) > 3500, "an hour of it"
    assert 5.9 < found["fig5.least_trip"].measured < 6.1
    before = [error for phase, *_, error in outcome.summary["samples"] if phase == "collecting"]
    assert before[-1] - before[0] == pytest.approx(20e6, rel=0.01), "20 ms in an hour"


def test_through_the_hardware() -> None:
    case, outcome = ran("rtl")
    found = rows(case, outcome)
    assert set(found) == {"fig5.drift.rtl", "fig6.error.rtl"}
    assert [name for name, row in found.items() if row.ok is not True] == []
    assert len(outcome.summary["truth"]) >= 3


def test_without_a_compensation_the_row_is_not_met() -> None:
    """The run ends in the collection phase."""
    case, outcome = ran("model", duration="300s")
    assert outcome.summary["phase"] == "collecting"
    assert {name for name, row in rows(case, outcome).items() if not row.ok} == {"fig5.drift", "fig6.error"}


def test_a_frame_of_neighbours_is_one_of_a_stream_on_its_way() -> None:
    way = Way("s", bytes(range(6)), bytes(range(6, 12)), 10, 7)
    frame = bytes.fromhex("0180c200000e") + way.source + bytes.fromhex("88b6") + bytes(46)
    on_way = way.wrapped(frame)
    assert on_way[:6] == way.destination
    assert on_way[12:18].hex() == "8100e00a88b6"
    assert unwrapped(on_way) == frame


def test_a_clock_drifts() -> None:
    clock = drifting_clock(offset_ns=1000, drift_ppm=5.0)
    s, ns, _ = clock.time(125_000_000)
    assert (s, ns) == pytest.approx((1_700_000_001, 6_000), abs=2)
