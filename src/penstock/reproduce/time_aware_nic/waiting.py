# SPDX-License-Identifier: Apache-2.0
"""What of the paper is not here yet, and what it waits for."""

from __future__ import annotations

from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic import printed


def _clocks(_outcomes: Outcomes, _options: Options) -> Found:
    what = "largest offset of a clock from the grandmaster's, waits for a time protocol"
    return Found([Row.told("fig4.offset", what, "ns", None, paper=printed.SYNC_NS).as_key()])


EXPERIMENTS = (Experiment("fig4", "clocks of four nodes by PTP", "Figure 4", (), _clocks),)
