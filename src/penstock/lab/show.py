# SPDX-License-Identifier: Apache-2.0
"""What `penstock doctor` found, on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.lab.doctor import Finding, can_run_lab

_SIGNS = {"yes": "[green]yes[/]", "part": "[yellow]part[/]", "no": "[red]no[/]"}


def show(findings: list[Finding], console: Console) -> None:
    """A table, and whether the laboratory can run."""
    table = Table(box=None, pad_edge=False)
    for name in ("", "", "", "found", "what to do"):
        table.add_column(name, overflow="fold")
    group = ""
    for finding in findings:
        head = "" if finding.group == group else finding.group
        group = finding.group
        row = (f"[bold]{escape(head)}[/]", escape(finding.what), _SIGNS[finding.state])
        table.add_row(*row, escape(finding.detail), escape(finding.remedy))
    console.print(table)
    can = can_run_lab(findings)
    console.print(
        "the laboratory can run: ./penstock lab scenarios/lab" if can else "the laboratory cannot run here yet"
    )
