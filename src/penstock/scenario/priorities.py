# SPDX-License-Identifier: Apache-2.0
"""Maps from a priority code point to a traffic class that have a name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from penstock.errors import did_you_mean
from penstock.scenario.keys import Priority, Short, refuse, said

STREAM_RESERVATION = (1, 0, 6, 7, 2, 3, 4, 5)

NAMED = {
    "stream_reservation": STREAM_RESERVATION,  # table 34-1 of 802.1Q, SR classes A and B of priorities 3 and 2
    "default": (1, 0, 2, 3, 4, 5, 6, 7),  # table 8-5
    "identity": (0, 1, 2, 3, 4, 5, 6, 7),
}


def _named(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in NAMED:
        allowed = f"{', '.join(NAMED)}, or a list of 8: a class per PCP"
        raise refuse(f"there is no map {said(value)}{did_you_mean(value, NAMED)}", allowed)
    return NAMED[value]


def name_of(classes: tuple[int, ...]) -> str | None:
    """The name of a map, if it has one."""
    return next((name for name, known in NAMED.items() if known == classes), None)


ClassOfPriority = Annotated[tuple[Priority, ...], Short(Literal["stream_reservation", "default", "identity"], _named)]
