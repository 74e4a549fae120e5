# SPDX-License-Identifier: Apache-2.0
"""The report of a reproduction: one HTML file that needs nothing else, in the style of a run's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.report import page
from penstock.reproduce.result import Compared, Reproduction, Section
from penstock.reproduce.show import laboratory, number

_HEADS = ("quantity", "unit", "paper", "theory", "bound", "ours")


def render(result: Reproduction) -> str:
    """The whole page."""
    in_laboratory = result.laboratory is not None
    sections = [_section(section, place, in_laboratory) for place, section in enumerate(result.sections)]
    return page.render(
        "reproduction.html",
        [(name, picture.figure) for section in sections for name, picture in section["pictures"]],
        title=result.paper.name,
        result=result,
        cards=_cards(result),
        heads=(*_HEADS, *(["laboratory"] * in_laboratory)),
        sections=sections,
    )


def _cards(result: Reproduction) -> list[dict[str, str]]:
    cards = []
    for section in result.sections:
        met = sum(row.ok for row in section.rows)
        text = f"{section.experiment.title}: {met} of {len(section.rows)} rows met"
        cards.append(page.card(section.experiment.place, text, section.ok))
    if len(result.nodes) > 1:
        apart = sum(not row.agree for row in result.rows)
        text = f"{len(result.rows) - apart:,} of {len(result.rows):,} rows are the same"
        cards.append(page.card("model and rtl", text, not apart))
    return cards


def _section(section: Section, place: int, in_laboratory: bool) -> dict[str, Any]:
    experiment = section.experiment
    first = [row for row in section.rows if row.row.key or not row.ok]
    rest = [row for row in section.rows if row not in first]
    return {
        "title": f"{experiment.place}: {experiment.title}",
        "pictures": [(f"plot{place}_{index}", picture) for index, picture in enumerate(section.pictures)],
        "first": _rows(first, in_laboratory),
        "rest": _rows(rest, in_laboratory),
    }


def _rows(rows: Sequence[Compared], in_laboratory: bool) -> list[dict[str, Any]]:
    return [_row(row, in_laboratory) for row in rows]


def _row(compared: Compared, in_laboratory: bool) -> dict[str, Any]:
    row = compared.row
    ours = number(row.measured)
    if not compared.agree:
        ours = ", ".join(f"{kind} {number(value)}" for kind, value in compared.by_nodes.items())
    return {
        "quantity": row.quantity,
        "id": row.id,
        "cells": [
            row.unit,
            *(number(value) for value in (row.paper, row.theory, row.bound)),
            ours,
            *([laboratory(compared)] if in_laboratory else []),
        ],
        "required": compared.requirement or ("" if compared.agree else "model and rtl agree"),
        "ok": compared.ok,
    }
