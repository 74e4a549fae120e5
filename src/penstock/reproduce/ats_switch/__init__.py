# SPDX-License-Identifier: Apache-2.0
"""The FPGA switch with Asynchronous Traffic Shaping: tables 2 to 5 and figures 10 to 22 of its paper."""

from penstock.reproduce.ats_switch import contention, latency, priority, resources, shaping
from penstock.reproduce.experiment import Paper

PAPER = Paper(
    "ats-switch",
    "Hardware design and evaluation of an FPGA-based network switch supporting Asynchronous Traffic Shaping",
    "A. Ben Ahmed, T. Hirofuchi, T. Fukai, IEEE Access",
    [
        *latency.EXPERIMENTS,
        *shaping.EXPERIMENTS,
        *priority.EXPERIMENTS,
        *resources.EXPERIMENTS,
        *contention.EXPERIMENTS,
    ],
)
