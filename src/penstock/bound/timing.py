# SPDX-License-Identifier: Apache-2.0
"""What a bridge itself adds: processing, the grid of its clock, and the drift of clocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from penstock.bound.terms import PS, Term, ceil_div
from penstock.ethernet import AHEAD_BYTES
from penstock.scenario.network import Bridge, Network, Step, hardware_visible_ps
from penstock.scenario.units import show_time

CLOCK_PS = 8000
# What a source may be early and still conforms (`engine/net/src/conformance.rs`): its first scheduler holds it so long.
TOLERANCE_PS = 16_000
_FINE_PS = 1000  # bridges with other timing shape in whole nanoseconds
STATION_STEP_PS = _FINE_PS

# From a frame's last bit at a port to the first bit after the delimiter at an idle output: what the switch promises.
PROCESSING_PS = 400_000
# The part of it that follows eligibility: selection, preamble and delimiter.
_EGRESS_PS = 120_000
_SELECTED_TO_SENT_PS = 96_000  # within it, what is constant


def preamble_ps(rate_bps: int) -> int:
    """Preamble and delimiter, which precede the instant that counts as a frame's."""
    return ceil_div(AHEAD_BYTES * 8 * PS, rate_bps)


def processing_allowed_ps(bridge: Bridge, rate_bps: int = 10**9) -> int:
    """What an idle bridge may take, from the last bit of a frame to its first bit after the delimiter on its link.

    This holds the preamble too, at `rate_bps` of that link.
    """
    after = _EGRESS_PS if bridge.hardware_timing else preamble_ps(rate_bps)
    return max(_idle_ps(bridge, rate_bps), (bridge.processing_delay_max_ps or 0) + after)


def _idle_ps(bridge: Bridge, rate_bps: int) -> int:
    """The same where ProcessingDelayMax is no more than it has to be."""
    if bridge.hardware_timing:
        return max(PROCESSING_PS, _visible_ps(bridge) + _SELECTED_TO_SENT_PS)
    return _fine(bridge.processing_delay_ps) + preamble_ps(rate_bps)


def _fine(ps: int) -> int:
    return ceil_div(ps, _FINE_PS) * _FINE_PS


def processing_delay_max_ps(bridge: Bridge) -> int:
    """ProcessingDelayMax of 802.1Q 8.6.11.3, which the bridge adds to eligibility times."""
    delay = bridge.processing_delay_max_ps
    if delay is not None:
        return delay
    return _fine(_visible_ps(bridge))


def processing(bridge: Bridge, rate_bps: int, measured_ps: int, late_ps: int = 0) -> tuple[int, str]:
    """The processing part, from the last bit in to the preamble out, and where it is from.

    `late_ps`: by what frames lose on their way out they may begin so much later.
    """
    allowed = processing_allowed_ps(bridge, rate_bps) + late_ps
    if measured_ps > allowed:
        said = "what the bridge was seen to take when idle"
    elif allowed - late_ps > _idle_ps(bridge, rate_bps):
        said = f"ProcessingDelayMax, {show_time(processing_delay_max_ps(bridge))}, and what follows it"
    else:
        said = "last bit in to preamble out, idle"
    if late_ps and measured_ps <= allowed:
        said += ", and a frame that loses tags begins later by these"
    return max(allowed, measured_ps) - preamble_ps(rate_bps), said


def _visible_ps(bridge: Bridge) -> int:
    """From the last bit of a frame to the instant from which it may be selected, if nothing holds it back."""
    if bridge.hardware_timing:
        return hardware_visible_ps(bridge.ports)
    return bridge.processing_delay_ps


def grid_step_ps(bridge: Bridge) -> int:
    """To what a bridge rounds arrivals and eligibility times up."""
    return CLOCK_PS if bridge.hardware_timing else _FINE_PS


def visible_early_ps(bridge: Bridge) -> int:
    """By how much eligibility times may be before a frame can be selected: ProcessingDelayMax is too small."""
    delay = bridge.processing_delay_max_ps
    return 0 if delay is None else max(0, _visible_ps(bridge) - delay)


def grid_said(bridge: Bridge) -> str:
    """What the rounding of arrivals and eligibility times is called."""
    said = "two cycles of 8 ns" if bridge.hardware_timing else "twice 1 ns"
    return f"{said}: arrival and eligibility are rounded up, and what comes meanwhile"


def drift(network: Network, way: Sequence[Step], total_ps: int, shaped: Sequence[bool]) -> Term | None:
    """What clocks that disagree may cost over the run, beside a bound of `total_ps` for clocks that agree.

    Where a step is `shaped`, a slower clock lets less pass than comes in.
    """
    drifts = [network.bridges[step.bridge].clock.drift_ppb for step in way]
    if not any(drifts):
        return None
    regulated = [0, *(found for found, is_shaped in zip(drifts, shaped, strict=True) if is_shaped)]
    apart = sum(max(0, before - after) for before, after in pairwise(regulated))
    most = max(map(abs, drifts))
    # What falls behind does so for as long as the run lasts, and that includes this term and the stretch.
    stretched = total_ps + ceil_div(total_ps * most, 10**9 - most)
    behind = ceil_div((network.duration_ps + stretched) * apart, 10**9 - apart)
    detail = f"{apart / 1000:g} ppm from clock to clock over the run, and {most / 1000:g} ppm of all else"
    return Term("clock drift", detail, stretched - total_ps + behind)
