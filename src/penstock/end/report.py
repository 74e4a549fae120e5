# SPDX-License-Identifier: Apache-2.0
"""The report of an end station: what was counted, which stamps are trusted and why, and pictures over all frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
import plotly.io  # type: ignore[import-untyped]
import polars as pl
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

from penstock.end.plan import Role
from penstock.end.trace import End

_MOST_POINTS = 20_000  # per stream and picture; of more, each n-th and the extremes
_STAMP_COLUMNS = {"hardware": "hardware_ns", "kernel": "kernel_realtime_ns", "user": "user_tai_ns"}
_TIMES = {
    "latency_ns": "latency",
    "period_jitter_ns": "period jitter, equation (1)",
    "latency_difference_ns": "latency difference, equation (2)",
    "frame_delay_variation_ns": "frame delay variation, equation (4)",
    "gap_ns": "gap between frames",
    "wake_late_ns": "woken late",
    "ahead_ns": "ahead of the due time",
}
_NUMBERS = ("min", "mean", "p50", "p99", "max", "peak_to_peak")


def render(role: Role, end: End, summary: Mapping[str, Any]) -> str:
    """One HTML file that needs no network."""
    title = f"{summary['name'] or 'stream'}: {'talker' if role == 'talk' else 'listener'}"
    figures = _listen_figures(end) if role == "listen" else _talk_figures(end)
    plots = []
    for number, (name, figure) in enumerate(figures):
        data = plotly.io.to_json(figure, validate=False).replace("</", "<\\/")
        plots.append(
            f'<section><h2>{escape(name)}</h2><div class="plot" id="plot{number}"></div>'
            f"<script>Plotly.newPlot('plot{number}', {data});</script></section>"
        )
    style = (files("penstock.report") / "style.css").read_text(encoding="utf-8")
    return "\n".join([
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(title)} | Penstock</title><style>{style}</style>",
        f"<script>{get_plotlyjs()}</script></head><body><main>",
        f"<h1>{escape(title)}</h1><p>{'every requirement met' if summary['ok'] else 'a requirement was not met'}</p>",
        _table(summary),
        *_trust(summary),
        *plots,
        f"<details><summary>all that was said</summary><pre>{escape(json.dumps(summary, indent=1))}</pre></details>",
        "</main></body></html>\n",
    ])  # fmt: skip


def _table(summary: Mapping[str, Any]) -> str:
    head = "".join(f"<th>{escape(each.replace('_', ' '))}</th>" for each in ("stream", "quantity / us", *_NUMBERS))
    rows = []
    for name, stream in summary["streams"].items():
        for key, label in _TIMES.items():
            found = stream.get(key)
            if found and found["count"]:
                cells = "".join(f"<td>{found[number] / 1000:,.3f}</td>" for number in _NUMBERS)
                rows.append(f"<tr><td>{escape(name)}</td><td>{escape(label)}</td>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _trust(summary: Mapping[str, Any]) -> list[str]:
    if "stamps" not in summary:
        return []
    stamps = summary["stamps"]
    said = [f"Latency is computed from {stamps['latency_from']} stamps, periods from {stamps['periods_from']} stamps."]
    said += [f"{kind}: {stamps[kind]['why']}." for kind in ("hardware", "kernel", "user")]
    if stamps["warning"]:
        said.append(stamps["warning"])
    if summary["clock"]["refused"]:
        said.append(f"No latency: {summary['clock']['refused']}.")
    return [f'<p class="note">{escape(text)}</p>' for text in said]


def _listen_figures(end: End) -> list[tuple[str, go.Figure]]:
    stamps = end.summary["stamps"]
    shift = {"kernel": end.tai_offset_ns}
    received = pl.col(_STAMP_COLUMNS[stamps["latency_from"]]) + shift.get(stamps["latency_from"], 0)
    arrived = pl.col(_STAMP_COLUMNS[stamps["periods_from"]])
    rows = end.rows.filter(pl.col("kind") != "duplicate").with_columns(
        value=(received - pl.col("construction_tai_ns")) / 1000,
        gap=arrived.diff().over("stream") / 1000,
    )
    figures = []
    if end.summary["clock"]["one_clock"]:
        figures = [
            ("Latency of each frame", _series(rows, "value", "latency / us")),
            ("Distribution of latency", _cumulative(rows, "value", "latency / us")),
        ]
    return [*figures, ("Gap between frames", _series(rows, "gap", "gap / us"))]


def _talk_figures(end: End) -> list[tuple[str, go.Figure]]:
    ahead = (pl.col("due_tai_ns") - pl.col("handed_tai_ns")) / 1000
    rows = end.rows.with_columns(late=pl.col("wake_late_ns") / 1000, ahead=ahead)
    return [
        ("Woken late", _series(rows, "late", "late / us")),
        ("Handed to the kernel ahead of the due time", _series(rows, "ahead", "ahead / us")),
    ]


def _series(rows: pl.DataFrame, column: str, label: str) -> go.Figure:
    figure = go.Figure()
    for (name,), of_stream in rows.group_by("stream", maintain_order=True):
        some = _thin(of_stream.drop_nulls(column), column)
        trace = go.Scattergl(x=some["sequence"].to_list(), y=some[column].to_list(), mode="markers", name=str(name))
        figure.add_trace(trace.update(marker={"size": 3}))
    return figure.update_layout(xaxis_title="sequence number", yaxis_title=label, height=420)


def _cumulative(rows: pl.DataFrame, column: str, label: str) -> go.Figure:
    figure = go.Figure()
    for (name,), of_stream in rows.group_by("stream", maintain_order=True):
        values = of_stream[column].drop_nulls().sort()
        share = pl.DataFrame({"x": values, "y": (pl.int_range(1, len(values) + 1, eager=True) / max(len(values), 1))})
        some = _thin(share, "x")
        figure.add_trace(go.Scatter(x=some["x"].to_list(), y=some["y"].to_list(), mode="lines", name=str(name)))
    return figure.update_layout(xaxis_title=label, yaxis_title="share of frames", height=420)


def _thin(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    if rows.height <= _MOST_POINTS:
        return rows
    kept = rows.gather_every(-(-rows.height // _MOST_POINTS))
    extremes = rows.filter((pl.col(column) == pl.col(column).max()) | (pl.col(column) == pl.col(column).min()))
    return pl.concat([kept, extremes.head(100)])
