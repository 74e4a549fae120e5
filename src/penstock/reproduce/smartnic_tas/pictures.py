# SPDX-License-Identifier: Apache-2.0
"""Pictures as the paper has them: latency in time and its distribution, and what queues hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from penstock.percentile import percentiles
from penstock.reproduce import drawing
from penstock.reproduce.experiment import Picture
from penstock.reproduce.outcome import Times
from penstock.reproduce.smartnic_tas.flows import FLOWS, INTERVAL_MS
from penstock.reproduce.smartnic_tas.place import SCHEDULERS

_MOST_POINTS = 2_500
_PARTS = np.linspace(0.0, 1.0, 401)
_COLOR = dict(zip(FLOWS, drawing.COLORS, strict=False))

ByFlow = Mapping[str, Times]


def latencies(what: str, of: Mapping[str, ByFlow], note: str = "") -> list[Picture]:
    """Frame by frame, and as distributions, a panel for each scheduler."""
    shown = {name: SCHEDULERS[name] for name in of}
    series = drawing.panels(list(shown.values()), "frame", "latency / us")
    parts = drawing.panels(list(shown.values()), "latency / us", "part of the frames")
    for place, flows in enumerate(of.values()):
        at = {"row": place // 2 + 1, "col": place % 2 + 1}
        for flow, latency in flows.items():
            look = {"color": _COLOR[flow]}
            legend = {"name": FLOWS[flow], "legendgroup": flow, "showlegend": place == 0}
            first = latency[:_MOST_POINTS]
            numbers = np.arange(1, first.size + 1)
            dots = go.Scattergl(x=numbers, y=first.round(3), mode="markers", marker={**look, "size": 3}, **legend)
            series.add_trace(dots, **at)
            if latency.size:
                sorted_us = percentiles(latency, _PARTS).round(3)
                parts.add_trace(
                    go.Scatter(x=sorted_us, y=_PARTS, mode="lines", line={**look, "width": 2}, **legend), **at
                )
    series.update_yaxes(type="log")
    parts.update_xaxes(type="log")
    for figure in (series, parts):
        figure.update_layout(showlegend=True)
    text = f"ST and BE from host to host, {what}. {note}".strip()
    return [
        Picture(f"Latency of each frame, {what}", text, series),
        Picture(f"Distribution of latency, {what}", text, parts),
    ]


def occupancy(title: str, means: Mapping[str, Sequence[float]], limit: float, note: str) -> Picture:
    """What queues hold, averaged over each interval."""
    figure, ends_s = drawing.figure("time / s", "frames in the queue"), np.zeros(0)
    for flow, values in means.items():
        ends_s = (np.arange(len(values)) + 1) * INTERVAL_MS / 1000
        drawing.curve(figure, FLOWS[flow], ends_s, values, _COLOR[flow])
    if ends_s.size:
        drawing.level(figure, "the limit of a queue", ends_s, limit, drawing.BOUND)
    return Picture(title, note, figure)
