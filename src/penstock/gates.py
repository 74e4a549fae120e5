# SPDX-License-Identifier: Apache-2.0
"""Gate states and credit over time, as the engine's state machines have them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock import _engine
from penstock.plan import port_json
from penstock.scenario.network import Bridge, Station

_ANY_RATE_BPS = 10**11  # that the gates do not ask for, and that no slope is above


def gate_states(node: Bridge | Station, port: int, start_ps: int, stop_ps: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and states of each entry that acts between two times of the run."""
    yield from _picture(node, port, _ANY_RATE_BPS).gate_states(start_ps, stop_ps)


def cycle_start_ps(node: Bridge | Station, port: int, at_ps: int) -> int:
    """When the cycle that runs at a time began; before the first one, that time."""
    return _picture(node, port, _ANY_RATE_BPS).cycle_start(at_ps)


def _picture(node: Bridge | Station, port: int, rate_bps: int) -> _engine.PortPicture:
    return _engine.PortPicture(json.dumps(port_json(node, port, rate_bps)))


@dataclass(frozen=True)
class Occupation:
    """A frame of a class at its port: ready to be selected, selected, and no longer sent. Times of the run in ps."""

    ready: int
    selected: int | None  # None: not in this run
    until: int | None


class CreditOverTime:
    """The credit of a class, replayed by the engine's state machine from when its frames waited and were sent."""

    def __init__(self, bridge: Bridge, port: int, traffic_class: int, rate_bps: int) -> None:
        self._picture, self._class = _picture(bridge, port, rate_bps), traffic_class

    def points(self, frames: Sequence[Occupation], start_ps: int, stop_ps: int) -> list[tuple[int, float]]:
        """Time and credit in bits wherever its slope changes. The first frame is ready at the start or later."""
        times = [(frame.ready, frame.selected, frame.until) for frame in frames]
        return self._picture.credit(self._class, times, start_ps, stop_ps)
