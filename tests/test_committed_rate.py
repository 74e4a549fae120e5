# SPDX-License-Identifier: Apache-2.0
"""A source at exactly its committed rate, for long: its shaper is never slower than it, and its bound holds."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.bound import ways_of
from penstock.bound.analysis import analyse
from penstock.bound.sources import fastest_bps
from penstock.run import statistics
from penstock.scenario import load


def network(duration: str) -> dict[str, Any]:
    """1350 B on the wire each 12 us are 900 Mb/s, of which a byte is no whole number of ticks."""
    return {
        "name": "exact",
        "duration": duration,
        "nodes": "model",
        "bridges": {"b": {"ports": 2, "classes": {"7": {"selection": "ats"}}}},
        "stations": {"t": {"at": "b.0"}, "z": {"at": "b.1"}},
        "streams": {
            "s": {
                "from": "t", "to": ["z"], "vlan": 10, "pcp": 3, "ats": {"rate": "900Mb/s", "burst": "1350B"},
                "source": {"frames": "1330B", "every": "12us"},
            }
        },
    }  # fmt: skip


def test_a_source_at_its_rate_keeps_its_bound_however_long_it_lasts() -> None:
    """Were each frame held by 2^-15 ns more than the one before, it would be above its bound after 6 s."""
    checked = load(network("12s"))
    assert analyse(checked).ok
    found = statistics(checked)["streams"]["s"]
    assert found["delivered"] > 999_000
    (way,) = ways_of(checked, "s")
    assert way.total_ps is not None
    assert found["latency_ns"]["max"] * 1000 <= way.total_ps
    # Neither the first nor the last frame is held: the latency is one constant.
    assert found["latency_ns"]["max"] - found["latency_ns"]["min"] <= 8


@pytest.mark.parametrize("rate", [10_000, 10_007, 64_000, 33_333_333, 900_000_000, 999_999_937])
@pytest.mark.parametrize("shortest", [84, 1542])
def test_a_scheduler_is_faster_than_its_rate_by_a_millionth_at_most(rate: int, shortest: int) -> None:
    assert 0 <= fastest_bps(rate, shortest) - rate <= rate * 1e-6 + 1


def test_rates_that_are_whole_in_ticks_are_exact() -> None:
    for rate in (1_000_000, 20_000_000, 100_000_000, 1_000_000_000):
        assert fastest_bps(rate, 84) == rate
