# SPDX-License-Identifier: Apache-2.0
"""GMII as lists of samples, and what a receiver has to make of them: used by the tests of all that has a MAC.

A sample is (dv, er, data), one for each cycle. The reference receiver looks at a whole list at once, so that it
shares no structure with the hardware that it checks.
"""

import random
import zlib
from dataclasses import dataclass
from itertools import groupby

from penstock import _engine
from penstock.ethernet import GAP_BYTES

REASONS = tuple(_engine.REASONS[:7])  # those of a MAC
NONE, PREAMBLE, RX_ER, GIANT, RUNT, FCS, OVERRUN = range(len(REASONS))
IDLE = (0, 0, 0)

Sample = tuple[int, int, int]


def with_fcs(body: bytes) -> bytes:
    return body + zlib.crc32(body).to_bytes(4, "little")


def random_frame(size: int) -> bytes:
    """A good frame of `size` bytes, FCS included."""
    return with_fcs(random.randbytes(size - 4))


def carrier(
    frame: bytes, preamble: int = 7, gap: int = GAP_BYTES, errors: frozenset[int] | set[int] = frozenset()
) -> list[Sample]:
    """A gap, then a frame behind its preamble; `errors` are the frame's bytes that come with rx_er."""
    lead = bytes([0x55] * preamble + [0xD5])
    return (
        [IDLE] * gap + [(1, 0, byte) for byte in lead] + [(1, int(i in errors), byte) for i, byte in enumerate(frame)]
    )


@dataclass
class Received:
    data: bytes
    reason: int
    short_gap: bool
    end: int  # cycle of the last sample that belongs to it


def receive(samples: list[Sample], max_frame_bytes: int) -> list[Received]:
    """What a receiver has to report of these samples, one for each run of dv; the gap before the first one is long."""
    result, gap, start = [], 12, 0
    for dv, group in groupby(samples, key=lambda sample: sample[0]):
        run = list(group)
        if not dv:
            gap = len(run) if result else gap
        else:
            found = [i for i, (_, er, data) in enumerate(run) if data == 0xD5 and not er]
            body = run[found[0] + 1 :] if found else []
            data = bytes(data for _, _, data in body[: max_frame_bytes + 1])
            end = start + (len(run) - 1 if not found else found[0] + len(data))
            if not found:
                reason = PREAMBLE
            elif any(er for _, er, _ in body[: max_frame_bytes + 1]):
                reason = RX_ER
            elif len(body) > max_frame_bytes:
                reason = GIANT
            elif len(body) < 64:
                reason = RUNT
            else:
                reason = NONE if with_fcs(data[:-4]) == data else FCS
            result.append(Received(data, reason, gap < 12, end))
        start += len(run)
    return result


def random_carrier(max_frame_bytes: int, gaps: tuple[int, ...] = (1, 2, 8, 11, 12, 13, 30)) -> list[Sample]:
    """One carrier of any kind, good or with any mixture of faults, behind a gap."""
    size = random.choice(
        (64, 65, random.randint(64, 200), random.randint(64, max_frame_bytes), max_frame_bytes, max_frame_bytes)
    )
    frame, preamble, errors = random_frame(size), 7, set()
    kind = random.choice(("good", "good", "good", "fcs", "runt", "giant", "er", "preamble", "none", "mixed"))
    if kind in ("fcs", "mixed"):
        position = random.randrange(len(frame))
        frame = frame[:position] + bytes([frame[position] ^ 1 << random.randrange(8)]) + frame[position + 1 :]
    if kind == "runt" or (kind == "mixed" and random.random() < 0.3):
        frame = (
            random_frame(random.choice((5, 60, 63))) if random.random() < 0.7 else random.randbytes(random.randrange(4))
        )
    if kind == "giant" or (kind == "mixed" and random.random() < 0.3):
        frame = random_frame(max_frame_bytes + random.choice((1, 1, 2, 50)))
    if kind in ("er", "mixed") and frame:
        errors = {random.choice((0, len(frame) - 1, random.randrange(len(frame))))}
    if kind == "preamble":
        preamble = random.choice((0, 1, 6, 8, 20))
    samples = carrier(frame, preamble, random.choice(gaps), errors)
    if kind == "none":
        body = [(1, 0, random.choice((0x55, 0x5D, 0xFF, 0x00))) for _ in range(random.choice((1, 2, 9, 80)))]
        if random.random() < 0.3:
            body.append((1, 1, 0xD5))  # not a delimiter, since it comes with an error
        samples = [IDLE] * random.choice(gaps) + body
    # Without dv, data and rx_er mean nothing here.
    return [(0, random.randrange(2), random.choice((0x00, 0xD5))) if not dv else (dv, er, d) for dv, er, d in samples]


def fields_of_beat(value: int) -> tuple[int, int, int, int]:
    """(last, short_gap, reason, data) of an rx_beat_t."""
    return value >> 12 & 1, value >> 11 & 1, value >> 8 & 7, value & 0xFF
