# SPDX-License-Identifier: Apache-2.0
"""Holds what our switch did against the record."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from fractions import Fraction

from penstock.replay.order import Order
from penstock.replay.play import Played
from penstock.replay.recording import CYCLE_NS, TOLERANCE_TICKS, Recording
from penstock.replay.result import Comparison, FlowResult
from penstock.replay.setup import Nodes
from penstock.replay.tolerance import held_back, tolerances_of


def compare(recording: Recording, played: Played, nodes: Nodes) -> Comparison:
    """Holds what our switch did against the record."""
    cycles_of_tick = recording.tick_ns / CYCLE_NS
    ours = [None if left is None else float(left / cycles_of_tick) for left in played.left]
    measured = [None if frame.received is None else float(frame.received) for frame in recording.frames]
    held = [a or b for a, b in zip(held_back(recording, ours), held_back(recording, measured), strict=True)]
    differences: list[float | None] = [None] * len(recording.frames)
    for place, frame in enumerate(recording.frames):
        left = played.left[place]
        if left is not None and frame.received is not None:
            last_bit = played.arrived[place] + frame.bytes
            differences[place] = float(Fraction(left - last_bit) / cycles_of_tick - (frame.received - frame.sent))
    constants = _constants(recording, played, differences, held)
    tolerances = tolerances_of(recording, played, constants, ours, measured)
    residuals = [
        None if difference is None else difference - constants[frame.flow]
        for difference, frame in zip(differences, recording.frames, strict=True)
    ]
    order = Order(recording, played, ours, measured)
    for place, residual in enumerate(residuals):
        if residual is not None and abs(residual) > (tolerances[place] if held[place] else TOLERANCE_TICKS):
            changed = order.explains(place, residual)
            if changed is not None:
                held[place] = True
                tolerances[place] = max(tolerances[place], changed + TOLERANCE_TICKS)
    results = []
    for index, flow in enumerate(recording.flows):
        mine = [place for place, frame in enumerate(recording.frames) if frame.flow == index]
        residual_of = {place: found for place in mine if (found := residuals[place]) is not None}
        numbers = {place: recording.frames[place].number for place in mine}
        results.append(
            FlowResult(
                name=flow.name,
                sent=len(mine),
                measured=sum(measured[place] is not None for place in mine),
                ours=sum(ours[place] is not None for place in mine),
                only_measured=[numbers[p] for p in mine if measured[p] is not None and ours[p] is None],
                only_ours=[numbers[p] for p in mine if measured[p] is None and ours[p] is not None],
                free=[r for place, r in residual_of.items() if not held[place]],
                held=[r for place, r in residual_of.items() if held[place]],
                tolerances=[tolerances[place] for place in residual_of if held[place]],
                constant=constants[index],
            )
        )
    return Comparison(recording.name, nodes, results, played.reasons)


def _constants(
    recording: Recording, played: Played, differences: Sequence[float | None], held: Sequence[bool]
) -> list[float]:
    """Of each flow: by how much our latency differs from the recorded one.

    The latency of a shaped frame that nothing holds back is the same whatever its size; what that of others is made of
    is not known, so that each has its own constant.
    """
    shaped = [index for index, flow in enumerate(recording.flows) if flow.shaper == "ats" and played.by_last_bit]
    pool_of = {index: shaped if index in shaped else [index] for index in range(len(recording.flows))}
    free: dict[int, list[float]] = {index: [] for index in pool_of}
    behind: dict[int, list[float]] = {index: [] for index in pool_of}
    for place, difference in enumerate(differences):
        if difference is not None:
            (behind if held[place] else free)[recording.frames[place].flow].append(difference)
    constants = []
    for pool in pool_of.values():
        found = [d for n in pool for d in free[n]] or [d for n in pool for d in behind[n]]
        constants.append(statistics.median(found) if found else 0.0)
    return constants
