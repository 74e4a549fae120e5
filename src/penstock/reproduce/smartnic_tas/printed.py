# SPDX-License-Identifier: Apache-2.0
"""What the paper prints of its figures: ranges, as its text has them."""

from __future__ import annotations

LATENCY_US = {"rr": (100.0, 600.0), "sp": (100.0, 700.0)}  # "in the range of", of ST
TAS_US = 20.0  # "a bounded latency of 0.02 ms"
TIMES_LOWER = 10  # "a 10 times reduction in end-to-end latency than what can be achieved using SP and TAPRIO"
DRIFT_MS_IN_AN_HOUR = 20.0  # "it varies 20 ms over a period of 1 hour"
ROUND_TRIP_US = 9.0  # "an RTT of 6-9 us"
ST_FRAMES = 3.0  # "the ST queue level remains under 3"
BE_FRAMES = 64.0  # "around 64", which is the queue's size
