# SPDX-License-Identifier: Apache-2.0
"""How a node's clock differs from the network's time."""

from __future__ import annotations

import zlib

from penstock.scenario import model
from penstock.scenario.draft import Draft
from penstock.scenario.limits import MAX_DRIFT_PPB, MAX_OFFSET_PS, MAX_SYNC_ERROR_PS
from penstock.scenario.network import Clock
from penstock.scenario.positions import KeyPath
from penstock.scenario.units import show_time


def clock_of(draft: Draft, path: KeyPath, name: str, clock: model.Clock) -> Clock:
    """The clock of the node that is described at the path."""
    if abs(clock.drift) > MAX_DRIFT_PPB:
        draft.report.add((*path, "clock", "drift"), f"{clock.drift / 1000:g} ppm is no clock", "-1000ppm to 1000ppm")
    if abs(clock.offset) > MAX_OFFSET_PS:
        draft.report.add((*path, "clock", "offset"), f"{show_time(clock.offset)} is too far", "-1000s to 1000s")
    return Clock(clock.offset, clock.drift, _sync_error_ns(draft, path, name, clock))


def _sync_error_ns(draft: Draft, path: KeyPath, name: str, clock: model.Clock) -> int | None:
    """By how much the clock that gates follow is off; which way and how far follows from the node's name."""
    if clock.sync == "none":
        return None
    if not isinstance(clock.sync, model.SyncError):
        return 0
    most = clock.sync.error
    if most % 1000 or most > MAX_SYNC_ERROR_PS:
        draft.report.add((*path, "clock", "sync", "error"), f"{show_time(most)} cannot be set", "whole ns up to 1ms")
    most_ns = most // 1000
    return zlib.crc32(name.encode()) % (2 * most_ns + 1) - most_ns
