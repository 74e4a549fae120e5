# SPDX-License-Identifier: Apache-2.0
"""The pictures of a report. A stream has one colour in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from penstock.journeys import View
from penstock.report import shapers, topology
from penstock.scenario.network import Network
from penstock.table import most_urgent

# Okabe and Ito's colours, which people with any colour vision can tell apart.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F5FA8", "#6B6B6B")
_MOST_POINTS = 20_000
_MOST_STREAMS = 12
_MOST_PORTS = 8
_MOST_NODES = 40
_HEIGHT = 380

Figure = tuple[str, str, go.Figure]
Streams = dict[str, pl.DataFrame]  # the frames of each that were delivered


def colors(streams: Sequence[str]) -> dict[str, str]:
    """A colour for each stream."""
    return {name: _COLORS[index % len(_COLORS)] for index, name in enumerate(streams)}


def shown(summary: dict[str, Any]) -> list[str]:
    """The streams of the pictures."""
    return most_urgent(summary, _MOST_STREAMS)


def all_figures(
    network: Network,
    view: View | None,
    summary: dict[str, Any],
    color: dict[str, str],
) -> list[Figure]:
    """Title, note and picture of each; without a trace, of what needs none."""
    names = shown(summary)
    found = []
    network_picture = topology.picture(network, names, color)
    if network_picture is not None:
        _plain(network_picture)
        found.append(
            ("Network", "Squares are bridges, circles stations, coloured lines the ways of streams.", network_picture)
        )
    if view is None:
        return found
    steps = view.journeys
    arrived = steps.filter(pl.col("delivered").is_not_null()).with_columns(
        ((pl.col("delivered") - pl.coalesce("talker_sent", "created")) / 1e6).alias("latency_us"),
        (pl.coalesce("talker_sent", "created") / 1e9).alias("sent_ms"),
    )
    of_stream = {name: arrived.filter(pl.col("stream") == pl.lit(name, dtype=pl.Categorical)) for name in names}
    return [
        *found,
        *shapers.figures(network, view, color),
        _latency(of_stream, summary, color),
        _distribution(of_stream, summary, color),
        _intervals(of_stream, color),
        _depth(view.hops),
        *_drops(network, steps),
    ]


def _thin(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    """At most about so many points, so that a browser stays quick; the extremes are kept."""
    if rows.height <= most:
        return rows
    step = -(-rows.height // (most // 2))
    part = pl.int_range(pl.len()) // step
    extreme = (pl.col("latency_us") == pl.col("latency_us").max().over(part)) | (pl.int_range(pl.len()) % step == 0)
    return rows.filter(extreme)


def _latency(of_stream: Streams, summary: dict[str, Any], color: dict[str, str]) -> Figure:
    figure = go.Figure()
    most = max(_MOST_POINTS // len(of_stream), 500)
    for name, arrived in of_stream.items():
        rows = _thin(arrived, most)
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
    thinned = any(rows.height > most for rows in of_stream.values())
    points = "Each point is a frame that was delivered"
    if thinned:
        points += f", a part of them where a stream has more than {most:,}, the slowest kept"
    return "Latency over time", f"{points}. Lines: bounds and deadlines.", figure


def _distribution(of_stream: Streams, summary: dict[str, Any], color: dict[str, str]) -> Figure:
    figure = go.Figure()
    for name, arrived in of_stream.items():
        values = np.sort(arrived["latency_us"].to_numpy())
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


def _intervals(of_stream: Streams, color: dict[str, str]) -> Figure:
    figure = go.Figure()
    gaps = {}
    for name, arrived in of_stream.items():
        values = (
            arrived.sort("delivered")
            .select(pl.col("delivered").diff().over("listener") / 1e6)
            .to_series()
            .drop_nulls()
            .to_numpy()
        )
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


def _depth(steps: pl.DataFrame) -> Figure:
    figure = go.Figure()
    steps = steps.filter(pl.col("queued").is_not_null()).with_columns(pl.col("bytes").cast(pl.Int64))
    left = pl.coalesce("sent", "dropped")
    changes = pl.concat([
        steps.select("node", "port", pl.col("queued").alias("at"), "bytes"),
        steps.filter(left.is_not_null()).select("node", "port", left.alias("at"), -pl.col("bytes")),
    ]).sort("at", "bytes", maintain_order=True)  # fmt: skip
    depth = changes.with_columns((pl.col("bytes").cum_sum().over("node", "port") / 1000).alias("depth"))
    deepest = (
        depth.group_by("node", "port")
        .agg(pl.col("depth").max())
        .sort("depth", "node", "port", descending=[True, False, False])
    )
    names = [f"{node} port {port}" for node, port, _ in deepest.head(_MOST_PORTS).iter_rows()]
    color = colors(names)
    for (node, port, _), name in zip(deepest.head(_MOST_PORTS).iter_rows(), names, strict=True):
        rows = depth.filter((pl.col("node") == pl.lit(node, dtype=pl.Categorical)) & (pl.col("port") == port))
        rows = rows.group_by("at", maintain_order=True).last()
        most = _MOST_POINTS // 4
        if rows.height > most:
            # The deepest of each part.
            part = pl.int_range(pl.len()) // -(-rows.height // most)
            rows = rows.filter(pl.col("depth") == pl.col("depth").max().over(part))
        figure.add_trace(
            go.Scattergl(
                x=(rows["at"] / 1e9).to_numpy(),
                y=rows["depth"].to_numpy(),
                name=name,
                mode="lines",
                line={"color": color[name], "width": 1.5, "shape": "hv"},
                hovertemplate="%{x:.4f} ms: %{y:.2f} kB",
            )
        )
    _axes(figure, "time / ms", "queued for the port / kB")
    which = f"the {_MOST_PORTS} deepest of {deepest.height:,} ports" if deepest.height > _MOST_PORTS else "each port"
    return "Queue depth", f"What waits for {which}, from being queued to being selected.", figure


def _drops(network: Network, steps: pl.DataFrame) -> list[Figure]:
    lost = steps.filter(pl.col("delivered").is_null() & pl.col("dropped").is_not_null()).with_columns(
        pl.col("stream", "reason", "dropped_at").cast(pl.String)
    )
    figure = go.Figure()
    note = f"{lost.height:,} frames were dropped, each with its reason."
    _axes(figure, "time / ms", "frames dropped so far")
    if not lost.height:
        figure.update_layout(height=140)
        _plain(figure, height=140)
        figure.add_annotation(
            text="No frame was dropped.", showarrow=False, font={"size": 16}, x=0.5, y=0.5, xref="paper", yref="paper"
        )
        return [("Drops", note, figure)]
    counted = lost.group_by("stream", "reason").len().sort("len", "stream", "reason", descending=[True, False, False])
    if counted.height > _MOST_STREAMS:
        note += f" The {_MOST_STREAMS} greatest of {counted.height:,} kinds are drawn."
    kinds = [(stream, reason) for stream, reason, _ in counted.head(_MOST_STREAMS).iter_rows()]
    color = colors([f"{stream}: {reason}" for stream, reason in kinds])
    for stream, reason in kinds:
        rows = lost.filter((pl.col("stream") == stream) & (pl.col("reason") == reason)).sort("dropped")
        count = np.arange(1, rows.height + 1)
        keep = np.unique(np.linspace(0, rows.height - 1, min(rows.height, 2000)).astype(int))
        name = f"{stream}: {reason}"
        figure.add_trace(
            go.Scatter(
                x=[0.0, *(rows["dropped"].to_numpy()[keep] / 1e9), network.duration_ps / 1e9],
                y=[0, *count[keep], rows.height],
                name=name,
                mode="lines",
                line={"color": color[name], "width": 2.5, "shape": "hv"},
                hovertemplate="%{x:.4f} ms: %{y} so far",
            )
        )
    found = [("Drops", note, figure)]
    if len(network.bridges) > 1:
        found.append(_drops_by_node(lost))
    return found


def _drops_by_node(lost: pl.DataFrame) -> Figure:
    figure = go.Figure()
    nodes = lost.group_by("dropped_at").len().sort("len", "dropped_at", descending=[True, False])
    most = nodes.head(_MOST_NODES)["dropped_at"].to_list()
    counted = lost.group_by("dropped_at", "reason").len()
    reasons = sorted(lost["reason"].unique().to_list())
    color = colors(reasons)
    for reason in reasons:
        count = dict(counted.filter(pl.col("reason") == reason).select("dropped_at", "len").iter_rows())
        figure.add_trace(
            go.Bar(
                x=most,
                y=[count.get(node, 0) for node in most],
                name=reason,
                marker={"color": color[reason]},
                hovertemplate="%{x}: %{y:,}",
            )
        )
    figure.update_layout(barmode="stack")
    _axes(figure, "bridge", "frames dropped")
    which = (
        f"The {_MOST_NODES} of {nodes.height:,} bridges that dropped most" if nodes.height > _MOST_NODES else "Where"
    )
    return "Drops by bridge", f"{which}, and why.", figure


def _plain(figure: go.Figure, height: int = 520) -> None:
    """Without axes."""
    _axes(figure, "", "")
    figure.update_layout(height=height)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    if height > _HEIGHT:
        figure.update_yaxes(scaleanchor="x")


def _limits(figure: go.Figure, summary: dict[str, Any], color: dict[str, str], horizontal: bool) -> None:
    for name, stream in summary["streams"].items():
        if name not in color:
            continue
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
