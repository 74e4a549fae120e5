# SPDX-License-Identifier: Apache-2.0
"""`penstock torus`: identities, ways and faults of networks of tiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.command.answer import answer
from penstock.command.console import output, say
from penstock.command.ending import end
from penstock.command.options import JsonOption, ScenarioArgument
from penstock.command.tables import new_table, print_whole
from penstock.errors import InputError
from penstock.words import count

if TYPE_CHECKING:
    from penstock.torus.of_scenario import Torus

app = typer.Typer(no_args_is_help=True, help="Networks of tiles: who nodes are, and how they reach each other.")

NodeHelp = "A node: TILE_ROW,TILE_COLUMN,ROW,COLUMN, its 32 bits, an address, or the name of its bridge."
DeadOption = Annotated[
    list[str] | None,
    typer.Option("--dead", metavar="NODE/NODE|NODE", help="A link, or a node, that is dead; may be said again."),
]
TopologyOption = Annotated[
    str | None, typer.Option("--topology", metavar="NAME", help="Which one, if the scenario has several.")
]


@app.command("id")
def identity(
    who: Annotated[
        str, typer.Argument(metavar="NODE", help="TILE_ROW,TILE_COLUMN,ROW,COLUMN, 32 bits, or an address.")
    ],
    tile: Annotated[str, typer.Option("--tile", metavar="ROWSxCOLUMNS", help="Nodes in a tile: 2x2 or 1x1.")] = "2x2",
    as_json: JsonOption = False,
) -> None:
    """Who a node is: its tuple, the 32 bits that messages are addressed by, and its addresses; from any of them."""
    from penstock.tiles.grid import SIDES
    from penstock.tiles.identity import Identity, ipv4_address, mac_address
    from penstock.torus.of_scenario import node_of

    sizes = {f"{rows}x{columns}": (rows, columns) for rows, columns in SIDES}
    if tile not in sizes:
        raise InputError(f'"{tile}" is no size of a tile', allowed=" or ".join(sizes), file="--tile")
    try:
        node = node_of(who, sizes[tile])
        mac = mac_address(node, 0)
        content: dict[str, Any] = {
            "identity": str(Identity.of(node, sizes[tile])),
            "number": f"0x{Identity.of(node, sizes[tile]).number:08x}",
            "row": node.row,
            "column": node.column,
            "ipv4": str(ipv4_address(node)),
            "mac": mac,
        }
    except ValueError as error:
        what, _, allowed = str(error).partition(": ")
        raise InputError(what, allowed=allowed, file="NODE") from None
    if as_json:
        answer(content)
        return
    table = new_table(("", ""))
    table.show_header = False
    for key, value in content.items():
        table.add_row(key, f"{value}, of port 0" if key == "mac" else str(value))
    print_whole(table, output())


@app.command()
def way(
    scenario: ScenarioArgument,
    source: Annotated[str, typer.Argument(metavar="FROM", help=NodeHelp)],
    destination: Annotated[str, typer.Argument(metavar="TO", help=NodeHelp)],
    dead: DeadOption = None,
    topology: TopologyOption = None,
    as_json: JsonOption = False,
) -> None:
    """The nodes that a frame passes by the tables, around what is dead; exit status 1 if it does not arrive."""
    from penstock.tiles.walk import Outcome, follow

    torus = _torus(scenario, topology)
    start, goal = torus.node(source), torus.node(destination)
    links, nodes = torus.dead(dead or [])
    for which in {start, goal} & nodes:
        raise InputError(f'"{torus.said(which)}" is dead', allowed="ends that live", file=torus.name)
    usual = follow(torus.routing, start, goal)
    found = follow(torus.routing, start, goal, links)
    arrived = found.outcome is Outcome.ARRIVED
    passed = [torus.said(node) for node in found.nodes]
    if as_json:
        answer({"ok": arrived, "nodes": passed, "links": found.links, "outcome": found.outcome.name.lower()})
    else:
        more = found.links - usual.links
        longer = f", {more} more than without what is dead" if arrived and more else ""
        ends = f"{count(found.links, 'link')}{longer}" if arrived else f"dropped there: {found.outcome.value}"
        say(f"{'  '.join(passed)}: {ends}")
    end(arrived)


@app.command()
def cut(
    scenario: ScenarioArgument,
    dead: DeadOption = None,
    topology: TopologyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Which nodes no longer reach which; without `--dead`, of each single link. Exit status 1 if there are any."""
    from penstock.tiles.walk import cut as parted

    torus = _torus(scenario, topology)
    cases = [torus.dead(dead)] if dead else [([link], set()) for link in torus.routing.grid.links]
    rows = []
    for links, nodes in cases:
        broken = [f"{torus.said(a[0])}/{torus.said(b[0])}" for a, b in links]
        for source, destination, found in parted(torus.routing, links, nodes):
            where = torus.said(found.nodes[-1])
            rows.append((" ".join(broken), torus.said(source), torus.said(destination), where, found.outcome))
    if as_json:
        keys = ("dead", "from", "to", "dropped_at")
        pairs = [dict(zip(keys, row, strict=False)) | {"outcome": row[-1].name.lower()} for row in rows]
        answer({"ok": not rows, "cases": len(cases), "pairs": pairs})
        end(not rows)
    table = new_table(("dead", "from", "to", "dropped at", "because"))
    for *texts, outcome in rows:
        table.add_row(*texts, outcome.value)
    if rows:
        print_whole(table, output())
    pairs_each = len(torus.nodes) * (len(torus.nodes) - 1)
    tried = f"{count(len(cases), 'dead link')}, one by one" if not dead else "what is dead"
    said = f"cuts {count(len(rows), 'pair')}" if rows else "cuts no pair"
    say(f"{tried}: {said} of {pairs_each} of {count(len(torus.nodes), 'node')}")
    end(not rows)


def _torus(scenario: Path, topology: str | None) -> Torus:
    from penstock.scenario import load
    from penstock.torus.of_scenario import torus_of

    return torus_of(load(scenario), topology)
