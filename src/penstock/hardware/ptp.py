# SPDX-License-Identifier: Apache-2.0
"""The PTP clock of a switch and its time stamps, through its registers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from penstock.hardware.registers import registers

NS_PER_S = 1_000_000_000
CYCLE_NS = 8
FRACTION = 1 << 32  # steps of a nanosecond
MESSAGE_TYPES = ("Sync", "Delay_Req", "Pdelay_Req", "Pdelay_Resp")

_SET, _STEP, _SLEW, _INCREMENT = 1, 2, 3, 4
_ERRORS = {
    1: "nanoseconds of 10^9 or more",
    2: "the time would be before 1970, or 2^63 ns or more after",
    3: "an increment below 1 ns",
    4: "a slew with a rate of zero",
    5: "no such command",
}


class Bus(Protocol):
    """What reads and writes registers: `penstock._engine.Switch`, or a driver of real hardware."""

    def read(self, address: int) -> int:
        """The word at the address."""

    def write(self, address: int, value: int) -> None:
        """Writes a word; comes back when it has been answered."""


class PtpError(ValueError):
    """A command that the clock refused; the clock is as it was."""


@dataclass(frozen=True)
class Stamp:
    """When a message passed, or an edge of the input came."""

    port: int | None  # None: an edge of the input
    sent: bool
    message_type: str  # "" of an edge, and of a frame that is no event message
    sequence_id: int  # of the message; of another frame the octets that stand there; of an edge its number
    ns: int  # TAI since 1970
    fraction: int  # of a nanosecond, in units of 2^-32

    @property
    def seconds(self) -> float:
        """For reading; rounded."""
        return self.ns / NS_PER_S


class PtpClock:
    """`PtpClock(switch).time_ns()`; commands come back when they act, and raise PtpError if they are refused."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._map = registers()

    def _read(self, name: str) -> int:
        return self._bus.read(self._map.address(f"ptp.{name}"))

    def _command(self, command: int, *words: int) -> None:
        for index, word in enumerate(words):
            self._bus.write(self._map.address(f"table_data[{index}]"), word & 0xFFFFFFFF)
        self._bus.write(*self._map.write("ptp.command", command=command))
        error = self._map["ptp.status"].fields["error"].extract(self._read("status"))
        if error:
            raise PtpError(_ERRORS.get(error, f"error {error}"))

    def time(self) -> tuple[int, int]:
        """Nanoseconds since 1970 (TAI), and the fraction in units of 2^-32 ns, of one instant."""
        ns = self._read("nanoseconds")  # first: it latches the others
        fraction = self._read("fraction")
        seconds = self._read("seconds_low") | self._read("seconds_high") << 32
        return seconds * NS_PER_S + ns, fraction

    def time_ns(self) -> int:
        """Nanoseconds since 1970 (TAI)."""
        return self.time()[0]

    def set(self, ns: int) -> None:
        """Sets the time: what the clock shows in the cycle in which the command acts."""
        seconds, rest = divmod(ns, NS_PER_S)
        if not 0 <= seconds < 1 << 48:
            raise PtpError(_ERRORS[2])
        self._command(_SET, rest, seconds, seconds >> 32)

    def step(self, ns: int) -> None:
        """Adds an offset at once."""
        seconds, rest = divmod(ns, NS_PER_S)
        if not -1 << 47 <= seconds < 1 << 47:
            raise PtpError(_ERRORS[2])
        self._command(_STEP, rest, seconds, seconds >> 32)

    def slew(self, ns: int, rate_ppm: float) -> None:
        """Adds an offset bit by bit; `rate_ppm` is by how much the clock is faster or slower meanwhile."""
        rate = round(rate_ppm * CYCLE_NS * FRACTION / 1e6)
        if not -(1 << 31) <= ns < 1 << 31 or not 0 <= rate < FRACTION:
            raise PtpError("a slew: up to 2 s, and below 125000 ppm, are allowed")
        self._command(_SLEW, ns, rate)

    @property
    def slewing(self) -> bool:
        """Whether a slew is running."""
        return bool(self._map["ptp.status"].fields["slewing"].extract(self._read("status")))

    @property
    def increment(self) -> int:
        """What each cycle adds, in units of 2^-32 ns."""
        return self._read("increment_ns") << 32 | self._read("increment_fraction")

    @increment.setter
    def increment(self, value: int) -> None:
        if not 0 <= value < 1 << 40:
            raise PtpError("an increment: below 256 ns is allowed")
        self._command(_INCREMENT, value, value >> 32)

    def set_rate(self, ppb: float) -> None:
        """How much faster than its oscillator the clock runs."""
        self.increment = round(CYCLE_NS * FRACTION * (1 + ppb / 1e9))

    def stamp_all(self, *, received: Collection[int] = (), sent: Collection[int] = ()) -> None:
        """Has all frames stamped that some ports receive and send; of the other ports event messages are."""
        mask = sum(1 << port for port in {*received}), sum(1 << port for port in {*sent})
        self._bus.write(*self._map.write("ptp.stamp_all", received=mask[0], sent=mask[1]))

    def stamps(self) -> list[Stamp]:
        """Takes all stamps that wait, those of each source in their order."""
        found = []
        waiting = self._read("stamp_waiting")
        for bit in range(17):
            if waiting >> bit & 1:
                while stamp := self._take(bit):
                    found.append(stamp)
        return found

    def _take(self, source: int) -> Stamp | None:
        self._bus.write(self._map.address("ptp.stamp_take"), source)
        fields = self._map["ptp.stamp_tag"].fields
        tag = self._read("stamp_tag")
        if not fields["valid"].extract(tag):
            return None
        seconds = self._read("stamp_seconds_low") | self._read("stamp_seconds_high") << 32
        edge, is_other = source >= 16, fields["other"].extract(tag)
        return Stamp(
            port=None if edge else source % 8,
            sent=source in range(8, 16),
            message_type="" if edge or is_other else MESSAGE_TYPES[fields["message_type"].extract(tag)],
            sequence_id=fields["sequence_id"].extract(tag),
            ns=seconds * NS_PER_S + self._read("stamp_nanoseconds"),
            fraction=self._read("stamp_fraction"),
        )

    def lost(self) -> list[tuple[int | None, bool]]:
        """Ports where stamps were lost since this was last asked, with whether they were sent; None: the input."""
        flags = self._read("stamp_lost")
        return [(None if bit >= 16 else bit % 8, bit in range(8, 16)) for bit in range(17) if flags >> bit & 1]
