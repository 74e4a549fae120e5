# SPDX-License-Identifier: Apache-2.0
"""Quantities with units, read exactly: `"1Gb/s"`, `"50ns"`, `"1542B"` become integers of b/s, ps and bytes.

Decimal fractions are exact (`"1.25us"` is 1 250 000 ps). What does not come out as a whole number of the base unit is
refused rather than rounded, and so is what is out of range.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from penstock.errors import InputError
from penstock.scenario.keys import refuse, said

_NUMBER = re.compile(r"\s*(-?[0-9][0-9_]*(?:\.[0-9]+)?)\s*(\S*)\s*")
_MOST_DIGITS = 40  # more than any limit has, and than Python turns into a number without being asked twice


@dataclass(frozen=True, eq=False)
class Kind:
    """What is measured: its name, its units by their size in the smallest of them, and an example."""

    name: str
    units: Mapping[str, int]
    example: str

    def read(self, value: Any) -> int:
        """The value in the smallest unit; raises an error that names the units allowed."""
        if isinstance(value, bool) or not isinstance(value, str):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            raise self._refuse(f"{'the bare number ' * is_number}{said(value)} has no unit")
        match = _NUMBER.fullmatch(value)
        if match is None:
            raise self._refuse(f"{said(value)} is not {self.name}")
        number, unit = match.groups()
        size = self.units.get(unit)
        if size is None:
            near = {u.lower(): u for u in self.units}.get(unit.lower())
            hint = f' (did you mean "{near}"?)' if near else ""
            what = f"has the unknown unit {said(unit)}{hint}" if unit else "has no unit"
            raise self._refuse(f"{said(value)} {what}")
        if len(number) > _MOST_DIGITS:
            raise self._refuse(f"{said(value)} has more digits than anything that can be set")
        if number.isdecimal():
            return int(number) * size
        whole, _, decimals = number.replace("_", "").partition(".")
        parts: int = 10 ** len(decimals)
        exact, rest = divmod(int(whole + decimals) * size, parts)
        if rest:
            smallest = next(u for u, size in self.units.items() if size == 1)
            raise self._refuse(f"{said(value)} is not a whole number of {smallest}")
        return exact

    def _refuse(self, what: str) -> PydanticCustomError:
        return refuse(what, f'{self.name} such as "{self.example}", in {", ".join(self._written)}')

    def write(self, value: int) -> str:
        """The value as it is read, in the largest unit of which it is a whole number."""
        fitting = [u for u in self._written if value and value % self.units[u] == 0]
        unit = max(fitting, key=self.units.__getitem__) if fitting else self._zero_unit
        return f"{value // self.units[unit]}{unit}"

    def pattern(self, signed: bool) -> str:
        """Of the text, for a schema."""
        units = "|".join(self.units)
        return rf"^\s*{'-?' if signed else ''}[0-9][0-9_]*(\.[0-9]+)?\s*({units})\s*$"

    @property
    def _written(self) -> list[str]:
        return [unit for unit in self.units if unit.isascii()]

    @property
    def _zero_unit(self) -> str:
        return next((unit for unit in ("s", "B", "b/s", "Hz", "ppm") if unit in self.units), self._written[0])


TIME = Kind("a time", {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12}, "500us")
RATE = Kind("a rate", {"b/s": 1, "kb/s": 10**3, "Mb/s": 10**6, "Gb/s": 10**9}, "100Mb/s")
LENGTH = Kind("a length", {"B": 1, "kB": 1000, "KiB": 1024, "MB": 10**6, "MiB": 1024**2}, "1522B")
FREQUENCY = Kind("a frequency", {"mHz": 1, "Hz": 10**3, "kHz": 10**6, "MHz": 10**9}, "48kHz")
DRIFT = Kind("a drift", {"ppb": 1, "ppm": 10**3}, "-20ppm")


@dataclass(frozen=True, eq=False)
class Quantity:
    """Pydantic's view of a quantity between two values; with a `step`, in whole multiples of that unit."""

    kind: Kind
    least: int
    most: int
    step: str | None = None

    @property
    def allowed(self) -> str:
        """For people."""
        whole = f"whole {self.step}, " if self.step else ""
        return f"{whole}{self.kind.write(self.least)} to {self.kind.write(self.most)}"

    def read(self, value: Any) -> int:
        """The value in the smallest unit."""
        return _read(self, value) if isinstance(value, str) else self._read(value)

    def _read(self, value: Any) -> int:
        number = self.kind.read(value)
        if not self.least <= number <= self.most:
            nearest = min(max(number, self.least), self.most)
            which = "small" if number < self.least else "large"
            raise refuse(f"{said(value)} is too {which}", self.allowed, nearest=self.kind.write(nearest))
        if self.step and number % self.kind.units[self.step]:
            nearest = max(number - number % self.kind.units[self.step], self.least)
            what = f"{said(value)} is not a whole number of {self.step}"
            raise refuse(what, self.allowed, nearest=self.kind.write(nearest))
        return number

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read, metadata={"quantity": self})

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {
            "type": "string",
            "title": f"{self.kind.name.split()[-1]}, {self.allowed}",
            "pattern": self.kind.pattern(signed=self.least < 0),
            "examples": [self._example],
        }

    @property
    def _example(self) -> str:
        number = self.kind.read(self.kind.example)
        return self.kind.example if self.least <= number <= self.most else self.kind.write(self.most)


@lru_cache(maxsize=4096)
def _read(quantity: Quantity, text: str) -> int:
    """The same text comes often."""
    return quantity._read(text)


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


def read_option(quantity: Quantity, text: str, option: str) -> int:
    """The value of an option of the command line; raises `InputError`."""
    try:
        return quantity.read(text)
    except PydanticCustomError as error:
        context = error.context or {}
        raise InputError(context["what"], allowed=context["allowed"], file=option) from None
