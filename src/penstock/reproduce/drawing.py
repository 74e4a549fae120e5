# SPDX-License-Identifier: Apache-2.0
"""What the pictures of experiments share: ours in colour, the paper's in black, theory and bounds as lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from penstock.report import style
from penstock.report.style import FONT, LEGEND, TICKS

COLORS = style.COLORS
PAPER = "#1C2733"
BOUND = "#B3261E"
THEORY = "#6B6B6B"
_HEIGHT = 400

Values = Iterable[Any]


def figure(x: str, y: str, **layout: Any) -> go.Figure:
    """An empty figure with these titles of its axes."""
    return _styled(go.Figure(), x, y, layout)


def panels(titles: Sequence[str], x: str, y: str, **layout: Any) -> go.Figure:
    """Empty panels, two in a row, with one scale, these titles, and these titles of their axes."""
    rows = -(-len(titles) // 2)
    found = make_subplots(
        rows=rows, cols=2, subplot_titles=titles, shared_xaxes=True, shared_yaxes="all",
        vertical_spacing=0.1, horizontal_spacing=0.04,
    )  # fmt: skip
    found = _styled(found, "", "", {"height": 270 * rows, "showlegend": False} | layout)
    for row in range(rows):
        found.update_yaxes(title=y, row=row + 1, col=1)
    return found.update_xaxes(title=x, row=rows)


def _styled(found: go.Figure, x: str, y: str, layout: Mapping[str, Any]) -> go.Figure:
    found.update_layout(
        template="plotly_white",
        height=_HEIGHT,
        margin={"l": 70, "r": 50, "t": 30, "b": 50},
        legend=LEGEND,
        font=FONT,
        hovermode="closest",
        showlegend=True,
        modebar={"orientation": "v"},
    )
    found.update_xaxes(title=x, **TICKS)
    found.update_yaxes(title=y, **TICKS)
    found.update_layout(**layout)
    return found


def log_y(to: go.Figure) -> None:
    """Makes the upright axis logarithmic, with ticks that can be read."""
    to.update_yaxes(type="log", tickvals=[decade * step for decade in (1, 10, 100) for step in (1, 2, 5)])


def curve(to: go.Figure, name: str, x: Values, y: Values, color: str, **more: Any) -> None:
    """Ours: a line with a mark at each run."""
    look = {"mode": "lines+markers", "line": {"color": color, "width": 2}, "marker": {"color": color, "size": 7}}
    to.add_trace(go.Scatter(x=list(x), y=list(y), name=name, **{**look, **more}))


def points(to: go.Figure, name: str, x: Values, y: Values, color: str) -> None:
    """Ours: a dot for each frame."""
    to.add_trace(
        go.Scattergl(
            x=list(x), y=list(y), name=name, mode="markers", marker={"color": color, "size": 5, "opacity": 0.8}
        )
    )


def paper(to: go.Figure, name: str, x: Values, y: Values) -> None:
    """What the paper prints."""
    marker = {"color": PAPER, "size": 10, "symbol": "x-thin", "line": {"color": PAPER, "width": 2}}
    to.add_trace(go.Scatter(x=list(x), y=list(y), name=name, mode="markers", marker=marker))


def theory(to: go.Figure, name: str, x: Values, y: Values, color: str = THEORY) -> None:
    """What has to come out."""
    line = {"color": color, "width": 1.5, "dash": "dot"}
    to.add_trace(go.Scatter(x=list(x), y=list(y), name=name, mode="lines", line=line))


def level(to: go.Figure, name: str, x: Values, y: float, color: str, dash: str = "dash") -> None:
    """A line across, with a name in the legend: a bound, or a number of the paper's that holds everywhere."""
    line = {"color": color, "width": 2, "dash": dash}
    x = list(x)
    to.add_trace(go.Scatter(x=[min(x), max(x)], y=[y, y], name=name, mode="lines", line=line))
