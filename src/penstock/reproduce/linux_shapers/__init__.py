# SPDX-License-Identifier: Apache-2.0
"""mqprio, taprio and cbs compared for audio: figures 2 to 7 of the paper."""

from penstock.reproduce.experiment import Paper
from penstock.reproduce.linux_shapers import delay, distributions, jitter
from penstock.reproduce.linux_shapers.laboratory import InLaboratory

PAPER = Paper(
    "linux-shapers",
    "Empirical Evaluation of Traffic Shaping Algorithms for Time Sensitive Networking",
    "K. Naik, D. Kumari, M. P. Tahiliani, NITK Surathkal",
    [each.EXPERIMENTS[mixed] for mixed in (False, True) for each in (delay, jitter, distributions)],
    laboratory=InLaboratory(),
)
