# SPDX-License-Identifier: Apache-2.0
"""The report of an end station: what was counted, which stamps are trusted and why, and pictures over all frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from penstock.end.plan import Role
from penstock.end.trace import End
from penstock.report import page
from penstock.report.page import Picture
from penstock.report.style import axes
from penstock.report.thin import visible

_MOST_POINTS = 30_000  # of a picture
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
_NUMBERS = ("min", "mean", "p50", "p99", "max", "peak_to_peak")


def render(role: Role, end: End, summary: Mapping[str, Any]) -> str:
    """One HTML file that needs no network."""
    streams = summary["streams"].items()
    columns = _HEARD if role == "listen" else _SENT
    pictures = _listen_figures(end) if role == "listen" else _talk_figures(end)
    return page.render(
        "end.html",
        [(f"plot-{each.id}", each.figure) for each in pictures],
        title=f"{summary['name'] or 'stream'}: {'talker' if role == 'talk' else 'listener'}",
        summary=summary,
        count_heads=("frames of", *(column.replace("_", " ") for column in columns), "within their window"),
        counts=[
            (name, *(f"{stream[column]:,}" for column in columns), _inside(role, stream)) for name, stream in streams
        ],
        ignored=", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in summary.get("ignored", {}).items()),
        time_heads=("stream", "quantity / us", *(number.replace("_", " ") for number in _NUMBERS)),
        times=_times(summary),
        trust=_trust(summary),
        pictures_shown=pictures,
        said=json.dumps(summary, indent=1),
    )


def _inside(role: Role, stream: Mapping[str, Any]) -> str:
    """The share of frames, at the talker by the best stamps that there are."""
    if role == "listen":
        window = stream["window"]
    else:
        left = stream["left_after_due_ns"]
        best = left["hardware"] or left["kernel"]
        window = best and best["window"]
    return "" if window is None else f"{window['share'] * 100:.3f} %"


def _times(summary: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for name, stream in summary["streams"].items():
        for key, label in _TIMES.items():
            found = stream.get(key)
            if found and found["count"]:
                rows.append([name, label, *(f"{found[number] / 1000:,.3f}" for number in _NUMBERS)])
    return rows


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
    return said


def _listen_figures(end: End) -> list[Picture]:
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
            _series("Latency of each frame", rows, "value", "latency / us"),
            _cumulative("Distribution of latency", rows, "value", "latency / us"),
        ]
    return [*figures, _series("Gap between frames", rows, "gap", "gap / us")]


def _talk_figures(end: End) -> list[Picture]:
    ahead = (pl.col("due_tai_ns") - pl.col("handed_tai_ns")) / 1000
    rows = end.rows.with_columns(late=pl.col("wake_late_ns") / 1000, ahead=ahead)
    return [
        _series("Woken late", rows, "late", "late / us"),
        _series("Handed to the kernel ahead of the due time", rows, "ahead", "ahead / us"),
    ]


def _series(title: str, rows: pl.DataFrame, column: str, label: str) -> Picture:
    figure = go.Figure()
    rows = rows.drop_nulls(column)
    shown = 0
    for name, of_stream, most in _of_streams(rows):
        some = visible(of_stream, "sequence", column, most)
        shown += some.height
        figure.add_trace(
            go.Scattergl(
                x=some["sequence"].to_numpy(),
                y=some[column].to_numpy().astype(np.float32),
                mode="markers",
                marker={"size": 3},
                name=name,
            )
        )
    axes(figure, "sequence number", label)
    left_out = f"Of {rows.height:,} frames {rows.height - shown:,} are left out: each would lie upon one that is drawn."
    return Picture(title, left_out if shown < rows.height else "", figure)


def _cumulative(title: str, rows: pl.DataFrame, column: str, label: str) -> Picture:
    figure = go.Figure()
    for name, of_stream, most in _of_streams(rows.drop_nulls(column)):
        values = of_stream[column].sort()
        share = pl.DataFrame({"x": values, "y": pl.int_range(1, len(values) + 1, eager=True) / len(values)})
        some = visible(share, "x", "y", most)
        figure.add_trace(
            go.Scatter(x=some["x"].to_numpy(), y=some["y"].to_numpy().astype(np.float32), mode="lines", name=name)
        )
    axes(figure, label, "share of frames")
    return Picture(title, "", figure)


def _of_streams(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame, int]]:
    """Name, rows and how many points are to be drawn, of each stream."""
    parts = rows.partition_by("stream", as_dict=True, maintain_order=True)
    return [(str(name), part, max(_MOST_POINTS // len(parts), 1)) for (name,), part in parts.items()]
