# SPDX-License-Identifier: Apache-2.0
"""Pictures of latency: over time with each late frame, its distribution, and the intervals between arrivals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from penstock.journeys import View
from penstock.report import breaks
from penstock.report.page import Picture
from penstock.report.style import MOST_IN_LEGEND, OTHER, Look, axes
from penstock.report.thin import visible

_MOST_POINTS = 30_000
_MOST_LATE = 8_000  # drawn one by one
_MOST_STEPS = 20_000  # of all distributions
_INTERVALS = 90
_LABELS = (0.002, 0.34, 0.67)  # where labels of limits may begin
_LABEL_HEIGHT = 0.055  # of the picture

Streams = Mapping[str, pl.DataFrame]  # the frames of each that were delivered
Looks = Mapping[str, Look]


def delivered(view: View, summary: Mapping[str, Any]) -> pl.DataFrame:
    """The copies that arrived: `latency_us`, `sent_ms`, and whether they are `late`, above a bound or a deadline."""
    limits = {
        name: min(limit for limit in (s["bound_ns"], s["deadline_ns"]) if limit is not None)
        for name, s in summary["streams"].items()
        if s["bound_ns"] is not None or s["deadline_ns"] is not None
    }
    begin = pl.coalesce("talker_sent", "created")
    limit_ns = pl.col("stream").cast(pl.String).replace_strict(limits, default=None, return_dtype=pl.Float64)
    return (
        view.journeys.filter(pl.col("delivered").is_not_null())
        .with_columns(
            ((pl.col("delivered") - begin) / 1e6).alias("latency_us"),
            (begin / 1e9).alias("sent_ms"),
            limit_ns.alias("limit_ns"),
        )
        .with_columns(
            ((pl.col("delivered") - begin) > (pl.col("limit_ns") * 1000).round().cast(pl.Int64))
            .fill_null(False)
            .alias("late")
        )
    )


def over_time(arrived: pl.DataFrame, of_stream: Streams, summary: Mapping[str, Any], looks: Looks) -> Picture:
    """Each frame a point, as far as points can be told apart; each late frame a cross."""
    figure = go.Figure()
    most = max(_MOST_POINTS // max(len(of_stream), 1), 300)
    left_out = 0
    for name, rows in of_stream.items():
        in_time = rows.filter(~pl.col("late"))
        shown = visible(in_time, "sent_ms", "latency_us", most, log_y=True)
        left_out += in_time.height - shown.height
        figure.add_trace(
            go.Scattergl(
                x=shown["sent_ms"].to_numpy(),
                y=shown["latency_us"].to_numpy().astype(np.float32),
                customdata=shown["frame_id"].to_numpy(),
                mode="markers",
                name=name,
                legendgroup=name,
                meta={"stream": name},
                marker={"size": 5, "color": looks[name].color, "symbol": looks[name].symbol, "opacity": 0.75},
                hovertemplate="frame %{customdata}, sent at %{x:.4f} ms: %{y:.3f} us",
            )
        )
    late = arrived.filter(pl.col("late"))
    note = "Each point is a frame that was delivered. Lines: bounds and deadlines"
    note += "." if len(of_stream) <= MOST_IN_LEGEND else f" of up to {MOST_IN_LEGEND} streams that are chosen above."
    if left_out:
        total = sum(rows.height for rows in of_stream.values())
        note += (
            f" Of {total:,} frames {left_out:,} in time are left out: each would lie upon one that is drawn, which is "
            "the slowest of its place."
        )
    if late.height:
        note += f" Crosses: {_draw_late(figure, late, looks)} Click on one to see what held it."
    note += breaks.mark(figure, summary)
    _draw_limits(figure, of_stream, summary, looks)
    axes(figure, "time sent / ms", "latency / us", log_y=True, height=420)
    figure.update_layout(showlegend=len(of_stream) <= MOST_IN_LEGEND)
    return Picture("Latency over time", note, figure)


def _draw_late(figure: go.Figure, late: pl.DataFrame, looks: Looks) -> str:
    """All of them: one by one, or where they are too many, each cross for those of a short time."""
    late = late.with_columns(
        pl.col("stream").cast(pl.String).alias("name"), pl.lit(1, dtype=pl.UInt32).alias("frames")
    ).with_columns(pl.when(pl.col("name").is_in(list(looks))).then("name").otherwise(None).alias("drawn"))
    said = f"the {late.height:,} frames above a bound or a deadline." if late.height > 1 else "a frame that was late."
    if late.height > _MOST_LATE:
        parts = max(_MOST_LATE // late["drawn"].n_unique(), 20)
        late_ms = late["sent_ms"]
        begin, end = float(late_ms.min()), float(late_ms.max())  # type: ignore[arg-type]
        late = (
            late.with_columns(
                ((pl.col("sent_ms") - begin) / max(end - begin, 1e-12) * parts)
                .floor()
                .clip(upper_bound=parts - 1)
                .alias("part")
            )
            .sort("latency_us", descending=True)
            .group_by("drawn", "part", maintain_order=True)
            .agg(pl.col("frame_id", "sent_ms", "latency_us", "name").first(), pl.len().alias("frames"))
        )
        said = (
            said[:-1]
            + f", drawn as {late.height:,}: each stands for those of {(end - begin) / parts:.3g} ms and says how many."
        )
    for (name,), rows in late.group_by("drawn", maintain_order=True):
        look = looks.get(str(name))
        title = "late, other streams" if look is None else f"late: {name}"
        count = rows["frames"].to_numpy()
        figure.add_trace(
            go.Scattergl(
                x=rows["sent_ms"].to_numpy(),
                y=rows["latency_us"].to_numpy().astype(np.float32),
                customdata=np.stack([rows["frame_id"].to_numpy().astype(np.float64), count], axis=1),
                text=rows["name"].to_list() if look is None else None,
                mode="markers",
                name=title,
                legendgroup=None if look is None else str(name),
                meta={} if look is None else {"stream": str(name)},
                marker={
                    "size": np.minimum(8 + 3 * np.log10(count), 20).astype(np.float32),
                    "symbol": "x",
                    "color": OTHER if look is None else look.color,
                    "line": {"color": "#B3261E", "width": 1.5},
                },
                hovertemplate="%{text} frame %{customdata[0]:.0f}, sent at %{x:.4f} ms: %{y:.3f} us "
                "(of %{customdata[1]} late here)",
            )
        )
    return said


def distribution(of_stream: Streams, summary: Mapping[str, Any], looks: Looks) -> Picture:
    """The share of frames that took at most so long."""
    figure = go.Figure()
    most = max(_MOST_STEPS // max(len(of_stream), 1), 300)
    for name, arrived in of_stream.items():
        values = np.sort(arrived["latency_us"].to_numpy())
        if not values.size:
            continue
        share = np.arange(1, values.size + 1) / values.size * 100
        # Where latency is the same for many frames, the last of them says all.
        last = np.append(values[1:] > values[:-1], True)
        values, share = values[last], share[last]
        keep = np.unique(np.linspace(0, values.size - 1, min(values.size, most)).astype(int))
        if keep.size == 1:
            values, share, keep = np.repeat(values, 2), np.array([0.0, 100.0]), np.arange(2)
        figure.add_trace(
            go.Scatter(
                x=values[keep],
                y=share[keep].astype(np.float32),
                name=name,
                legendgroup=name,
                meta={"stream": name},
                mode="lines",
                line={"color": looks[name].color, "width": 2.5, "shape": "hv", "dash": looks[name].dash},
                hovertemplate="%{y:.2f} % of frames within %{x:.3f} us",
            )
        )
    _draw_limits(figure, of_stream, summary, looks, across=False)
    axes(figure, "latency / us", "share of frames / %", log_x=True)
    figure.update_layout(showlegend=len(of_stream) <= MOST_IN_LEGEND)
    return Picture("Distribution of latency", "The share of frames that took at most so long.", figure)


def intervals(of_stream: Streams, looks: Looks) -> Picture:
    """Between frames at a listener."""
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
        edges = np.geomspace(low * 0.95, max(high * 1.05, low * 2), _INTERVALS)
        for name, values in gaps.items():
            count, _ = np.histogram(values, edges)
            some = count > 0
            figure.add_trace(
                go.Bar(
                    x=np.sqrt(edges[:-1] * edges[1:])[some],
                    y=(count / values.size * 100)[some],
                    width=np.diff(edges)[some],
                    name=name,
                    legendgroup=name,
                    meta={"stream": name},
                    marker={"color": looks[name].color, "line": {"width": 0}},
                    opacity=0.7,
                    hovertemplate="about %{x:.3f} us: %{y:.2f} %",
                )
            )
    figure.update_layout(barmode="overlay")
    axes(figure, "time since the stream's last frame / us", "share / %", log_x=True)
    figure.update_layout(showlegend=len(gaps) <= MOST_IN_LEGEND)
    return Picture("Intervals of arrival", "The time between a stream's frames at its listener.", figure)


def _draw_limits(
    figure: go.Figure, of_stream: Streams, summary: Mapping[str, Any], looks: Looks, *, across: bool = True
) -> None:
    """A line for each limit, labelled where there is room; streams with one limit share line and label."""
    sharing: dict[tuple[str, float], list[str]] = {}
    for name in of_stream:
        for key, word in (("bound_ns", "bound"), ("deadline_ns", "deadline")):
            limit = summary["streams"][name][key]
            if limit:
                sharing.setdefault((word, limit / 1000), []).append(name)
    if not sharing:
        return
    if len(of_stream) > MOST_IN_LEGEND:
        _draw_each_limit(figure, of_stream, sharing, looks, across=across)
        return
    seen = pl.concat([rows["latency_us"] for rows in of_stream.values()])
    values = [*(value for _, value in sharing), *(float(one) for one in (seen.min(), seen.max()) if one)]  # type: ignore[arg-type]
    low, high = np.log10(min(values)), np.log10(max(values))
    span = max(high - low, 1e-3)
    taken: list[tuple[float, int]] = []  # height in the picture and slot of each label
    for (word, value), names in sorted(sharing.items(), key=lambda each: each[0][1]):
        look = looks[names[0]]
        dash = "dash" if word == "bound" else "dot"
        line = {"color": look.color if len(names) == 1 else OTHER, "width": 2, "dash": dash}
        whose = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        text = f"{word} of {whose}: {value:,.2f} us"
        place = (np.log10(value) - low) / span
        free = [
            slot
            for slot in range(len(_LABELS))
            if not any(s == slot and abs(place - p) < _LABEL_HEIGHT for p, s in taken)
        ]
        if across:
            figure.add_hline(y=value, line=line)
        else:
            figure.add_vline(x=value, line=line)
        if not free or (not across and free[0]):
            continue
        taken.append((place, free[0]))
        font = {"color": line["color"], "size": 12}
        if across:
            figure.add_annotation(
                x=_LABELS[free[0]], xref="paper", y=np.log10(value), text=text, showarrow=False, xanchor="left",
                yanchor="bottom", font=font, bgcolor="rgba(255,255,255,0.8)",
            )  # fmt: skip
        else:
            figure.add_annotation(
                x=np.log10(value), y=0.02, yref="paper", text=text, showarrow=False, xanchor="right",
                yanchor="bottom", textangle=-90, font=font,
            )  # fmt: skip


def _draw_each_limit(
    figure: go.Figure,
    of_stream: Streams,
    sharing: Mapping[tuple[str, float], list[str]],
    looks: Looks,
    *,
    across: bool,
) -> None:
    """Lines of many streams, which are shown once few of them are chosen."""
    times = pl.concat([rows["sent_ms"] for rows in of_stream.values()])
    ends = [times.min() or 0.0, times.max() or 0.0] if across else [0.0, 100.0]
    for (word, value), names in sharing.items():
        for name in names:
            x, y = (ends, [value] * 2) if across else ([value] * 2, ends)
            figure.add_trace(
                go.Scattergl(
                    x=x, y=y, mode="lines", name=f"{word} of {name}", meta={"stream": name, "limit": True},
                    line={"color": looks[name].color, "width": 2, "dash": "dash" if word == "bound" else "dot"},
                    visible=False, hovertemplate=f"{value:,.3f} us", showlegend=False,
                )
            )  # fmt: skip
