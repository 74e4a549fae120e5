# SPDX-License-Identifier: Apache-2.0
"""The picture of the slowest frame of each stream: one bar a hop of what took its time, against its bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from penstock.bound import ways_of
from penstock.report.holding import CAUSES
from penstock.report.moments import CAUSE_COLOR, Hop
from penstock.report.page import Picture
from penstock.report.style import axes
from penstock.scenario.network import Network

_MOST_STREAMS = 12
_CABLE, _RECEPTION, _PROCESSING, _PREAMBLE = "cable", "reception of the whole frame", "processing", "preamble"
_COLORS: dict[str, str] = {
    _CABLE: "#1C2733",
    _RECEPTION: "#0072B2",
    _PROCESSING: "#56B4E9",
    **CAUSE_COLOR,
    _PREAMBLE: "#009E73",
}


def parts(hop: Hop) -> dict[str, int]:
    """Where the time went from a frame's first bit out of the node before to its first bit out of this one, in ps.

    Their sum is that time. Empty for a frame that was not sent.
    """
    frame = hop.frame
    if frame.selected is None or frame.sent is None:
        return {}
    arrived = min(hop.arrived, frame.ready)
    found = {
        _CABLE: hop.received - hop.before,
        _RECEPTION: arrived - hop.received,
        _PROCESSING: frame.ready - arrived,
        _PREAMBLE: frame.sent - frame.selected,
    }
    for one in hop.held:
        found[one.cause] = found.get(one.cause, 0) + one.ps
    return found


def picture(network: Network, summary: Mapping[str, Any], hops: Mapping[str, Sequence[Hop]]) -> list[Picture]:
    """Of the first streams given; empty where no frame arrived."""
    bars: list[tuple[str, str, dict[str, int]]] = []
    limits: list[tuple[int, float]] = []
    for name, way in list(hops.items())[:_MOST_STREAMS]:
        bounds = _bounds(network, summary, name)
        for hop in way:
            taken = parts(hop)
            if not any(taken.values()):
                continue
            bars.append((name, hop.place.name, taken))
            limit = bounds.get((hop.place.node.name, hop.place.port))
            if limit is not None:
                limits.append((len(bars) - 1, limit / 1e6))
    if not bars:
        return []
    figure = go.Figure()
    for key, color in _COLORS.items():
        if any(taken.get(key) for _, _, taken in bars):
            figure.add_trace(
                go.Bar(
                    orientation="h",
                    x=[taken.get(key, 0) / 1e6 for _, _, taken in bars],
                    y=list(range(len(bars))),
                    name=CAUSES.get(key, key),
                    marker={"color": color},
                    hovertemplate="%{x:.3f} us",
                )
            )
    if limits:
        figure.add_trace(
            go.Scatter(
                x=[limit for _, limit in limits],
                y=[row for row, _ in limits],
                mode="markers",
                name="bound of the hop",
                marker={"symbol": "line-ns-open", "size": 16, "color": "#B3261E", "line": {"width": 3}},
                hovertemplate="%{x:.3f} us",
            )
        )
    figure.update_layout(barmode="stack")
    axes(figure, "time from node to node / us", "", height=150 + 30 * len(bars))
    labels = [f"{name} · {place}" for name, place, _ in bars]
    figure.update_yaxes(
        autorange="reversed", tickvals=list(range(len(bars))), ticktext=labels, showgrid=False, automargin=True
    )
    figure.update_layout(legend={"traceorder": "normal"}, margin={"t": 70})
    beside = f" {_MOST_STREAMS} of {len(hops)} streams, the latest first." if len(hops) > _MOST_STREAMS else ""
    note = (
        "The slowest frame of each stream, one bar a hop: from its first bit out of the node before to its first bit "
        f"out of this one. Red mark: the bound of the hop.{beside}"
    )
    return [Picture("Where the time goes", note, figure)]


def _bounds(network: Network, summary: Mapping[str, Any], name: str) -> dict[tuple[str, int], int]:
    """Of each hop, where the stream's bound applies; with what bridges were seen to take, as the summary's has it."""
    if summary["streams"][name]["bound_ns"] is None:
        return {}
    seen = {
        bridge: round(told["processing_ns"][name] * 1000)
        for bridge, told in summary["bridges"].items()
        if name in told["processing_ns"]
    }
    return {(hop.bridge, hop.egress): hop.total_ps for way in ways_of(network, name, seen) for hop in way.hops}
