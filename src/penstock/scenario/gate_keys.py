# SPDX-License-Identifier: Apache-2.0
"""The keys of gate control lists."""

from __future__ import annotations

from pydantic import Field, model_validator

from penstock.scenario.key_types import ByClass
from penstock.scenario.keys import GateStates, Priority, Table, refuse
from penstock.scenario.limits import (
    BaseTime,
    CycleTime,
    Extension,
    Interval,
)


class GateEntry(Table):
    """A line of a gate control list."""

    open: GateStates = Field(description="The classes whose gates are open.")
    interval: Interval = Field(description="For how long; of two entries at one instant the later one acts.")


class Slots(Table):
    """The schedule of a network card with time slots: its registers TQCR and SCR."""

    times: ByClass[Interval] = Field(description="How long the slot of each class is (TQCR), its guard included.")
    order: list[Priority] = Field(
        description="The class of each slot of a cycle (SCR); others have what is left of it."
    )
    guard: Interval = Field(
        default=0, description="For so long no gate is open at the end of each slot, beyond the guard band of 802.1Q."
    )


class Gates(Table):
    """The gate control list of a port, with the names of IEEE 802.1Q."""

    entries: list[GateEntry] = Field(
        default_factory=list, description="The gate control list: which gates are open, and for how long."
    )
    slots: Slots | None = Field(default=None, description="Instead of entries: a slot of the cycle for single classes.")
    cycle_time: CycleTime | None = Field(
        default=None, description="After so long the list begins again; the sum of the intervals if not given."
    )
    base_time: BaseTime = Field(default=0, description="When the first cycle begins; 0 is the begin of the run.")
    cycle_time_extension: Extension = Field(
        default=0, description="By how much the last cycle before a new list may be longer."
    )
    initial: GateStates = Field(default=tuple(range(8)), description="Open gates before the first cycle.")

    @model_validator(mode="after")
    def _one_list(self) -> Gates:
        if ("entries" in self.model_fields_set) == (self.slots is not None):
            raise refuse("is entries or slots", "entries = [...], or slots = { times = ..., order = ... }")
        return self
