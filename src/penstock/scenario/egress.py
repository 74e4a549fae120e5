# SPDX-License-Identifier: Apache-2.0
"""How the egress ports of a checked network's nodes serve their classes, in base units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal


@dataclass(frozen=True)
class SlotSchedule:
    """The time slots of a network card of which a gate control list was made."""

    slot_ns: tuple[int, ...]  # by class
    order: tuple[int, ...]  # the class of each slot
    guard_ns: int


@dataclass(frozen=True)
class GateList:
    """The gate control list of a port. Bit k of states: the gate of class k is open."""

    entries: tuple[tuple[int, int], ...]  # states, interval in ns
    base_time_ns: int
    cycle_time_ns: int
    cycle_time_extension_ns: int
    initial_states: int
    slots: SlotSchedule | None = None  # None: its entries were said themselves

    def __hash__(self) -> int:
        """Asked for as often as a list is looked up."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.entries, self.base_time_ns, self.cycle_time_ns, self.initial_states))

    @property
    def shortest_ns(self) -> int:
        """Of its intervals and its cycle."""
        return min(self.cycle_time_ns, *(interval for _, interval in self.entries))


@dataclass(frozen=True)
class CreditShaper:
    """The credit-based shaper of a class at a port."""

    idle_slope_bps: int
    reserved_bps: int  # of the whole time; less than the idle slope where this one is scaled to the open gate


@dataclass(frozen=True)
class QueueLimit:
    """What the queue of a class may hold: frames, or their bytes from destination address to FCS."""

    frames: int | None = None
    bytes: int | None = None
    drop_oldest: bool = False  # instead of the frame that comes


@dataclass(frozen=True, kw_only=True)
class Egress:
    """How the egress ports of a node serve their classes beside strict priority and ATS; a station has port 0 only."""

    gates: Mapping[int, GateList] = field(default_factory=dict)  # by egress port
    credit: Mapping[tuple[int, int], CreditShaper] = field(default_factory=dict)  # by egress port and class
    max_sdu_bytes: Mapping[tuple[int, int], int] = field(default_factory=dict)  # by egress port and class
    round_robin: Mapping[int, frozenset[int]] = field(default_factory=dict)  # by egress port: classes of one level
    queue_limits: Mapping[int, QueueLimit] = field(default_factory=dict)  # by class, of each port
    count_gap: bool = True  # the gap after a frame spends credit too
    guard_band_gap: bool = True  # it has to fit before the gate closes too
    frozen_in_guard_band: bool = False  # credit, while the first frame waits for another window
    class_names: Mapping[int, str] = field(default_factory=dict)

    def class_name(self, traffic_class: int) -> str:
        """For people."""
        name = self.class_names.get(traffic_class)
        return f"class {traffic_class}" if name is None else f"class {traffic_class} ({name})"

    def selection_at(self, port: int, traffic_class: int) -> Literal["strict", "cbs", "round_robin"]:
        """How a port serves a class that is not ATS."""
        if (port, traffic_class) in self.credit:
            return "cbs"
        return "round_robin" if traffic_class in self.round_robin.get(port, ()) else "strict"

    @property
    def has_hardware(self) -> bool:
        """Whether it is hardware under simulation."""
        return False

    @property
    def is_shaped(self) -> bool:
        """Whether some port does more than serve its highest class first."""
        return bool(self.gates or self.credit or self.max_sdu_bytes or self.round_robin)
