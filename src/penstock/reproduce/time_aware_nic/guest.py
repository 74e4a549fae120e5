# SPDX-License-Identifier: Apache-2.0
"""The card behind Linux's own driver, in a guest: figure 5's `tc ... mqprio`, priorities in queues, turns and slots.

All of it is functional: what left by which queue and in which order, not when.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.nic import linux
from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic import printed

_HIGH_SHARE = "card.slots.high"
_RTL = {"model": False, "hardware": True}


def rows(kind: str, seen: list[Row]) -> list[Row]:
    """What was seen of a card, by its kind; the slot of 90 % stands beside the paper's."""
    found = []
    for row in seen:
        paper = printed.SHARE_PERCENT if row.id == _HIGH_SHARE else row.paper
        name, label = f"guest.{kind}.{row.id.removeprefix('card.')}", f"{kind}: {row.quantity}"
        found.append(replace(row, id=name, quantity=label, paper=paper))
    return found


def _evaluate(_outcomes: Outcomes, options: Options) -> Found:
    if options.guest:
        return Found([row for kind, rtl in _RTL.items() for row in rows(kind, linux.run(options.tell, rtl=rtl))])
    what = "hardware: tc ... mqprio accepted by a guest's kernel, of 1: waits for --guest"
    return Found([Row.told("guest.hardware.mqprio", what, "", None).as_key()])


EXPERIMENTS = (Experiment("guest", "queues of the card behind Linux", "Figure 5, IV-B", (), _evaluate),)
