# SPDX-License-Identifier: Apache-2.0
"""When the frames enter our switch."""

from __future__ import annotations

import math
from fractions import Fraction

from penstock.errors import InputError
from penstock.ethernet import AHEAD_BYTES, GAP_BYTES
from penstock.replay.recording import CYCLE_NS, Frame, Recording, sent_file

LEAST_GAP_BYTES = 1  # oscillators differ, so that a recorded gap may be a little short


def first_bytes(recording: Recording) -> tuple[list[int], bool]:
    """The cycle of each frame's first byte, counted from any zero, and whether the record is taken as of last bits.

    The real switch's shaper takes the recorded instant, whatever the frame's size; ours takes the last bit. So the
    last bits are put there. Where frames would overlap then, the record is of first bits.
    """
    excess: list[tuple[int, Frame]] = []
    for bits in ("last", "first"):
        found: list[int] = []
        free: dict[int, int] = {}
        late, worst = 0, recording.frames[0]
        for frame in recording.frames:
            flow = recording.flows[frame.flow]
            wished = math.ceil(Fraction(frame.sent) * recording.tick_ns / CYCLE_NS)
            wished -= frame.bytes if bits == "last" else 0
            at = max(wished, free.get(flow.sent_port, wished))
            free[flow.sent_port] = at + frame.bytes + LEAST_GAP_BYTES + AHEAD_BYTES
            found.append(at)
            if at - wished > late:
                late, worst = at - wished, frame
        # A tick may be coarse, and the gap shorter than ours.
        if late * CYCLE_NS <= max(recording.tick_ns, Fraction(GAP_BYTES * CYCLE_NS)):
            return found, bits == "last"
        excess.append((late, worst))
    late, worst = excess[-1]
    flow = recording.flows[worst.flow]
    raise InputError(
        f"frame {worst.number:#010x} begins {late} byte times before the frame before it has ended",
        allowed="frames of frame_bytes that follow each other at 1 Gb/s",
        file=sent_file(recording.folder, flow.sent_port),
    )
