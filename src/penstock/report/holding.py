# SPDX-License-Identifier: Apache-2.0
"""What held a frame at a port: from when it could have been selected until it was, moment by moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Literal

from penstock.report.ports import Passage, Passed

Cause = Literal["eligibility", "gate", "frame", "credit", "window", "selection", "talker"]

# What each is called, in the order of the pictures.
CAUSES: dict[str, str] = {
    "talker": "before its talker's port",
    "eligibility": "not eligible yet (ATS)",
    "gate": "gate closed",
    "frame": "another frame on the wire",
    "credit": "credit below zero",
    "window": "gate would close before its end",
    "selection": "selection",
}
_MOST_ENTRIES = 5_000  # of a gate control list, during one wait


@dataclass(frozen=True)
class Held:
    """A part of a wait that has one cause."""

    begin_ps: int
    end_ps: int
    cause: Cause
    frame_id: int | None = None  # which had the wire

    @property
    def ps(self) -> int:
        """How long it lasted."""
        return self.end_ps - self.begin_ps


def held(passage: Passage, frame: Passed, until_ps: int | None = None) -> list[Held]:
    """Why a frame was not selected before it was, or before it was dropped; in the order of time, without a gap.

    Of several causes at one time the first of these is told: it was not eligible; its gate was closed; another frame
    had the wire; its class had no credit. Where none is found and there are gates, its window was about to end.
    """
    place, kind = passage.place, frame.traffic_class
    end = next((at for at in (frame.selected, frame.dropped, until_ps) if at is not None), frame.ready)
    if end <= frame.ready:
        return []
    eligible = frame.ready if frame.eligible is None else max(frame.ready, frame.eligible)
    closed = [
        (begin, stop)
        for begin, stop, states in islice(passage.gates(frame.ready, end), _MOST_ENTRIES)
        if not states >> kind & 1
    ]
    busy = [
        (begin, free, number)
        for number, begin, free in passage.on_the_wire(frame.ready, end).select("frame_id", "begin", "free").iter_rows()
        if number != frame.frame_id
    ]
    lacking = _below_zero(passage.credit(kind, frame.ready, end) or []) if kind in place.credited else []
    edges = {frame.ready, end, eligible}
    edges |= {at for begin, stop, *_ in (*closed, *busy, *lacking) for at in (begin, stop)}
    found: list[Held] = []
    for begin, stop in pairwise(sorted(at for at in edges if frame.ready <= at <= end)):
        cause: Cause
        number = None
        if begin < eligible:
            cause = "eligibility"
        elif _covers(closed, begin):
            cause = "gate"
        elif (number := next((n for b, f, n in busy if b <= begin < f), None)) is not None:
            cause = "frame"
        elif _covers(lacking, begin):
            cause = "credit"
        else:
            cause = "window" if place.gated and stop - begin > place.byte_ps(64) else "selection"
        if found and (found[-1].cause, found[-1].frame_id) == (cause, number):
            found[-1] = Held(found[-1].begin_ps, stop, cause, number)
        else:
            found.append(Held(begin, stop, cause, number))
    return found


def _covers(spans: Iterable[tuple[int, int]], at: int) -> bool:
    return any(begin <= at < end for begin, end in spans)


def _below_zero(points: Sequence[tuple[int, float]]) -> list[tuple[int, int]]:
    """When a line through these points is below zero."""
    found = []
    for (begin, low), (end, high) in pairwise(points):
        if end <= begin or (low >= 0 and high >= 0):
            continue
        if low < 0 and high < 0:
            found.append((begin, end))
        elif low < 0:
            found.append((begin, begin + round((end - begin) * -low / (high - low))))
        else:
            found.append((begin + round((end - begin) * low / (low - high)), end))
    return found
