# SPDX-License-Identifier: Apache-2.0
"""How a node's clock differs from the network's time."""

from __future__ import annotations

import zlib

from penstock.scenario import model
from penstock.scenario.network import Clock


def clock_of(name: str, clock: model.Clock) -> Clock:
    """The clock of a node."""
    most_ns = clock.sync.error // 1000 if isinstance(clock.sync, model.SyncError) else 0
    return Clock(clock.offset, clock.drift, _sync_error_ns(name, clock), most_ns)


def _sync_error_ns(name: str, clock: model.Clock) -> int | None:
    """By how much the clock that gates follow is off; which way and how far follows from the node's name."""
    if clock.sync == "none":
        return None
    if not isinstance(clock.sync, model.SyncError):
        return 0
    most_ns = clock.sync.error // 1000
    return zlib.crc32(name.encode()) % (2 * most_ns + 1) - most_ns
