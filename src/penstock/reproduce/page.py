# SPDX-License-Identifier: Apache-2.0
"""The report of a reproduction: one HTML file that needs nothing else, in the style of a run's report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files

import plotly.io  # type: ignore[import-untyped]
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

from penstock.reproduce.result import Compared, Reproduction, Section
from penstock.reproduce.show import laboratory, number
from penstock.version import __version__

_CONFIG = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}
_DRAW = "function draw(id, figure) { Plotly.newPlot(id, figure.data, figure.layout, CONFIG); }"
_STYLE = """
th.text, td.text { text-align: left; white-space: normal; }
td.met { color: var(--good); }
td.missed { color: var(--bad); }
"""


def render(result: Reproduction) -> str:
    """The whole page."""
    style = (files("penstock.report") / "style.css").read_text(encoding="utf-8")
    beside = result.laboratory is not None
    sections = [_section(section, number, beside) for number, section in enumerate(result.sections)]
    return "\n".join([
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(result.paper.name)} | Penstock</title>",
        f"<style>{style}{_STYLE}</style>",
        f"<script>{get_plotlyjs()}</script>",
        f"<script>const CONFIG = {json.dumps(_CONFIG)};\n{_DRAW}</script>",
        "</head><body><main>",
        _head(result),
        *sections,
        f"<footer><p>Penstock {__version__} · {len(result.runs)} runs · {len(result.rows)} rows</p></footer>",
        "</main></body></html>",
        "",
    ])  # fmt: skip


def _head(result: Reproduction) -> str:
    verdict = "Every requirement met" if result.ok else "A requirement was not met"
    cards = [_card(section) for section in result.sections]
    if len(result.nodes) > 1:
        apart = sum(not row.agree for row in result.rows)
        text = f"{len(result.rows) - apart:,} of {len(result.rows):,} rows are the same"
        cards.append(_plain_card("model and rtl", text, not apart))
    return (
        f'<header class="{"good" if result.ok else "bad"}"><div class="verdict">{verdict}</div>'
        f"<h1>{escape(result.paper.title)}</h1><p>{escape(result.paper.source)}; "
        f"nodes: {escape(' and '.join(result.nodes))}</p>{_laboratory(result)}</header>"
        f'<div class="cards">{"".join(cards)}</div>'
    )


def _laboratory(result: Reproduction) -> str:
    seen = result.laboratory
    return "" if seen is None else f"<p>Laboratory: {escape(seen.text)}.</p>"


def _card(section: Section) -> str:
    met = sum(row.ok for row in section.rows)
    text = f"{section.experiment.title}: {met} of {len(section.rows)} rows met"
    return _plain_card(section.experiment.place, text, section.ok)


def _plain_card(title: str, text: str, ok: bool) -> str:
    kind, mark = ("good", "✓") if ok else ("bad", "✗")
    return f'<div class="card {kind}"><b>{mark} {escape(title)}</b><span>{escape(text)}</span></div>'


def _section(section: Section, place: int, in_laboratory: bool) -> str:
    experiment = section.experiment
    parts = [f"<section><h2>{escape(experiment.place)}: {escape(experiment.title)}</h2>"]
    for number_, picture in enumerate(section.pictures):
        # plotly writes JSON that is safe in a script element.
        data = plotly.io.to_json(picture.figure, validate=False).replace("</", "<\\/")
        name = f"plot{place}_{number_}"
        parts.append(
            f'<h3>{escape(picture.title)}</h3><p class="note">{escape(picture.note)}</p>'
            f'<div class="plot" id="{name}"></div><script>draw(\'{name}\', {data});</script>'
        )
    first = [row for row in section.rows if row.row.key or not row.ok]
    rest = [row for row in section.rows if row not in first]
    if first:
        parts.append(_rows(first, in_laboratory))
    if rest:
        title = f"{len(rest)} more rows" if first else f"{len(rest)} rows"
        parts.append(f"<details><summary>{title}</summary>{_rows(rest, in_laboratory)}</details>")
    return "".join(parts) + "</section>"


def _rows(rows: Sequence[Compared], in_laboratory: bool) -> str:
    names = ("quantity", "unit", "paper", "theory", "bound", "ours", *(["laboratory"] * in_laboratory))
    head = "".join(f"<th>{name}</th>" for name in names) + '<th class="text">required</th><th></th>'
    body = "".join(_row(row, in_laboratory) for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(compared: Compared, in_laboratory: bool) -> str:
    row = compared.row
    ours = number(row.measured)
    if not compared.agree:
        ours = ", ".join(f"{kind} {number(value)}" for kind, value in compared.by_nodes.items())
    cells = [row.unit, *(number(value) for value in (row.paper, row.theory, row.bound)), ours]
    if in_laboratory:
        cells.append(laboratory(compared))
    kind, mark = ("met", "✓") if compared.ok else ("missed", "✗ not met")
    required = compared.requirement or ("" if compared.agree else "model and rtl agree")
    return (
        f"<tr><th>{escape(row.quantity)}<small>{escape(row.id)}</small></th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + f'<td class="text">{escape(required)}</td><td class="{kind}">{mark}</td></tr>'
    )
