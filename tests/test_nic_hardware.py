# SPDX-License-Identifier: Apache-2.0
"""The network card in hardware against its model, on random rings, frames and settings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.nic.alone import Kind, alone, followed
from penstock.nic.differ import differ
from penstock.reproduce.time_aware_nic.card import clock_rows, rows

pytestmark = pytest.mark.long(100)


def test_the_card_does_as_its_model_to_the_cycle() -> None:
    found = differ(seed=1, count=60)
    assert found["said"] == []
    assert found["differing"] == []
    compared = found["compared"]
    least = {"frames": 400, "errors": 10, "gate_lists": 10, "slots": 10, "credits": 10, "received": 300, "damaged": 30}
    least |= {"launched": 100, "late": 50, "shaped": 40, "stamps": 100}
    assert {name for name, count in least.items() if compared[name] < count} == set()


@pytest.mark.parametrize("seed", [1035, 1036, 1323])
def test_a_frame_that_fits_no_window_is_given_up_by_the_model_as_by_the_card(seed: int) -> None:
    found = differ(seed=seed, count=1)
    assert found["said"] == []
    assert found["compared"]["given_up"] >= 1


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_each_queue_gets_what_whole_frames_take_of_its_slot(kind: Kind) -> None:
    seen = alone(kind)
    assert [row.quantity for row in rows(kind, seen) if not row.ok] == []
    # Nothing of that is met by a card whose slots do nothing.
    bad = replace(seen, slots=seen.turns, guarded=seen.slots, free=seen.slots, outside=1, changed=1, refusal=0)
    missed = {row.id.removeprefix(f"card.{kind}.") for row in rows(kind, bad) if not row.ok}
    assert missed == {
        "slots.high",
        "slots.wire",
        "slots.low",
        "guard",
        "free.slot",
        "free.one",
        "free.other",
        "slots.outside",
        "slots.changed",
        "slots.refused",
    }


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_slots_follow_the_clock(kind: Kind) -> None:
    seen = followed(kind)
    assert len(seen) == 5
    assert [row.quantity for row in clock_rows(kind, seen) if not row.ok] == []
    # A clock that nothing moves, or slots that do not follow it, would be seen.
    still = [replace(moved, moved_ns=0, faster_ppm=0, frames=[4, 5, 73], outside=1) for moved in seen]
    missed = {row.id.removeprefix(f"card.{kind}.clock.") for row in clock_rows(kind, still) if not row.ok}
    unmet = {f"{moved.command}.{what}" for moved in seen for what in ("queue1", "outside")}
    assert missed == unmet | {"forward.moved", "back.moved", "slew.moved", "faster.rate"}
