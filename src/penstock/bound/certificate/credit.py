# SPDX-License-Identifier: Apache-2.0
"""The most credit of a class, and whether no frame waits for it for longer than is claimed."""

from __future__ import annotations

from fractions import Fraction

from penstock.bound.certificate.curve import Curve
from penstock.bound.certificate.gate import Gate, Phase
from penstock.bound.certificate.service import Service
from penstock.bound.certificate.wait import MOST_SEGMENTS


def most_credit(service: Service, idle: int) -> Fraction | None:
    phases = service.phases()
    if not service.is_limited or not phases:
        return None
    if service.gate is not None:
        phases += [Phase(begin % service.gate.cycle) for begin, end in service.gate.wide[service.gate.number]
                   if end - begin < service.gate.cycle]  # fmt: skip
    most = Fraction(0)
    for phase in phases:
        found = _credit_from(service, phase, idle)
        if found is None:
            return None
        most = max(most, found)
    return most


def _credit_from(service: Service, phase: Phase, idle: int) -> Fraction | None:
    most, served = idle * phase.slack, Fraction(0)
    for count, piece in enumerate(service.walk(phase)):
        if count > MOST_SEGMENTS:
            return None
        ends = [piece.begin]
        if piece.slope > 0 and piece.served < served:
            ends.append(piece.begin + (served - piece.served) / piece.slope)
        if piece.end is not None:
            ends = [end for end in ends if end < piece.end] + [piece.end]
        for end in ends:
            earned = idle * (piece.opened + (end - piece.begin if piece.may_open else 0))
            served = max(served, piece.at(end))
            most = max(most, earned - served)
        if piece.end is None:
            return most if piece.slope >= idle else None
        if served > 0 and served >= idle * (piece.opened + (piece.end - piece.begin if piece.may_open else 0)):
            return most
    return None


def keeps_by_credit(gate: Gate | None, idle: int, most: Fraction, arrivals: Curve, shortest: int, wait: int) -> bool:
    turns = arrivals.turns
    if gate is None:
        fits = idle >= arrivals.rate
        return fits and all(idle * (turn + wait) - most >= arrivals.at(turn) - shortest for turn in turns)
    closings = [end % gate.cycle for begin, end in gate.narrow if end - begin < gate.cycle] or [0]
    for closing in closings:
        opened, at = Fraction(0), Fraction(0)
        last = turns[-1] + gate.cycle + wait
        open_in_cycle = sum(end - begin for begin, end in gate.narrow)
        if idle * open_in_cycle < arrivals.rate * gate.cycle or not open_in_cycle:
            return False
        for length, _, _, is_open, _ in gate.pieces(closing):
            # What comes until the gate opens again, less the wait, is earned for before it shuts.
            end = at + length
            slope = idle if is_open else 0
            places = {at, end} | {turn + wait for turn in turns if at < turn + wait < end}
            for place in places:
                time = place - wait
                if time < 0:
                    continue
                earned = idle * opened + slope * (place - at)
                # Strictly more, or the gate may shut in that instant; a picosecond is the grid of time.
                if earned - most < arrivals.at(max(time - 1, Fraction(0))) - shortest:
                    return False
            opened += length if is_open else 0
            at = end
            if at > last:
                break
    return True
