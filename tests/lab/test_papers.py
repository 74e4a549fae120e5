# SPDX-License-Identifier: Apache-2.0
"""Experiments of papers on the laboratory's kernel, shorter than the command runs them."""

from __future__ import annotations

import pytest

from penstock.lab.run import Where
from penstock.reproduce import laboratory, papers
from penstock.reproduce import launch_time_talker as talker
from penstock.reproduce.linux_shapers import PAPER
from penstock.reproduce.linux_shapers import laboratory as shapers

pytestmark = pytest.mark.long(110)


def test_the_four_configurations_of_linux_shapers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapers, "DURATION_MS", 60)
    found = laboratory.run(PAPER, papers.chosen(PAPER, ["fig2"]), Where(guest=True), print)
    assert found.about.is_real_time
    rows = {row.id: row for row in found.found["fig2"].rows}
    assert [row.id for row in rows.values() if not row.ok] == []
    assert {"audio.mqprio<taprio", "audio.taprio<cbs-taprio"} <= set(rows)
    closed = rows["audio.mqprio.closed"].measured
    assert closed is not None
    assert closed > 5


def test_launch_times_through_three_gated_switches() -> None:
    experiments = papers.sized(talker.PAPER, papers.chosen(talker.PAPER, ["table1"]), ["model"], 40)
    found = laboratory.run(talker.PAPER, experiments, Where(guest=True), print)
    assert found.about.is_real_time
    rows = {row.id: row for row in found.found["table1"].rows}
    assert [row.id for row in rows.values() if not row.ok] == []
    # Each switch that the frames pass takes its time behind the gate, so that nothing of this is zero.
    assert 0 < (rows["table1.launch.held"].measured or 0) < (rows["table1.launch.held"].bound or 0)
    assert {"table1.software.window", "table1.launch.jitter.mean"} <= set(rows)
