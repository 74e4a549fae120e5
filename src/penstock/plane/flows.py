# SPDX-License-Identifier: Apache-2.0
"""Whether flows are periodic, from nothing but when their frames came: period, and phases in it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Instants = NDArray[np.int64]

FEWEST_FRAMES = 16  # of which something can be said
_MOST_PER_PERIOD = 64  # frames
_FEWEST_PERIODS = 4
# The middle 90 % of the times from a frame to that one period later, in parts of the mean time from frame to frame. Of
# frames that come by chance it is more than 1: three times the mean, and more from a frame to those behind the next.
_REGULAR = 0.25
_GRAINS_NS = (1_000_000, 100_000, 10_000, 1_000, 100, 10)


@dataclass(frozen=True)
class Flow:
    """What came of one flow: instants in ns, and the longest of its frames, in bytes."""

    name: str
    times_ns: Instants
    frame_bytes: int


@dataclass(frozen=True)
class Periodic:
    """A flow that comes again and again: in each period as many frames as it has phases, after its begin."""

    flow: Flow
    period_ns: int
    frames: int  # in each period

    @property
    def phases_ns(self) -> Instants:
        """Of each frame that came, after the last multiple of the period."""
        return self.flow.times_ns % self.period_ns


def periodic(flow: Flow) -> Periodic | None:
    """The shortest period by which a flow's frames repeat; None if there is none.

    A frame now and then that is late, or missing, changes nothing. The period is the roundest number that the instants
    cannot tell from what they show.
    """
    times = np.sort(flow.times_ns)
    if times.size < FEWEST_FRAMES or times[-1] == times[0]:
        return None
    mean_ns = (times[-1] - times[0]) / (times.size - 1)
    for frames in range(1, min(_MOST_PER_PERIOD, times.size // _FEWEST_PERIODS) + 1):
        apart = times[frames:] - times[:-frames]
        low, high = np.quantile(apart, (0.05, 0.95))
        if high - low <= _REGULAR * mean_ns:
            period_ns = _rounded(times, frames, float(high - low))
            return None if period_ns == 0 else Periodic(flow, period_ns, frames)
    return None


def _rounded(times: Instants, frames: int, spread_ns: float) -> int:
    """Over many periods the spread of two instants says little of one; 0 if that is less than 10 ns."""
    periods = (times.size - 1) // frames
    far = max(1, periods // 2)
    apart = times[far * frames :] - times[: -far * frames]
    period, unsure = float(np.median(apart)) / far, max(spread_ns / far, 0.5)
    for grain in _GRAINS_NS:
        rounded = round(period / grain) * grain
        if rounded > 0 and abs(rounded - period) <= unsure:
            return rounded
    return round(period)


def by_flow(names: Sequence[str], frames: Sequence[Sequence[int]]) -> list[Flow]:
    """Flows of what a plane noted: of each frame its instant, its bytes and the number of its flow."""
    noted = np.array(frames, np.int64).reshape(-1, 3)
    found = []
    for number, name in enumerate(names):
        own = noted[noted[:, 2] == number]
        found.append(Flow(name, np.sort(own[:, 0]), int(own[:, 1].max(initial=0))))
    return found
