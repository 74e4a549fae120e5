# SPDX-License-Identifier: Apache-2.0
"""Lays out a run as one HTML file: verdict, table, bound, pictures. Everything is read from summary and trace."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

import plotly.io  # type: ignore[import-untyped]
import polars as pl
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

from penstock import __version__
from penstock.report import figures
from penstock.scenario.network import Network
from penstock.scenario.units import show_rate
from penstock.table import NOTHING, drops, us
from penstock.trace import journeys

_CONFIG = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}


def render(network: Network, trace: pl.DataFrame, summary: dict[str, Any]) -> str:
    """The report of a run."""
    steps = journeys(network, trace)
    colors = figures.colors(list(network.streams))
    pictures = figures.all_figures(network, steps, summary, colors)
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
        _bounds(summary),
        *sections,
        _foot(network, summary),
        "</main></body></html>",
        "",
    ])  # fmt: skip


_DRAW = """
function draw(id, figure) { Plotly.newPlot(id, figure.data, figure.layout, CONFIG); }
"""


def _head(summary: dict[str, Any]) -> str:
    cards = []
    for name, stream in summary["streams"].items():
        worst = us(stream["latency_ns"]["max"])
        beyond = f"{worst} us and {sum(stream['dropped'].values()):,} dropped, allowed"
        missed = f"{stream['deadline_missed']:,} frames late or dropped, allowed"
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
    verdict = "Every requirement met" if summary["ok"] else "A requirement was not met"
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
    for name, stream in summary["streams"].items():
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
        kind = f"class {stream['traffic_class']}, {'ATS' if stream['shaped'] else 'not shaped'}"
        route = f"{stream['from']} → {', '.join(stream['to'])}; {kind}"
        rows.append(
            f'<tr><th><i style="background:{colors[name]}"></i>{escape(name)}<small>{escape(route)}</small></th>'
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
        + f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _bounds(summary: dict[str, Any]) -> str:
    parts = []
    for name, stream in summary["streams"].items():
        bound = stream["bound"]
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
        parts.append(f'<h3>{escape(name)}</h3>{reason}{said}<table class="narrow"><tbody>{rows}</tbody></table>')
    if not parts:
        return ""
    note = (
        "What a shaped stream may take at most, term by term, in microseconds. Contention: equation (1), "
        "(Σ b of higher and same classes - l_min + l_LP,max) / (R - Σ r of higher classes), lengths on the wire."
    )
    return f'<section><h2>Bound</h2><p class="note">{note}</p>{"".join(parts)}</section>'


def _foot(network: Network, summary: dict[str, Any]) -> str:
    facts = [f"Penstock {__version__}", f"scenario {network.file.name}"]
    for name, bridge in summary["bridges"].items():
        for stream, ns in bridge["processing_ns"].items():
            facts.append(f"{name}: last bit in to first bit out in {ns:g} ns at least ({stream})")
    simulation = summary["simulation"]
    if "cycles_simulated" in simulation:
        facts.append(f"{simulation['cycles_simulated']:,} clock cycles simulated")
    if "cycles_jumped" in simulation:
        facts.append(f"{simulation['cycles_jumped']:,} idle ones jumped over")
    warnings = "".join(f"<p>{escape(w)}</p>" for w in summary["warnings"])
    return f"<footer>{warnings}<p>{escape(' · '.join(facts))}</p></footer>"
