# SPDX-License-Identifier: Apache-2.0
"""What of the paper is not here yet, row by row, and what it waits for."""

from __future__ import annotations

from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic import printed

_CARD = "waits for a network card in hardware"


def _clocks(_outcomes: Outcomes, _options: Options) -> Found:
    what = "largest offset of a clock from the grandmaster's, waits for a time protocol"
    return Found([Row.told("fig4.offset", what, "ns", None, paper=printed.SYNC_NS).as_key()])


def _resources(_outcomes: Outcomes, _options: Options) -> Found:
    rows = [
        Row.told(f"table1.{name.lower()}", f"{name} of the card: {_CARD}", name, None, paper=used)
        for name, used in printed.TABLE_1.items()
    ]
    rows.append(Row.told("power", f"power of its logic: {_CARD}", "W", None, paper=printed.POWER_W))
    return Found([each.as_key() for each in rows])


EXPERIMENTS = (
    Experiment("fig4", "clocks of four nodes by PTP", "Figure 4", (), _clocks),
    Experiment("table1", "what the card takes of its FPGA", "Table I", (), _resources),
)
