# SPDX-License-Identifier: Apache-2.0
"""The summary that a run left in its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from penstock.errors import InputError

NAME = "summary.json"
_ALLOWED = "a folder that `penstock run` or `lab` wrote"


class _Part(BaseModel):
    """What is shown; what else there is stays as it is."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Times(_Part):
    min: float | None
    mean: float | None
    p50: float | None
    p99: float | None
    max: float | None


class _Spread(_Part):
    mean: float
    peak_to_peak: float


class _Launch(_Part):
    missed: int


class _Term(_Part):
    name: str
    detail: str
    ns: float


class _Bound(_Part):
    total_ns: float | None
    reason: str | None
    terms: list[_Term]


class _Stream(_Part):
    ok: bool
    to: list[str]
    traffic_class: int
    sent: int
    copies: int
    delivered: int
    inside: int
    dropped: dict[str, int]
    lost: int
    latency_ns: _Times
    jitter_ns: float | None
    interval_ns: _Times
    talker_wait_ns: _Times
    transmit_ns: _Times
    shaping_ns: _Times
    period_jitter_ns: _Spread | None
    launch: _Launch | None
    rate_bps: float | None
    bound_ns: float | None
    bound_ok: bool | None
    bound: _Bound | None
    deadline_ns: float | None
    deadline_ok: bool | None
    deadline_missed: int | None


class _Port(_Part):
    bridge: str
    port: int
    frames: int
    dropped: int
    utilisation: float
    passing_ns: _Times
    queued_bytes_max: int


class _Conservation(_Part):
    ok: bool
    created: int
    delivered: int
    dropped: int
    inside: int
    lost: int
    stray: int


class _Simulation(_Part):
    end_ps: int = 0


class _Summary(_Part):
    ok: bool
    partial: bool
    title: str
    nodes: str
    duration_ns: float
    streams: dict[str, _Stream]
    conservation: _Conservation
    ports: list[_Port] | None
    simulation: _Simulation
    warnings: list[str]


def read_summary(folder: Path) -> dict[str, Any]:
    """What a run's `summary.json` holds; raises `InputError` for a folder that no finished run left."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "is not there"
        raise InputError(what, allowed=_ALLOWED, file=folder)
    file = folder / NAME
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        what = f"is no finished run: it has no {NAME}"
        raise InputError(what, allowed=_ALLOWED, file=folder) from None
    except (OSError, UnicodeDecodeError) as error:
        what = f"cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}"
        raise InputError(what, allowed="a readable file", file=file) from None
    try:
        values: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError("is not JSON", allowed="what a run wrote, unchanged", file=file, line=line) from None
    try:
        _Summary.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or None
        what = "is not the summary of a run" + (" of this version" if key else "")
        raise InputError(what, allowed=_ALLOWED, file=file, key=key) from None
    return values
