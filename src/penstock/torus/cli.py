# SPDX-License-Identifier: Apache-2.0
"""`penstock torus`: identities, ways and faults of networks of tiles."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.command.answer import answer
from penstock.command.console import output, say
from penstock.command.ending import end, interruptible
from penstock.command.options import JsonOption, ScenarioArgument
from penstock.command.tables import new_table, print_whole
from penstock.errors import InputError
from penstock.linux.changing import need_root, tell, undone_when_told_to_end
from penstock.words import count

if TYPE_CHECKING:
    from penstock.torus.host_plan import NodePlan
    from penstock.torus.of_scenario import Torus

app = typer.Typer(no_args_is_help=True, help="Networks of tiles: who nodes are, and how they reach each other.")

HostArgument = Annotated[str, typer.Argument(metavar="NODE", help="Which node this host is.")]
NodeHelp = "A node: TILE_ROW,TILE_COLUMN,ROW,COLUMN, its 32 bits, an address, or the name of its bridge."
DeadOption = Annotated[
    list[str] | None,
    typer.Option("--dead", metavar="NODE/NODE|NODE", help="A link, or a node, that is dead; may be said again."),
]
TopologyOption = Annotated[
    str | None, typer.Option("--topology", metavar="NAME", help="Which one, if the scenario has several.")
]


class Each(Enum):
    """What is dead in turn."""

    LINK = "link"
    NODE = "node"
    TWO_LINKS = "two-links"


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
    each: Annotated[Each, typer.Option("--each", help="Without --dead: what is dead in turn.")] = Each.LINK,
    topology: TopologyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Which nodes no longer reach which: of what is dead, or of each link in turn. Exit status 1 if there are any."""
    from penstock.tiles.walk import cut as parted

    torus = _torus(scenario, topology)
    cases = [torus.dead(dead)] if dead else torus.cases(each.value)
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
    alive = (len(torus.nodes) - len(nodes) for _, nodes in cases)
    ways = sum(living * (living - 1) for living in alive)
    tried = "what is dead" if dead else f"each {each.value} of {len(cases)}"
    said = f"cuts {len(rows):,}" if rows else "cuts none"
    say(f"{tried}: {said} of {ways:,} ways, {100 * (1 - len(rows) / ways):.1f} % arrive")
    end(not rows)


@app.command()
def waits(scenario: ScenarioArgument, topology: TopologyOption = None, as_json: JsonOption = False) -> None:
    """Circles of links that would wait for each other if none dropped frames; exit status 1 if there are any."""
    from penstock.tiles.dependencies import circles, dependencies

    torus = _torus(scenario, topology)
    graph = dependencies(torus.routing.grid)
    found = [[torus.said(node) for node, _ in circle] for circle in circles(graph)]
    if as_json:
        answer({"ok": not found, "channels": len(graph), "circles": found})
        end(not found)
    for nodes in sorted(found, key=len):
        say("  ".join((*nodes, nodes[0])))
    what = f"{count(len(found), 'circle')} of links that wait for each other" if found else "no circle"
    say(f"{count(len(graph), 'channel')}: {what}")
    end(not found)


@app.command()
def show(
    scenario: ScenarioArgument, host: HostArgument, topology: TopologyOption = None, as_json: JsonOption = False
) -> None:
    """Print the exact ip commands that make a host this node; with --json also what penstock-end watch takes."""
    from penstock.torus.host_commands import commands
    from penstock.torus.host_plan import as_file

    plan = _plan(scenario, host, topology)
    lines = commands(plan)
    if as_json:
        answer({**as_file(plan), "commands": lines})
        return
    for line in lines:
        say(line)


@app.command()
def apply(
    scenario: ScenarioArgument,
    host: HostArgument,
    topology: TopologyOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Also change an interface that has the default route.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make this host a node, read back and compare; all or nothing. Needs CAP_NET_ADMIN."""
    from penstock.torus.host_apply import NodeHost

    plan = _plan(scenario, host, topology)
    need_root("torus apply")
    with undone_when_told_to_end(), NodeHost() as this:
        if this.is_changed() and not this.differences(plan):
            tell(as_json, {"ok": True, "changed": False}, "already applied, and as planned")
            return
        this.check(plan, yes)
        this.apply(plan)
    counts = {"rule": len(plan.rules), "route": len(plan.routes), "neighbour": len(plan.neighbours)}
    counted = ", ".join(count(number, what) for what, number in counts.items())
    tell(
        as_json, {"ok": True, "changed": True}, f"{plan.name} by {', '.join(plan.macs)}: {counted}, read back and equal"
    )


@app.command()
def verify(
    scenario: ScenarioArgument, host: HostArgument, topology: TopologyOption = None, as_json: JsonOption = False
) -> None:
    """Compare this host with what the node should be; exit status 1 with each difference. Changes nothing."""
    from penstock.torus.host_apply import NodeHost

    plan = _plan(scenario, host, topology)
    with NodeHost() as this:
        found = this.differences(plan)
    tell(as_json, {"ok": not found, "differences": found}, "\n".join(found) or f"{plan.name}: as planned")
    end(not found)


@app.command()
def watch(
    scenario: ScenarioArgument,
    host: HostArgument,
    topology: TopologyOption = None,
) -> None:
    """Put back routes when links come up again, until it is ended: the kernel forgets those of a link set down."""
    from penstock.torus.watcher import watch as keep

    plan = _plan(scenario, host, topology)
    need_root("torus watch")
    keep(plan)


@app.command()
def lab(scenario: ScenarioArgument, topology: TopologyOption = None, as_json: JsonOption = False) -> None:
    """Real hosts in namespaces: whether each reaches each as the tables say, with each link and each node dead in turn.

    Exit status 1 where hosts and tables differ.
    """
    from penstock.torus.survey import survey

    with interruptible():
        end(survey(_torus(scenario, topology), as_json))


@app.command()
def remove(as_json: JsonOption = False) -> None:
    """Undo exactly what apply changed at this host, also if it was killed. Needs CAP_NET_ADMIN."""
    from penstock.torus.host_apply import NodeHost

    need_root("torus remove")
    with undone_when_told_to_end(), NodeHost() as this:
        was = this.remove()
    tell(as_json, {"ok": True, "removed": was}, "removed" if was else "nothing of an apply is there")


def _plan(scenario: Path, host: str, topology: str | None) -> NodePlan:
    from penstock.torus.host_plan import plan_node

    torus = _torus(scenario, topology)
    return plan_node(torus, torus.node(host))


def _torus(scenario: Path, topology: str | None) -> Torus:
    from penstock.scenario import load
    from penstock.torus.of_scenario import torus_of

    return torus_of(load(scenario), topology)
