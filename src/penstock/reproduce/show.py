# SPDX-License-Identifier: Apache-2.0
"""A reproduction on a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from penstock.command.ci import Case
from penstock.command.tables import NOTHING, new_table, print_whole, say
from penstock.errors import located
from penstock.reproduce.result import Compared, Reproduction
from penstock.words import count

_MOST_FAILURES = 40


def number(value: float | None) -> str:
    """Without a fraction where there is none; else to the nanosecond of microseconds."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"


def laboratory(compared: Compared) -> str:
    """What was measured on real Linux, with a bound where it has one of its own."""
    seen = compared.laboratory
    if seen is None:
        return NOTHING
    most = f" (at most {number(seen.bound)})" if seen.bound is not None else ""
    return number(seen.measured) + most


def cases(result: Reproduction) -> list[Case]:
    """Each row, for services that build and test."""
    return [
        Case(f"{result.paper.name}.{section.experiment.id}", row.row.quantity, [] if row.ok else [located(_why(row))])
        for section in result.sections
        for row in section.rows
    ]


def _why(compared: Compared) -> str:
    """What a row that is not met says."""
    row = compared.row
    known = {"paper": row.paper, "theory": row.theory, "bound": row.bound, **compared.by_nodes}
    said = ", ".join(f"{what} {number(value)} {row.unit}" for what, value in known.items() if value is not None)
    return f"{compared.requirement or 'not met'}: {said}"


def table(result: Reproduction, console: Console, folder: Path) -> None:
    """Prints the rows that stand for their experiments, and all that are not met."""
    say(console, f"[italic]{escape(result.paper.name)} on {' and '.join(result.nodes)}[/]")
    in_laboratory = result.laboratory is not None
    columns = ("unit", "paper", "theory", "bound", "ours", *(["laboratory"] * in_laboratory))
    found = new_table(["", "quantity"], [*columns, ""])
    for section in result.sections:
        for row in section.rows:
            if row.row.key or not row.ok:
                found.add_row(section.experiment.id, *_cells(row, in_laboratory))
        met = sum(row.ok for row in section.rows)
        mark = "[green]ok[/]" if section.ok else "[bold red]NOT MET[/]"
        found.add_row(
            section.experiment.id, f"[dim]{met} of {count(len(section.rows), 'row')} met[/]", *[""] * len(columns), mark
        )
        found.add_section()
    print_whole(found, console)
    apart = sum(not row.agree for row in result.rows)
    if len(result.nodes) > 1:
        console.print(f"model and rtl differ in {apart} of {count(len(result.rows), 'row')}", highlight=False)
    if result.laboratory is not None:
        console.print(f"laboratory: {escape(result.laboratory.text)}", highlight=False)
    verdict = "[bold green]every requirement met[/]" if result.ok else "[bold red]a requirement was not met[/]"
    console.print(f"{verdict}; results in {escape(str(folder))}/", highlight=False)


def _cells(compared: Compared, in_laboratory: bool) -> list[str]:
    row = compared.row
    ours = number(row.measured)
    if not compared.agree:
        ours = ", ".join(f"{kind} {number(value)}" for kind, value in compared.by_nodes.items())
    values = [number(value) for value in (row.paper, row.theory, row.bound)]
    values.append(ours)
    if in_laboratory:
        values.append(laboratory(compared))
    return [escape(row.quantity), row.unit, *values, "ok" if compared.ok else "[bold red]NOT MET[/]"]
