# SPDX-License-Identifier: Apache-2.0
"""The options of qdiscs as tc takes them."""

from __future__ import annotations

from collections.abc import Callable

from penstock.linux.foreign.words import Words, WrittenError
from penstock.linux.foreign.written import Written
from penstock.linux.qdisc import CLOCKS, Cbs, Entry, Etf, Mapping16, Mqprio, Qdisc, Taprio

_PRIORITIES = _CLASSES = 16
# What tc 6.1 has for the priorities of mqprio of which no map is written at all.
_MQPRIO_MAP = (0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 1, 1, 3, 3, 3, 3)
_QUEUES = 2**16 - 1  # the kernel's 16 bits
_COMMANDS = {"S": 0, "H": 1, "R": 2}


def _up_to(most: int, value: int) -> int:
    if not 0 <= value <= most:
        raise WrittenError(f"{value} is out of range", f"0 to {most}")
    return value


class _Mapped:
    """num_tc, map and queues, which mqprio and taprio have in common."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.map: list[int] | None = None
        self.queues: list[tuple[int, int]] | None = None

    def take(self, word: str, words: Words) -> bool:
        """Whether the option is one of these."""
        if word == "num_tc":
            self.number = _up_to(_CLASSES, words.number(words.take("a number of classes")))
        elif word == "map":
            self.map = words.numbers(_PRIORITIES)
        elif word == "queues":
            self.queues = []
            while "@" in (words.peek() or "") and len(self.queues) < _CLASSES:
                count, first = words.take("").split("@", 1)
                self.queues.append((_up_to(_QUEUES, words.number(count)), _up_to(_QUEUES, words.number(first))))
        else:
            return False
        return True

    def mapping(self, default: tuple[int, ...]) -> Mapping16:
        """As tc sends it: priorities beyond a short map are of class 0."""
        number = len(self.queues or ()) if self.number is None else self.number
        queues = list(self.queues or ())[:number]
        given = default if self.map is None else (*self.map, *[0] * (_PRIORITIES - len(self.map)))
        return Mapping16(tuple(given), (*queues, *[(0, 0)] * (number - len(queues))))


def _clock(words: Words) -> int:
    name = words.take("a clock").removeprefix("CLOCK_")
    if name not in CLOCKS:
        raise WrittenError(f'"{name}" is not a clock', ", ".join(CLOCKS))
    return CLOCKS[name]


def _mqprio(words: Words, _: int | None, there: Written, handle: int) -> Qdisc:
    mapped, hardware = _Mapped(), True
    while words.left:
        word = words.take("")
        if mapped.take(word, words):
            continue
        if word == "hw":  # mode, shaper and rates are passed over
            hardware = words.take("0 or 1") != "0"
    if mapped.map is not None:
        there.map_lengths[handle] = len(mapped.map)
    return Mqprio(mapped.mapping(_MQPRIO_MAP), hardware)


def _taprio(words: Words, overhead: int | None, there: Written, handle: int) -> Qdisc:
    mapped, entries = _Mapped(), []
    numbers: dict[str, int] = {}
    clock: int | None = None
    limits: list[int] = []
    while words.left:
        word = words.take("")
        if mapped.take(word, words):
            continue
        if word == "sched-entry":
            command, mask = words.take("S, H or R"), words.take("a mask")
            if command not in _COMMANDS:
                raise WrittenError(f'"{command}" is not a gate operation', ", ".join(_COMMANDS))
            interval = words.number(words.take("an interval in ns"))
            entries.append(Entry(words.number(mask, 16), interval, _COMMANDS[command]))
        elif word == "clockid":
            clock = _clock(words)
        elif word == "max-sdu":
            limits = words.numbers(_CLASSES)
        elif word == "fp":
            while words.peek() in ("E", "P"):
                words.take("")
        elif word in ("base-time", "cycle-time", "cycle-time-extension", "flags", "txtime-delay"):
            numbers[word] = words.number(words.take("a number"))
        else:
            raise WrittenError(f'"{word}" is no option of taprio', "num_tc, map, queues, sched-entry and others")
    if mapped.map is not None:
        there.map_lengths[handle] = len(mapped.map)
    return Taprio(
        mapping=mapped.mapping((0,) * _PRIORITIES),
        entries=tuple(entries),
        base_time_ns=numbers.get("base-time", 0),
        cycle_time_ns=numbers.get("cycle-time", 0) or sum(entry.interval_ns for entry in entries),
        cycle_time_extension_ns=numbers.get("cycle-time-extension", 0),
        clock=clock,
        flags=numbers.get("flags", 0),
        txtime_delay_ns=numbers.get("txtime-delay", 0),
        max_sdu_bytes={number: size for number, size in enumerate(limits) if size},
        overhead_bytes=overhead,
    )


def _etf(words: Words, _: int | None, __: Written, ___: int) -> Qdisc:
    delta, clock, on = 0, CLOCKS["TAI"], set()
    while words.left:
        word = words.take("")
        if word == "delta":
            delta = words.number(words.take("ns"))
        elif word == "clockid":
            clock = _clock(words)
        elif word in ("offload", "deadline_mode", "skip_sock_check"):
            on.add(word)
        else:
            raise WrittenError(
                f'"{word}" is no option of etf', "delta, clockid, offload, deadline_mode, skip_sock_check"
            )
    return Etf(delta, clock, "deadline_mode" in on, "offload" in on, "skip_sock_check" in on)


def _cbs(words: Words, overhead: int | None, _: Written, __: int) -> Qdisc:
    numbers = dict.fromkeys(("idleslope", "sendslope", "hicredit", "locredit", "offload"), 0)
    while words.left:
        word = words.take("")
        if word not in numbers:
            raise WrittenError(f'"{word}" is no option of cbs', ", ".join(numbers))
        numbers[word] = words.number(words.take("a number"))
    return Cbs(
        numbers["idleslope"],
        numbers["sendslope"],
        numbers["hicredit"],
        numbers["locredit"],
        bool(numbers["offload"]),
        overhead,
    )


OPTIONS: dict[str, Callable[[Words, int | None, Written, int], Qdisc]] = {
    "mqprio": _mqprio,
    "taprio": _taprio,
    "etf": _etf,
    "cbs": _cbs,
}
