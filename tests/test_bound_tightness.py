# SPDX-License-Identifier: Apache-2.0
"""The worst cases that a search finds: near to their bounds, never above."""

from __future__ import annotations

import pytest

from penstock.bound.drawn import KINDS
from penstock.bound.tightness import GOAL, tightness


@pytest.mark.parametrize("kind", KINDS)
def test_worst_cases_come_near_to_their_bounds(kind: str) -> None:
    found = tightness(kind, count=4, seed=1, steps=40, workers=1)
    assert len(found.queues) > 3
    assert all(0 < each.random_ps <= each.bound_ps for each in found.queues)
    assert all(each.worst_ps <= each.bound_ps for each in found.queues)
    assert found.median >= GOAL
    assert found.ok
