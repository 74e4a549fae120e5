# SPDX-License-Identifier: Apache-2.0
"""What comes to a queue and what it is served, over time: the curves behind a wait, phase by phase."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from penstock.bound.certificate.checker import Checker, Queue
from penstock.bound.certificate.gate import Phase
from penstock.bound.solution import Solution, certificate, solve
from penstock.scenario.network import Network

_BYTE = 8 * 10**12  # in 10^-12 bit
_POINTS = 300
_MOST_PHASES = 12
_MOST_PIECES = 2_000

Point = tuple[float, float]  # us and bytes
Corners = list[tuple[Fraction, Fraction]]


@dataclass(frozen=True)
class Shape:
    """The curves of one phase, from the instant on in which the class begins to wait."""

    phase_ps: int | None  # in the gate cycle; None without gates
    arrivals: tuple[Point, ...]
    service: tuple[Point, ...]
    delay: tuple[Point, Point] | None  # from the arrival of the frame that waits longest to its begin
    backlog: tuple[Point, Point] | None

    @property
    def wait_us(self) -> float:
        """The longest of this phase, as far as the curves are drawn."""
        return 0.0 if self.delay is None else self.delay[1][0] - self.delay[0][0]


@dataclass(frozen=True)
class Curves:
    """A queue of a bridge that has a bound."""

    place: tuple[str, int]
    traffic_class: int
    wait_ps: int
    shapes: tuple[Shape, ...]  # the longest wait first


def curves_of(network: Network) -> Iterator[Curves]:
    """Of each queue of a bridge that has a bound."""
    claim, solution = certificate(network), solve(network)
    checker = Checker(claim["network"], {(port, number): wait for port, number, wait in claim["waits"]})
    for place, number in _bridge_ports(network, solution):
        for queue in checker.queues(number):
            if queue.claimed is not None and queue.arrivals is not None:
                shapes = sorted(_shapes(queue), key=lambda shape: -shape.wait_us)[:_MOST_PHASES]
                yield Curves(place, queue.number, queue.claimed, tuple(shapes))


def _bridge_ports(network: Network, solution: Solution) -> list[tuple[tuple[str, int], int]]:
    return [(place, number) for place, number in solution.described.port_at.items() if place[0] in network.bridges]


def _shapes(queue: Queue) -> Iterator[Shape]:
    assert queue.claimed is not None
    horizon = Fraction(max(queue.claimed * 3 // 2, 1_000_000))
    for phase, corners in _corners(queue, horizon):
        if corners:
            yield _shape(queue, phase, corners, horizon)


def corners_of(queue: Queue, horizon: Fraction) -> Iterator[Corners]:
    """Of each phase, where the curve of what the class is served turns, up to a time: ps and 10^-12 bit."""
    return (corners for _, corners in _corners(queue, horizon))


def _corners(queue: Queue, horizon: Fraction) -> Iterator[tuple[Phase, Corners]]:
    for phase in queue.service.phases() if queue.credit is None else [Phase(0)]:
        steps = _by_credit(queue, horizon) if queue.credit is not None else _served(queue, phase, horizon)
        yield phase, list(steps)


def _served(queue: Queue, phase: Phase, horizon: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    """Corners of what is served at most late: it never falls, and rests while no frame can begin."""
    most = Fraction(0)
    yield Fraction(0), most
    for count, piece in enumerate(queue.service.walk(phase)):
        if count > _MOST_PIECES or piece.begin > horizon:
            return
        end = horizon if piece.end is None else min(piece.end, horizon)
        if piece.usable and piece.at(end) > most:
            if piece.served < most:
                yield piece.begin + (most - piece.served) / piece.slope, most
            else:
                yield piece.begin, most
            most = piece.at(end)
        yield end, most


def _by_credit(queue: Queue, horizon: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    assert queue.credit is not None
    idle, most = queue.credit["slowest_bps"], queue.most or Fraction(0)
    gate, at, earned = queue.service.gate, Fraction(0), Fraction(0)
    yield at, Fraction(0)
    if gate is None:
        yield most / idle, Fraction(0)
        yield max(horizon, most / idle), max(idle * horizon - most, Fraction(0))
        return
    closing = next((end for begin, end in gate.narrow if end - begin < gate.cycle), 0)
    for length, _, _, is_open, _ in gate.pieces(closing):
        more = idle * length if is_open else Fraction(0)
        if earned < most < earned + more:
            yield at + (most - earned) / idle, Fraction(0)
        at, earned = at + length, earned + more
        yield at, max(earned - most, Fraction(0))
        if at > horizon:
            return


def _shape(queue: Queue, phase: Phase, corners: Corners, horizon: Fraction) -> Shape:
    assert queue.arrivals is not None
    counted = queue.service.frames is not None and queue.service.counted and queue.credit is None
    times = {horizon * n / _POINTS for n in range(_POINTS)} | {time for time in queue.arrivals.turns if time < horizon}
    came: list[tuple[Fraction, Fraction]] = []
    for time in sorted(times):
        amount = queue.arrivals.at(time)
        came.append((time, min(amount, queue.service.came(phase, time)) if counted else amount))
    longest: tuple[Fraction, Fraction, Fraction] | None = None
    fullest: tuple[Fraction, Fraction, Fraction] | None = None
    for time, amount in came:
        begin = _first_above(corners, amount - queue.of.shortest)
        if begin is not None and begin >= time and (longest is None or begin - time > longest[1] - longest[0]):
            longest = time, begin, amount - queue.of.shortest
        served = _at(corners, time)
        if fullest is None or amount - served > fullest[1] - fullest[2]:
            fullest = time, amount, served
    return Shape(
        None if queue.service.gate is None or queue.credit is not None else phase.begin % queue.service.gate.cycle,
        tuple(_point(time, amount) for time, amount in came),
        tuple(_point(time, amount) for time, amount in corners),
        None if longest is None else (_point(longest[0], longest[2]), _point(longest[1], longest[2])),
        None if fullest is None else (_point(fullest[0], fullest[2]), _point(fullest[0], fullest[1])),
    )


def _point(time: Fraction, amount: Fraction) -> Point:
    return float(time) / 1e6, float(amount) / _BYTE


def _first_above(corners: Sequence[tuple[Fraction, Fraction]], amount: Fraction) -> Fraction | None:
    """From when on more than this is served."""
    for (begin, low), (end, high) in pairwise(corners):
        if high > amount:
            return begin if low >= amount else begin + (end - begin) * (amount - low) / (high - low)
    return None


def _at(corners: Sequence[tuple[Fraction, Fraction]], time: Fraction) -> Fraction:
    place = bisect_right(corners, time, key=lambda corner: corner[0])
    if place == len(corners):
        return corners[-1][1]
    (begin, low), (end, high) = corners[place - 1], corners[place]
    return low if end == begin else low + (high - low) * (time - begin) / (end - begin)
