# SPDX-License-Identifier: Apache-2.0
"""`penstock nic`: the network card behind Linux's own driver."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.command.answer import answer
from penstock.command.console import output, say, tell
from penstock.command.ending import end, interruptible
from penstock.command.options import JsonOption
from penstock.errors import InputError

app = typer.Typer(no_args_is_help=True, help="A network card whose queues have time slots, behind Linux's own driver.")


@app.callback()
def _group() -> None:
    pass


@app.command()
def linux(
    rtl: Annotated[bool, typer.Option("--rtl", help="The card in hardware, Verilated, in place of its model.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Start a guest with the card, and see what its kernel does: queues by priority, turns, time slots."""
    from penstock.command.tables import new_table, print_whole
    from penstock.nic.linux import run
    from penstock.reproduce.show import number

    with interruptible():
        rows = run(lambda what: tell(f"penstock nic: {what}"), rtl=rtl)
    ok = all(row.ok for row in rows)
    if as_json:
        said = ("id", "quantity", "unit", "measured", "theory", "ok")
        answer({"ok": ok, "rows": [{name: getattr(row, name) for name in said} for row in rows]})
    else:
        table = new_table(["", "unit"], ["theory", "seen", ""])
        for row in rows:
            met = "" if row.requirement is None else "met" if row.ok else "missed"
            table.add_row(row.quantity, row.unit, number(row.theory), number(row.measured), met)
        print_whole(table, output())
    end(ok)


@app.command()
def diff(
    seed: Annotated[int, typer.Option(min=0, help="Of the first scenario; the others have those after it.")] = 1,
    scenarios: Annotated[int, typer.Option(min=1, help="Scenarios.")] = 100,
    pairs: Annotated[int, typer.Option(min=1, max=16, help="Queue pairs of each port of the card.")] = 4,
    ports: Annotated[int, typer.Option(min=1, max=4, help="Ports of the card.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Draw rings, frames and settings, and hold the card's hardware against its model, to the cycle."""
    from penstock.nic.differ import differ

    with interruptible():
        found = differ(seed, scenarios, pairs, ports)
    ok = not found["differing"]
    if as_json:
        rows = [{"id": "differ", "quantity": "scenarios that differ", "unit": "", "measured": len(found["differing"])}]
        answer({"ok": ok, "rows": [{**row, "goal": 0, "ok": ok} for row in rows], **found})
    else:
        for line in found["said"]:
            say(line)
        compared = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in found["compared"].items())
        say(f"{scenarios} scenarios ({compared}): {len(found['differing'])} differ")
    end(ok)


@app.command()
def bench(
    ports: Annotated[int, typer.Option(min=1, max=4, help="Ports of the card.")] = 1,
    memory_latency: Annotated[
        str, typer.Option(help="Until the host's memory answers, in multiples of 8ns.")
    ] = "256ns",
    as_json: JsonOption = False,
) -> None:
    """Fill all ports of the card in hardware, in both directions: what it loses, and what it sends of its line."""
    from penstock.nic.both_ways import CYCLE_PS, MOST_LATENCY_PS, both_ways
    from penstock.scenario.units import TIME, Quantity, read_option

    latency_ps = read_option(Quantity(TIME, 0, MOST_LATENCY_PS), memory_latency, "--memory-latency")
    if latency_ps % CYCLE_PS:
        raise InputError(f"{memory_latency} is no whole cycle", allowed="multiples of 8ns", file="--memory-latency")
    with interruptible():
        rows = both_ways(ports, latency_ps // CYCLE_PS)
    ok = all(row["ok"] for row in rows)
    if as_json:
        answer({"ok": ok, "rows": rows})
    else:
        for row in rows:
            line = f"{row['quantity']}: {row['measured']} {row['unit']}, goal {row['goal']}"
            say(line + ("" if row["ok"] else " NOT MET"))
    end(ok)


@app.command()
def fuzz(
    seed: Annotated[int, typer.Option(min=0, help="Of the first guest; the others have those after it.")] = 1,
    guests: Annotated[int, typer.Option(min=1, help="Guests.")] = 100,
    rtl: Annotated[bool, typer.Option("--rtl", help="The card in hardware, Verilated, in place of its model.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Let guests that mean harm do what they like with a card: a queue that behaves has to get what is its own."""
    from penstock.nic.differ import hostile

    with interruptible():
        found = hostile(seed, guests, rtl=rtl)
    ok = not found["harmed"]
    if as_json:
        row = {"id": "fuzz", "quantity": "guests that did harm", "unit": "", "measured": len(found["harmed"])}
        answer({"ok": ok, "rows": [{**row, "goal": 0, "ok": ok}], **found})
    else:
        for line in found["said"]:
            say(line)
        survived = ", ".join(f"{count} {name}" for name, count in found["survived"].items())
        say(f"{guests} guests ({survived}): {len(found['harmed'])} did harm")
    end(ok)
