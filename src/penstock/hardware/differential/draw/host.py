# SPDX-License-Identifier: Apache-2.0
"""What the host says about its frames, which have no wire to be spoilt on."""

from __future__ import annotations

from dataclasses import replace

from penstock.ethernet import GAP_BYTES
from penstock.hardware.configure import CLASSES
from penstock.hardware.differential.draw.drawing import Drawing
from penstock.hardware.differential.scenario import Arrival
from penstock.hardware.host import Direct, ReceivedAt
from penstock.hardware.traffic import PREAMBLE_BYTES

_STAMPED_SHARE = 0.5
_TAGS = 256


def from_host(drawing: Drawing, number: int, arrival: Arrival) -> Arrival:
    """The same frame, if it comes by the host port as the host can give it; the host knows it by the number."""
    frame = arrival.frame
    if not drawing.config.host or frame.port != drawing.ports - 1:
        return arrival
    cut = frame.cut if frame.cut is None else max(1, frame.cut)
    whole = replace(frame, preamble=PREAMBLE_BYTES, delimiter=True, late_delimiter=None, rx_er_at=None, cut=cut)
    return replace(arrival, frame=replace(whole, host=_header(drawing, number % _TAGS), gap=GAP_BYTES))


def _header(drawing: Drawing, number: int) -> bytes:
    rng = drawing.rng
    tag = number if rng.random() < _STAMPED_SHARE else None
    kind = rng.random()
    if kind < 0.4:
        return ReceivedAt(drawing.ports - 1, tag).header
    if kind < 0.7:
        return ReceivedAt(rng.randrange(drawing.ports), tag).header
    if kind < 0.95:
        return Direct(frozenset(drawing.some(0.4)), rng.randrange(CLASSES), tag).header
    return rng.randbytes(4)
