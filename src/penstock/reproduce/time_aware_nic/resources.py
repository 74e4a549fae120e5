# SPDX-License-Identifier: Apache-2.0
"""Table I: what the card takes of its FPGA. Of four ports both; the paper's have up to 10 Gb/s, ours 1 Gb/s."""

from __future__ import annotations

from penstock.hardware.synth import CARD
from penstock.reproduce.cost import QUANTITIES, cost, origin
from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic import printed

_WAITS = "waits for a board"


def _evaluate(_outcomes: Outcomes, options: Options) -> Found:
    blocks = cost(options.synthesize, CARD).values()
    rows = []
    for name, used in printed.TABLE_1.items():
        ours = QUANTITIES.get(name)
        measured = None if ours is None else sum(block.get(ours, 0.0) for block in blocks)
        how = _WAITS if ours is None else origin(options.synthesize)
        quantity = f"{name} of the card with four ports: {how}"
        rows.append(Row.told(f"table1.{name.lower()}", quantity, name, measured, paper=used).as_key())
    rows.append(Row.told("power", f"power of its logic: {_WAITS}", "W", None, paper=printed.POWER_W).as_key())
    return Found(rows)


EXPERIMENTS = (Experiment("table1", "what the card takes of its FPGA", "Table I", (), _evaluate),)
