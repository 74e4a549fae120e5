# SPDX-License-Identifier: Apache-2.0
"""The worst cases that a search finds: near to their bounds, never above."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bound import tightness as searches
from penstock.bound.drawn import KINDS
from penstock.bound.tightness import GOAL, WORDS, Nearest, Tightness, tightness


@pytest.mark.parametrize("kind", KINDS)
def test_worst_cases_come_near_to_their_bounds(kind: str) -> None:
    found = tightness(kind, count=4, seed=1, steps=40, workers=1)
    assert len(found.queues) > 3
    assert all(0 < each.random_ps <= each.bound_ps for each in found.queues)
    assert all(each.worst_ps <= each.bound_ps for each in found.queues)
    assert found.median >= GOAL
    assert found.ok


def test_the_page_has_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "bound.md"
    page.write_text("before\n<!-- begin tightness -->\nold\n<!-- end tightness -->\nafter\n")
    near = Nearest((1, 2, 3), "s", bound_ps=8_000_000, worst_ps=7_000_000, random_ps=6_000_000)
    monkeypatch.setattr(searches, "tightness", lambda kind, *_: Tightness(kind, [near]))
    monkeypatch.setattr("penstock.data.page", lambda name: {"bound.md": page}[name])
    assert searches.run_tightness(1, 1, 1, as_json=True, update_docs=True)
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert lines[4:-2] == [f"| {WORDS[kind]} | 1 | 8.000 | 7.000 | 87.5 % | 87.5 % | 75.0 % |" for kind in KINDS]
