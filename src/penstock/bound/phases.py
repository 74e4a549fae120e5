# SPDX-License-Identifier: Apache-2.0
"""Sources in a known phase of the gates: when frames are released, what they take from port to port, when cycles begin.

All in the network's time. A talker whose clock drifts is in no phase that is known before a run, nor is one that
releases by chance; no more are gates that follow a clock of their own that drifts.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

from penstock.bound.releases import releases_of
from penstock.bound.terms import MOST
from penstock.bound.timing import grid_step_ps, preamble_ps, processing_allowed_ps
from penstock.scenario.checked_stream import Hop, Stream
from penstock.scenario.egress import GateList
from penstock.scenario.lengths import edits, has_r_tags
from penstock.scenario.limits import START_TIME_NS
from penstock.scenario.network import Bridge, Network, Station, hardware_visible_ps
from penstock.scenario.windows import acting

_MOST_WINDOWS = 64
_ROUNDING_PS = 2
_SELECTED_TO_PREAMBLE_PS = 56_000  # of the hardware, at most
# By how much the rounded increment of a synchronized clock is off: half of 2^-32 ns in 8 ns.
_INCREMENT_ERROR = Fraction(1, 2**36)


def released(network: Network, stream: Stream) -> dict[str, Any] | None:
    """From when to when each frame of a period is released; None: nobody knows, or there are too many."""
    source, clock = stream.source, network.stations[stream.talker].clock
    if source.response_to is not None or source.back_to_back or clock.drift_ppb:
        return None
    if edits(network) and has_r_tags(network, stream):
        return None  # how long they take on links depends on whether a bridge takes them away
    found = releases_of(network, stream)
    if isinstance(found, str) or len(found.times_ps) > _MOST_WINDOWS:
        return None
    begin = source.start - clock.offset_ps
    if begin + found.early_ps < 0:
        return None  # what would be released before the run begins is released then
    if begin > MOST and found.cycle_ps is not None:
        begin = begin % found.cycle_ps + found.cycle_ps  # as if it had always released, which is no less
    # One for each frame, of which those of a burst are alike.
    earliest, latest = begin + found.early_ps, begin + found.late_ps + _ROUNDING_PS
    windows = sorted([(earliest + time, latest + time) for time in found.times_ps[: found.frames]])
    if max(found.cycle_ps or 0, windows[-1][1] if windows else 0) > MOST:
        return None
    return {"period_ps": found.cycle_ps, "windows": windows}


def between(network: Network, before: Bridge | Station, hop: Hop, egress: int) -> dict[str, int | bool]:
    """What a bridge takes, least and most, from a frame's last bit until it may begin at a port."""
    bridge = network.bridges[hop.bridge]
    out = network.link_at[hop.bridge, egress]
    visible = hardware_visible_ps(bridge.ports) if bridge.hardware_timing else bridge.processing_delay_ps
    stored = bridge.cut_through_bytes is None
    hardware = isinstance(before, Bridge) and before.hardware_timing
    most = _ROUNDING_PS + (_SELECTED_TO_PREAMBLE_PS if hardware else _ROUNDING_PS)
    most += processing_allowed_ps(bridge, out.rate_bps) - preamble_ps(out.rate_bps) + 2 * grid_step_ps(bridge)
    return {
        "apart_ppb": max(abs(before.clock.drift_ppb), abs(bridge.clock.drift_ppb)),
        "stored": stored,
        "least_ps": max(0, visible - 2 * grid_step_ps(bridge)) if stored else 0,
        "most_ps": most,
    }


def acts_for_all(network: Network, place: tuple[str, int], gates: GateList) -> bool:
    """Whether frames find the gates of a port as if their list had always acted.

    As long as frames may have come before it does, its states were those of the cycle for the classes that pass.
    """
    node, port = place
    first_ps, passing = None, 0
    for stream in network.streams.values():
        if stream.talker == node:
            number = network.class_at_talker(stream)
        elif any(hop.bridge == node and port in hop.egress for hop in stream.tree):
            number = network.class_at(stream, node)
        else:
            continue
        passing |= 1 << number
        found = _first_release_ps(network, stream)
        first_ps = found if first_ps is None else min(first_ps, found)
    clock = (network.bridges[node] if node in network.bridges else network.stations[node]).clock
    if first_ps is None or clock.drift_ppb:
        return False
    off_ps = clock.offset_ps if clock.sync_error_ns is None else -clock.sync_error_most_ns * 1000
    before_ps = (gates.base_time_ns - START_TIME_NS) * 1000 - off_ps - first_ps
    for _, states, interval in reversed(acting(gates).entries):
        if before_ps <= 0:
            return True
        if (states ^ gates.initial_states) & passing:
            return False
        before_ps -= interval * 1000
    return before_ps <= 0


def _first_release_ps(network: Network, stream: Stream) -> int:
    """No frame of a stream comes to its talker's port before."""
    found = releases_of(network, stream)
    early_ps = 0 if isinstance(found, str) else found.early_ps + found.times_ps[0]
    is_sure = not isinstance(found, str) or (stream.jitter is None and stream.source.response_to is None)
    begin = stream.source.start - network.stations[stream.talker].clock.offset_ps + early_ps
    return max(0, begin) if is_sure else 0


def begun(network: Network, node: Bridge | Station, gates: GateList) -> dict[str, int]:
    """When a cycle of the gates begins, and by how much that may be off; nothing where nobody knows."""
    clock = node.clock
    own = clock.sync_error_ns is None
    if own and clock.drift_ppb:
        return {}
    begin = (gates.base_time_ns - START_TIME_NS) * 1000 - (clock.offset_ps if own else 0)
    error = 1000 if own else clock.sync_error_most_ns * 1000
    if clock.drift_ppb:
        error += ceil(network.duration_ps * _INCREMENT_ERROR)
    return {"begin_ps": begin % (acting(gates).cycle_time * 1000), "begin_error_ps": error}
