# SPDX-License-Identifier: Apache-2.0
"""A card in hardware whose ports are all full in both directions."""

from __future__ import annotations

import pytest

from penstock.nic.both_ways import both_ways, rows
from penstock.nic.cli import app
from program import invoke


@pytest.mark.parametrize(("ports", "latency_cycles"), [(1, 0), (4, 0), (1, 8), (1, 32), (1, 125)])
def test_nothing_is_lost_at_line_rate_while_memory_answers_in_a_microsecond(ports: int, latency_cycles: int) -> None:
    seen = both_ways(ports, latency_cycles=latency_cycles)
    assert len(seen) == 8
    assert [row["quantity"] for row in seen if not row["ok"]] == []


def test_the_worst_port_counts() -> None:
    good = {"frame_bytes": 60, "came": 100, "received": 100, "sent": 100.0}
    assert [row["ok"] for row in rows(60, [good, good])] == [True, True]
    assert [row["ok"] for row in rows(60, [good, good | {"received": 99}])] == [False, True]
    assert [row["ok"] for row in rows(60, [good | {"sent": 99.8}, good])] == [True, False]


@pytest.mark.parametrize(
    ("latency", "said"), [("3ns", "multiples of 8ns"), ("3us", "0s to 1us"), ("fast", "is not a time")]
)
def test_a_latency_that_no_memory_has_is_refused(latency: str, said: str) -> None:
    done = invoke(app, ["bench", "--memory-latency", latency])
    assert done.status == 2
    assert said in done.stderr
