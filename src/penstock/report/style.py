# SPDX-License-Identifier: Apache-2.0
"""How pictures look. A stream has one look in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F5FA8", "#6B6B6B")
# With eight colours these are the looks of 48 streams.
_MARKS = (("circle", "solid"), ("diamond", "dash"), ("square", "dot"), ("triangle-up", "dashdot"),
          ("cross", "longdash"), ("star", "longdashdot"))  # fmt: skip
_CHARACTERS = dict(zip((symbol for symbol, _ in _MARKS), "●◆■▲✚★", strict=True))
MOST_LOOKS = len(COLORS) * len(_MARKS)
MOST_IN_LEGEND = len(COLORS)  # above it the page has a list to choose from

OTHER = "#6B6B6B"
HEIGHT = 380
FONT = {"family": "system-ui, DejaVu Sans, sans-serif", "size": 13, "color": "#1C2733"}
TICKS: dict[str, Any] = {"gridcolor": "#E6EAEE", "zeroline": False, "linecolor": "#9AA5B1", "ticks": "outside"}
LEGEND = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
_DECADES: dict[str, Any] = {
    "type": "log",
    "dtick": 1,
    "minor": {"ticks": "outside", "showgrid": True, "gridcolor": "#F2F4F6"},
}


@dataclass(frozen=True)
class Look:
    """Of a stream: the colour alone tells the first eight apart, marks and dashes the others."""

    color: str
    symbol: str
    dash: str

    @property
    def mark(self) -> str:
        """The symbol as a character."""
        return _CHARACTERS[self.symbol]


def looks(names: Sequence[str]) -> dict[str, Look]:
    """A look for each name."""
    found = {}
    for index, name in enumerate(names):
        symbol, dash = _MARKS[index // len(COLORS) % len(_MARKS)]
        found[name] = Look(COLORS[index % len(COLORS)], symbol, dash)
    return found


def axes(figure: go.Figure, x: str, y: str, *, log_x: bool = False, log_y: bool = False, height: int = HEIGHT) -> None:
    """Titles, grid and legend."""
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"l": 70, "r": 50, "t": 30, "b": 50},
        modebar={"orientation": "v"},
        legend=LEGEND,
        font=FONT,
        hovermode="closest",
        showlegend=True,
    )
    figure.update_xaxes(title=x, **TICKS, **(_DECADES if log_x else {}))
    figure.update_yaxes(title=y, **TICKS, **(_DECADES if log_y else {}))


def plain(figure: go.Figure, height: int = 520) -> None:
    """Without axes, and as wide as high where it is a map."""
    axes(figure, "", "", height=height)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    if height > HEIGHT:
        figure.update_yaxes(scaleanchor="x")
