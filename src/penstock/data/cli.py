# SPDX-License-Identifier: Apache-2.0
"""`penstock scenarios`: those that come with Penstock."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from penstock import data
from penstock.command.console import output, say
from penstock.command.tables import print_whole

app = typer.Typer(help="The scenarios that come with Penstock; every command takes them by name.")


@app.callback(invoke_without_command=True)
def scenarios(context: typer.Context) -> None:
    """List the scenarios that come with Penstock: their names, as every command takes them, and titles."""
    if context.invoked_subcommand:
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(overflow="crop")  # a name can be copied whole
    table.add_column(overflow="fold")
    for name in data.scenario_names():
        values = tomllib.loads(data.scenario_file(data.SCENARIOS / name).read_text(encoding="utf-8"))
        table.add_row(escape(name), escape(values.get("title", "")))
    print_whole(table, output())


@app.command()
def copy(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of `penstock scenarios`.")],
    target: Annotated[Path | None, typer.Argument(metavar="DIR", help="What is made; NAME if not given.")] = None,
) -> None:
    """Copy a scenario with its captures, to be changed."""
    say(data.copy_scenario(name, target or Path(Path(name).name)))
