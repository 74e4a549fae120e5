# SPDX-License-Identifier: Apache-2.0
"""Lays out a run as one HTML file: verdict, table, bound, pictures. Everything is read from summary and trace."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import plotly.io  # type: ignore[import-untyped]
import polars as pl
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

from penstock.journeys import View
from penstock.report import figures, punctuality
from penstock.scenario.network import Network
from penstock.scenario.units import show_rate
from penstock.table import NOTHING, drops, most_urgent, others, us
from penstock.trace import last_time_ps
from penstock.version import __version__

_MOST_ROWS = 40
_MOST_PORTS = 40
_MOST_TERMS = 8  # in sight
_CONFIG = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}


def part_of(file: Path, rows: int) -> pl.DataFrame:
    """The beginning of a trace that is too long for pictures of all of it, in the order of time."""
    return pl.scan_parquet(file).head(rows).collect().sort("time_ps", "frame_id", maintain_order=True)


def render(network: Network, view: View | None, summary: dict[str, Any]) -> str:
    """The report of a run; without a trace, or with its beginning, it says so."""
    names = figures.shown(summary)
    colors = figures.colors(names)
    pictures = figures.all_figures(network, view, summary, colors)
    limits = _limits(None if view is None else view.trace, summary, len(names))
    sections = []
    for number, (title, note, figure) in enumerate(pictures):
        # plotly writes JSON that is safe in a script element.
        data = plotly.io.to_json(figure, validate=False).replace("</", "<\\/")
        sections.append(
            f'<section><h2>{escape(title)}</h2><p class="note">{escape(note)}</p>'
            f'<div class="plot" id="plot{number}"></div>'
            f"<script>draw('plot{number}', {data});</script></section>"
        )
    style = (files("penstock.report") / "style.css").read_text(encoding="utf-8")
    script = f"const CONFIG = {json.dumps(_CONFIG)};\n" + _DRAW
    return "\n".join([
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(summary['title'])} | Penstock</title>",
        f"<style>{style}</style>",
        f"<script>{get_plotlyjs()}</script>",
        f"<script>{script}</script>",
        "</head><body><main>",
        _head(summary),
        _streams(summary, colors),
        punctuality.section(summary),
        _bounds(summary),
        _ports(summary),
        limits,
        *sections,
        _foot(network, summary),
        "</main></body></html>",
        "",
    ])  # fmt: skip


_DRAW = """
function draw(id, figure) { Plotly.newPlot(id, figure.data, figure.layout, CONFIG); }
"""


def _limits(trace: pl.DataFrame | None, summary: dict[str, Any], streams: int) -> str:
    """What the pictures do not show."""
    said = []
    rows = summary["simulation"].get("trace_rows", 0)
    if trace is None:
        said.append(
            "There are no pictures of frames: the trace was off or filtered. Statistics were counted during the run."
        )
    elif trace.height < rows:
        last_ps = last_time_ps(trace)
        said.append(
            f"The trace has {rows:,} rows. The pictures show its beginning, the first {last_ps / 1e9:,.3f} ms; "
            "statistics are of the whole run."
        )
    if summary["statistics"]["percentile_error"]:
        error = summary["statistics"]["percentile_error"]
        said.append(f"Percentiles of many values are off by up to {error:.1%}; all else is exact.")
    if streams < len(summary["streams"]):
        said.append(
            f"{streams} of {len(summary['streams']):,} streams are drawn: those nearest to their limits or the slowest."
        )
    return "".join(f'<p class="said">{escape(text)}</p>' for text in said)


def _head(summary: dict[str, Any]) -> str:
    cards = []
    if summary["partial"]:
        reached = summary["simulation"].get("end_ps", 0) / 1e9
        cards.append(_card("interrupted", f"after {reached:,.3f} ms of network time; all here is of that part", False))
    for name in figures.shown(summary):
        stream = summary["streams"][name]
        worst = us(stream["latency_ns"]["max"])
        beyond = f"{worst} us and {sum(stream['dropped'].values()):,} dropped, allowed"
        count = "some" if stream["deadline_missed"] is None else f"{stream['deadline_missed']:,}"
        missed = f"{count} frames late or dropped, allowed"
        for limit, ok, what, failure in (
            (stream["bound_ns"], stream["bound_ok"], "bound", beyond),
            (stream["deadline_ns"], stream["deadline_ok"], "deadline", missed),
        ):
            if limit is not None:
                cards.append(_card(f"{name}: {what}", f"{f'{worst} ≤' if ok else failure} {us(limit)} us", ok))
        if stream["bound"] and stream["bound_ns"] is None:
            cards.append(_card(f"{name}: bound", f"none: {stream['bound']['reason']}", None))
    kept = summary["conservation"]
    parts = " + ".join(f"{kept[what]:,} {what}" for what in ("delivered", "dropped", "inside"))
    text = f"{kept['created']:,} = {parts}"
    cards.append(_card("every frame accounted for", text, kept["ok"]))
    verdict = (
        "Interrupted"
        if summary["partial"]
        else "Every requirement met"
        if summary["ok"]
        else "A requirement was not met"
    )
    return (
        f'<header class="{"good" if summary["ok"] else "bad"}"><div class="verdict">{verdict}</div>'
        f"<h1>{escape(summary['title'])}</h1>"
        f"<p>{summary['duration_ns'] / 1e6:g} ms of network time, nodes: {escape(summary['nodes'])}</p></header>"
        f'<div class="cards">{"".join(cards)}</div>'
    )


def _card(title: str, text: str, ok: bool | None) -> str:
    kind, mark = {True: ("good", "✓"), False: ("bad", "✗"), None: ("open", NOTHING)}[ok]
    return f'<div class="card {kind}"><b>{mark} {escape(title)}</b><span>{escape(text)}</span></div>'


def _streams(summary: dict[str, Any], colors: dict[str, str]) -> str:
    heads = ("sent", "delivered", "inside", "dropped", "min", "mean", "p50", "p99", "max", "jitter", "interval",
             "bound", "deadline", "rate")  # fmt: skip
    rows = []
    names = most_urgent(summary, _MOST_ROWS)
    for name in names:
        stream = summary["streams"][name]
        latency = stream["latency_ns"]
        cells = [
            f"{stream['sent']:,}",
            f"{stream['delivered']:,}",
            f"{stream['inside']:,}",
            escape(drops(stream["dropped"])),
            *(us(latency[key]) for key in ("min", "mean", "p50", "p99", "max")),
            us(stream["jitter_ns"]),
            us(stream["interval_ns"]["mean"]),
            us(stream["bound_ns"]),
            us(stream["deadline_ns"]),
            NOTHING if stream["rate_bps"] is None else show_rate(stream["rate_bps"]),
        ]
        how = {"ats": "ATS" if stream["shaped"] else "not shaped", "cbs": "CBS", "strict": "not shaped"}
        kind = f"class {stream['traffic_class']}, {how[stream['selection']]}"
        route = f"{stream['from']} → {', '.join(stream['to'])}; {kind}"
        color = colors.get(name, "transparent")
        rows.append(
            f'<tr><th><i style="background:{color}"></i>{escape(name)}<small>{escape(route)}</small></th>'
            + "".join(f"<td>{c}</td>" for c in cells)
            + "</tr>"
        )
    return (
        "<section><h2>Streams</h2>"
        '<p class="note">Times in microseconds. Latency: from the first bit after the delimiter at the talker to the '
        "same bit at the listener. Jitter: largest less smallest latency. Interval: mean time between arrivals. Rate: "
        "at the listener, on the wire.</p>"
        '<div class="scroll"><table><thead><tr><th>stream</th>'
        + "".join(f"<th>{h}</th>" for h in heads)
        + f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{_note(others(summary, len(names)))}</section>"
    )


def _note(text: str | None) -> str:
    return f'<p class="note">{escape(text)}.</p>' if text else ""


def _ports(summary: dict[str, Any]) -> str:
    """What each egress port did, and each bridge on the way of the streams shown."""
    ports = summary["ports"]
    if not ports or len(summary["bridges"]) < 2:
        return ""
    most = sorted(ports, key=lambda row: (row["dropped"], row["passing_ns"]["max"] or 0.0), reverse=True)[:_MOST_PORTS]
    parts = [
        "<section><h2>Bridges on the way</h2>",
        '<p class="note">From a frame\'s last bit in to its first bit out, in microseconds; below zero where a bridge '
        "cuts through. Queued: the most that waited for the port, in bytes.</p>",
        _passing(most, with_queue=True),
    ]
    if len(most) < len(ports):
        parts.append(
            f'<p class="note">{len(most)} of {len(ports):,} ports, by drops and time; all are in summary.json.</p>'
        )
    for name in figures.shown(summary):
        if summary["streams"][name]["hops"]:
            hops = _passing(summary["streams"][name]["hops"], with_queue=False)
            parts.append(f"<details><summary>{escape(name)}</summary>{hops}</details>")
    return "".join(parts) + "</section>"


def _passing(rows: list[dict[str, Any]], with_queue: bool) -> str:
    keys = ("min", "mean", "p50", "p99", "max")
    heads = ["port", "frames", "dropped", *keys, *(["queued"] if with_queue else [])]
    lines = []
    for row in rows:
        cells = [f"{row['frames']:,}", f"{row['dropped']:,}", *(us(row["passing_ns"][key]) for key in keys)]
        if with_queue:
            cells.append(f"{row['queued_bytes_max']:,}")
        place = f"{escape(row['bridge'])} port {row['port']}"
        lines.append(f"<tr><th>{place}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{h}</th>" for h in heads)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _bounds(summary: dict[str, Any]) -> str:
    parts = []
    for name in figures.shown(summary):
        bound = summary["streams"][name]["bound"]
        stream = summary["streams"][name]
        if bound is None:
            continue
        rows = "".join(
            f"<tr><th>{escape(t['name'])}<small>{escape(t['detail'])}</small></th><td>{us(t['ns'])}</td></tr>"
            for t in bound["terms"]
        )
        if bound["terms"]:
            rows += f'<tr class="sum"><th>bound</th><td>{us(bound["total_ns"])}</td></tr>'
            rows += f"<tr><th>measured at most</th><td>{us(stream['latency_ns']['max'])}</td></tr>"
        reason = f'<p class="open">No bound: {escape(bound["reason"])}.</p>' if bound["reason"] else ""
        said = f'<p class="note">{escape(stream["conformance"])}.</p>' if stream["conformance"] else ""
        table = f'<table class="narrow"><tbody>{rows}</tbody></table>'
        if len(bound["terms"]) > _MOST_TERMS:
            total = f"{us(bound['total_ns'])} us, measured at most {us(stream['latency_ns']['max'])} us"
            table = f"<details><summary>{total}</summary>{table}</details>"
        parts.append(f"<h3>{escape(name)}</h3>{reason}{said}{table}")
    if not parts:
        return ""
    note = (
        "What a shaped stream may take at most, term by term, in microseconds. Contention: equation (1), "
        "(Σ b of higher and same classes - l_min + l_LP,max) / (R - Σ r of higher classes), lengths on the wire."
    )
    return f'<section><h2>Bound</h2><p class="note">{note}</p>{"".join(parts)}</section>'


def _foot(network: Network, summary: dict[str, Any]) -> str:
    facts = [f"Penstock {__version__}", f"scenario {network.file.name}"]
    for name, bridge in summary["bridges"].items() if len(summary["bridges"]) == 1 else ():
        for stream, ns in bridge["processing_ns"].items():
            facts.append(f"{name}: last bit in to first bit out in {ns:g} ns at least ({stream})")
    simulation = summary["simulation"]
    if "cycles_simulated" in simulation:
        facts.append(f"{simulation['cycles_simulated']:,} clock cycles simulated")
    if "cycles_jumped" in simulation:
        facts.append(f"{simulation['cycles_jumped']:,} idle ones jumped over")
    warnings = "".join(f"<p>{escape(w)}</p>" for w in summary["warnings"][:_MOST_ROWS])
    return f"<footer>{warnings}<p>{escape(' · '.join(facts))}</p></footer>"
