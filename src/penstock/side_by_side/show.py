# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: on a terminal, and as a page with the folders of the runs beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.command.tables import NOTHING, new_table, print_whole, say
from penstock.percentile import percentiles
from penstock.report import latency, page
from penstock.report.style import COLORS, axes
from penstock.side_by_side.run import Side
from penstock.side_by_side.steps import QUANTILES, Step
from penstock.table import most_urgent, us
from penstock.words import lasting

_MOST_STREAMS = 12
_PARTS = np.linspace(0.0, 1.0, 401)
_COLOR = dict(zip(("model", "rtl", "linux", "plane"), COLORS, strict=False))


def table(found: Sequence[Step]) -> Table:
    """A line for each step of each stream on each kind of nodes; stream and step stand where they begin."""
    times = [f"{key}\nus" for key in QUANTILES]
    lines = new_table(["stream", "step", "nodes"], ["frames", *times, "bound\nus", "verdict"])
    for before, step in pairwise([None, *found]):
        assert step is not None
        same = before is not None and before.stream == step.stream
        goes_on = before is not None and same and before.place == step.place
        lines.add_row("" if same else escape(step.stream), "" if goes_on else step.place, *cells(step))
    return lines


def cells(step: Step) -> list[str]:
    """Nodes, frames, times, bound and verdict."""
    seen = step.times_ns is not None or step.is_whole
    times = [us(None if step.times_ns is None else step.times_ns[key]) for key in QUANTILES]
    verdict = "ok" if step.ok else "not met"
    frames = f"{step.frames}/{step.of}" if seen else NOTHING
    return [step.nodes, frames, *times, us(step.bound_ns), verdict if seen else "not seen"]


def show(sides: Sequence[Side], found: Sequence[Step], console: Console, folder: str) -> None:
    """The table, what each run warns of, and the verdict."""
    first = sides[0].summary
    said = f"{first['title']}: {lasting(first['duration_ns'])} on {', '.join(side.nodes for side in sides)} nodes"
    say(console, f"[italic]{escape(said)}[/]")
    print_whole(table(found), console)
    for side in sides:
        for warning in side.summary["warnings"]:
            say(console, f"[yellow]warning[/] {side.nodes}: {escape(warning)}")
    for side in sides:
        met = "[bold green]every requirement met[/]" if side.summary["ok"] else "[bold red]a requirement was not met[/]"
        say(console, f"{side.nodes}: {met}")
    say(console, f"page: {escape(folder)}/report.html")


def as_page(sides: Sequence[Side], found: Sequence[Step]) -> str:
    """One HTML file that needs no network; it links to the reports of the runs beside it."""
    first = sides[0].summary
    names = most_urgent(first, _MOST_STREAMS)
    pictures = [_of_steps([step for step in found if step.stream in names]), *_distributions(sides, names)]
    cards = [
        page.card(
            side.nodes,
            f"{sum(s['delivered'] for s in side.summary['streams'].values()):,} frames arrived",
            side.summary["ok"],
        )
        for side in sides
    ]
    return page.render(
        "side_by_side.html",
        [(f"plot-{each.id}", each.figure) for each in pictures],
        title=first["title"],
        ok=all(side.summary["ok"] for side in sides),
        cards=cards,
        sides=[{"nodes": side.nodes, "warnings": side.summary["warnings"]} for side in sides],
        rows=[(step, cells(step)) for step in found],
        pictures_shown=pictures,
    )


def _of_steps(found: Sequence[Step]) -> page.Picture:
    """Least, median and greatest time of each step."""
    figure = go.Figure()
    places = list(dict.fromkeys((step.stream, step.place) for step in found))
    kinds = list(dict.fromkeys(step.nodes for step in found))
    for number, nodes in enumerate(kinds):
        own = [step for step in found if step.nodes == nodes and step.times_ns is not None]
        heights = [places.index((step.stream, step.place)) + 0.16 * (number - (len(kinds) - 1) / 2) for step in own]
        times = [_us(step.times_ns or {}) for step in own]
        middle = [each["p50"] for each in times]
        figure.add_trace(
            go.Scatter(
                x=middle,
                y=heights,
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [each["max"] - each["p50"] for each in times],
                    "arrayminus": [each["p50"] - each["min"] for each in times],
                },
                mode="markers",
                name=nodes,
                marker={"color": _COLOR[nodes], "size": 9},
                hovertemplate="%{x:.3f} us",
            )
        )
    axes(figure, "time / us", "", log_x=True, height=160 + 22 * len(kinds) * len(places))
    labels = [f"{stream}, {place}" for stream, place in places]
    figure.update_yaxes(tickvals=list(range(len(places))), ticktext=labels, autorange="reversed", automargin=True)
    note = (
        "Points: medians; whiskers: from the least to the greatest. A step through a bridge is from a frame's last "
        "bit in to its first bit out."
    )
    return page.Picture("Steps", note, figure)


def _us(times_ns: Mapping[str, float]) -> dict[str, float]:
    return {key: value / 1000 for key, value in times_ns.items()}


def _distributions(sides: Sequence[Side], names: Sequence[str]) -> list[page.Picture]:
    arrived = {side.nodes: latency.delivered(side.view, side.summary) for side in sides}
    found = []
    for name in names:
        figure = go.Figure()
        for nodes, frames in arrived.items():
            values: Any = frames.filter(frames["stream"].cast(str) == name)["latency_us"].to_numpy()
            if values.size:
                figure.add_trace(
                    go.Scatter(
                        x=percentiles(values, _PARTS).round(3),
                        y=100 * _PARTS,
                        mode="lines",
                        name=nodes,
                        line={"color": _COLOR[nodes], "width": 2, "shape": "hv"},
                        hovertemplate="%{y:.1f} % up to %{x:.3f} us",
                    )
                )
        axes(figure, "latency / us", "frames that took no longer / %", log_x=True)
        found.append(page.Picture(f"Latency of {name}", "From talker to listener, of each kind of nodes.", figure))
    return found
