# SPDX-License-Identifier: Apache-2.0
"""What broke while a network ran, as marks in pictures over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

_MOST_MARKS = 40
_COLOR = "#B3261E"


def mark(figure: go.Figure, summary: Mapping[str, Any]) -> str:
    """Shades each fault from its begin to its end in a picture of ms; gives what is said of that."""
    end_ms = max(summary["duration_ns"] / 1e6, summary["simulation"].get("end_ps", 0) / 1e9)
    faults = [fault for fault in summary["faults"] if fault["at_ns"] / 1e6 < end_ms]
    for fault in faults[:_MOST_MARKS]:
        until_ns = fault["until_ns"]
        figure.add_vrect(
            x0=fault["at_ns"] / 1e6,
            x1=end_ms if until_ns is None else min(until_ns / 1e6, end_ms),
            fillcolor=_COLOR,
            opacity=0.12,
            layer="below",
            line={"color": _COLOR, "width": 1},
            name=fault["said"],
        )
    if not faults:
        return ""
    rest = f", the first {_MOST_MARKS} of {len(faults):,}" if len(faults) > _MOST_MARKS else ""
    return f" Shaded: while a fault lasts{rest}."
