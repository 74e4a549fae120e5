# SPDX-License-Identifier: Apache-2.0
"""In-band synchronization of the PTP clocks of two switches in hardware, by the processors at their host ports.

    processor ─► host port  first  port 0 ─── port 0  second  host port ─► processor
                               probe, stamped at port 1 of both at once: what is truly left

Frames of the protocol go out by the wire, as the header of the host port says; what comes has the switch's own stamp. A
clock is set, stepped and speeded up by registers. The state machines are the engine's `shaper::in_band`, as in
`penstock.in_band` and in data planes.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from penstock._engine import InBandFollower, InBandOrigin, PtpClock
from penstock.errors import EngineError
from penstock.ethernet import FCS_BYTES, MIN_FRAME_BYTES
from penstock.hardware import ptp
from penstock.hardware.host_line import HOST_PORT, OUTPUT, WIRE, hardware, way_of
from penstock.hardware.traffic import RESERVED, station_address, with_fcs

if TYPE_CHECKING:
    from penstock._engine import Switch
    from penstock.in_band import Plan

_CYCLE_NS = 8
_BEGIN_NS = 1_700_000_000 * 10**9
_BEGIN_CYCLE = 125_000
_PROBED = 1  # the port of both by which a frame comes that tells their clocks
_STEP_CYCLES = 100
_PATIENCE_CYCLES = 20_000
_LEAD_CYCLES = 30  # from being given a frame until it begins
_TURNAROUND_CYCLES = 1_000
_PREAMBLE_CYCLES = 8
_MOST_WAIT_CYCLES = 175  # of half of the frames, 1.4 us, in the processor
_TELL_TALE = (RESERVED + b"\x0e" + station_address(1, 1) + b"\x88\xb5").ljust(MIN_FRAME_BYTES - FCS_BYTES, b"\0")


class LostError(EngineError):
    """A frame did not come out of a switch that is idle: a fault of the hardware."""


@dataclass(frozen=True)
class _Out:
    """A frame that left a switch."""

    cycle: int
    stamp_ns: int  # of its reception, if it went to the host


class _Side:
    """A switch, and what its processor knows of its clock, by cycles that both count."""

    def __init__(self, seed: int) -> None:
        self.switch: Switch = hardware()
        self.registers = ptp.PtpClock(self.switch)
        self.clock = PtpClock()
        self._random = random.Random(seed)

    def give(self, port: int, start: int, frame: bytes, host: bytes | None = None) -> None:
        """A frame without FCS to a port."""
        self.switch.push(port, start, with_fcs(frame.ljust(MIN_FRAME_BYTES - FCS_BYTES, b"\0")), host=host)

    def sent(self, port: int) -> _Out:
        """The next frame that leaves by a port, as soon as it does; raises LostError."""
        until = self.switch.cycle + _PATIENCE_CYCLES
        while self.switch.cycle < until:
            self.switch.run(self.switch.cycle + _STEP_CYCLES)
            events = self.switch.events()
            for n in range(len(events["kind"])):
                if events["kind"][n] == OUTPUT and events["port"][n] == port:
                    return _Out(int(events["cycle"][n]), int(events["visible"][n]))
        raise LostError(f"no frame left by port {port} within {_PATIENCE_CYCLES} cycles")

    def to_the_wire(self, stamped: int, frame: bytes) -> int:
        """A frame of the processor, which may keep it for a while behind its stamp; the cycle in which it leaves."""
        waits = self._random.choice((0, self._random.randint(0, _MOST_WAIT_CYCLES)))
        self.give(HOST_PORT, stamped + waits, frame, way_of(frame).header)
        return self.sent(WIRE).cycle

    def from_the_wire(self, left: int, frame: bytes) -> _Out:
        """What left the other side comes here, to the host."""
        self.give(WIRE, left, frame)
        return self.sent(HOST_PORT)

    def cycle_of(self, stamp_ns: int) -> int:
        """By what the processor knows of its clock."""
        return self.clock.cycle_of_ns(stamp_ns)

    def probed(self, start: int) -> int:
        """What the clock shows as a frame comes to port 1; by that the processor knows its clock from now on."""
        increment = self.clock.increment
        self.give(_PROBED, start, _TELL_TALE)
        stamp_ns = self.sent(HOST_PORT).stamp_ns
        came = start + _PREAMBLE_CYCLES
        self.clock = PtpClock(came, stamp_ns)
        self.clock.set_increment(came, increment)
        return stamp_ns

    def do(self, before: tuple[int, int, int], increment: int, cycle: int) -> None:
        """Has the switch's clock do what its processor's did in a cycle."""
        s, ns, fraction = self.clock.time(cycle)
        by_ns = (s - before[0]) * ptp.NS_PER_S + ns - before[1]
        if fraction != before[2]:
            self.registers.set(s * ptp.NS_PER_S + ns)
        elif by_ns:
            self.registers.step(by_ns)
        if self.clock.increment != increment:
            self.registers.increment = self.clock.increment


@dataclass
class Synchronized:
    """What came of it."""

    phase: str
    drift_ppm: float | None  # as the collection phase found it
    trips_ns: list[float]
    truth_ns: list[int] = field(default_factory=list)  # what the second is ahead, by stamps of both; once compensated


def synchronize(plan: Plan, offset_ns: int, drift_ppm: float, looks: int) -> Synchronized:
    """Brings the second clock, so much ahead and too fast, to the first one; then looks at both, `looks` times.

    Raises LostError where hardware loses a frame.
    """
    first, second = sides = _Side(1), _Side(2)
    for side, ahead in zip(sides, (0, offset_ns), strict=True):
        side.registers.set(_BEGIN_NS + ahead)
        side.registers.set_rate(1000 * drift_ppm if side is second else 0.0)
        side.clock.set_increment(0, side.registers.increment)
    _look(sides)
    source = station_address(0, 1)
    origin = InBandOrigin(first.clock, _together(sides) + _BEGIN_CYCLE, source, **asdict(plan))
    follower = InBandFollower(station_address(0, 2))
    while (due := origin.next(first.clock)) is not None:
        for side in sides:
            side.switch.run(due - _LEAD_CYCLES)
        frame = origin.send(first.clock, due)
        if frame is None:
            break
        heard = second.from_the_wire(first.to_the_wire(due, frame), frame)
        answered = second.switch.cycle + _TURNAROUND_CYCLES
        before, increment = second.clock.time(answered), second.clock.increment
        answer = follower.receive(frame, second.clock, second.cycle_of(heard.stamp_ns), answered)
        if second.clock.time(answered) != before or second.clock.increment != increment:
            second.switch.run(answered)
            second.do(before, increment, answered)
            second.probed(second.switch.cycle + _LEAD_CYCLES)
            answered = second.switch.cycle + _LEAD_CYCLES
        if answer is not None:
            back = first.from_the_wire(second.to_the_wire(answered, answer), answer)
            origin.receive(answer, first.clock, first.cycle_of(back.stamp_ns))
    found = Synchronized(
        origin.phase,
        None if origin.drift is None else 1e6 * origin.drift[1],
        [trip for _, _, trip, _ in origin.samples],
    )
    for _ in range(looks if follower.is_compensated else 0):
        for side in sides:
            side.switch.run(side.switch.cycle + plan.interval_ns // _CYCLE_NS)
        found.truth_ns.append(_look(sides))
    return found


def _together(sides: tuple[_Side, _Side]) -> int:
    """A cycle that neither has passed."""
    return max(side.switch.cycle for side in sides)


def _look(sides: tuple[_Side, _Side]) -> int:
    """What the second clock is ahead, by a frame that comes to both in one cycle."""
    start = _together(sides) + _LEAD_CYCLES
    own, other = (side.probed(start) for side in sides)
    return other - own
