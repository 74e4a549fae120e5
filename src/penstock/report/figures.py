# SPDX-License-Identifier: Apache-2.0
"""The pictures of a report. A stream has one colour in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from penstock.scenario.network import Network

# Okabe and Ito's colours, which people with any colour vision can tell apart.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F5FA8", "#6B6B6B")
_BAD = "#B3261E"
_MOST_POINTS = 20_000
_HEIGHT = 380

Figure = tuple[str, str, go.Figure]


def colors(streams: Sequence[str]) -> dict[str, str]:
    """A colour for each stream."""
    return {name: _COLORS[index % len(_COLORS)] for index, name in enumerate(streams)}


def all_figures(network: Network, steps: pl.DataFrame, summary: dict[str, Any], color: dict[str, str]) -> list[Figure]:
    """Title, note and picture of each."""
    return [
        _latency(network, steps, summary, color),
        _distribution(network, steps, summary, color),
        _intervals(network, steps, color),
        _depth(network, steps, color),
        _drops(network, steps, summary, color),
    ]


def _arrived(network: Network, steps: pl.DataFrame, name: str) -> pl.DataFrame:
    return steps.filter((pl.col("stream") == name) & pl.col("delivered").is_not_null()).with_columns(
        ((pl.col("delivered") - pl.coalesce("talker_sent", "created")) / 1e6).alias("latency_us"),
        (pl.coalesce("talker_sent", "created") / 1e9).alias("sent_ms"),
    )


def _thin(rows: pl.DataFrame) -> pl.DataFrame:
    """At most so many points that a browser stays quick; the extremes are kept."""
    if rows.height <= _MOST_POINTS:
        return rows
    step = -(-rows.height // (_MOST_POINTS // 2))
    part = pl.int_range(pl.len()) // step
    extreme = (pl.col("latency_us") == pl.col("latency_us").max().over(part)) | (pl.int_range(pl.len()) % step == 0)
    return rows.filter(extreme)


def _latency(network: Network, steps: pl.DataFrame, summary: dict[str, Any], color: dict[str, str]) -> Figure:
    figure = go.Figure()
    for name in network.streams:
        rows = _thin(_arrived(network, steps, name))
        figure.add_trace(
            go.Scattergl(
                x=rows["sent_ms"].to_numpy(),
                y=rows["latency_us"].to_numpy(),
                mode="markers",
                name=name,
                marker={"size": 4, "color": color[name], "opacity": 0.75},
                hovertemplate="%{x:.4f} ms: %{y:.3f} us",
            )
        )
    _limits(figure, summary, color, horizontal=True)
    _axes(figure, "time sent / ms", "latency / us", log_y=True)
    return "Latency over time", "Each point is a frame that was delivered. Lines: bounds and deadlines.", figure


def _distribution(network: Network, steps: pl.DataFrame, summary: dict[str, Any], color: dict[str, str]) -> Figure:
    figure = go.Figure()
    for name in network.streams:
        values = np.sort(_arrived(network, steps, name)["latency_us"].to_numpy())
        if not values.size:
            continue
        share = np.arange(1, values.size + 1) / values.size * 100
        keep = np.unique(np.linspace(0, values.size - 1, min(values.size, 2000)).astype(int))
        figure.add_trace(
            go.Scatter(
                x=values[keep],
                y=share[keep],
                name=name,
                mode="lines",
                line={"color": color[name], "width": 2.5, "shape": "hv"},
                hovertemplate="%{y:.2f} % of frames within %{x:.3f} us",
            )
        )
    _limits(figure, summary, color, horizontal=False)
    _axes(figure, "latency / us", "share of frames / %", log_x=True)
    return "Distribution of latency", "The share of frames that took at most so long.", figure


def _intervals(network: Network, steps: pl.DataFrame, color: dict[str, str]) -> Figure:
    figure = go.Figure()
    gaps = {}
    for name in network.streams:
        rows = _arrived(network, steps, name).sort("delivered")
        values = rows.select(pl.col("delivered").diff().over("listener") / 1e6).to_series().drop_nulls().to_numpy()
        if values.size:
            gaps[name] = values
    if gaps:
        low = max(min(float(v.min()) for v in gaps.values()), 1e-3)
        high = max(float(v.max()) for v in gaps.values())
        edges = np.geomspace(low * 0.95, max(high * 1.05, low * 2), 90)
        for name, values in gaps.items():
            count, _ = np.histogram(values, edges)
            figure.add_trace(
                go.Bar(
                    x=np.sqrt(edges[:-1] * edges[1:]),
                    y=count / values.size * 100,
                    width=np.diff(edges),
                    name=name,
                    marker={"color": color[name], "line": {"width": 0}},
                    opacity=0.7,
                    hovertemplate="about %{x:.3f} us: %{y:.2f} %",
                )
            )
    figure.update_layout(barmode="overlay")
    _axes(figure, "time since the stream's last frame / us", "share of frames / %", log_x=True)
    return "Intervals of arrival", "The time between a stream's frames at its listener.", figure


def _depth(network: Network, steps: pl.DataFrame, color: dict[str, str]) -> Figure:
    figure = go.Figure()
    for name in network.streams:
        rows = steps.filter((pl.col("stream") == name) & pl.col("queued").is_not_null())
        left = pl.coalesce("bridge_sent", "dropped")
        changes = pl.concat([
            rows.select(pl.col("queued").alias("at"), pl.lit(1).alias("change"), pl.col("bytes").cast(pl.Int64)),
            rows.filter(left.is_not_null()).select(
                left.alias("at"), pl.lit(-1).alias("change"), -pl.col("bytes").cast(pl.Int64)
            ),
        ]).sort("at", "change")  # fmt: skip
        depth = changes.with_columns(pl.col("bytes").cum_sum() / 1000).group_by("at", maintain_order=True).last()
        if depth.height > 2 * _MOST_POINTS:
            depth = depth.gather_every(-(-depth.height // (2 * _MOST_POINTS)))
        figure.add_trace(
            go.Scattergl(
                x=(depth["at"] / 1e9).to_numpy(),
                y=depth["bytes"].to_numpy(),
                name=name,
                mode="lines",
                line={"color": color[name], "width": 1.5, "shape": "hv"},
                hovertemplate="%{x:.4f} ms: %{y:.2f} kB",
            )
        )
    _axes(figure, "time / ms", "queued in the switch / kB")
    return "Queue depth", "What each stream holds in the switch's queues, from being queued to being selected.", figure


def _drops(network: Network, steps: pl.DataFrame, summary: dict[str, Any], color: dict[str, str]) -> Figure:
    figure = go.Figure()
    total = 0
    for name in network.streams:
        lost = steps.filter(
            (pl.col("stream") == name) & pl.col("delivered").is_null() & pl.col("dropped").is_not_null()
        ).sort("dropped")
        total += lost.height
        for reason in lost["reason"].unique(maintain_order=True):
            rows = lost.filter(pl.col("reason") == reason)
            figure.add_trace(
                go.Scatter(
                    x=[0.0, *(rows["dropped"] / 1e9), network.duration_ps / 1e9],
                    y=[0, *range(1, rows.height + 1), rows.height],
                    name=f"{name}: {reason}",
                    mode="lines",
                    line={"color": color[name], "width": 2.5, "shape": "hv"},
                    hovertemplate="%{x:.4f} ms: %{y} so far",
                )
            )
    _axes(figure, "time / ms", "frames dropped so far")
    if not total:
        figure.update_layout(height=140)
        figure.update_xaxes(visible=False)
        figure.update_yaxes(visible=False)
        figure.add_annotation(
            text="No frame was dropped.", showarrow=False, font={"size": 16}, x=0.5, y=0.5, xref="paper", yref="paper"
        )
    return "Drops", f"{total:,} frames were dropped, each with its reason.", figure


def _limits(figure: go.Figure, summary: dict[str, Any], color: dict[str, str], horizontal: bool) -> None:
    for name, stream in summary["streams"].items():
        for key, dash, word in (("bound_ns", "dash", "bound"), ("deadline_ns", "dot", "deadline")):
            limit = stream[key]
            if limit is None:
                continue
            value = limit / 1000
            line = {"color": color[name], "width": 2, "dash": dash}
            text = f"{word} of {name}: {value:,.2f} us"
            if horizontal:
                figure.add_hline(y=value, line=line)
                figure.add_annotation(
                    x=0.002, xref="paper", y=np.log10(value), text=text, showarrow=False, xanchor="left",
                    yanchor="bottom", font={"color": color[name], "size": 12}, bgcolor="rgba(255,255,255,0.8)",
                )  # fmt: skip
            else:
                figure.add_vline(x=value, line=line)
                figure.add_annotation(
                    x=np.log10(value), y=0.02, yref="paper", text=text, showarrow=False, xanchor="right",
                    yanchor="bottom", textangle=-90, font={"color": color[name], "size": 12},
                )  # fmt: skip


def _axes(figure: go.Figure, x: str, y: str, log_x: bool = False, log_y: bool = False) -> None:
    ticks = {"gridcolor": "#E6EAEE", "zeroline": False, "linecolor": "#9AA5B1", "ticks": "outside"}
    figure.update_layout(
        template="plotly_white",
        height=_HEIGHT,
        margin={"l": 70, "r": 20, "t": 30, "b": 50},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        font={"family": "system-ui, DejaVu Sans, sans-serif", "size": 13, "color": "#1C2733"},
        hovermode="closest",
        showlegend=True,
    )
    decades: dict[str, Any] = {
        "type": "log",
        "dtick": 1,
        "minor": {"ticks": "outside", "showgrid": True, "gridcolor": "#F2F4F6"},
    }
    figure.update_xaxes(title=x, **ticks, **(decades if log_x else {}))
    figure.update_yaxes(title=y, **ticks, **(decades if log_y else {}))
