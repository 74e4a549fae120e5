# SPDX-License-Identifier: Apache-2.0
"""The keys of links between bridges."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from penstock.errors import did_you_mean
from penstock.scenario.key_types import Place
from penstock.scenario.keys import Table, refuse
from penstock.scenario.limits import (
    Delay,
    LinkRate,
)


class Link(Table):
    """A link between two bridges."""

    between: Annotated[list[Place], Field(min_length=2, max_length=2)] = Field(
        description="The two ports that it joins."
    )
    rate: LinkRate | None = Field(default=None, description="In both directions.")
    delay: Delay | None = Field(default=None, description="Of its cable.")


class Links(Table):
    """What every link is, and, by name, the links between bridges."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Link]

    rate: LinkRate = Field(default=10**9, description="Of every link that does not say otherwise.")
    delay: Delay = Field(default=50_000, description="Of every cable that does not say otherwise.")

    @model_validator(mode="before")
    @classmethod
    def _links_are_tables(cls, values: Any) -> Any:
        for key, value in values.items() if isinstance(values, dict) else ():
            if key not in cls.model_fields and not isinstance(value, dict):
                hint = did_you_mean(key, cls.model_fields)
                raise refuse(f'unknown key "{key}"{hint}', "rate, delay, and a table for each link", key)
        return values

    def named(self) -> dict[str, Link]:
        """The links between bridges."""
        return self.__pydantic_extra__
