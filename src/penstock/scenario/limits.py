# SPDX-License-Identifier: Apache-2.0
"""What a scenario may ask for at most."""

MAX_RESIDENCE_PS = 10**12
MAX_DELAY_PS = 10**9  # of a cable, and of a bridge's processing
MAX_DRIFT_PPB = 1_000_000
MAX_OFFSET_PS = 10**15
LINE_RATE_BPS = 10**9  # what the hardware's GMII ports run at
SLOWEST_LINK_BPS, FASTEST_LINK_BPS = 10**7, 10**11
HARDWARE_PORTS, HARDWARE_STREAMS = 8, 256
SLOWEST_ATS_BPS = 10_000
# Of a gate control list; entries as the hardware is built, and at most.
GATE_ENTRIES, MOST_GATE_ENTRIES = 128, 1024
SHORTEST_INTERVAL_NS, LONGEST_INTERVAL_NS = 64, 2**32 - 1
# What PTP clocks show when a run begins, so that those that are behind show no negative time.
START_TIME_NS = 2 * 10**12
LAST_TIME_NS = 2**63 - 1
MAX_SYNC_ERROR_PS = 10**9
