# SPDX-License-Identifier: Apache-2.0
"""`penstock reproduce launch-time-talker`, with few frames."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.errors import InputError
from penstock.reproduce import load, papers, work
from penstock.reproduce.experiment import Experiment, Options, Outcomes
from penstock.reproduce.launch_time_talker import interference, offset, switches
from penstock.reproduce.launch_time_talker.place import FOLDER
from penstock.reproduce.outcome import watch
from penstock.reproduce.row import Row

PAPER = load("launch-time-talker")


def outcomes_of(experiment: Experiment, frames: int, nodes: str = "model") -> Outcomes:
    """Run in this process."""
    (sized,) = papers.sized(PAPER, [experiment], [nodes], frames)
    tasks = work.plan([sized], [nodes])
    return [(case, watch(tasks[work.Run(case, nodes).key].network())) for case in sized.cases]


def rows_of(experiment: Experiment, outcomes: Outcomes) -> dict[str, Row]:
    return {row.id: row for row in experiment.evaluate(outcomes, Options()).rows}


def not_met(rows: dict[str, Row]) -> list[str]:
    return [name for name, row in rows.items() if not row.ok]


@pytest.fixture(scope="module")
def table_1() -> Outcomes:
    return outcomes_of(switches.EXPERIMENT, 12_000)


@pytest.fixture(scope="module")
def table_3() -> Outcomes:
    return outcomes_of(interference.EXPERIMENT, 200)


def test_launch_times_keep_the_period(table_1: Outcomes) -> None:
    rows = rows_of(switches.EXPERIMENT, table_1)
    assert not not_met(rows)
    assert (rows["table1.launch.spread"].measured or 0) <= 16
    assert rows["table1.software.late"].measured
    assert (rows["table1.software.peak_to_peak"].measured or 0) > 1.9e6
    assert rows["table1.software.smallest"].measured == pytest.approx(6_880, abs=8)


def test_late_frames_in_no_order_fail(table_1: Outcomes) -> None:
    """A frame in time that was handed over after all others."""
    (launch, _), (case, outcome) = table_1
    frames = outcome.frames["tsn"]
    sent = frames.sent_ps.copy()
    sent[np.flatnonzero(~switches.late(frames))[0]] += 400_000_000
    changed = replace(outcome, frames={"tsn": replace(frames, sent_ps=sent)})
    rows = rows_of(switches.EXPERIMENT, [table_1[0], (case, changed)])
    assert launch.at["launch"]
    assert not_met(rows) == ["table1.software.order"]


def test_offsets_that_are_too_short_are_missed() -> None:
    outcomes = outcomes_of(offset.EXPERIMENT, 4_000)
    rows = rows_of(offset.EXPERIMENT, outcomes)
    assert not not_met(rows)
    missed = [rows[f"table2.{each}.missed"].measured or 0 for each in offset.OFFSETS_US]
    assert missed[0] > missed[2]
    assert missed == sorted(missed, reverse=True)
    assert missed[-1] == 0
    assert rows["table2.95.mean"].measured == pytest.approx(90.197, abs=0.2)


def test_interference_harms_best_effort_alone(table_3: Outcomes) -> None:
    rows = rows_of(interference.EXPERIMENT, table_3)
    assert not not_met(rows)
    assert rows["table3.unharmed"].measured == 0
    assert (rows["table3.be.interference.transmit.max"].measured or 0) > 500_000
    assert (rows["table3.be.quiet.transmit.max"].measured or 0) < 100_000


def test_harm_to_the_time_sensitive_stream_fails(table_3: Outcomes) -> None:
    (case, outcome), quiet = table_3
    frames = outcome.frames["tsn"]
    later = frames.delivered_ps.copy()
    later[7] += 1_000_000
    changed = replace(outcome, frames=outcome.frames | {"tsn": replace(frames, delivered_ps=later)})
    rows = rows_of(interference.EXPERIMENT, [(case, changed), quiet])
    assert not_met(rows) == ["table3.unharmed", "table3.period"]


def test_fewer_frames_where_hardware_runs() -> None:
    def durations(nodes: Sequence[str], frames: int | None = None) -> set[str]:
        sized = papers.sized(PAPER, PAPER.experiments, nodes, frames)
        return {case.values["duration"] for experiment in sized for case in experiment.cases}

    assert durations(["model"]) == {"480000ms"}
    assert durations(["model", "rtl"]) == {"200ms"}
    assert durations(["rtl"], 50) == {"50ms"}


def test_wrong_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="2 are too few; allowed: 10 or more"):
        papers.sized(PAPER, PAPER.experiments, ["model"], 2)
    other = load("ats-switch")
    with pytest.raises(InputError, match="says itself how long its runs are; allowed: no --frames"):
        papers.sized(other, other.experiments, ["model"], 100)


def test_every_host_has_the_distributions_of_the_fit() -> None:
    found = set()
    for file in FOLDER.glob("*.toml"):
        for stream in tomllib.loads(file.read_text())["streams"].values():
            if stream["from"] == "host":
                found.add(json.dumps([stream["source"]["jitter"], stream["source"]["software"]]))
    assert len(found) == 1


def test_command(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("launch-time-talker", "--only", "table1", "--frames", "40", "--workers", "1", "--json", "-o", str(out))
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "reproduce", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == json.loads((out / "summary.json").read_text())
    assert "Period jitter through three gated switches" in (out / "report.html").read_text()
