# SPDX-License-Identifier: Apache-2.0
"""Frames that went in another order in our switch, where the record is not exact enough to tell the right one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.replay.play import Played
from penstock.replay.recording import CYCLE_NS, TOLERANCE_TICKS, Flow, Recording


class Order:
    """In which order the frames left both switches, and which of it the record's own error leaves open.

    A recorded arrival is off by the record's error at most. So is then the instant at which a frame may be selected:
    eligibility times follow from arrivals by sums and maxima, so that no error grows. Two such instants have an order
    only if they are further apart than both errors.
    """

    def __init__(
        self,
        recording: Recording,
        played: Played,
        ours: Sequence[float | None],
        measured: Sequence[float | None],
    ) -> None:
        self._recording = recording
        self._played = played
        self._ours = np.array(ours, dtype=float)  # not a number where a frame was dropped
        self._measured = np.array(measured, dtype=float)
        self._both = ~(np.isnan(self._ours) | np.isnan(self._measured))
        self._wire = np.array([recording.wire_ticks(frame.bytes) for frame in recording.frames])
        self._found: dict[tuple[int, int], bool] = {}
        self._by_departure = np.argsort(self._ours)
        self._rank = np.argsort(self._by_departure)
        # Ours are whole cycles: a cycle more may lie between them.
        self._error_cycles = float(2 * recording.run.error_ticks * recording.tick_ns / CYCLE_NS) + 1
        waits = (s - v for s, v in zip(played.selected, played.visible, strict=True) if s is not None and v is not None)
        self._selection_cycles = min(waits, default=0)

    def explains(self, place: int, residual: float) -> float | None:
        """How long those take on the wire that a frame changed places with, in ticks, if they are why it differs.

        The residual has to be that time, and the record's error has to leave its order to each of them open.
        """
        went_before = self._ours < self._ours[place]
        changed = np.flatnonzero(self._both & (went_before != (self._measured < self._measured[place])))
        wire = np.where(went_before, self._wire, -self._wire)[changed].sum()
        if not len(changed) or abs(residual - wire) > TOLERANCE_TICKS:
            return None
        for other in changed.tolist():
            first, second = (other, place) if went_before[other] else (place, other)
            if not self._is_open(first, second):
                return None
        return float(abs(wire))

    def _is_open(self, first: int, second: int) -> bool:
        """Whether the record's error leaves open which of two frames goes first; `first` did so in ours.

        A lower class goes first only as long as the higher one is not there. Of a row of the higher class, which all
        changed places with the other, it is the first that tells.
        """
        row = [first]
        if self._flow(first).traffic_class > self._flow(second).traffic_class:
            while (row[-1], second) not in self._found:
                before = self._right_before(row[-1])
                if before is None or self._measured[before] < self._measured[second]:
                    break
                row.append(before)
        found = self._found.get((row[-1], second))
        if found is None:
            found = self._apart(row[-1], second) <= self._error_cycles
        self._found |= {(place, second): found for place in row}
        return found

    def _apart(self, first: int, second: int) -> float:
        """By how many cycles one of two frames came too late, or too early, for the other order."""
        flow, other = self._flow(first), self._flow(second)
        visible, selected = self._played.visible, self._played.selected
        seen, also_seen, went = visible[first], visible[second], selected[first]
        if flow.group == other.group or seen is None or also_seen is None or went is None:
            return math.inf  # frames of a group leave in the order of arrival, which is that of a wire
        if flow.traffic_class == other.traffic_class:
            return abs(also_seen - seen)
        if flow.traffic_class < other.traffic_class:
            return also_seen - went
        return max(went - self._selection_cycles - seen, also_seen - seen)

    def _flow(self, place: int) -> Flow:
        return self._recording.flows[self._recording.frames[place].flow]

    def _right_before(self, place: int) -> int | None:
        """The frame of the same group that left ours without a pause before this one."""
        rank = int(self._rank[place])
        before = int(self._by_departure[rank - 1]) if rank else place
        if before == place or self._flow(before).group != self._flow(place).group:
            return None
        pause = self._ours[place] - self._ours[before] - self._wire[before]
        return before if pause <= TOLERANCE_TICKS else None
