# SPDX-License-Identifier: Apache-2.0
"""The time-aware talker on an Intel I210 with launch times: tables 1 to 3 and figure 4 of its paper."""

from dataclasses import replace

from penstock.reproduce.experiment import Paper
from penstock.reproduce.launch_time_talker import interference, offset, seen, switches
from penstock.reproduce.launch_time_talker.laboratory import InLaboratory
from penstock.reproduce.launch_time_talker.place import LENGTH

PAPER = Paper(
    "launch-time-talker",
    "Time-aware Traffic Shaper using Time-based Packet Scheduling on Intel I210",
    "S. S. N. Alhady, W. A. F. W. Othman, A. A. A. Wahab, P. Y. Wong, IJRE 5(9), 2018",
    [
        replace(switches.EXPERIMENT, laboratory=seen.switches_rows),
        replace(offset.EXPERIMENT, laboratory=seen.offset_rows),
        replace(interference.EXPERIMENT, laboratory=seen.interference_rows),
    ],
    LENGTH,
    InLaboratory(),
)
