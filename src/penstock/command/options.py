# SPDX-License-Identifier: Apache-2.0
"""Options and arguments that several commands have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from penstock.command.answer import Format
from penstock.system_packages import YES


def _agree(value: bool) -> bool:
    if value:
        os.environ[YES] = "1"  # for the programs that are started, too
    return value


ScenarioArgument = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A folder with scenario.toml, or one file.")]
FormatOption = Annotated[
    Format,
    typer.Option("--format", help="For people, programs, a workflow of GitHub, or what reads the XML of JUnit."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="Processes; one per core if not given.")
]
YesOption = Annotated[
    bool,
    typer.Option("--yes", callback=_agree, help="Install missing programs without asking, as PENSTOCK_YES=1 does."),
]
UpdateDocsOption = Annotated[bool, typer.Option("--update-docs", help="Put the table into the page of docs.")]
