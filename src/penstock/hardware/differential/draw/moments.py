# SPDX-License-Identifier: Apache-2.0
"""When changes come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.ethernet import MIN_FRAME_BYTES
from penstock.hardware.configure import Write
from penstock.hardware.differential.draw.before import Before
from penstock.hardware.differential.draw.changes import CHANGES
from penstock.hardware.differential.draw.config import LONGEST_FRAME_BYTES
from penstock.hardware.differential.draw.drawing import Drawing
from penstock.hardware.differential.scenario import Arrival, Change

WRITE_CYCLES = 3


def draw_changes(drawing: Drawing, arrivals: Sequence[Arrival]) -> Iterator[Change]:
    """The changes, many of which are taken back soon."""
    rng = drawing.rng
    before = Before(drawing.config)
    at = 0
    for _ in range(rng.choice((0, 0, 4, 20, 60))):
        kind = rng.choice([*CHANGES])
        writes = CHANGES[kind](drawing)
        if not writes:
            continue
        # Some come at once: the writes of one follow those of the other.
        if rng.random() < 0.9:
            at = _moment(drawing, rng.choice(arrivals), writes)
        if kind == "max_frame" and rng.random() < 0.7:
            at, writes = _limit_at(drawing, rng.choice(arrivals))
        yield _change(drawing, at, kind, writes)
        if rng.random() < 0.7:  # for a moment only, so that the scenario stays of its kind
            at += rng.randint(1, rng.choice((8, 60, 5_000)))
            yield _change(drawing, at, kind, before.of(writes))


def _limit_at(drawing: Drawing, arrival: Arrival) -> tuple[int, list[Write]]:
    """The longest frame is changed about this frame's length, and about its delimiter."""
    limit = max(MIN_FRAME_BYTES, arrival.frame.size - drawing.rng.randrange(2))
    at = arrival.at + arrival.frame.preamble + drawing.rng.randint(-12, 3)
    return max(0, at), [drawing.registers.write("max_frame", bytes=min(limit, LONGEST_FRAME_BYTES))]


def _moment(drawing: Drawing, arrival: Arrival, writes: Sequence[Write]) -> int:
    """Mostly such that the last write acts while the switch looks at a frame: behind its delimiter, or its end."""
    rng = drawing.rng
    frame = arrival.frame
    if rng.random() < 0.2:
        return arrival.at + rng.randrange(2_000)
    looks = arrival.at + rng.choice((frame.preamble, frame.carrier_cycles)) + rng.randint(-5, 45)
    return max(0, looks - WRITE_CYCLES * len(writes))


def _change(drawing: Drawing, at: int, kind: str, writes: Sequence[Write]) -> Change:
    return Change(at, kind, tuple((drawing.name_of[address], value) for address, value in writes))
