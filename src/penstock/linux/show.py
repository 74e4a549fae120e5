# SPDX-License-Identifier: Apache-2.0
"""A plan on a terminal and as JSON: the chain of each stream, and the commands."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.command.tables import new_table, print_whole
from penstock.linux.commands import IPROUTE2_ENTRIES, commands, ingress, is_cut, removal, show_command
from penstock.linux.plan import HostPlan, PortPlan
from penstock.linux.qdisc import Placed, show_handle

# Why a bridge needs more than qdiscs.
_RECEIVED = (
    "[yellow]note[/] a frame that Linux forwards has its PCP but no priority, and so no class. "
    "apply leaves that alone; this gives frames that come in here theirs:"
)


def show(plan: HostPlan, console: Console) -> None:
    """Prints each interface: how streams find their queues, then the commands."""
    for port in plan.ports:
        console.print(f"[bold]{escape(port.port.place)}[/] is {escape(port.interface)}", highlight=False)
        if port.sendings:
            print_whole(_chain(port), console)
        if is_cut(port):
            console.print(
                f"[yellow]warning[/] iproute2 6.1 sends only the first {IPROUTE2_ENTRIES} entries of a gate list, "
                "without a word: use penstock linux apply, which sends all and reads them back",
                highlight=False,
            )
        for command in commands(port):
            console.print(show_command(command), highlight=False, markup=False, soft_wrap=True)
        if plan.is_bridge:
            console.print(_RECEIVED, highlight=False)
            for command in ingress(port):
                console.print(show_command(command), highlight=False, markup=False, soft_wrap=True)


def as_json(plan: HostPlan) -> dict[str, Any]:
    """The plan for programs."""
    return {"ok": True, "host": plan.host, "interfaces": [_port(port, plan.is_bridge) for port in plan.ports]}


def qdisc_as_json(placed: Placed) -> dict[str, Any]:
    """A qdisc with all it is set to."""
    where = {"handle": show_handle(placed.handle), "parent": show_handle(placed.parent)}
    return {**where, "kind": placed.qdisc.kind, **dataclasses.asdict(placed.qdisc)}


def _chain(plan: PortPlan) -> Table:
    numbers = ("SO_PRIORITY", "traffic\nclass", "class of\nthe qdisc", "queues", "PCP")
    table = new_table(["stream", "interface"], numbers)
    for each in plan.sendings:
        table.add_row(
            escape(each.stream.name),
            escape(each.interface),
            str(each.priority),
            escape(plan.port.class_name(each.traffic_class).removeprefix("class ")),
            str(each.qdisc_class),
            ", ".join(map(str, each.queues)),
            "untagged" if each.pcp is None else str(each.pcp),
        )
    return table


def _port(plan: PortPlan, is_bridge: bool) -> dict[str, Any]:
    return {
        "interface": plan.interface,
        "port": plan.port.port,
        "transmit_queues": plan.transmit_queues,
        "streams": {
            each.stream.name: {
                "interface": each.interface,
                "so_priority": each.priority,
                "traffic_class": each.traffic_class,
                "qdisc_class": each.qdisc_class,
                "queues": list(each.queues),
                "pcp": each.pcp,
            }
            for each in plan.sendings
        },
        "qdiscs": [qdisc_as_json(placed) for placed in plan.qdiscs],
        "vlans": [dataclasses.asdict(vlan) for vlan in plan.vlans],
        "commands": [shlex.join(command) for command in commands(plan)],
        "ingress": [shlex.join(command) for command in ingress(plan)] if is_bridge else [],
        "removal": [shlex.join(command) for command in removal(plan)],
    }
