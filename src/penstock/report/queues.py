# SPDX-License-Identifier: Apache-2.0
"""Pictures of queues and of what was dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from penstock.report import breaks
from penstock.report.page import Picture
from penstock.report.style import axes, looks, plain
from penstock.report.thin import visible
from penstock.scenario.network import Network

_MOST_POINTS = 4_000  # of a queue
_MOST_PORTS = 8
_MOST_NODES = 40
_MOST_KINDS = 12  # of drops
_MOST_STEPS = 2_000


def depth(steps: pl.DataFrame, summary: Mapping[str, Any]) -> Picture:
    figure = go.Figure()
    steps = steps.filter(pl.col("queued").is_not_null()).with_columns(pl.col("bytes").cast(pl.Int64))
    left = pl.coalesce("sent", "dropped")
    changes = pl.concat([
        steps.select("node", "port", pl.col("queued").alias("at"), "bytes"),
        steps.filter(left.is_not_null()).select("node", "port", left.alias("at"), -pl.col("bytes")),
    ]).sort("at", "bytes", maintain_order=True)  # fmt: skip
    waiting = changes.with_columns((pl.col("bytes").cum_sum().over("node", "port") / 1000).alias("depth"))
    deepest = (
        waiting.group_by("node", "port")
        .agg(pl.col("depth").max())
        .sort("depth", "node", "port", descending=[True, False, False])
    )
    names = [f"{node} port {port}" for node, port, _ in deepest.head(_MOST_PORTS).iter_rows()]
    look = looks(names)
    for (node, port, _), name in zip(deepest.head(_MOST_PORTS).iter_rows(), names, strict=True):
        rows = waiting.filter((pl.col("node") == pl.lit(node, dtype=pl.Categorical)) & (pl.col("port") == port))
        rows = rows.group_by("at", maintain_order=True).last()
        rows = visible(rows, "at", "depth", _MOST_POINTS)
        figure.add_trace(
            go.Scattergl(
                x=(rows["at"] / 1e9).to_numpy(),
                y=rows["depth"].to_numpy().astype(np.float32),
                name=name,
                mode="lines",
                line={"color": look[name].color, "width": 1.5, "shape": "hv"},
                hovertemplate="%{x:.4f} ms: %{y:.2f} kB",
            )
        )
    axes(figure, "time / ms", "queued for the port / kB")
    which = f"the {_MOST_PORTS} deepest of {deepest.height:,} ports" if deepest.height > _MOST_PORTS else "each port"
    note = f"What waits for {which}, from being queued to being selected." + breaks.mark(figure, summary)
    return Picture("Queue depth", note, figure)


def drops(network: Network, steps: pl.DataFrame, summary: Mapping[str, Any]) -> list[Picture]:
    lost = steps.filter(pl.col("delivered").is_null() & pl.col("dropped").is_not_null()).with_columns(
        pl.col("stream", "reason", "dropped_at").cast(pl.String)
    )
    figure = go.Figure()
    note = f"{lost.height:,} frames were dropped, each with its reason."
    axes(figure, "time / ms", "frames dropped so far")
    if not lost.height:
        plain(figure, height=140)
        figure.add_annotation(
            text="No frame was dropped.", showarrow=False, font={"size": 16}, x=0.5, y=0.5, xref="paper", yref="paper"
        )
        return [Picture("Drops", note, figure)]
    counted = lost.group_by("stream", "reason").len().sort("len", "stream", "reason", descending=[True, False, False])
    if counted.height > _MOST_KINDS:
        note += f" The {_MOST_KINDS} greatest of {counted.height:,} kinds are drawn."
    note += breaks.mark(figure, summary)
    kinds = [(stream, reason) for stream, reason, _ in counted.head(_MOST_KINDS).iter_rows()]
    color = looks([f"{stream}: {reason}" for stream, reason in kinds])
    for stream, reason in kinds:
        rows = lost.filter((pl.col("stream") == stream) & (pl.col("reason") == reason)).sort("dropped")
        count = np.arange(1, rows.height + 1)
        keep = np.unique(np.linspace(0, rows.height - 1, min(rows.height, _MOST_STEPS)).astype(int))
        name = f"{stream}: {reason}"
        figure.add_trace(
            go.Scatter(
                x=[0.0, *(rows["dropped"].to_numpy()[keep] / 1e9), network.duration_ps / 1e9],
                y=[0, *count[keep], rows.height],
                name=name,
                mode="lines",
                line={"color": color[name].color, "width": 2.5, "shape": "hv"},
                hovertemplate="%{x:.4f} ms: %{y} so far",
            )
        )
    found = [Picture("Drops", note, figure)]
    if len(network.bridges) > 1:
        found.append(_drops_by_node(lost))
    return found


def _drops_by_node(lost: pl.DataFrame) -> Picture:
    figure = go.Figure()
    nodes = lost.group_by("dropped_at").len().sort("len", "dropped_at", descending=[True, False])
    most = nodes.head(_MOST_NODES)["dropped_at"].to_list()
    counted = lost.group_by("dropped_at", "reason").len()
    reasons = sorted(lost["reason"].unique().to_list())
    color = looks(reasons)
    for reason in reasons:
        count = dict(counted.filter(pl.col("reason") == reason).select("dropped_at", "len").iter_rows())
        figure.add_trace(
            go.Bar(
                x=most,
                y=[count.get(node, 0) for node in most],
                name=reason,
                marker={"color": color[reason].color},
                hovertemplate="%{x}: %{y:,}",
            )
        )
    figure.update_layout(barmode="stack")
    axes(figure, "bridge", "frames dropped")
    which = (
        f"The {_MOST_NODES} of {nodes.height:,} bridges that dropped most" if nodes.height > _MOST_NODES else "Where"
    )
    return Picture("Drops by bridge", f"{which}, and why.", figure)
