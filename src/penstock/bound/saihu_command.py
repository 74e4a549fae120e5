# SPDX-License-Identifier: Apache-2.0
"""`penstock bound --saihu FILE`, and `penstock bound` of a network of Saihu's."""

from __future__ import annotations

import json
from pathlib import Path

from rich.markup import escape

from penstock.bound.saihu import export, judge
from penstock.command.answer import answer
from penstock.command.console import output
from penstock.command.tables import new_table, print_whole, say
from penstock.scenario.network import Network


def run_export(network: Network, file: Path, as_json: bool) -> None:
    """Writes the file; tells of streams that are not in it."""
    found = export(network)
    file.write_text(json.dumps(found.network, indent=1) + "\n", encoding="utf-8")
    if not as_json:
        for name in found.without:
            say(output(), f"not in {escape(str(file))}: {escape(name)}, which waits in a queue without a bound")


def run_judge(file: Path, as_json: bool) -> bool:
    """Prints the delay of each flow at each of its servers; whether each has a bound."""
    found = judge(file)
    totals = {name: found.total_ps(name) for name in found.delays}
    ok = None not in totals.values()
    if as_json:
        rows = [
            {
                "id": f"{name}/{server}",
                "quantity": "delay",
                "unit": "ns",
                "bound": ps and ps / 1000,
                "ok": ps is not None,
            }
            for name, delays in found.delays.items()
            for server, ps in delays.items()
        ]
        answer({"ok": ok, "rows": rows})
        return ok
    console = output()
    table = new_table(["flow", "server"], ["delay\nus"])
    for name, delays in found.delays.items():
        for server, ps in delays.items():
            table.add_row(escape(name), escape(server), _us(ps))
        table.add_row(escape(name), "in all", _us(totals[name]))
    print_whole(table, console)
    if not ok:
        say(console, "[red]a flow has no bound: more comes to a server than it serves, or waits grow in a circle[/]")
    return ok


def _us(ps: int | None) -> str:
    return "none" if ps is None else f"{ps / 1e6:.3f}"
