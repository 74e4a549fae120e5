# SPDX-License-Identifier: Apache-2.0
"""How the ports behave for a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.ethernet import GAP_BYTES, MIN_FRAME_BYTES
from penstock.hardware.differential.draw.drawing import Drawing

PERIOD_CYCLES = 125_000  # of a millisecond, the shortest time between two aging sweeps
MOST_OWED = 200  # carriers of a storm; the receiver remembers up to 255 that it has lost
EDGES = (64, 65, 66, 67, 68, 71, 72, 73, 127, 128, 129, 135, 136, 137, 255, 256, 257, 1521, 1522)


@dataclass(frozen=True)
class Phase:
    """How the ports behave for a while."""

    frames: int
    active: Sequence[int]
    size: Callable[[], int]
    gap: Callable[[], int]
    flow_share: float
    hot_port: int
    hot_share: float
    pcp: int | None  # None: any
    in_step: bool  # all ports begin in the same cycle
    pause_share: float  # of frames after which the port rests
    storm: bool  # tiny carriers, faster than they can be taken


def draw_phase(drawing: Drawing, left: int) -> Phase:
    """A phase of some of the frames that are left."""
    if drawing.gives_up is not None:
        return _crowded(drawing, left, drawing.gives_up)
    rng = drawing.rng
    storm = rng.random() < 0.03
    active = sorted(drawing.some(rng.choice((1.0, 1.0, 0.6))) or drawing.everybody)
    return Phase(
        frames=min(left, rng.randint(20, MOST_OWED) if storm else drawing.log(20, 2_000)),
        active=[rng.choice(active)] if storm else active,
        size=_sizes(drawing),
        gap=_gaps(drawing),
        flow_share=rng.choice((0.0, 0.3, 0.8)),
        hot_port=rng.randrange(drawing.ports),
        hot_share=rng.choice((0.0, 0.5, 0.95)),
        pcp=rng.choice((None, None, rng.randrange(8))),
        in_step=rng.random() < 0.25,
        pause_share=rng.choice((0.0, 0.0, 0.02, 0.3)),
        storm=storm,
    )


def _crowded(drawing: Drawing, left: int, port: int) -> Phase:
    """Everybody sends to one port, for a short while long frames or short ones."""
    rng = drawing.rng
    limit = drawing.config.max_frame_bytes
    long_share = rng.choice((0.0, 0.5, 1.0))
    return Phase(
        frames=min(left, drawing.log(20, 60)),
        active=sorted(drawing.some(rng.choice((1.0, 1.0, 0.6))) or drawing.everybody),
        size=lambda: rng.randint(min(400, limit), limit) if rng.random() < long_share else rng.randint(64, 100),
        gap=lambda: rng.choice((GAP_BYTES, GAP_BYTES, rng.randint(GAP_BYTES, 60))),
        flow_share=rng.choice((0.0, 0.3)),
        hot_port=port,
        hot_share=0.95,
        pcp=None,
        in_step=rng.random() < 0.25,
        pause_share=0.0,
        storm=False,
    )


def rested(drawing: Drawing, free: list[int]) -> list[int]:
    """Before a phase: nothing happens, the ports come into step, or all is quiet for a while."""
    rng = drawing.rng
    kind = rng.random()
    if drawing.gives_up is not None or (kind < 0.3 and not drawing.ages):
        return free
    quiet = drawing.log(1_000, PERIOD_CYCLES * 4 if drawing.ages else 30_000)
    return [max(free) + (rng.randint(GAP_BYTES, 100) if kind < 0.6 else quiet)] * drawing.ports


def _sizes(drawing: Drawing) -> Callable[[], int]:
    rng = drawing.rng
    limit = drawing.config.max_frame_bytes
    same = rng.randint(MIN_FRAME_BYTES, limit)
    return rng.choice(
        (
            lambda: MIN_FRAME_BYTES,
            lambda: rng.randint(64, 72),
            lambda: min(rng.choice(EDGES), limit),
            lambda: rng.choice((64, 64, 64, 64, 64, 64, 64, min(594, limit), min(594, limit), min(1518, limit))),
            lambda: rng.randint(MIN_FRAME_BYTES, limit),
            lambda: rng.randint(max(MIN_FRAME_BYTES, limit - 100), limit),
            lambda: drawing.log(MIN_FRAME_BYTES, limit),
            lambda: same,
        )
    )


def _gaps(drawing: Drawing) -> Callable[[], int]:
    rng = drawing.rng
    most = rng.choice((20, 300, 3_000))
    return rng.choice(
        (
            lambda: GAP_BYTES,
            lambda: GAP_BYTES,
            lambda: rng.randint(GAP_BYTES, most),
            lambda: rng.choice((12, 12, 12, 13, 14, 15, 16)),
            lambda: rng.choice((12, 12, 12, rng.randint(1, 11))),
        )
    )
