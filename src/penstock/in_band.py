# SPDX-License-Identifier: Apache-2.0
"""In-band synchronization as programs at two stations of a run: one brings the other's clock to its own.

The protocol is the engine's `shaper::in_band`. Its frames are those of neighbours; through bridges they go with the
addresses and the tag of the scenario's streams.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Self

from penstock._engine import InBandFollower, InBandOrigin, PtpClock
from penstock.own import Program

if TYPE_CHECKING:
    from penstock._engine import Frame
    from penstock.scenario.checked_stream import Stream

CYCLE_PS = 8_000
FRAME_BYTES = 68  # with tag and FCS
_NEIGHBOUR = bytes.fromhex("0180c200000e")
_ADDRESSES, _TAG_BYTES = 12, 4
_NOMINAL_INCREMENT = 8 << 32
_FRACTION = 2**32
_BEGIN_NS = 1_700_000_000 * 10**9
_TURNAROUND_CYCLES = 40
_BEGIN_CYCLE = 125_000
_LOOK_EVERY_PS = 10**12


def drifting_clock(offset_ns: int = 0, drift_ppm: float = 0.0) -> PtpClock:
    """A PTP clock that is so much ahead at the begin of a run, and so much too fast."""
    clock = PtpClock(0, _BEGIN_NS + offset_ns)
    clock.set_increment(0, round(_NOMINAL_INCREMENT * (1 + drift_ppm / 1e6)))
    return clock


def ahead_ns(clock: PtpClock, other: PtpClock, cycle: int) -> float:
    """What a clock is ahead of another one in a cycle that is later than the last command of both."""
    (s, ns, fraction), (other_s, other_ns, other_fraction) = clock.time(cycle), other.time(cycle)
    return float((s - other_s) * 10**9 + ns - other_ns) + (fraction - other_fraction) / _FRACTION


@dataclass(frozen=True)
class Way:
    """The stream by which a program's frames go, and what they begin with."""

    stream: str
    destination: bytes
    source: bytes
    vlan: int
    pcp: int

    @classmethod
    def of(cls, stream: Stream) -> Self:
        """That of a stream of a network."""
        destination, source = (mac.to_bytes(6) for mac in (stream.destination_mac, stream.source_mac))
        return cls(stream.name, destination, source, stream.vlan or 0, stream.pcp)

    def wrapped(self, frame: bytes) -> bytes:
        """A frame of neighbours as one of the stream."""
        tag = b"\x81\x00" + (self.pcp << 13 | self.vlan).to_bytes(2)
        return self.destination + self.source + tag + frame[_ADDRESSES:]


def unwrapped(frame: bytes) -> bytes:
    """A frame of a stream as one of neighbours."""
    return _NEIGHBOUR + frame[len(_NEIGHBOUR) : _ADDRESSES] + frame[_ADDRESSES + _TAG_BYTES :]


@dataclass(frozen=True)
class Plan:
    """How often a frame is sent, and how many in each phase."""

    interval_ns: int
    probes: int
    probes_after_set: int
    checks: int


class _Side(Program):
    """Frames wait up to `most_wait_ps` between their stamp and the port, in half of all cases, as in a busy card."""

    def __init__(self, way: Way, most_wait_ps: int, seed: int) -> None:
        self._way, self._most_wait_ps, self._random = way, most_wait_ps, random.Random(seed)
        self._waiting: list[tuple[int, bytes]] = []

    def _put(self, frame: bytes, stamped_ps: int) -> None:
        waits_ps = self._random.choice((0, self._random.randint(0, self._most_wait_ps)))
        self._waiting.append((stamped_ps + waits_ps, self._way.wrapped(frame)))

    def _ready(self, time_ps: int) -> Iterable[tuple[str, bytes]]:
        ready = sorted(each for each in self._waiting if each[0] <= time_ps)
        self._waiting = [each for each in self._waiting if each[0] > time_ps]
        return [(self._way.stream, frame) for _, frame in ready]

    def _next_ready(self) -> list[int]:
        return [at for at, _ in self._waiting]


class Origin(_Side):
    """The side whose clock is right: it begins a millisecond after the run does."""

    def __init__(self, clock: PtpClock, way: Way, plan: Plan, most_wait_ps: int = 0) -> None:
        super().__init__(way, most_wait_ps, 1)
        self.clock = clock
        self.protocol = InBandOrigin(clock, _BEGIN_CYCLE, way.source, **asdict(plan))

    def receive(self, frame: Frame, port: int, time_ps: int) -> None:
        """An answer; other frames are passed over."""
        self.protocol.receive(unwrapped(bytes(frame)), self.clock, time_ps // CYCLE_PS)

    def next(self) -> int | None:
        """When a message is due, or leaves."""
        cycle = self.protocol.next(self.clock)
        return min([*self._next_ready(), *([] if cycle is None else [cycle * CYCLE_PS])], default=None)

    def advance(self, time_ps: int) -> Iterable[tuple[str, bytes]]:
        """Sends what is due."""
        frame = self.protocol.send(self.clock, time_ps // CYCLE_PS)
        if frame is not None:
            self._put(frame, time_ps)
        return self._ready(time_ps)


class Follower(_Side):
    """The side whose clock is set right; it looks at its clock each second."""

    def __init__(self, clock: PtpClock, way: Way, true: PtpClock, most_wait_ps: int = 0) -> None:
        """`true` is the origin's clock, which a run knows."""
        super().__init__(way, most_wait_ps, 2)
        self.clock, self._true = clock, true
        self.protocol = InBandFollower(way.source)
        self.truth: list[tuple[float, float]] = []  # s of the run, and what it is ahead in ns, once it is compensated
        self._look_ps = _LOOK_EVERY_PS

    def receive(self, frame: Frame, port: int, time_ps: int) -> None:
        """A message, answered some cycles later."""
        came = time_ps // CYCLE_PS
        answered = came + _TURNAROUND_CYCLES
        answer = self.protocol.receive(unwrapped(bytes(frame)), self.clock, came, answered)
        if answer is not None:
            self._put(answer, answered * CYCLE_PS)

    def next(self) -> int | None:
        """When an answer leaves, or the clock is looked at."""
        return min([*self._next_ready(), self._look_ps])

    def advance(self, time_ps: int) -> Iterable[tuple[str, bytes]]:
        """Sends what is due, and trims the clock."""
        if time_ps >= self._look_ps:
            cycle = time_ps // CYCLE_PS
            self._look_ps += _LOOK_EVERY_PS
            if self.protocol.is_compensated:
                self.truth.append((time_ps / 1e12, ahead_ns(self.clock, self._true, cycle)))
            self.protocol.trim(self.clock, cycle)
        return self._ready(time_ps)
