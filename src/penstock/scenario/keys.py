# SPDX-License-Identifier: Apache-2.0
"""What the tables of a scenario have in common: how they refuse, and values that several of them hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictBool,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_MASK = re.compile(r"0x[0-9A-Fa-f]{1,2}")
_LONGEST_SAID = 80  # characters of a value in a message


def said(value: Any) -> str:
    """A value as a message shows it: text as TOML has it, and no more than fits a line."""
    try:
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)
    except ValueError:  # Python writes no number of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= _LONGEST_SAID else f"{text[:_LONGEST_SAID]}…"


def refuse(what: str, allowed: str, key: str | None = None, nearest: Any = None) -> PydanticCustomError:
    """An error about the value at hand, or about one key inside it.

    `nearest` is the value allowed that is nearest to one out of range: with it the rest can be looked at further.
    """
    # The texts travel in the context, so that the one reporter of errors (report.py) can lay them out.
    context: dict[str, Any] = {"what": what, "allowed": allowed}
    if key is not None:
        context["key"] = key
    if nearest is not None:
        context["nearest"] = nearest
    return PydanticCustomError("refused", "{what}; allowed: {allowed}", context)


class Table(BaseModel):
    """A TOML table; `report.py` lays out what is said of keys that are not known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def keys(cls) -> list[str]:
        """The keys as a user writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]


@dataclass(frozen=True)
class Whole:
    """A whole number in a range."""

    least: int
    most: int

    def read(self, value: Any) -> int:
        """The number, if it is one and in the range."""
        low, high = self.least, self.most
        if isinstance(value, bool) or not isinstance(value, int):
            raise refuse(f"{said(value)} is not a whole number from {low} to {high}", f"{low} to {high}")
        if not low <= value <= high:
            what = f"{said(value)} is not a whole number from {low} to {high}"
            raise refuse(what, f"{low} to {high}", nearest=min(max(value, low), high))
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Short:
    """A table that may be written in fewer words: what these can be, and the table that they stand for."""

    words: Any
    convert: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.convert, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [TypeAdapter(self.words).json_schema(), handler(schema)]}


def _gate_states(value: Any) -> tuple[int | str, ...]:
    """Numbers and names of the classes whose gates are open; `shapers.py` knows the names."""
    if value == "all":
        return tuple(range(8))
    if value == "none":
        return ()
    if isinstance(value, str) and _MASK.fullmatch(value):
        return tuple(k for k in range(8) if int(value, 16) >> k & 1)
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(k, int | str) and not isinstance(k, bool) for k in value):
        could_be = isinstance(value, int) and not isinstance(value, bool)
        what = f"{said(value)} could be a class or a mask" if could_be else f"{said(value)} are no gate states"
        raise refuse(what, 'the open classes, [7, "video"], or "all", "none", or a mask, "0x81"')
    return tuple(value)


_CLASS_OR_NAME = {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 7}, {"type": "string"}]}

Switch = StrictBool  # true or false, and not "yes"
Priority = Annotated[int, Whole(0, 7)]
GateStates = Annotated[
    tuple[int | str, ...],
    BeforeValidator(_gate_states),
    WithJsonSchema(
        {
            "title": "open gates",
            "anyOf": [{"type": "array", "items": _CLASS_OR_NAME}, {"type": "string"}],
            "examples": [[7, "video"], "all", "none", "0x81"],
        }
    ),
]
