# SPDX-License-Identifier: Apache-2.0
"""Time slots for queues of a network card, on nodes in tiles: section IV, and what it leaves for later."""

from penstock.reproduce.experiment import Paper
from penstock.reproduce.time_aware_nic import card, guest, hosts, latency, resources, shares, tiles, waiting

PAPER = Paper(
    "time-aware-nic",
    "Enabling Time-Aware Priority Traffic Management over Distributed FPGA Nodes",
    "A. Scionti, P. Savio, F. Lubrano, F. Stirano, A. Nespoli, O. Terzo, C. De Sio, L. Sterpone",
    [
        *latency.EXPERIMENTS,
        *shares.EXPERIMENTS,
        *card.EXPERIMENTS,
        *guest.EXPERIMENTS,
        *hosts.EXPERIMENTS,
        *waiting.EXPERIMENTS,
        *resources.EXPERIMENTS,
        *tiles.EXPERIMENTS,
    ],
    laboratory=hosts.OnHosts(),
)
