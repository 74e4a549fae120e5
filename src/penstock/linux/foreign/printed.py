# SPDX-License-Identifier: Apache-2.0
"""Reads what `tc -j qdisc show` prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.linux.foreign.words import Words
from penstock.linux.foreign.written import Configuration, Written
from penstock.linux.qdisc import (
    CLOCKS,
    FULL_OFFLOAD,
    ROOT,
    Cbs,
    Entry,
    Etf,
    Mapping16,
    Mqprio,
    Other,
    Placed,
    Qdisc,
    Taprio,
)


def read_printed(file: Path, text: str, interface: str | None) -> Configuration:
    """What tc prints; `interface` is the one that was asked for, of which tc then does not speak."""
    try:
        listed = json.loads(text)
        assert isinstance(listed, list)
    except (ValueError, AssertionError):
        what = "is not JSON (tc 6.1 prints none that can be read while a gate list waits for its base time)"
        allowed = "what tc -j qdisc show prints, a script of tc commands, or penstock linux verify on the host itself"
        raise InputError(what, allowed=allowed, file=file) from None
    found: Configuration = {}
    for each in listed:
        name = each.get("dev", interface)
        if name is None:
            what = "does not say of which interface it speaks"
            raise InputError(what, allowed="tc -j qdisc show without dev, or --interface NAME", file=file)
        try:
            placed = _placed(each)
        except (KeyError, TypeError, ValueError) as error:
            what = f"a {each.get('kind')} without what tc prints of it: {error}"
            raise InputError(what, allowed="what tc -j qdisc show prints", file=file) from None
        found.setdefault(name, Written(is_script=False)).qdiscs.append(placed)
    return found


def _placed(each: dict[str, Any]) -> Placed:
    words = Words(())
    parent = ROOT if each.get("root") else words.handle(each.get("parent", "0:"))
    return Placed(words.handle(each.get("handle", "0:")), parent, _qdisc(each["kind"], each.get("options", {})))


def _qdisc(kind: str, options: dict[str, Any]) -> Qdisc:
    if kind == "mqprio":
        queues = tuple((last - first + 1, first) for first, last in options["queues"])
        return Mqprio(Mapping16(tuple(options["map"]), queues), bool(options.get("hw", False)))
    if kind == "taprio":
        return _taprio(options)
    if kind == "etf":
        on = {name: options.get(name) in ("on", True, 1) for name in ("deadline_mode", "offload", "skip_sock_check")}
        return Etf(options["delta"], CLOCKS[options["clockid"].removeprefix("CLOCK_")], **on)
    if kind == "cbs":
        slopes = options["idleslope"], options["sendslope"]
        return Cbs(*slopes, options["hicredit"], options["locredit"], bool(options.get("offload")))
    return Other(kind)


def _taprio(options: dict[str, Any]) -> Taprio:
    flags = _number(options.get("flags", 0))
    clock = str(options.get("clockid", "")).removeprefix("CLOCK_")
    entries = tuple(Entry(_number(e["gatemask"]), e["interval"]) for e in options["schedule"])
    return Taprio(
        mapping=Mapping16(tuple(options["map"]), tuple((q["count"], q["offset"]) for q in options["queues"])),
        entries=entries,
        base_time_ns=int(options.get("base_time", 0)),
        cycle_time_ns=int(options.get("cycle_time", 0)) or sum(entry.interval_ns for entry in entries),
        cycle_time_extension_ns=int(options.get("cycle_time_extension", 0)),
        clock=None if flags & FULL_OFFLOAD else CLOCKS.get(clock),
        flags=flags,
        txtime_delay_ns=int(options.get("txtime_delay", 0)),
        max_sdu_bytes=None,
    )


def _number(value: int | str) -> int:
    return value if isinstance(value, int) else int(value, 0)
