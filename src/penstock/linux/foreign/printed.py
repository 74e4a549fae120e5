# SPDX-License-Identifier: Apache-2.0
"""Reads what `tc -j qdisc show` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError

from penstock.errors import InputError
from penstock.linux.foreign.words import Words, WrittenError
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

_ALLOWED = "what tc -j qdisc show prints, a script of tc commands, or penstock linux verify on the host itself"


def _hexadecimal(value: Any) -> Any:
    """Numbers that versions of tc print as such or as text, `"0x8"`."""
    return int(value, 16) if isinstance(value, str) else value


def _clock(value: Any) -> Any:
    return value.removeprefix("CLOCK_") if isinstance(value, str) else value


def _switch(value: Any) -> Any:
    return value in ("on", True, 1)


_U32 = Annotated[int, Field(ge=0, lt=2**32, strict=True)]
_S32 = Annotated[int, Field(ge=-(2**31), lt=2**31, strict=True)]
_Time = Annotated[int, Field(ge=-(2**63), lt=2**63, strict=True)]
_Hexadecimal = Annotated[_U32, BeforeValidator(_hexadecimal)]
_Clock = Annotated[Literal["REALTIME", "MONOTONIC", "BOOTTIME", "TAI"], BeforeValidator(_clock)]
_Switch = Annotated[bool, BeforeValidator(_switch)]
_QueueNumber = Annotated[int, Field(ge=0, lt=2**16, strict=True)]
_Map = Annotated[list[Annotated[int, Field(ge=0, lt=256, strict=True)]], Field(min_length=16, max_length=16)]


class _Range(BaseModel):
    offset: _QueueNumber
    count: _QueueNumber


class _Line(BaseModel):
    gatemask: _Hexadecimal
    interval: _U32


class _Taprio(BaseModel):
    map: _Map
    queues: Annotated[list[_Range], Field(max_length=16)]
    schedule: list[_Line]
    clockid: _Clock | None = None
    base_time: _Time = 0
    cycle_time: _Time = 0
    cycle_time_extension: _Time = 0
    flags: _Hexadecimal = 0
    txtime_delay: _U32 = 0

    def qdisc(self) -> Qdisc:
        entries = tuple(Entry(line.gatemask, line.interval) for line in self.schedule)
        return Taprio(
            mapping=Mapping16(tuple(self.map), tuple((each.count, each.offset) for each in self.queues)),
            entries=entries,
            base_time_ns=self.base_time,
            cycle_time_ns=self.cycle_time or sum(entry.interval_ns for entry in entries),
            cycle_time_extension_ns=self.cycle_time_extension,
            clock=None if self.clockid is None or self.flags & FULL_OFFLOAD else CLOCKS[self.clockid],
            flags=self.flags,
            txtime_delay_ns=self.txtime_delay,
            max_sdu_bytes=None,  # tc 6.1 prints none
        )


class _Mqprio(BaseModel):
    map: _Map
    queues: Annotated[list[tuple[_QueueNumber, _QueueNumber]], Field(max_length=16)]
    hw: _Switch = False

    def qdisc(self) -> Qdisc:
        queues = tuple((last - first + 1, first) for first, last in self.queues)
        return Mqprio(Mapping16(tuple(self.map), queues), self.hw)


class _Etf(BaseModel):
    clockid: _Clock
    delta: _S32
    offload: _Switch = False
    deadline_mode: _Switch = False
    skip_sock_check: _Switch = False

    def qdisc(self) -> Qdisc:
        return Etf(self.delta, CLOCKS[self.clockid], self.deadline_mode, self.offload, self.skip_sock_check)


class _Cbs(BaseModel):
    idleslope: _S32
    sendslope: _S32
    hicredit: _S32
    locredit: _S32
    offload: _Switch = False

    def qdisc(self) -> Qdisc:
        return Cbs(self.idleslope, self.sendslope, self.hicredit, self.locredit, self.offload)


_KINDS: dict[str, type[_Taprio | _Mqprio | _Etf | _Cbs]] = {
    "taprio": _Taprio,
    "mqprio": _Mqprio,
    "etf": _Etf,
    "cbs": _Cbs,
}


class _Printed(BaseModel):
    kind: str
    handle: str = "0:"
    parent: str = "0:"
    root: bool = False
    dev: str | None = None
    options: Any = None

    def placed(self) -> Placed:
        words, read = Words(()), _KINDS.get(self.kind)
        qdisc = Other(self.kind) if read is None else read.model_validate(self.options).qdisc()
        return Placed(words.handle(self.handle), ROOT if self.root else words.handle(self.parent), qdisc)


_LISTED = TypeAdapter(list[_Printed])


def read_printed(file: Path, text: str, interface: str | None) -> Configuration:
    """What tc prints; `interface` is the one that was asked for, of which tc then does not speak."""
    try:
        listed = _LISTED.validate_json(text)
        placed = [each.placed() for each in listed]
    except (ValidationError, WrittenError) as error:
        what = (
            "is not what tc prints (tc 6.1 prints no JSON that can be read while a gate list waits for its base time)"
        )
        raise InputError(f"{what}: {_first(error)}", allowed=_ALLOWED, file=file) from None
    found: Configuration = {}
    for each, there in zip(listed, placed, strict=True):
        name = each.dev or interface
        if name is None:
            what = "does not say of which interface it speaks"
            raise InputError(what, allowed="tc -j qdisc show without dev", file=file)
        found.setdefault(name, Written(is_script=False)).qdiscs.append(there)
    return found


def _first(error: ValidationError | WrittenError) -> str:
    if isinstance(error, WrittenError):
        return error.what
    detail = error.errors(include_url=False)[0]
    place = ".".join(map(str, detail["loc"]))
    return f"{place}: {detail['msg']}" if place else detail["msg"]
