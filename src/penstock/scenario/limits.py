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
