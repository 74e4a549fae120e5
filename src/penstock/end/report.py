# SPDX-License-Identifier: Apache-2.0
"""The report of an end station: what was counted, which stamps are trusted and why, and pictures over all frames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
_HEARD = ("expected", "received", "lost", "duplicates", "reordered")
_SENT = ("sent", "skipped", "refused", "missed", "invalid", "woken_late", "handed_late")
_LAYOUT = {
    "template": "plotly_white",
    "height": 380,
    "margin": {"l": 70, "r": 20, "t": 30, "b": 50},
    "showlegend": True,
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
        _counts(role, summary),
        _times(summary),
        *_trust(summary),
        *plots,
        f"<details><summary>all that was said</summary><pre>{escape(json.dumps(summary, indent=1))}</pre></details>",
        "</main></body></html>\n",
    ])  # fmt: skip


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def line(cells: Iterable[str], kind: str) -> str:
        return f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"


def _counts(role: Role, summary: Mapping[str, Any]) -> str:
    columns = _HEARD if role == "listen" else _SENT
    streams = summary["streams"].items()
    table = _table(
        ["frames of", *(column.replace("_", " ") for column in columns), "within their window"],
        [[name, *(f"{stream[column]:,}" for column in columns), _inside(role, stream)] for name, stream in streams],
    )
    ignored = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in summary.get("ignored", {}).items())
    return table + (f'<p class="note">Ignored: {escape(ignored)}.</p>' if ignored else "")


def _inside(role: Role, stream: Mapping[str, Any]) -> str:
    """The share of frames, at the talker by the best stamps that there are."""
    if role == "listen":
        window = stream["window"]
    else:
        left = stream["left_after_due_ns"]
        best = left["hardware"] or left["kernel"]
        window = best and best["window"]
    return "" if window is None else f"{window['share'] * 100:.3f} %"


def _times(summary: Mapping[str, Any]) -> str:
    rows = []
    for name, stream in summary["streams"].items():
        for key, label in _TIMES.items():
            found = stream.get(key)
            if found and found["count"]:
                rows.append([name, label, *(f"{found[number] / 1000:,.3f}" for number in _NUMBERS)])
    return _table(["stream", "quantity / us", *(number.replace("_", " ") for number in _NUMBERS)], rows)


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
    return figure.update_layout(xaxis_title="sequence number", yaxis_title=label, **_LAYOUT)


def _cumulative(rows: pl.DataFrame, column: str, label: str) -> go.Figure:
    figure = go.Figure()
    for (name,), of_stream in rows.group_by("stream", maintain_order=True):
        values = of_stream[column].drop_nulls().sort()
        share = pl.DataFrame({"x": values, "y": (pl.int_range(1, len(values) + 1, eager=True) / max(len(values), 1))})
        some = _thin(share, "x")
        figure.add_trace(go.Scatter(x=some["x"].to_list(), y=some["y"].to_list(), mode="lines", name=str(name)))
    return figure.update_layout(xaxis_title=label, yaxis_title="share of frames", **_LAYOUT)


def _thin(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    if rows.height <= _MOST_POINTS:
        return rows
    kept = rows.gather_every(-(-rows.height // _MOST_POINTS))
    extremes = rows.filter((pl.col(column) == pl.col(column).max()) | (pl.col(column) == pl.col(column).min()))
    return pl.concat([kept, extremes.head(100)])
