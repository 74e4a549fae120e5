# SPDX-License-Identifier: Apache-2.0
"""An independent checker of bounds: given the network and a wait for each queue, whether these waits are a bound.

The engine searches the least waits with integers that are rounded outward. Here nothing is searched and nothing
rounded: with the waits that are claimed, all that can come to a queue follows, and exact fractions tell whether a frame
could wait for longer than what is claimed of its queue. If no frame can, the claim is a bound, also where streams go in
circles: a first frame that broke it would have waited behind frames that kept it (FP-TFA).

What is claimed is `{"network": ..., "waits": [[port, class, ps], ...]}`, with the network as `describe` has it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise
from math import ceil, gcd
from typing import Any

_CLASSES = 8
_BYTE = 8 * 10**12  # in 10^-12 bit
_BIT = 10**12
_PARTS = 4  # of a stretch of phases
_MOST_SEGMENTS = 20_000
_MOST_WINDOWS = 64  # of a measure of gate cycle and period

Line = tuple[Fraction, Fraction]  # burst and rate
# What is served, and whether it goes on growing: as long as it is no more, what goes first may still be sent.
Level = tuple[Fraction, bool]
Stretch = tuple[int, int]  # from and to, in a cycle and beyond


@dataclass(frozen=True)
class Refusal:
    """A queue of which the claim does not hold, or says nothing that follows."""

    port: int
    traffic_class: int
    why: str


@dataclass(frozen=True)
class _Curve:
    """The sum of some curves, each the least of some lines."""

    parts: tuple[tuple[Line, ...], ...]

    @cached_property
    def pieces(self) -> tuple[tuple[Fraction, Fraction, Fraction], ...]:
        """From when on which line holds: its burst and rate."""
        found: list[tuple[Fraction, Fraction, Fraction]] = []
        for time in self._crossings():
            lines = [min(lines, key=lambda line: (line[0] + line[1] * time, line[1])) for lines in self.parts]
            burst, rate = sum((line[0] for line in lines), Fraction(0)), sum((line[1] for line in lines), Fraction(0))
            if not found or found[-1][1:] != (burst, rate):
                found.append((time, burst, rate))
        return tuple(found)

    def _crossings(self) -> list[Fraction]:
        found = {Fraction(0)}
        for lines in self.parts:
            for one, (a, fast) in enumerate(lines):
                for b, slow in lines[one + 1 :]:
                    if fast != slow:
                        found.add((b - a) / (fast - slow))
        return sorted(time for time in found if time >= 0)

    def line_at(self, time: Fraction) -> tuple[Fraction, Fraction]:
        """Burst and rate of the line that holds from a time on."""
        _, burst, rate = self.pieces[bisect_right(self.turns, time) - 1]
        return burst, rate

    def at(self, time: Fraction) -> Fraction:
        burst, rate = self.line_at(time)
        return burst + rate * time

    @property
    def rate(self) -> Fraction:
        """In the end."""
        return self.pieces[-1][2]

    @cached_property
    def turns(self) -> list[Fraction]:
        """Where it turns, at first zero."""
        return [time for time, _, _ in self.pieces]

    def moved(self, time: int | Fraction) -> _Curve:
        return _Curve(tuple(tuple((burst + rate * time, rate) for burst, rate in lines) for lines in self.parts))

    def with_more(self, factor: Fraction, more: Fraction, less: int) -> _Curve:
        """Times a factor, of what is above `less`, and something more."""
        whole = self.envelope()
        return _Curve(
            (tuple(((max(burst - less, Fraction(0))) * factor + more, rate * factor) for burst, rate in whole),)
        )

    def envelope(self) -> tuple[Line, ...]:
        """All lines that it is made of, as one least."""
        return tuple((burst, rate) for _, burst, rate in self.pieces)


@dataclass
class _Class:
    shortest: int
    longest: int
    filling: int = 0
    members: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class _Above:
    number: int
    arrivals: _Curve | None
    credit: Line | None


@dataclass(frozen=True)
class _Phase:
    begin: int
    blocked: int = 0
    slack: Fraction = Fraction(0)
    others: int = 0


@dataclass(frozen=True)
class _Piece:
    begin: Fraction
    end: Fraction | None  # None: never
    usable: bool
    served: Fraction
    slope: Fraction
    opened: Fraction
    may_open: bool

    def at(self, time: Fraction) -> Fraction:
        return self.served + self.slope * (time - self.begin)

    def level(self, time: Fraction) -> Level:
        return self.at(time), self.slope > 0


class _Gate:
    """The gate cycle of a port, from the view of a class."""

    def __init__(self, gates: Mapping[str, Any], number: int, own: int, lower: Mapping[int, int]) -> None:
        self.edge, late = gates["edge_ps"], gates.get("late", False)
        self.cycle = sum(interval for _, interval in gates["entries"])
        windows = [self._windows(gates["entries"], of) for of in range(_CLASSES)]
        self.always = windows[number] == [(0, self.cycle)]
        self.wide = [
            [(0, self.cycle)] if late else [self._grown(of, self.edge) for of in windows[k]] for k in range(_CLASSES)
        ]
        frozen = own if gates.get("frozen") else 0
        narrow = (
            windows[number]
            if self.always
            else [(begin, end - frozen) for begin, end in (self._grown(of, -self.edge) for of in windows[number])]
        )
        self.narrow = [of for of in narrow if of[1] > of[0]]
        self.usable: list[tuple[Stretch, int]] = []
        for begin, end in windows[number]:
            meeting = [
                longest
                for of, longest in lower.items()
                if late or any(self._meet(other, (begin, end)) for other in windows[of])
            ]
            blocked = max(meeting, default=0)
            if self.always:
                self.usable.append(((begin, end), blocked))
                continue
            across = [longest for of, longest in lower.items() for _ in range(1) if late]
            for of, longest in lower.items():
                for a, b in windows[of]:
                    for turn in (-self.cycle, 0, self.cycle):
                        if a + turn < begin < b + turn or (b - a >= self.cycle):
                            left = b + turn - begin if b - a < self.cycle else self.cycle
                            across.append(min(longest, left + self.edge))
            first, last = begin + self.edge + max(across, default=0), end - self.edge - own
            if last >= first:
                self.usable.append(((first, last + 1), blocked))
        self.number = number

    def _windows(self, entries: Sequence[Sequence[int]], number: int) -> list[Stretch]:
        found: list[Stretch] = []
        at = 0
        for states, interval in entries:
            if states >> number & 1:
                found = (
                    [*found[:-1], (found[-1][0], at + interval)]
                    if found and found[-1][1] == at
                    else [*found, (at, at + interval)]
                )
            at += interval
        if len(found) > 1 and found[0][0] == 0 and found[-1][1] == self.cycle:
            found = [*found[1:-1], (found[-1][0], self.cycle + found[0][1])]
        return found

    def _grown(self, stretch: Stretch, edge: int) -> Stretch:
        begin, end = stretch[0] - edge, stretch[1] + edge
        return (begin, min(end, begin + self.cycle))

    def _meet(self, one: Stretch, other: Stretch) -> bool:
        return any(one[0] + turn < other[1] and other[0] < one[1] + turn for turn in (-self.cycle, 0, self.cycle))

    def _holds(self, stretches: Sequence[Stretch], time: Fraction | int) -> bool:
        return any((time - begin) % self.cycle < end - begin for begin, end in stretches)

    def others(self, time: Fraction | int) -> int:
        """Bit k: the gate of class k may be open."""
        return sum(1 << number for number in range(_CLASSES) if self._holds(self.wide[number], time))

    def cuts(self) -> list[int]:
        """Where anything changes, in a cycle."""
        found = {0}
        for begin, end in [*(of for of, _ in self.usable), *self.narrow, *(of for each in self.wide for of in each)]:
            found |= {begin % self.cycle, end % self.cycle}
        return sorted(found)

    def phases(self) -> Iterator[_Phase]:
        """In which the class may begin to wait for others."""
        for (begin, end), blocked in self.usable:
            places = {0, end - begin - 1}
            places |= {(cut - begin) % self.cycle for cut in self.cuts()}
            within = sorted(place for place in places if place < end - begin)
            yield _Phase(begin % self.cycle, blocked + self.edge)
            for one, other in pairwise(within):
                mask = self.others(begin + one) & ~(1 << self.number)
                parts = _PARTS if mask else 1
                steps = [one + (other - one) * part // parts for part in range(parts + 1)]
                for a, b in pairwise(steps):
                    if b > a:
                        yield _Phase((begin + b) % self.cycle, blocked + self.edge, Fraction(b - a), mask)

    def phases_within(self, first: int, last: int) -> Iterator[_Phase]:
        """The same of a class that begins to wait from a time on to another one only."""
        blocked = max((each for _, each in self.usable), default=0) + self.edge
        edges = [edge for cut in self.cuts() for edge in (cut, cut - blocked)]
        cuts = {first, last + 1, *(first + (edge - first) % self.cycle for edge in edges)}
        for begin, end in pairwise(sorted(cut for cut in cuts if cut <= last + 1)):
            over = blocked if self._holds(self.wide[self.number], begin) else 0
            yield _Phase(begin + over, over)
            if not self._holds([of for of, _ in self.usable], begin + over):
                continue
            mask = self.others(begin + over) & ~(1 << self.number)
            parts = _PARTS if mask else 1
            steps = [begin + (end - 1 - begin) * part // parts for part in range(parts + 1)]
            for a, b in pairwise(steps):
                if b > a:
                    yield _Phase(b + over, over, Fraction(b - a), mask)

    def pieces(self, phase: int) -> Iterator[tuple[Fraction, bool, bool, bool, int]]:
        """From a phase on: length, usable, may be open, is open for certain, others."""
        cuts = [*self.cuts(), self.cycle]
        stretches = [of for of, _ in self.usable]
        at = phase % self.cycle
        while True:
            end = next(cut for cut in cuts if cut > at)
            yield (
                Fraction(end - at), self._holds(stretches, at), self._holds(self.wide[self.number], at),
                self._holds(self.narrow, at), self.others(at),
            )  # fmt: skip
            at = end % self.cycle


@dataclass(frozen=True)
class _Service:
    rate: int
    low: int
    above: tuple[_Above, ...]
    gate: _Gate | None
    frames: tuple[tuple[Stretch, int], ...] | None = None  # when those of the class come; None: at any time
    counted: bool = True  # they are less than what arrivals are otherwise
    each: int | None = None  # what a frame is on the wire, where all are as long and nothing goes first

    def walk(self, phase: _Phase) -> Iterator[_Piece]:
        """Stretch after stretch in which the service grows evenly."""
        shared = {each.number: phase.slack if phase.others >> each.number & 1 else Fraction(0) for each in self.above}
        opened = dict.fromkeys(shared, phase.slack)
        at, usable_time, own = Fraction(0), Fraction(0), phase.slack
        pieces: Iterator[tuple[Fraction | None, bool, bool, bool, int]]
        pieces = (
            iter([(None, True, True, True, 0xFF)])
            if self.gate is None
            else self.gate.pieces(phase.begin - phase.blocked)
        )
        for length, may_begin, may_open, _, others in pieces:
            left = length
            while left is None or left > 0:
                usable = may_begin and at >= phase.blocked
                step = left
                if at < phase.blocked:
                    step = _least(step, phase.blocked - at)
                served, slope = self.rate * usable_time - self.low, Fraction(self.rate if usable else 0)
                for each in self.above:
                    is_open = bool(others >> each.number & 1)
                    lines = self._lines(each, at, is_open, usable, shared[each.number], opened[each.number])
                    line = min(lines)
                    served -= line[0]
                    slope -= line[1]
                    for other in lines:
                        if other[1] < line[1]:
                            step = _least(step, (other[0] - line[0]) / (line[1] - other[1]))
                    if each.arrivals is not None:
                        step = _least(step, *(turn - at for turn in each.arrivals.turns if turn > at))
                end = None if step is None else at + step
                yield _Piece(at, end, usable, served, slope, own, may_open)
                if step is None or end is None:
                    return
                for each in self.above:
                    if others >> each.number & 1:
                        opened[each.number] += step
                        shared[each.number] += step if usable else 0
                usable_time += step if usable else 0
                own += step if may_open else 0
                at, left = end, None if left is None else left - step

    def _lines(
        self, each: _Above, at: Fraction, is_open: bool, usable: bool, shared: Fraction, opened: Fraction
    ) -> list[Line]:
        lines: list[Line] = []
        if each.arrivals is not None:
            burst, rate = each.arrivals.line_at(at)
            lines.append((burst + rate * at, rate))
        if each.credit is not None:
            burst, rate = each.credit
            lines.append((burst + rate * opened, rate if is_open else Fraction(0)))
        if self.gate is not None:
            lines.append((self.rate * shared, Fraction(self.rate if is_open and usable else 0)))
        return lines

    @property
    def is_limited(self) -> bool:
        """Whether every class above has a limit."""
        return self.gate is not None or all(each.arrivals is not None or each.credit is not None for each in self.above)

    @property
    def is_undisturbed(self) -> bool:
        """Whether no class above is open when frames of the class can begin."""
        if self.gate is None:
            return False
        above = sum(1 << each.number for each in self.above)
        pieces = islice(self.gate.pieces(0), len(self.gate.cuts()))
        return not any(usable and others & above for _, usable, _, _, others in pieces)

    def phases(self) -> list[_Phase]:
        """Of which each is looked at."""
        if self.gate is None:
            return [_Phase(0)]
        if self.frames is None or not self.gate.usable:
            return list(self.gate.phases())
        return [phase for window, _ in set(self.frames) for phase in self.gate.phases_within(*window)]

    def came(self, phase: _Phase, time: Fraction) -> Fraction:
        """What comes until a time after the class began to wait in a phase."""
        assert self.gate is not None
        assert self.frames is not None
        cycle, begin = self.gate.cycle, phase.begin - phase.blocked
        found = 0
        for (first, last), amount in self.frames:
            turns = (begin + time - first) // cycle - ceil((begin - phase.slack - last) / Fraction(cycle)) + 1
            found += amount * max(0, turns)
        return Fraction(found)


def _least(*times: Fraction | None) -> Fraction | None:
    known = [time for time in times if time is not None and time > 0]
    return min(known, default=None)


def _keeps(service: _Service, arrivals: _Curve, shortest: int, wait: int) -> bool:
    """Whether no frame of `shortest` or more waits longer."""
    phases = service.phases()
    if not service.is_limited or not phases:
        return False
    return all(_keeps_from(service, phase, arrivals, shortest, wait) for phase in phases)


def _keeps_from(service: _Service, phase: _Phase, arrivals: _Curve, shortest: int, wait: int) -> bool:
    """A frame that comes at t has arrivals(t) - shortest before it, which is served by t + wait, when it can begin."""
    if service.frames is not None and service.counted:
        return _keeps_frames(service, phase, arrivals, shortest, wait)
    turns = arrivals.turns
    so_far: Level | None = None  # the most that was served when a frame could begin
    reached = Fraction(0)  # up to here all frames are known to keep it
    for count, piece in enumerate(service.walk(phase)):
        if count > _MOST_SEGMENTS:
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


def _keeps_frames(service: _Service, phase: _Phase, arrivals: _Curve, shortest: int, wait: int) -> bool:
    """The same of frames whose windows are known: at each, no more has come than until the next one's begin."""
    pieces: list[_Piece] = []
    assert service.gate is not None
    assert service.frames is not None
    in_window, more, cycle = Fraction(0), Fraction(0), service.gate.cycle
    second: tuple[Fraction, Fraction] | None = None
    enough: Fraction | None = None
    for count, found in enumerate(service.walk(phase)):
        if count > _MOST_SEGMENTS or found.end is None:
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
    arrivals: _Curve, turns: Sequence[Fraction], shortest: int, served: Level | None, begin: Fraction, end: Fraction
) -> bool:
    """Whether what was served is all that is before frames of a time: no more comes after its end than at it."""
    if end <= begin:
        return True
    # A whole picosecond is the grid of time.
    return served is not None and served >= (arrivals.at(max(end - 1, begin)) - shortest, True)


def _keeps_for_ever(
    piece: _Piece, arrivals: _Curve, turns: Sequence[Fraction], shortest: int, so_far: Level | None, begin: Fraction,
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


def _most_credit(service: _Service, idle: int) -> Fraction | None:
    phases = service.phases()
    if not service.is_limited or not phases:
        return None
    if service.gate is not None:
        phases += [_Phase(begin % service.gate.cycle) for begin, end in service.gate.wide[service.gate.number]
                   if end - begin < service.gate.cycle]  # fmt: skip
    most = Fraction(0)
    for phase in phases:
        found = _credit_from(service, phase, idle)
        if found is None:
            return None
        most = max(most, found)
    return most


def _credit_from(service: _Service, phase: _Phase, idle: int) -> Fraction | None:
    most, served = idle * phase.slack, Fraction(0)
    for count, piece in enumerate(service.walk(phase)):
        if count > _MOST_SEGMENTS:
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


def _keeps_by_credit(gate: _Gate | None, idle: int, most: Fraction, arrivals: _Curve, shortest: int, wait: int) -> bool:
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


class _Checker:
    def __init__(self, network: Mapping[str, Any], waits: Mapping[tuple[int, int], int]) -> None:
        self.network, self.waits = network, waits
        self.classes: list[dict[int, _Class]] = [{} for _ in network["ports"]]
        for number, stream in enumerate(network["streams"]):
            shortest, longest = stream["min_bytes"] * _BYTE, stream["max_bytes"] * _BYTE
            for place, hop in enumerate(stream["hops"]):
                of = self.classes[hop["port"]].setdefault(hop["class"], _Class(shortest, longest))
                of.shortest, of.longest = min(of.shortest, shortest), max(of.longest, longest)
                of.members.append((number, place))
                if stream.get("fills") and hop["from"] is None:
                    of.filling = max(of.filling, longest)
        self.arrivals = [self._of_stream(stream) for stream in network["streams"]]
        self.ways = [self._ways_of(stream) for stream in network["streams"]]

    def _bucket(self, bucket: Mapping[str, int]) -> Line:
        return Fraction(bucket["burst_millibits"] * 10**9), Fraction(bucket["rate_bps"])

    def _of_stream(self, stream: Mapping[str, Any]) -> list[tuple[Line, ...] | None]:
        found: list[tuple[Line, ...] | None] = []
        for hop in stream["hops"]:
            if hop["regulator"] is not None:
                found.append((self._bucket(self.network["regulators"][hop["regulator"]]),))
            elif hop["from"] is None:
                found.append(tuple(map(self._bucket, stream["buckets"])) or None)
            else:
                before = stream["hops"][hop["from"]]
                wait, came = self.waits.get((before["port"], before["class"])), found[hop["from"]]
                if wait is None or came is None:
                    found.append(None)
                else:
                    late = wait + hop["jitter_ps"]
                    found.append(tuple((burst + rate * late, rate) for burst, rate in came))
        return found

    def _ways_of(self, stream: Mapping[str, Any]) -> list[tuple[int, int] | None]:
        """By hop, what a frame takes from its release until it may begin there; None: nobody knows."""
        found: list[tuple[int, int] | None] = []
        for hop in stream["hops"]:
            if hop["from"] is None:
                found.append((0, 0) if hop["regulator"] is None and stream.get("releases") else None)
                continue
            before, way = stream["hops"][hop["from"]], found[hop["from"]]
            wait, reach = self.waits.get((before["port"], before["class"])), hop.get("reach_ps")
            if hop["regulator"] is not None or way is None or wait is None or reach is None:
                found.append(None)
            else:
                found.append((way[0] + reach[0], way[1] + reach[1] + wait))
        return found

    def _frames(self, port: Mapping[str, Any], of: _Class) -> tuple[tuple[Stretch, int], ...] | None:
        """When in the gate cycle frames of a class come and how long they are, where that is known of all."""
        gates = port.get("gates")
        if gates is None or gates.get("begin_ps") is None or of.filling:
            return None
        cycle = sum(interval for _, interval in gates["entries"])
        found: list[tuple[Stretch, int]] = []
        for number, place in of.members:
            stream, way = self.network["streams"][number], self.ways[number][place]
            if way is None:
                return None
            releases = stream["releases"]
            measure = cycle if releases["period_ps"] is None else gcd(releases["period_ps"], cycle)
            for first, last in releases["windows"]:
                begin = first + way[0] - gates["begin_ps"] - gates["begin_error_ps"]
                end = last + way[1] - gates["begin_ps"] + gates["begin_error_ps"]
                if end - begin >= measure or cycle // measure > _MOST_WINDOWS:
                    return None
                for turn in range(0, cycle, measure):
                    at = (turn + begin) % cycle
                    found.append(((at, at + end - begin), stream["max_bytes"] * _BYTE))
        return tuple(found) if len({window for window, _ in found}) <= _MOST_WINDOWS else None

    def together(self, of: _Class) -> _Curve | None:
        """All that comes to a queue; None without a limit."""
        parts: list[tuple[Line, ...]] = []
        by_entry: dict[int, list[tuple[int, int]]] = {}
        regulators = [self._hop(member)["regulator"] for member in of.members]
        shared: set[int] = set()
        for member in of.members:
            hop, stream = self._hop(member), self.network["streams"][member[0]]
            regulator = hop["regulator"]
            if regulator is not None and (not hop.get("conforms") or regulators.count(regulator) > 1):
                if regulator not in shared:
                    shared.add(regulator)
                    parts.append((self._bucket(self.network["regulators"][regulator]),))
            elif hop["from"] is not None:
                by_entry.setdefault(stream["hops"][hop["from"]]["port"], []).append(member)
            elif not stream.get("fills"):
                lines = self.arrivals[member[0]][member[1]]
                if lines is None:
                    return None
                parts.append(lines)
        for entry, members in by_entry.items():
            rate = self.network["ports"][entry]["fastest_bps"]
            longest = max(self.network["streams"][number]["max_bytes"] for number, _ in members) * _BYTE
            jitter = max(self._hop(member)["jitter_ps"] for member in members)
            link = (Fraction(longest + rate * jitter), Fraction(rate))
            lines_of = [self.arrivals[number][place] for number, place in members]
            if any(lines is None for lines in lines_of):
                parts.append((link,))
            else:
                parts.append((*_Curve(tuple(lines for lines in lines_of if lines is not None)).envelope(), link))
        return _Curve(tuple(parts))

    def _hop(self, member: tuple[int, int]) -> Mapping[str, Any]:
        hop: Mapping[str, Any] = self.network["streams"][member[0]]["hops"][member[1]]
        return hop

    def refusals(self) -> Iterator[Refusal]:
        """Of all queues of which something is claimed."""
        for number in range(len(self.network["ports"])):
            yield from self._of_port(number)

    def _of_port(self, number: int) -> Iterator[Refusal]:
        port, classes = self.network["ports"][number], self.classes[number]
        turns, rate = port.get("turns", 0), port["slowest_bps"]
        shapers = {credit["class"]: credit for credit in port.get("credit", [])}
        gates = port.get("gates")

        def rank(of: int) -> int:
            return int(turns).bit_length() - 1 if turns >> of & 1 else of

        def lasts(amount: int) -> int:
            return -(-amount // int(rate))

        above: list[tuple[int, _Above]] = []
        for own in sorted(classes, key=lambda of: (rank(of), of), reverse=True):
            of = classes[own]
            beside = {k: each for k, each in classes.items() if k != own and rank(k) == rank(own)}
            lower = {k: each.longest for k, each in classes.items() if rank(k) < rank(own)}
            if of.filling:
                lower[own] = of.filling
            higher = tuple(each for level, each in above if level > rank(own))
            blocking = lower | {k: each.longest for k, each in beside.items()}
            gate = None
            if gates is not None:
                gate = _Gate(gates, own, lasts(of.longest), {k: lasts(each) for k, each in blocking.items()})
            low = 0 if gate is not None else max(lower.values(), default=0)
            service = _Service(rate, low, higher, gate, None if own in shapers else self._frames(port, of))
            arrivals = None if port.get("unknown") else self.together(of)
            limit: Line | None = None
            most: Fraction | None = None
            if own in shapers:
                credit = shapers[own]
                most = _most_credit(service, credit["fastest_bps"])
                if most is not None:
                    limit = self._limit(port, credit, of, most)
            claimed = self.waits.get((number, own))
            if claimed is not None:
                why = None
                if claimed < 0:
                    why = "nobody waits for less than no time"
                elif arrivals is None:
                    why = "nothing limits what comes"
                elif own in shapers:
                    why = self._by_credit(port, shapers[own], gate, most, arrivals, of.shortest, claimed)
                elif turns >> own & 1:
                    if not self._in_turns(service, of, beside, arrivals, claimed):
                        why = "a frame may wait for longer"
                elif not (
                    _keeps(service, arrivals, of.shortest, claimed)
                    or (
                        of.shortest == of.longest
                        and service.is_undisturbed
                        and service.frames is not None
                        and _keeps(replace(service, each=of.longest), arrivals, of.shortest, claimed)
                    )
                ):
                    why = "a frame may wait for longer"
                if why is not None:
                    yield Refusal(number, own, why)
            waited = None if claimed is None else claimed + lasts(of.longest)
            known = arrivals
            if gates is not None or own in shapers:
                known = None if waited is None or arrivals is None else arrivals.moved(waited)
            above.append((rank(own), _Above(own, None if of.filling else known, limit)))

    def _limit(self, port: Mapping[str, Any], credit: Mapping[str, int], of: _Class, most: Fraction) -> Line:
        rate, paid = port["fastest_bps"], of.shortest - credit["free_bytes"] * _BYTE
        least = Fraction(of.longest * (rate - credit["slowest_bps"]), rate)
        whole = Fraction(of.shortest, paid)
        return (most + least) * whole, min(credit["fastest_bps"] * whole, Fraction(rate))

    def _by_credit(
        self, port: Mapping[str, Any], credit: Mapping[str, int], gate: _Gate | None, most: Fraction | None,
        arrivals: _Curve, shortest: int, wait: int,
    ) -> str | None:  # fmt: skip
        if most is None or most > credit["most_bits"] * _BIT:
            return "its credit has no limit"
        spent = arrivals.with_more(Fraction(port["fastest_bps"], port["slowest_bps"]), Fraction(0), shortest)
        keeps = _keeps_by_credit(gate, credit["slowest_bps"], most, spent, 0, wait)
        return None if keeps else "a frame may wait for longer"

    def _in_turns(
        self, service: _Service, of: _Class, beside: Mapping[int, _Class], arrivals: _Curve, wait: int
    ) -> bool:
        others = sum(each.longest for each in beside.values())
        begun = max((each.longest for each in beside.values()), default=0)
        low = service.low if service.gate is not None else max(service.low, begun)
        factor = Fraction(of.shortest + others, of.shortest)
        with_others = arrivals.with_more(factor, Fraction(others), of.shortest)
        if _keeps(replace(service, low=low, counted=False), with_others, 0, wait):
            return True
        if service.gate is not None:
            return False
        found = {k: None if each.filling else self.together(each) for k, each in beside.items()}
        all_of = tuple(_Above(k, curve, None) for k, curve in found.items() if curve is not None)
        if len(all_of) < len(found):
            return False
        return _keeps(_Service(service.rate, service.low, (*service.above, *all_of), None), arrivals, of.shortest, wait)


def refusals(certificate: Mapping[str, Any]) -> list[Refusal]:
    """Of which queues a certificate claims what does not follow; none: all its waits are bounds."""
    waits = {(port, traffic_class): wait for port, traffic_class, wait in certificate["waits"]}
    return list(_Checker(certificate["network"], waits).refusals())
