# SPDX-License-Identifier: Apache-2.0
"""What the paper prints."""

from __future__ import annotations

LATENCY_MS = {"shortest": 0.35, "dead": 0.52}
LATENCY_ROUNDING_US = 5.0  # of two digits behind the point
JITTER_US = 8.0  # "about"
PEAK_GBPS = 2.25  # what the processor of a node can send
SLOT_PERCENT = 90.0
SHARE_PERCENT = 89.0  # "approximately", of the peak
SHARE_GBPS = 2.00
SYNC_NS = 40.0  # either way, figure 4

# Table I, of the whole card: used, of the ZCU102's.
TABLE_1 = {
    "LUTs": 75_042.0,
    "LUTRAMs": 7_641.0,
    "FFs": 82_080.0,
    "BRAMs": 361.5,
    "IO": 44.0,
    "GT": 4.0,
    "BUFG": 20.0,
    "MMC": 1.0,
}
POWER_W = 2.840
