# SPDX-License-Identifier: Apache-2.0
"""The card itself, without a guest: its queues kept full, all that leaves counted by its own clock at 1 Gb/s."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.nic.alone import (
    CYCLE_NS,
    FRAME_NS,
    GUARD_NS,
    Alone,
    Followed,
    Kind,
    Scheduled,
    alone,
    followed,
    in_slot,
    schedules,
)
from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic import printed

_TOO_LONG = 6  # docs/nic.md
_NEAR_PERCENT = 100 * FRAME_NS / (10 * CYCLE_NS)  # a frame more or less in what is counted
_SLOTS_NS = (50_000, 50_000, 900_000)  # of queues 0 to 2 while the clock is moved
# By how much each command moves the clock, in ns; the other is a rate in ppm, told to 2^-32 ns a cycle.
_MOVED_NS = {"forward": 2_345_678, "back": -699_999_600, "slew": -20_000}
_FASTER_PPM = 1000
_COMMANDS = {
    "set": "set",
    "forward": "stepped forward",
    "back": "stepped back",
    "slew": "slewed by 2000 ppm",
    "faster": "faster by 1000 ppm",
}
_NAMES = {"model": "model", "rtl": "hardware"}


def rows(kind: str, seen: Alone) -> list[Row]:
    """Of a card, what each queue gets beside what whole frames take of its slot."""
    of = _NAMES[kind]

    def share(name: str, what: str, measured: float, theory: float) -> Row:
        return Row.equals(f"card.{kind}.{name}", f"{of}: {what}", "%", measured, theory, _NEAR_PERCENT)

    def count(name: str, what: str, measured: float, theory: float) -> Row:
        return Row.equals(f"card.{kind}.{name}", f"{of}: {what}", "", measured, theory, 0)

    least = Row.near(
        f"card.{kind}.slots.high",
        f"{of}: the one with a slot of 90 %, of what one queue gets alone",
        "%",
        100 * seen.slots[2] / seen.one,
        printed.SHARE_PERCENT,
        1,
    )
    return [
        share("one", "one queue alone", seen.one, 100).as_key(),
        share("turns.high", "one of two queues in turns", seen.turns[2], 50).as_key(),
        share("turns.low", "the other", seen.turns[0], 50).as_key(),
        least.as_key(),
        share("slots.wire", "the same, of the line", seen.slots[2], in_slot(900_000)),
        share("slots.low", "each with a slot of 5 %", seen.slots[0], in_slot(50_000)).as_key(),
        share("slots.beside", "a slot of 5 % beside an empty one of 90 %", seen.empty[0], in_slot(50_000)).as_key(),
        share("guard", "a slot of 90 % with a guard of 20 us", seen.guarded[2], in_slot(900_000 - GUARD_NS)).as_key(),
        share("free.slot", "a slot of 60 %", seen.free[2], in_slot(600_000)),
        share("free.one", "one of two queues that share the rest", seen.free[0], in_slot(400_000) / 2).as_key(),
        share("free.other", "the other", seen.free[1], in_slot(400_000) / 2),
        count("slots.outside", "frames with a bit outside of their slot", seen.outside, 0).as_key(),
        count("slots.changed", "registers not read back as they were written", seen.changed, 0).as_key(),
        count("slots.refused", "the code for slots longer than their cycle", seen.refusal, _TOO_LONG),
    ]


def port_rows(kind: str, ports: Sequence[Scheduled]) -> list[Row]:
    """Of a card with several ports, each with a schedule of its own, all of them full."""
    found = []
    for number, port in enumerate(ports):
        for queue, (got, theory) in enumerate(zip(port.got, port.theory, strict=True)):
            slot = f"a slot of {port.slots_ns[queue] // 1000} us" if port.slots_ns[queue] else "free time"
            label = f"{_NAMES[kind]}: port {number} of {len(ports)} with different schedules, queue {queue}, {slot}"
            row = f"card.{kind}.port{number}.queue{queue}"
            found.append(Row.equals(row, label, "%", got, theory, _NEAR_PERCENT).as_key())
    what = f"{_NAMES[kind]}: of {len(ports)} ports with different schedules, "
    for name, told, count in (
        ("outside", "frames with a bit outside of their slot", sum(port.outside for port in ports)),
        ("changed", "registers not read back as they were written", sum(port.changed for port in ports)),
    ):
        found.append(Row.equals(f"card.{kind}.ports.{name}", what + told, "", count, 0, 0).as_key())
    return found


def clock_rows(kind: str, seen: Sequence[Followed]) -> list[Row]:
    """Of a card whose slots have to follow its PTP clock: by that clock all is as if nothing had moved it."""
    found = []
    for moved in seen:
        name, what = f"card.{kind}.clock.{moved.command}", f"{_NAMES[kind]}: PTP clock {_COMMANDS[moved.command]}, "
        if moved.command in _MOVED_NS:
            by = _MOVED_NS[moved.command]
            found.append(Row.equals(f"{name}.moved", what + "by its stamps", "ns", moved.moved_ns, by, 0))
        if moved.command == "faster":
            row = Row.equals(f"{name}.rate", what + "by its stamps", "ppm", moved.faster_ppm, _FASTER_PPM, 0.001)
            found.append(row)
        for queue, (frames, slot_ns) in enumerate(zip(moved.frames, _SLOTS_NS, strict=True)):
            label = f"{what}frames of queue {queue} in each cycle, a slot of {slot_ns // 1000} us"
            found.append(Row.equals(f"{name}.queue{queue}", label, "", frames, slot_ns // FRAME_NS, 0))
        label = f"{what}frames with a bit outside of their slot"
        found.append(Row.equals(f"{name}.outside", label, "", moved.outside, 0, 0).as_key())
    return found


def _evaluate(_outcomes: Outcomes, options: Options) -> Found:
    if options.card:
        kinds: tuple[Kind, ...] = ("model", "rtl")
        queues = [row for kind in kinds for row in rows(kind, alone(kind))]
        ports = [row for kind in kinds for row in port_rows(kind, schedules(kind))]
        return Found([*queues, *ports, *(row for kind in kinds for row in clock_rows(kind, followed(kind)))])
    what = "the one with a slot of 90 % of the card itself: waits for --card"
    return Found([Row.told("card.rtl.slots.high", what, "%", None, paper=printed.SHARE_PERCENT).as_key()])


EXPERIMENTS = (Experiment("card", "queues of the card itself", "IV-B", (), _evaluate),)
