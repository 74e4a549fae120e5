# SPDX-License-Identifier: Apache-2.0
"""What `penstock doctor` found, on a terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.command.tables import print_whole, say
from penstock.lab.doctor import Finding, can_run_lab

_SIGNS = {"yes": "[green]yes[/]", "part": "[yellow]part[/]", "no": "[red]no[/]"}


def show(findings: list[Finding], console: Console) -> None:
    """A table below each group's name, and whether the laboratory can run."""
    longest = max(len(finding.what) for finding in findings)
    for group, members in groupby(findings, lambda finding: finding.group):
        say(console, f"[bold]{escape(group)}[/]")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=2 + longest)
        table.add_column(width=len("part"))
        table.add_column(overflow="fold")
        for finding in members:
            remedy = f"\n[cyan]->[/] {escape(finding.remedy)}" if finding.remedy else ""
            table.add_row(f"  {escape(finding.what)}", _SIGNS[finding.state], escape(finding.detail) + remedy)
        print_whole(table, console)
    can = can_run_lab(findings)
    console.print(
        "the laboratory can run: ./penstock lab scenarios/lab" if can else "the laboratory cannot run here yet"
    )
