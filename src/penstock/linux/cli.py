# SPDX-License-Identifier: Apache-2.0
"""`penstock linux`: a scenario's host as qdiscs of Linux."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

app = typer.Typer(no_args_is_help=True, help="A host of the scenario as queueing disciplines of Linux.")

ScenarioArgument = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A folder with scenario.toml, or one file.")]
HostArgument = Annotated[str, typer.Argument(metavar="HOST", help="A station or bridge with a linux table.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.command()
def show(scenario: ScenarioArgument, host: HostArgument, as_json: JsonOption = False) -> None:
    """Print the exact tc, ip and ethtool commands, and how each stream finds its queue. Changes nothing."""
    from penstock.linux import show as shown
    from penstock.linux.plan import plan_host
    from penstock.scenario import load

    network = load(scenario)
    plan = plan_host(network, host)
    if as_json:
        typer.echo(json.dumps(shown.as_json(plan)))
    else:
        shown.show(plan, _console())


def _console() -> Console:
    """A console whose tables are never cut when a pipe reads them."""
    return Console() if sys.stdout.isatty() else Console(width=200, no_color=True)
