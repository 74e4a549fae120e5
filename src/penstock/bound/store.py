# SPDX-License-Identifier: Apache-2.0
"""`penstock bound --store`: what each queue holds at most, against what the scenario gives it."""

from __future__ import annotations

from typing import Any

from penstock.bound.solution import Backlog, backlogs
from penstock.command.answer import answer
from penstock.command.console import output
from penstock.command.tables import NOTHING, new_table, print_whole, say
from penstock.scenario.network import Network


def run_store(network: Network, as_json: bool) -> bool:
    """The command; whether all queues have room for all that may come, so that no frame is lost in one of them."""
    found = backlogs(network)
    ok = all(each.fits for each in found)
    if as_json:
        answer({"ok": ok, "rows": [_row(each) for each in found]})
        return ok
    console = output()
    table = new_table(["queue"], ["class", "bytes", "frames", "cells", "queue_limit", ""])
    for each in found:
        said = "[green]fits[/]" if each.fits else "[red]no limit[/]" if each.cells is None else "[red]too small[/]"
        numbers = (each.bytes, each.frames, each.cells, each.limit_cells)
        shown = [NOTHING if number is None else f"{number:,}" for number in numbers]
        table.add_row(f"{each.place[0]}.{each.place[1]}", str(each.traffic_class), *shown, said)
    print_whole(table, console)
    least: dict[tuple[str, int], int] = {}
    for each in found:
        if each.cells is not None and not each.fits:
            key = each.place[0], each.traffic_class
            least[key] = max(least.get(key, 0), each.cells)
    for (bridge, number), cells in least.items():
        say(console, f"{bridge}: classes.{number}.queue_limit of {cells:,} cells or more loses nothing in its queues")
    say(console, "every queue has room for all that may come" if ok else "[bold red]frames may be lost[/]")
    return ok


def _row(each: Backlog) -> dict[str, Any]:
    return {
        "id": f"{each.place[0]}.{each.place[1]}/{each.traffic_class}",
        "quantity": "backlog",
        "unit": "cells",
        "bound": each.cells,
        "goal": each.limit_cells,
        "bytes": each.bytes,
        "frames": each.frames,
        "ok": each.fits,
    }
