# SPDX-License-Identifier: Apache-2.0
"""What each queue of a card gets of its line, without a guest: its queues are kept full, and its own clock counts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.errors import RunError
from penstock.hardware.model import build_card
from penstock.nic.binary import PROGRAM

FRAME_NS = 8 * (8 + 1518 + 12)
CYCLE_NS = 1_000_000
GUARD_NS = 20_000
Kind = Literal["model", "rtl"]


@dataclass(frozen=True)
class Alone:
    """In percent of the line, queue by queue."""

    one: float  # a queue that has the card for itself
    turns: Sequence[float]  # queues 0 and 2
    slots: Sequence[float]  # of 5, 5 and 90 % of a cycle of 1 ms
    empty: Sequence[float]  # the same while queue 2 has nothing
    guarded: Sequence[float]  # the same with a guard of 20 us
    free: Sequence[float]  # a slot of 60 % for queue 2, none for the others
    outside: int  # frames of which a bit was outside of their slot
    changed: int  # registers that were not read back as they were written
    refusal: int  # the card's code for slots longer than their cycle


def in_slot(slot_ns: int) -> float:
    """What whole frames take of a slot, in percent of the cycle: one that would not end in it is not begun."""
    return 100 * (slot_ns // FRAME_NS) * FRAME_NS / CYCLE_NS


def alone(kind: Kind) -> Alone:
    """Measures the model, or the card in hardware, Verilated.

    Raises:
        RunError: The program failed.

    """
    command = [str(PROGRAM.build()), "alone", *([str(build_card())] if kind == "rtl" else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunError(f"the card alone: {done.stderr.strip() or 'no word'}")
    return Alone(**json.loads(done.stdout))
