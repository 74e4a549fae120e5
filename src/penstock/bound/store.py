# SPDX-License-Identifier: Apache-2.0
"""`penstock bound --store`: what each queue, class and bridge holds at most, against what the scenario gives it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.bound.proposal import ClassRoom, Room, rooms
from penstock.bound.solution import Backlog
from penstock.command.answer import answer
from penstock.command.console import output
from penstock.command.tables import NOTHING, new_table, print_whole, say
from penstock.scenario.limits import CELL_BYTES
from penstock.scenario.network import Network


def run_store(network: Network, as_json: bool) -> bool:
    """The command; whether there is room for all that may come, so that no frame is lost for want of it."""
    found = rooms(network)
    ok = all(room.fits for room in found)
    rows = [row for room in found for row in _rows(room)]
    if as_json:
        answer({"ok": ok, "rows": rows, "proposal": {room.bridge: _proposal(room) for room in found}})
        return ok
    console = output()
    table = new_table(["queue, class or store"], ["bytes", "frames", "cells", "has", ""])
    for row in rows:
        said = "[green]fits[/]" if row["ok"] else "[red]no limit[/]" if row["bound"] is None else "[red]too small[/]"
        numbers = (row.get("bytes"), row.get("frames"), row["bound"], row["goal"])
        shown = [NOTHING if number is None else f"{number:,}" for number in numbers]
        table.add_row(f"{row['id']} ({row['quantity']})", *shown, said)
    print_whole(table, console)
    for room in found:
        for line in _said(room):
            say(console, line)
    say(console, "there is room for all that may come" if ok else "[bold red]frames may be lost[/]")
    return ok


def _rows(room: Room) -> Iterator[dict[str, Any]]:
    for queue in room.queues:
        name = f"{queue.place[0]}.{queue.place[1]}/{queue.traffic_class}"
        yield _row(name, "queue", queue, queue.cells, queue.limit_cells)
    for of in room.classes:
        yield _row(f"{room.bridge}/{of.traffic_class}", "class", of, of.cells, of.class_limit_cells)
    yield _row(room.bridge, "store", None, room.needed_cells, room.store_cells)


def _row(name: str, quantity: str, held: Backlog | ClassRoom | None, cells: int | None, has: int) -> dict[str, Any]:
    row: dict[str, Any] = {"id": name, "quantity": quantity, "unit": "cells", "bound": cells, "goal": has}
    if held is not None:
        row |= {"bytes": held.bytes, "frames": held.frames}
    return row | {"ok": cells is not None and cells <= has}


def _proposal(room: Room) -> dict[str, Any]:
    """The keys of a bridge with which it loses nothing."""
    limits = {str(number): {"bytes": f"{cells * CELL_BYTES}B"} for number, cells in room.queue_limits.items()}
    found: dict[str, Any] = {"classes": {number: {"queue_limit": limit} for number, limit in limits.items()}}
    if room.needed_cells is not None:
        found["store"] = f"{room.needed_cells * CELL_BYTES}B"
    return found


def _said(room: Room) -> Iterator[str]:
    for of in room.classes:
        if of.queue_cells is not None:
            limit = f'queue_limit = {{ bytes = "{of.queue_cells * CELL_BYTES}B" }}'
            few = "" if of.queue_cells <= of.queue_limit_cells else f", now {of.queue_limit_cells:,} cells"
            yield f"{room.bridge}: classes.{of.traffic_class}.{limit} ({of.queue_cells:,} cells{few}) loses nothing"
    if room.needed_cells is not None:
        few = "" if room.needed_cells <= room.store_cells else f", now {room.store_cells:,} cells"
        size = f'store = "{room.needed_cells * CELL_BYTES}B"'
        yield f"{room.bridge}: with these {size} ({room.needed_cells:,} cells{few}) loses nothing"
