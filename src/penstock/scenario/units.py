# SPDX-License-Identifier: Apache-2.0
"""Quantities with units, read exactly: `"1Gb/s"`, `"50ns"`, `"1542B"` become integers of b/s, ps and bytes.

Decimal fractions are exact (`"1.25us"` is 1 250 000 ps). What does not come out as a whole number of the base unit is
refused rather than rounded.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

_NUMBER = re.compile(r"\s*(-?[0-9][0-9_]*(?:\.[0-9]+)?)\s*(\S*)\s*")

TIME_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12}
RATE_BPS = {"b/s": 1, "kb/s": 10**3, "Mb/s": 10**6, "Gb/s": 10**9}
LENGTH_BYTES = {"B": 1, "kB": 1000, "KiB": 1024, "MB": 10**6, "MiB": 1024**2}
FREQUENCY_MHZ = {"mHz": 1, "Hz": 10**3, "kHz": 10**6}
DRIFT_PPB = {"ppb": 1, "ppm": 10**3}


def parse(value: Any, units: dict[str, int], what: str, example: str, signed: bool = False) -> int:
    """The value in the base unit of `units`; raises an error that names the units allowed."""
    allowed = f'{what} such as "{example}", in {", ".join(u for u in units if u != "µs")}'
    if isinstance(value, bool) or not isinstance(value, str):
        said = f"the bare number {value}" if isinstance(value, int | float) else f"{value!r}"
        raise _refuse(f"{said} has no unit", allowed)
    match = _NUMBER.fullmatch(value)
    if match is None or (match.group(1).startswith("-") and not signed):
        raise _refuse(f'"{value}" is not {what}', allowed)
    number, unit = match.groups()
    if unit not in units:
        lower = {u.lower(): u for u in units}
        hint = f' (did you mean "{lower[unit.lower()]}"?)' if unit.lower() in lower else ""
        raise _refuse(
            f'"{value}" has no unit' if not unit else f'"{value}" has the unknown unit "{unit}"{hint}', allowed
        )
    exact = Decimal(number.replace("_", "")) * units[unit]
    if exact != exact.to_integral_value():
        base = next(u for u, size in units.items() if size == 1)
        raise _refuse(f'"{value}" is not a whole number of {base}', allowed)
    return int(exact)


def _refuse(what: str, allowed: str) -> PydanticCustomError:
    # The texts travel in the context, so that the one reporter of errors (report.py) can lay them out.
    return PydanticCustomError("refused", "{what}; allowed: {allowed}", {"what": what, "allowed": allowed})


def _time(value: Any) -> int:
    return parse(value, TIME_PS, "a time", "500us")


def _signed_time(value: Any) -> int:
    return parse(value, TIME_PS, "a time", "-1us", signed=True)


def _rate(value: Any) -> int:
    return parse(value, RATE_BPS, "a rate", "100Mb/s")


def _signed_rate(value: Any) -> int:
    return parse(value, RATE_BPS, "a rate", "-980Mb/s", signed=True)


def _length(value: Any) -> int:
    return parse(value, LENGTH_BYTES, "a length", "1522B")


def _frequency(value: Any) -> int:
    return parse(value, FREQUENCY_MHZ, "a frequency", "48kHz")


def _drift(value: Any) -> int:
    return parse(value, DRIFT_PPB, "a drift", "-20ppm", signed=True)


Picoseconds = Annotated[int, BeforeValidator(_time)]
SignedPicoseconds = Annotated[int, BeforeValidator(_signed_time)]
BitsPerSecond = Annotated[int, BeforeValidator(_rate)]
SignedBitsPerSecond = Annotated[int, BeforeValidator(_signed_rate)]
Bytes = Annotated[int, BeforeValidator(_length)]
Millihertz = Annotated[int, BeforeValidator(_frequency)]
PartsPerBillion = Annotated[int, BeforeValidator(_drift)]


def show_time(ps: int | float) -> str:
    """A time for people: the unit that keeps one to three digits before the point."""
    for unit, size in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if abs(ps) >= size:
            return f"{ps / size:.4g} {unit}" if abs(ps) < 1000 * size else f"{ps / size:.0f} {unit}"
    return f"{ps:.0f} ps"


def show_rate(bps: int | float) -> str:
    """A rate for people."""
    for unit, size in (("Gb/s", 10**9), ("Mb/s", 10**6), ("kb/s", 10**3)):
        if abs(bps) >= size:
            return f"{bps / size:.4g} {unit}"
    return f"{bps:.0f} b/s"
