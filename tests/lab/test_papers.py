# SPDX-License-Identifier: Apache-2.0
"""A paper's experiment on the laboratory's kernel, shorter than the command runs it."""

from __future__ import annotations

import pytest

from penstock.lab.run import Where
from penstock.reproduce import laboratory, papers
from penstock.reproduce.linux_shapers import PAPER
from penstock.reproduce.linux_shapers import laboratory as shapers


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
