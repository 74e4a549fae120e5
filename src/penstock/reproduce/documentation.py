# SPDX-License-Identifier: Apache-2.0
"""The table of a paper's page in docs/papers: the rows that stand for their experiments."""

from __future__ import annotations

from pathlib import Path

from penstock import data
from penstock.errors import InputError
from penstock.reproduce.result import Reproduction
from penstock.reproduce.show import laboratory, number

_BEGIN, _END = "<!-- begin rows -->", "<!-- end rows -->"


def update(result: Reproduction, page: Path | None = None) -> None:
    """Replaces what stands between the marks. Raises InputError where there are none."""
    page = page or _page(result.paper.name)
    before, _, after = _parts(page)
    page.write_text(f"{before}{_BEGIN}\n{table(result)}\n{_END}{after}", encoding="utf-8")


def check(name: str, laboratory: bool) -> None:
    """Raises InputError if a page cannot take the table of a run, or would lose what the laboratory measured."""
    _, rows, _ = _parts(page := _page(name))
    if "| laboratory |" in rows and not laboratory:
        what = f"{page.name} has a column of what the laboratory measured, which would be gone"
        raise InputError(what, allowed="--update-docs with --laboratory", file="--update-docs")


def _page(name: str) -> Path:
    return data.page(f"papers/{name}.md")


def _parts(page: Path) -> tuple[str, str, str]:
    """What is before, between and after the marks."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    before, begin, rest = text.partition(_BEGIN)
    rows, end, after = rest.partition(_END)
    if not begin or not end:
        raise InputError("has no place for the table", allowed=f"a page with {_BEGIN} and {_END}", file=page)
    return before, rows, after


def table(result: Reproduction) -> str:
    """In Markdown."""
    in_laboratory = result.laboratory is not None
    lines = [
        f"| | quantity | unit | paper | theory | bound | ours |{' laboratory |' * in_laboratory} |",
        f"|---|---|---|--:|--:|--:|--:|{'--:|' * in_laboratory}---|",
    ]
    for section in result.sections:
        place = section.experiment.place
        for compared in (each for each in section.rows if each.row.key or not each.ok):
            row = compared.row
            values = [number(value) for value in (row.paper, row.theory, row.bound, row.measured)]
            if in_laboratory:
                values.append(laboratory(compared))
            mark = "" if compared.requirement is None else "met" if compared.ok else "**not met**"
            lines.append(f"| {place} | {row.quantity} | {row.unit} | {' | '.join(values)} | {mark} |")
            place = ""
    met = sum(row.ok for row in result.rows)
    lines += ["", f"{met} of {len(result.rows)} rows met, on {' and '.join(result.nodes)}."]
    if result.laboratory is not None:
        lines.append(f"Laboratory: {result.laboratory.text}.")
    return "\n".join(lines)
