# SPDX-License-Identifier: Apache-2.0
"""What other flows may do to a frame's latency."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.replay.play import Played
from penstock.replay.recording import CYCLE_NS, TOLERANCE_TICKS, Recording


def held_back(recording: Recording, left: Sequence[float | None]) -> list[bool]:
    """Which frames left in one go with a frame of another group before them, and so perhaps waited for it."""
    held = [False] * len(left)
    order = sorted((at, place) for place, at in enumerate(left) if at is not None)
    groups: set[tuple[int, int]] = set()
    for n, (at, place) in enumerate(order):
        flow = recording.frames[place].flow
        if n:
            before, before_place = order[n - 1]
            # A record may be of first or of last bits: the length between them is that of one frame or of the other.
            length = recording.wire_ticks(max(recording.frames[place].bytes, recording.frames[before_place].bytes))
            if at - before > length + TOLERANCE_TICKS:
                groups.clear()
        groups.add(recording.flows[flow].group)
        held[place] = len(groups) > 1
    return held


def tolerances_of(
    recording: Recording,
    played: Played,
    constants: Sequence[float],
    ours: Sequence[float | None],
    measured: Sequence[float | None],
) -> list[float]:
    """By how much each frame's residual may differ from 0 where another flow holds it back, in ticks.

    The two switches have constants of their own, and so a frame that just misses the line in one may just catch it in
    the other. Where all other flows are of lower classes, that is one frame of them at most, which cannot be
    interrupted. Else it is one frame of each other flow, or, if they are more, all the frames that went before it in
    one switch only, and what the constants differ by.
    """
    cycles_of_tick = recording.tick_ns / CYCLE_NS
    sizes = [0.0 if played.by_last_bit else float(f.frame_bytes / cycles_of_tick) for f in recording.flows]
    shifts = [constant + size for constant, size in zip(constants, sizes, strict=True)]
    shift = max(shifts) - min(shifts)
    lowest: list[float] = []
    alone: list[bool] = []
    for me in recording.flows:
        others = [(f, recording.wire_ticks(f.frame_bytes)) for f in recording.flows if f.group != me.group]
        first = [ticks for flow, ticks in others if flow.traffic_class >= me.traffic_class]
        alone.append(not first)
        lowest.append(sum(first) + max((t for f, t in others if f.traffic_class < me.traffic_class), default=0.0))
    passed = _passed(recording, ours, measured)
    return [
        TOLERANCE_TICKS + (lowest[flow] if alone[flow] else max(lowest[flow], passed[place] + shift))
        for place, flow in enumerate(frame.flow for frame in recording.frames)
    ]


def _passed(recording: Recording, ours: Sequence[float | None], measured: Sequence[float | None]) -> list[float]:
    """Of each frame: how long those take on the wire that went before it in one switch and after it in the other."""
    both = [place for place in range(len(ours)) if ours[place] is not None and measured[place] is not None]
    passed = [0.0] * len(ours)
    for one, other in ((ours, measured), (measured, ours)):
        order = sorted(both, key=lambda place: (one[place], place))
        rank = {place: n for n, place in enumerate(sorted(both, key=lambda place: (other[place], place)), 1)}
        # A binary indexed tree over the ranks, counted from the end: sums of lengths of those with a higher rank.
        tree = [0.0] * (len(both) + 1)
        for place in order:
            length = recording.wire_ticks(recording.frames[place].bytes)
            at = len(both) - rank[place]
            while at > 0:
                passed[place] += tree[at]
                at -= at & -at
            at = len(both) - rank[place] + 1
            while at <= len(both):
                tree[at] += length
                at += at & -at
    return passed
