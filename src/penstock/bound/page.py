# SPDX-License-Identifier: Apache-2.0
"""`penstock bound --html`: the curves behind the waits of queues, beside the frame of a run that came nearest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from penstock.bound.curves import Curves, Shape, curves_of
from penstock.bound.timing import processing_allowed_ps
from penstock.journeys import View
from penstock.report import page
from penstock.report.style import COLORS, axes
from penstock.scenario.network import Network
from penstock.version import __version__

_MOST_QUEUES = 24
_BOUND = "#B3261E"


@dataclass(frozen=True)
class Nearest:
    """The frame of a run that waited longest in a queue."""

    stream: str
    frame_id: int
    wait_ps: int


def nearest_of(network: Network, view: View) -> dict[tuple[tuple[str, int], int], Nearest]:
    """By queue, of what a run left."""
    ports = [
        (node, port, processing_allowed_ps(network.bridges[node], network.link_at[node, port].rate_bps))
        for node, port in network.streams_at
    ]
    idle = pl.DataFrame(ports, schema={"node": pl.String, "port": pl.UInt16, "idle": pl.Int64}, orient="row")
    waited = pl.col("sent") - pl.max_horizontal(pl.col("arrived") + pl.col("idle"), pl.col("eligible"))
    longest = (
        view.hops.filter(pl.col("sent").is_not_null())
        .with_columns(pl.col("node", "stream").cast(pl.String))
        .join(idle, on=["node", "port"], how="inner")
        .with_columns(waited.clip(lower_bound=0).alias("wait"))
        .sort("wait", descending=True)
        .unique(["node", "port", "traffic_class"], keep="first", maintain_order=True)
    )
    return {
        ((row["node"], row["port"]), row["traffic_class"]): Nearest(row["stream"], row["frame_id"], row["wait"])
        for row in longest.iter_rows(named=True)
    }


def as_page(network: Network, nearest: dict[tuple[tuple[str, int], int], Nearest]) -> str:
    """One HTML file that needs no network."""
    found = sorted(curves_of(network), key=lambda each: -each.wait_ps)
    pictures = [_picture(network, each, nearest.get((each.place, each.traffic_class))) for each in found[:_MOST_QUEUES]]
    return page.render(
        "bound.html",
        [(f"plot-{each.id}", each.figure) for each in pictures],
        title=network.title,
        contents=[each.title for each in pictures],
        left_out=max(len(found) - _MOST_QUEUES, 0),
        pictures_shown=pictures,
        version=__version__,
    )


def _picture(network: Network, each: Curves, nearest: Nearest | None) -> page.Picture:
    name = network.bridges[each.place[0]].class_name(each.traffic_class)
    note = f"No frame waits for longer than {each.wait_ps / 1e6:.3f} us."
    if nearest is not None:
        note += (
            f" Of a run, frame {nearest.frame_id} of {nearest.stream} came nearest: it waited for"
            f" {nearest.wait_ps / 1e6:.3f} us."
        )
    if len(each.shapes) > 1:
        note += " Choose the phase of the gate cycle in which the class begins to wait."
    return page.Picture(f"{each.place[0]} port {each.place[1]}, {name}", note, _figure(each, nearest))


def _figure(each: Curves, nearest: Nearest | None) -> go.Figure:
    figure = go.Figure()
    counts = []
    for number, shape in enumerate(each.shapes):
        traces = list(_traces(shape, nearest))
        counts.append(len(traces))
        for trace in traces:
            figure.add_trace(trace.update(visible=number == 0))
    axes(figure, "time since the class began to wait / us", "bytes on the wire")
    if len(each.shapes) > 1:
        buttons = [
            {
                "label": f"{(shape.phase_ps or 0) / 1e6:.3f} us into the cycle",
                "method": "restyle",
                "args": [{"visible": [k == number for k, count in enumerate(counts) for _ in range(count)]}],
            }
            for number, shape in enumerate(each.shapes)
        ]
        figure.update_layout(updatemenus=[{"buttons": buttons, "x": 1, "xanchor": "right", "y": 1.2}], margin={"t": 90})
    return figure


def _traces(shape: Shape, nearest: Nearest | None) -> Iterator[go.Scatter]:
    def line(name: str, points: tuple[tuple[float, float], ...], **look: str | int) -> go.Scatter:
        return go.Scatter(
            x=[time for time, _ in points], y=[amount for _, amount in points], name=name, mode="lines", line=look,
            hovertemplate="%{x:.3f} us, %{y:,.0f} B",
        )  # fmt: skip

    yield line("what comes", shape.arrivals, color=COLORS[0], width=2)
    yield line("what is served", shape.service, color=COLORS[1], width=2)
    if shape.backlog is not None:
        yield line("backlog", shape.backlog, color="#5B6875", width=2, dash="dot")
    if shape.delay is not None:
        yield line("delay", shape.delay, color=_BOUND, width=4)
        if nearest is not None:
            (begin, level), _ = shape.delay
            measured = ((begin, level), (begin + nearest.wait_ps / 1e6, level))
            yield line("nearest frame of a run", measured, color="#1C2733", width=2, dash="dash")
