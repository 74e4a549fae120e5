# SPDX-License-Identifier: Apache-2.0
"""In-band synchronization of the clocks of two switches in hardware, by the processors at their host ports."""

from __future__ import annotations

import dataclasses

import pytest

from penstock.hardware import in_band_host
from penstock.hardware.host import Direct
from penstock.hardware.in_band_host import LostError, synchronize
from penstock.hardware.traffic import station_address
from penstock.in_band import Plan

PLAN = Plan(interval_ns=10_000_000, probes=30, probes_after_set=16, checks=4)


@pytest.mark.parametrize(("offset_ns", "drift_ppm"), [(7_000_000, 5.556), (-3_000_000_123, -40.0)])
def test_the_second_clock_is_brought_to_the_first(offset_ns: int, drift_ppm: float) -> None:
    found = synchronize(PLAN, offset_ns, drift_ppm, looks=5)
    assert found.phase == "done"
    assert found.drift_ppm == pytest.approx(drift_ppm, abs=0.01)
    assert len(found.trips_ns) == PLAN.probes + PLAN.probes_after_set + PLAN.checks
    assert min(found.trips_ns) > 1_000, "twice through two switches"
    assert len(found.truth_ns) == 5
    assert max(map(abs, found.truth_ns)) <= 16


def test_what_is_left_is_half_of_what_one_way_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell that from a clock that is ahead: so the truth is seen, and not what the protocol believes."""
    usual = in_band_host._Side.from_the_wire

    def later(side: in_band_host._Side, left: int, frame: bytes) -> in_band_host._Out:
        found = usual(side, left, frame)
        to_the_follower = frame[6:12] != station_address(0, 2)
        return dataclasses.replace(found, stamp_ns=found.stamp_ns + 800 * to_the_follower)

    monkeypatch.setattr(in_band_host._Side, "from_the_wire", later)
    found = synchronize(PLAN, 7_000_000, 5.556, looks=2)
    assert found.phase == "done"
    assert [abs(truth) for truth in found.truth_ns] == pytest.approx([400, 400], abs=16)


def test_a_frame_that_does_not_come_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_band_host, "way_of", lambda _frame: Direct(frozenset(), 7))
    with pytest.raises(LostError, match="port 0"):
        synchronize(PLAN, 0, 0.0, looks=0)
