# SPDX-License-Identifier: Apache-2.0
"""Whether no frame of a class waits for longer than is claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

from penstock.bound.certificate.curve import Curve
from penstock.bound.certificate.gate import Phase
from penstock.bound.certificate.service import Level, Piece, Service

MOST_SEGMENTS = 20_000


def keeps(service: Service, arrivals: Curve, shortest: int, wait: int) -> bool:
    """Whether no frame of `shortest` or more waits longer."""
    phases = service.phases()
    if not service.is_limited or not phases:
        return False
    return all(_keeps_from(service, phase, arrivals, shortest, wait) for phase in phases)


def _keeps_from(service: Service, phase: Phase, arrivals: Curve, shortest: int, wait: int) -> bool:
    """A frame that comes at t has arrivals(t) - shortest before it, which is served by t + wait, when it can begin."""
    if service.frames is not None and service.counted:
        return _keeps_frames(service, phase, arrivals, shortest, wait)
    turns = arrivals.turns
    so_far: Level | None = None  # the most that was served when a frame could begin
    reached = Fraction(0)  # up to here all frames are known to keep it
    for count, piece in enumerate(service.walk(phase)):
        if count > MOST_SEGMENTS:
            return False
        # Frames that come until the piece begins, less the wait, must have begun before it.
        if not _served_by(arrivals, turns, shortest, so_far, reached, piece.begin - wait):
            return False
        reached = max(reached, piece.begin - wait)
        if piece.usable:
            if piece.end is None:
                return _keeps_for_ever(piece, arrivals, turns, shortest, so_far, reached, wait)
            # In whole picoseconds the last begin is one before its end.
            last = piece.end - 1 if piece.end - piece.begin >= 1 else piece.begin
            places = {piece.begin, last} | {turn + wait for turn in turns if piece.begin < turn + wait < last}
            for place in sorted(places):
                best = max(piece.level(place), piece.level(piece.begin))
                so_far = best if so_far is None else max(so_far, best)
                if place - wait >= 0 and so_far < (arrivals.at(place - wait) - shortest, True):
                    return False
            reached = max(reached, last - wait)
            if piece.at(piece.end) >= arrivals.at(piece.end):
                return True
    return False


def _keeps_frames(service: Service, phase: Phase, arrivals: Curve, shortest: int, wait: int) -> bool:
    """The same of frames whose windows are known: at each, no more has come than until the next one's begin."""
    pieces: list[Piece] = []
    assert service.gate is not None
    assert service.frames is not None
    in_window, more, cycle = Fraction(0), Fraction(0), service.gate.cycle
    second: tuple[Fraction, Fraction] | None = None
    enough: Fraction | None = None
    for count, found in enumerate(service.walk(phase)):
        if count > MOST_SEGMENTS or found.end is None:
            return False
        begins = found.usable and in_window == 0
        if service.each is not None:
            # The last frame of a window is sent whole.
            if found.usable:
                in_window += service.rate * (found.end - found.begin)
            else:
                more += ceil(in_window / service.each) * service.each - in_window
                in_window = Fraction(0)
        piece = replace(found, served=found.served + more)
        assert piece.end is not None
        pieces.append(piece)
        if not piece.usable:
            continue
        if service.each is not None and enough is None and begins and piece.begin >= cycle:
            # A frame of a later time waits no longer than one of a cycle before, once a cycle serves what comes in it.
            second = second or (piece.begin, piece.served)
            if piece.begin == second[0] + cycle and piece.served - second[1] >= sum(each for _, each in service.frames):
                enough = Fraction(2 * cycle)
        until = piece.end if enough is None else min(piece.end, enough)
        if piece.at(piece.end) >= min(arrivals.at(until), service.came(phase, until)):
            break
    last_end, begin = pieces[-1].end, phase.begin - phase.blocked
    assert last_end is not None
    end = last_end if enough is None else min(last_end, enough)
    steps = {Fraction(0), end}
    for (first, _), _ in service.frames:
        steps |= {Fraction(at) for at in range((first - begin) % service.gate.cycle, ceil(end), service.gate.cycle)}
    usable = [piece for piece in pieces if piece.usable]
    place = 0
    served: Level | None = None
    for step, following in pairwise(sorted(steps)):
        before = min(service.came(phase, following - 1), arrivals.at(following - 1)) - shortest
        latest = step + wait - (phase.slack if service.each is not None and step == 0 else 0)
        while place < len(usable) and usable[place].begin <= latest:
            piece = usable[place]
            assert piece.end is not None
            # In whole picoseconds the last begin is one before its end.
            last = min(latest, max(piece.end - 1, piece.begin))
            level = max(piece.level(piece.begin), piece.level(last))
            served = level if served is None else max(served, level)
            if piece.end - 1 > latest:
                break
            place += 1
        if served is None or served < (before, True):
            return False
    return True


def _served_by(
    arrivals: Curve, turns: Sequence[Fraction], shortest: int, served: Level | None, begin: Fraction, end: Fraction
) -> bool:
    """Whether what was served is all that is before frames of a time: no more comes after its end than at it."""
    if end <= begin:
        return True
    # A whole picosecond is the grid of time.
    return served is not None and served >= (arrivals.at(max(end - 1, begin)) - shortest, True)


def _keeps_for_ever(
    piece: Piece, arrivals: Curve, turns: Sequence[Fraction], shortest: int, so_far: Level | None, begin: Fraction,
    wait: int,
) -> bool:  # fmt: skip
    if piece.slope < arrivals.rate:
        return False
    places = [max(begin, Fraction(0)), *(turn for turn in turns if turn > begin)]
    return all(
        max(piece.level(max(place + wait, piece.begin)), so_far if so_far is not None else piece.level(piece.begin))
        >= (arrivals.at(place) - shortest, True)
        for place in places
    )
