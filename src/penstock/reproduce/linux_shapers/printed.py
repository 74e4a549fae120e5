# SPDX-License-Identifier: Apache-2.0
"""What the paper prints: means of the delay of a packet of audio, in us; its figures show the rest."""

from __future__ import annotations

# By configuration: with audio only, and with UDP, TCP and SCTP beside it.
MEAN_US = {
    "mqprio": (19.896, 15.125),
    "taprio": (8.940, 10.706),
    "cbs-mqprio": (20.785, 12.975),
    "cbs-taprio": (26.152, 14.032),
}
JITTER_US = 100.0  # "in range of -100 to 100 microseconds"
STEADY = 50.0  # "jitter is 0 for 50% of the times"
