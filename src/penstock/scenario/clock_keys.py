# SPDX-License-Identifier: Apache-2.0
"""The keys of clocks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from penstock.scenario.keys import Table, refuse, said
from penstock.scenario.limits import (
    ClockDrift,
    ClockOffset,
    SyncErrorTime,
)


class SyncError(Table):
    """A clock that is synchronized, but not exactly."""

    error: SyncErrorTime = Field(
        description="By how much the clock may be off; how much it is follows from the node's name."
    )


def _sync(value: Any) -> Any:
    if not isinstance(value, dict | SyncError) and value not in ("ideal", "none"):
        raise refuse(f"{said(value)} is not known", '"ideal", "none", or { error = "100ns" }')
    return value


Sync = Annotated[
    Annotated[Literal["ideal", "none"], Tag("a word")] | Annotated[SyncError, Tag("a table")],
    Discriminator(lambda value: "a word" if isinstance(value, str) else "a table"),
    BeforeValidator(_sync),
]


class Clock(Table):
    """How a node's clock differs from the network's time, and whether its gates follow that time all the same."""

    offset: ClockOffset = Field(default=0, description="How much more the clock shows at the start.")
    drift: ClockDrift = Field(default=0, description="By how much it is fast.")
    sync: Sync = Field(
        default="ideal",
        description='Whether gates follow the network\'s time ("ideal"), nearly so, or the node\'s own clock ("none").',
    )
