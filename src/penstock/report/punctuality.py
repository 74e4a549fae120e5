# SPDX-License-Identifier: Apache-2.0
"""The report's table of streams that have a period or launch times."""

from __future__ import annotations

from html import escape
from typing import Any

from penstock.table import NOTHING, most_urgent, us

_MOST_ROWS = 40
_HEADS = ("missed", "min", "mean", "max", "jitter mean", "jitter max", "jitter p-p", "change mean", "change max",
          "variation mean", "variation max")  # fmt: skip


def section(summary: dict[str, Any]) -> str:
    """Empty where no stream has a period or launch times."""
    streams = summary["streams"]
    names = [name for name in most_urgent(summary, _MOST_ROWS) if _is_told(streams[name])]
    if not names:
        return ""
    rows = "".join(
        f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{cell}</td>" for cell in _cells(streams[name])) + "</tr>"
        for name in names
    )
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    return (
        "<section><h2>Punctuality</h2>"
        '<p class="note">Times in microseconds. Missed: frames that reached their controller after their launch time. '
        "Min to max: total transmit time, from construction to arrival. Jitter: from arrival to arrival, less the "
        "period. Change: of the total transmit time from frame to frame. Variation: from change to change. Means and "
        "maxima are of magnitudes; p-p is the largest less the smallest.</p>"
        f'<div class="scroll"><table><thead><tr><th>stream</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        "</section>"
    )


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
