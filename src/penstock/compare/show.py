# SPDX-License-Identifier: Apache-2.0
"""A comparison on a terminal, for programs, and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.command.tables import NOTHING, print_whole, say
from penstock.compare.judge import Compared, Comparison
from penstock.report import page
from penstock.report.style import COLORS, axes
from penstock.table import us
from penstock.words import lasting

_MOST_ROWS = 40
_MOST_REASONS = 20
_ORDER = ("worse", "gone", "changed", "better", "new", "same")
_STYLE = {"worse": "red", "gone": "red", "better": "green", "changed": "yellow", "new": "yellow", "same": "dim"}


def table(found: Comparison, console: Console) -> None:
    """A line per stream, what is worse first, and what changed in words; fits 80 columns."""
    for said in found.differences:
        say(console, f"[yellow]not the same[/] {escape(said)}")
    lines = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    lines.add_column("stream", style="bold", overflow="fold")
    for column in ("p99\nus", "\nthen", "max\nus", "\nthen", "late or\ndropped", "\nthen", "change"):
        lines.add_column(column, justify="right")
    streams = ordered(found)
    for each in streams[:_MOST_ROWS]:
        style = _STYLE[each.change]
        lines.add_row(escape(each.name), *cells(each), f"[{style}]{each.change}[/]")
    print_whole(lines, console)
    if len(streams) > _MOST_ROWS:
        say(console, f"{_MOST_ROWS} of {len(streams):,} streams; all are in the page")
    told = [each for each in streams if each.change != "same"]
    for each in told[:_MOST_REASONS]:
        for reason in each.why:
            say(console, f"[bold]{escape(each.name)}[/]: {escape(reason)}")
    if len(told) > _MOST_REASONS:
        say(console, f"and {len(told) - _MOST_REASONS:,} streams more; all are in the page")
    say(console, verdict(found))


def verdict(found: Comparison) -> str:
    """In one line."""
    counts = ", ".join(f"{n:,} {change}" for change in _ORDER if (n := _count(found, change)))
    return f"{counts or 'no streams'}; a latency may grow by {found.tolerance}"


def _count(found: Comparison, change: str) -> int:
    return sum(each.change == change for each in found.streams)


def ordered(found: Comparison) -> list[Compared]:
    """What is worse first."""
    return sorted(found.streams, key=lambda each: _ORDER.index(each.change))


def cells(each: Compared) -> list[str]:
    """p99, largest latency and frames late or dropped, of the first run and of the second."""

    def of(run: Mapping[str, Any] | None) -> tuple[str, str, str]:
        if run is None:
            return NOTHING, NOTHING, NOTHING
        lost = run["deadline_missed"] or sum(run["dropped"].values())
        return us(run["latency_ns"]["p99"]), us(run["latency_ns"]["max"]), f"{lost:,}"

    return [text for pair in zip(of(each.before), of(each.after), strict=True) for text in pair]


def as_json(found: Comparison, ok: bool) -> dict[str, Any]:
    """One object: `rows` as every comparing command has them, and `streams` with what changed of each."""
    rows = [
        {
            "id": f"{each.name}/{value.key}",
            "quantity": value.quantity,
            "unit": value.unit,
            "before": value.before,
            "measured": value.after,
            "goal": value.limit,
            "ok": not value.worse,
        }
        for each in found.streams
        for value in each.values
    ]
    return {
        "ok": ok,
        "tolerance": str(found.tolerance),
        "differences": list(found.differences),
        "streams": {each.name: {"change": each.change, "why": each.why} for each in found.streams},
        "rows": rows,
    }


def as_page(found: Comparison, names: tuple[str, str]) -> str:
    """One HTML file that needs no network."""
    streams = ordered(found)
    shown = [each for each in streams if each.before and each.after][:_MOST_ROWS]
    pictures = [_latencies(shown)] if shown else []
    cards = [
        page.card(f"{name}: {run['title']}", f"{lasting(run['duration_ns'])} on {run['nodes']} nodes", bool(run["ok"]))
        for name, run in zip(names, (found.before, found.after), strict=True)
    ]
    return page.render(
        "comparison.html",
        [(f"plot-{each.id}", each.figure) for each in pictures],
        title=f"{names[0]} and {names[1]}",
        found=found,
        verdict=verdict(found),
        cards=cards,
        rows=[(each, cells(each)) for each in streams[: 10 * _MOST_ROWS]],
        left_out=max(len(streams) - 10 * _MOST_ROWS, 0),
        pictures_shown=pictures,
    )


def _latencies(streams: list[Compared]) -> page.Picture:
    figure = go.Figure()
    rows = list(range(len(streams)))
    for number, (which, symbol) in enumerate((("before", "circle-open"), ("after", "diamond"))):
        latency = [getattr(each, which)["latency_ns"] for each in streams]
        for key, size in (("p50", 7), ("max", 11)):
            figure.add_trace(
                go.Scatter(
                    x=[None if of[key] is None else of[key] / 1000 for of in latency],
                    y=rows,
                    mode="markers",
                    name=f"{key}, {('first', 'second')[number]} run",
                    marker={"symbol": symbol, "size": size, "color": COLORS[number], "line": {"width": 2}},
                    hovertemplate="%{x:.3f} us",
                )
            )
    axes(figure, "latency / us", "", log_x=True, height=160 + 26 * len(rows))
    labels = [each.name for each in streams]
    figure.update_yaxes(tickvals=rows, ticktext=labels, autorange="reversed", automargin=True)
    return page.Picture("Latency", "Median and largest latency of each stream, of both runs.", figure)
