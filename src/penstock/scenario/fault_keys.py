# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[faults]]`: what breaks, and when."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from penstock.scenario.keys import Table, refuse, said
from penstock.scenario.limits import Start
from penstock.scenario.source_keys import Seed

_EXAMPLE = '["plc", "sw"], the nodes at its ends, or the name of a link of [links]'


def _link(value: Any) -> Any:
    if isinstance(value, str) or (
        isinstance(value, list) and len(value) == 2 and all(isinstance(each, str) for each in value)
    ):
        return value
    raise refuse(f"{said(value)} is no link", _EXAMPLE)


def _error_rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(f"{said(value)} is not a number", "1e-15 to 1")
    if not 1e-15 <= value <= 1:
        raise refuse(f"{said(value)} is no part of all bits", "1e-15 to 1", nearest=1.0 if value > 1 else 1e-15)
    return float(value)


_TWO_NODES = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
LinkName = Annotated[
    str | list[str],
    BeforeValidator(_link),
    WithJsonSchema({"anyOf": [{"type": "string"}, _TWO_NODES], "examples": [["plc", "sw"], "uplink"]}),
]
BitErrorRate = Annotated[
    float, BeforeValidator(_error_rate), WithJsonSchema({"type": "number", "minimum": 1e-15, "maximum": 1})
]


class Fault(Table):
    """A link that is cut, a node that dies, or bits that flip."""

    at: Start = Field(default=0, description="When it begins.")
    until: Start | None = Field(default=None, description="When it is over; never, if not given.")
    link: LinkName | None = Field(
        default=None, description="A link: the nodes at its ends, or its name. It is cut, if nothing else is said."
    )
    node: str | None = Field(default=None, description="A bridge or a station that dies, and comes back configured.")
    bit_error_rate: BitErrorRate | None = Field(
        default=None, description="Of a link: the part of its bits that flip, by chance."
    )
    seed: Seed | None = Field(default=None, description="Of bit errors; from the link's name if not given.")

    @model_validator(mode="after")
    def _one(self) -> Fault:
        if (self.link is None) == (self.node is None):
            raise refuse("is of a link or of a node", 'link = ["plc", "sw"], or node = "sw"')
        if self.bit_error_rate is not None and self.link is None:
            raise refuse("bits flip on a link", 'link = ["plc", "sw"] instead of node', "bit_error_rate")
        if self.seed is not None and self.bit_error_rate is None:
            raise refuse("only bit errors are by chance", "bit_error_rate = 1e-9 beside seed", "seed")
        if self.until is not None and self.until <= self.at:
            raise refuse("is not after its begin (at)", "a later time", "until")
        return self
