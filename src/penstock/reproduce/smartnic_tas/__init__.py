# SPDX-License-Identifier: Apache-2.0
"""A time-aware shaper on programmable network cards: sections IV and V."""

from penstock.reproduce.experiment import Paper
from penstock.reproduce.smartnic_tas import clocks, cycle, latency, occupancy
from penstock.reproduce.smartnic_tas.laboratory import OnRealPackets

PAPER = Paper(
    "smartnic-tas",
    "uTAS: Design and Implementation of Time Aware Shaper on SmartNICs to achieve bounded latency",
    "J. Pal, D. Choudhary, N. K. Gnani, C. Singh, T. V. Prabhakar",
    [*latency.EXPERIMENTS, *occupancy.EXPERIMENTS, *cycle.EXPERIMENTS, *clocks.EXPERIMENTS],
    laboratory=OnRealPackets(),
)
