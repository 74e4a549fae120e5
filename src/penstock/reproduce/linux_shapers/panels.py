# SPDX-License-Identifier: Apache-2.0
"""Pictures as the paper has them: a panel for each configuration, or all of them as distributions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from penstock.percentile import percentiles
from penstock.reproduce import drawing
from penstock.reproduce.experiment import Picture
from penstock.reproduce.linux_shapers.place import CONFIGURATIONS
from penstock.reproduce.outcome import Times

_MOST_POINTS = 3_000
_PARTS = np.linspace(0.0, 1.0, 501)


def series(title: str, y: str, values: Mapping[str, Times], note: str, level: Mapping[str, float]) -> Picture:
    """A panel for each configuration, packet by packet, with a line across."""
    figure = drawing.panels(list(CONFIGURATIONS.values()), "packet", y)
    for number, name in enumerate(CONFIGURATIONS):
        place = {"row": number // 2 + 1, "col": number % 2 + 1}
        if name not in values:
            continue
        shown = values[name][:_MOST_POINTS]
        marker = {"color": drawing.COLORS[number], "size": 3, "opacity": 0.7}
        packets = np.arange(1, shown.size + 1)
        figure.add_trace(
            go.Scattergl(x=packets, y=shown.round(4), mode="markers", marker=marker, showlegend=False), **place
        )
        if name in level:
            line = {"color": drawing.PAPER, "width": 1.5, "dash": "dash"}
            figure.add_hline(y=level[name], line=line, **place)
    return Picture(title, note, figure)


def distribution(title: str, x: str, values: Mapping[str, Times], note: str) -> Picture:
    """The cumulative distribution function of each configuration."""
    figure = drawing.figure(x, "part of the packets")
    for number, (name, called) in enumerate(CONFIGURATIONS.items()):
        if name not in values:
            continue
        at = percentiles(values[name], _PARTS).round(4)
        drawing.curve(figure, called, at, _PARTS, drawing.COLORS[number], mode="lines")
    return Picture(title, note, figure)
