# SPDX-License-Identifier: Apache-2.0
"""What each queue of a card gets of its line, without a guest: its queues are kept full, and its own clock counts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

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


@dataclass(frozen=True)
class Scheduled:
    """Of a port that is full, beside others with other schedules, queue by queue."""

    slots_ns: Sequence[int]  # zero: none
    got: Sequence[float]  # in percent of the line
    outside: int  # frames of which a bit was outside of their slot
    changed: int  # registers that were not read back as they were written

    @property
    def theory(self) -> list[float]:
        """What whole frames take of each slot; queues without one share the rest of the cycle in turns."""
        free = [queue for queue, slot_ns in enumerate(self.slots_ns) if not slot_ns]
        rest = in_slot(CYCLE_NS - sum(self.slots_ns)) / max(1, len(free))
        return [in_slot(slot_ns) if slot_ns else rest for slot_ns in self.slots_ns]


@dataclass(frozen=True)
class Followed:
    """Of a port that is full and has slots, behind a command of its PTP clock, by the card's own time stamps."""

    command: Literal["set", "forward", "back", "slew", "faster"]
    moved_ns: float  # how much further the clock went than the line since the frames before the command
    faster_ppm: float  # by how much it was faster than the line while it was counted
    frames: Sequence[float]  # in a cycle of the schedule, queue by queue
    outside: int  # frames of which a bit was outside of their slot


def in_slot(slot_ns: int) -> float:
    """What whole frames take of a slot, in percent of the cycle: one that would not end in it is not begun."""
    return 100 * (slot_ns // FRAME_NS) * FRAME_NS / CYCLE_NS


def alone(kind: Kind) -> Alone:
    """Measures the model, or the card in hardware, Verilated.

    Raises:
        RunError: The program failed.

    """
    return Alone(**measured("alone", build_card() if kind == "rtl" else None))


def schedules(kind: Kind) -> list[Scheduled]:
    """Measures a card of four ports with different schedules, as the model or in hardware, Verilated: port by port.

    Raises:
        RunError: The program failed.

    """
    return [Scheduled(**port) for port in measured("schedules", build_card(ports=4) if kind == "rtl" else None)]


def followed(kind: Kind) -> list[Followed]:
    """Has the model, or the card in hardware, Verilated, send in slots of 90, 5 and 5 % while its PTP clock is moved.

    Raises:
        RunError: The program failed.

    """
    return [Followed(**command) for command in measured("clock", build_card() if kind == "rtl" else None)]


def measured(what: str, library: Path | None, *options: str) -> Any:
    """What the program of cards says of one, a library or without it the model.

    Raises:
        RunError: The program failed.

    """
    command = [str(PROGRAM.build()), what, *([] if library is None else [str(library)]), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunError(f"the card alone: {done.stderr.strip() or 'no word'}")
    return json.loads(done.stdout)
