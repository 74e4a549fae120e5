# SPDX-License-Identifier: Apache-2.0
"""The report's table of streams that have a period or launch times."""

from __future__ import annotations

from typing import Any

from penstock.command.tables import NOTHING
from penstock.table import most_urgent, us

_MOST_ROWS = 40
HEADS = ("missed", "min", "mean", "max", "jitter mean", "jitter max", "jitter p-p", "change mean", "change max",
         "variation mean", "variation max")  # fmt: skip


def rows(summary: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Name and cells of each stream; empty where none has a period or launch times."""
    streams = summary["streams"]
    return [(name, _cells(streams[name])) for name in most_urgent(summary, _MOST_ROWS) if _is_told(streams[name])]


def _is_told(stream: dict[str, Any]) -> bool:
    return stream["launch"] is not None or stream["period_jitter_ns"] is not None


def _cells(stream: dict[str, Any]) -> list[str]:
    launch, transmit = stream["launch"], stream["transmit_ns"]
    return [
        NOTHING if launch is None else f"{launch['missed']:,}",
        *(us(transmit[key]) for key in ("min", "mean", "max")),
        *(_us(stream["period_jitter_ns"], key) for key in ("mean", "max", "peak_to_peak")),
        *(_us(stream["latency_change_ns"], key) for key in ("mean", "max")),
        *(_us(stream["delay_variation_ns"], key) for key in ("mean", "max")),
    ]


def _us(spread: dict[str, float] | None, key: str) -> str:
    return us(None if spread is None else spread[key])
