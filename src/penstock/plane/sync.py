# SPDX-License-Identifier: Apache-2.0
"""In-band synchronization of two planes, held against what their clocks truly show."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from penstock.command.tables import new_table
from penstock.errors import MachineError
from penstock.plane.control import Control

_LOOK_EVERY_S = 0.1
_FRACTION = 2**32


@dataclass(frozen=True)
class Plan:
    """How much is sent, and how often."""

    interval_ms: float
    probes: int
    probes_after_set: int
    checks: int

    def told(self) -> dict[str, Any]:
        """As the plane takes it."""
        own = {"probes": self.probes, "probes_after_set": self.probes_after_set, "checks": self.checks}
        return {"interval": round(self.interval_ms * 1e6), **own}


@dataclass(frozen=True)
class Peer:
    """The plane that follows, on this machine, and its port."""

    control: Control
    port: str


def synchronize(control: Control, port: str, plan: Plan, peer: Peer | None = None) -> dict[str, Any]:
    """What the plane tells when it is through; with a peer, also `truth`: what its clock is ahead, over time.

    The ticks of planes of one machine are those of its clock, so that what each shows in a tick is known to the ns.

    Raises:
        InputError: The plane refuses port or plan.
        MachineError: The follower gives no answer.

    """
    control.ask("sync", port=port, plan=plan.told())
    truth: list[dict[str, float]] = []
    while True:
        told = control.ask("sync", port=port)
        if peer is not None:
            follower = peer.control.ask("sync", port=peer.port)
            truth.append(difference(told["clock"], follower["clock"]) | {"phase": told["phase"]})
        if told["phase"] in ("done", "failed"):
            break
        time.sleep(_LOOK_EVERY_S)
    if told["phase"] == "failed":
        raise MachineError(f"who follows behind {port} gives no answer; is `follows = true` set at its port?")
    return told | {"truth": truth}


def difference(own: Mapping[str, int], other: Mapping[str, int]) -> dict[str, float]:
    """What the other clock is ahead in the later of two ticks, in ns."""
    tick = max(own["tick"], other["tick"])

    def shows(clock: Mapping[str, int]) -> int:
        begin = clock["time_ns"] * _FRACTION + clock["fraction"]
        return begin + (tick - clock["tick"]) * clock["increment"]

    return {"at_ns": shows(own) // _FRACTION, "error_ns": (shows(other) - shows(own)) / _FRACTION}


def table(found: Mapping[str, Any]) -> Table:
    """Round trips, drift, and the error before and after."""
    rows = new_table(["phase"], ["frames", "round trip p50", "least", "error: mean", "largest", "true error: largest"])
    for phase in ("collecting", "levelling", "checking"):
        own = [sample for sample in found["samples"] if sample["phase"] == phase]
        if not own:
            continue
        errors = [sample["error_ns"] for sample in own]
        trips = [sample["round_trip_ns"] for sample in own]
        true = [abs(each["error_ns"]) for each in found["truth"] if each["phase"] == phase]
        rows.add_row(
            phase,
            str(len(own)),
            _us(statistics.median(trips)),
            _us(min(trips)),
            _us(statistics.fmean(errors)),
            _us(max(map(abs, errors))),
            _us(max(true)) if true else "-",
        )
    return rows


def _us(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:,.3f} us"
