# SPDX-License-Identifier: Apache-2.0
"""Period jitter and frame delay variation of a stream, for traces of runs and for stamps of real hosts alike.

The definitions are equations 1 to 4 of "Time-aware Traffic Shaper using Time-based Packet Scheduling on Intel I210"
(Alhady et al., 2018), which takes (1) from jitter analysis and (2) to (4) from RFC 5481. Arrays are of the frames that
were received, in the order of reception, in whole units of one clock: ps of a run, ns of a host. Results have that
unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Instants = NDArray[np.int64]


def period_jitter(received: Instants, period: int) -> Instants:
    """Equation 1: from each reception to the next, less the ideal period. One fewer than frames."""
    return np.diff(received) - period


def latency_change(constructed: Instants, received: Instants) -> Instants:
    """Equations 2 and 3: each frame's latency less the one before (IPDV of RFC 5481). One fewer than frames."""
    return np.diff(received - constructed)


def frame_delay_variation(constructed: Instants, received: Instants) -> Instants:
    """Equation 4: each change of latency less the change before. Two fewer than frames."""
    return np.diff(received - constructed, n=2)


@dataclass(frozen=True)
class Spread:
    """How far values are from zero, either way, and from each other."""

    min: float
    mean: float
    max: float
    peak_to_peak: float

    def scaled(self, divisor: float) -> Spread:
        """In a unit that is so many times as large."""
        return Spread(*(value / divisor for value in (self.min, self.mean, self.max, self.peak_to_peak)))


def spread(values: Instants) -> Spread | None:
    """Of the magnitudes, as tables of the paper have it, and largest less smallest value; None without values."""
    if values.size == 0:
        return None
    size = np.abs(values)
    return Spread(float(size.min()), float(size.mean()), float(size.max()), float(np.ptp(values)))
