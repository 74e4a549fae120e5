# SPDX-License-Identifier: Apache-2.0
"""How a node's clock differs from the network's time."""

from __future__ import annotations

from penstock.scenario import model
from penstock.scenario.draft import Draft
from penstock.scenario.limits import MAX_DRIFT_PPB, MAX_OFFSET_PS
from penstock.scenario.network import Clock
from penstock.scenario.positions import KeyPath
from penstock.scenario.units import show_time


def clock_of(draft: Draft, path: KeyPath, clock: model.Clock) -> Clock:
    """The clock of the node that is described at the path."""
    if abs(clock.drift) > MAX_DRIFT_PPB:
        draft.report.add((*path, "clock", "drift"), f"{clock.drift / 1000:g} ppm is no clock", "-1000ppm to 1000ppm")
    if abs(clock.offset) > MAX_OFFSET_PS:
        draft.report.add((*path, "clock", "offset"), f"{show_time(clock.offset)} is too far", "-1000s to 1000s")
    return Clock(clock.offset, clock.drift)
