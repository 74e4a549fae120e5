# SPDX-License-Identifier: Apache-2.0
"""Instants on the time scales that Linux knows: TAI, which gates count, and UTC, which is behind it by leap seconds."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable

# Since 2017; no leap second has been announced since, and none is to come before 2035.
TAI_AHEAD_OF_UTC_S = 37

_SECOND_NS = 10**9
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

Now = Callable[[], int]


def utc_now_ns() -> int:
    """UTC of this machine, in ns since 1970."""
    return time.time_ns()


def start_ns(value: int | datetime.datetime, utc: bool) -> int:
    """An instant on the clock of the gates: an integer is taken as it is, a time with its zone is converted."""
    if isinstance(value, int):
        return value
    since = value.astimezone(datetime.UTC) - _EPOCH
    whole_ns = (since.days * 86_400 + since.seconds) * _SECOND_NS + since.microseconds * 1000
    return whole_ns if utc else whole_ns + TAI_AHEAD_OF_UTC_S * _SECOND_NS


def looks_like_utc(tai_ns: int, now: Now = utc_now_ns) -> bool:
    """Whether an instant of TAI has just passed, but would be now or soon if it were meant as UTC."""
    ahead_ns = tai_ns - now()
    return 0 <= ahead_ns < TAI_AHEAD_OF_UTC_S * _SECOND_NS
