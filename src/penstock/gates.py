# SPDX-License-Identifier: Apache-2.0
"""A gate control list as it acts: what the engine makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from penstock import _engine
from penstock.scenario.network import WIRE_OVERHEAD_BYTES, GateList

Entry = tuple[int, int]  # states, interval in ns


def acting_entries(gates: GateList) -> Sequence[Entry]:
    """The entries of a cycle as they act: a list that is too long is cut, the last entry of a short one lasts."""
    return _engine.compile_gates(list(gates.entries), gates.cycle_time_ns)


def largest_window_ns(gates: GateList, traffic_class: int) -> int | None:
    """The longest time for which the class is open without a break; None: it never closes."""
    return _engine.largest_windows(list(gates.entries), gates.cycle_time_ns)[traffic_class]


def open_time_ns(gates: GateList, traffic_class: int) -> int:
    """For how much of a cycle the class is open, GateOpenTime of 802.1Q."""
    return sum(interval for states, interval in acting_entries(gates) if states >> traffic_class & 1)


def wire_ns(frame_bytes: int, rate_bps: int) -> int:
    """What a frame takes of a window, with preamble, delimiter and gap; rounded up."""
    return -(-(frame_bytes + WIRE_OVERHEAD_BYTES) * 8 * 10**9 // rate_bps)
