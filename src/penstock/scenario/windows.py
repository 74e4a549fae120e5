# SPDX-License-Identifier: Apache-2.0
"""A gate control list as it acts: what the engine makes of it."""

from __future__ import annotations

from functools import lru_cache

from penstock import _engine
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.egress import GateList
from penstock.scenario.limits import SHORTEST_INTERVAL_NS

_SET_GATE_STATES = 0  # the operation


@lru_cache(maxsize=256)
def acting(gates: GateList) -> _engine.GateList:
    """The list as it acts: what is too long for the cycle is cut, the last entry of a short one lasts."""
    entries = [(_SET_GATE_STATES, states, interval_ns) for states, interval_ns in gates.entries]
    return _engine.GateList(
        entries,
        gates.cycle_time_ns,
        base_time=gates.base_time_ns,
        extension=gates.cycle_time_extension_ns,
        most_entries=len(entries),
        least_interval=min(gates.shortest_ns, SHORTEST_INTERVAL_NS),
    )


def wire_ns(frame_bytes: int, rate_bps: int, around_bytes: int = WIRE_OVERHEAD_BYTES) -> int:
    """What a frame takes of a window, with preamble, delimiter and mostly the gap; rounded up."""
    return -(-(frame_bytes + around_bytes) * 8 * 10**9 // rate_bps)
