# SPDX-License-Identifier: Apache-2.0
"""What the tables of a scenario have in common: how they refuse, and values that several of them hold."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

_MASK = re.compile(r"0x[0-9A-Fa-f]{1,2}")


def refuse(what: str, allowed: str, key: str | None = None) -> PydanticCustomError:
    """An error about the value at hand, or about one key inside it."""
    context: dict[str, Any] = {"what": what, "allowed": allowed}
    if key is not None:
        context["key"] = key
    return PydanticCustomError("refused", "{what}; allowed: {allowed}", context)


class Table(BaseModel):
    """A TOML table; `report.py` lays out what is said of keys that are not known."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _is_table(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            raise refuse(f"{values!r} is not a table", f"a table with {', '.join(cls.keys())}")
        return values

    @classmethod
    def keys(cls) -> list[str]:
        """The keys as a user writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]


def number(low: int, high: int) -> BeforeValidator:
    """A whole number in this range."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise refuse(f"{value!r} is not a whole number from {low} to {high}", f"{low} to {high}")
        return value

    return BeforeValidator(check)


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
        said = f"{value!r} could be a class or a mask" if isinstance(value, int) else f"{value!r} are no gate states"
        raise refuse(said, 'the open classes, [7, "video"], or "all", "none", or a mask, "0x81"')
    return tuple(value)


Priority = Annotated[int, number(0, 7)]
GateStates = Annotated[tuple[int | str, ...], BeforeValidator(_gate_states)]
