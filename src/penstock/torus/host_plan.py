# SPDX-License-Identifier: Apache-2.0
"""What a Linux host is set to as a node of tiles: addresses, neighbours, and the table of detours as routes.

The kernel looks into one routing table for each interface by which a frame came in (`ip rule iif`), and there takes the
route with the least metric whose link has a carrier. So the ports in order become routes with rising metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from typing import Any

from penstock.errors import InputError
from penstock.linux.netlink.routes import Neighbour, Route, Rule
from penstock.scenario.topology import port_of
from penstock.tiles.detours import Reception, Routing
from penstock.tiles.grid import Port
from penstock.tiles.identity import Node, ipv4_address, mac_address
from penstock.torus.of_scenario import Torus

# Rules of the kernel's own have 0, 32766 and 32767; ours stand before the latter and leave room for others.
_FIRST = 7000
_FIRST_METRIC = 10
_VERSION = 1  # of the file


@dataclass(frozen=True)
class NodePlan:
    """All of a host that is a node."""

    name: str
    node: Node
    address: IPv4Address
    macs: Mapping[str, str]  # by interface
    rules: tuple[Rule, ...]
    routes: tuple[Route, ...]
    neighbours: tuple[Neighbour, ...]

    @property
    def settings(self) -> Mapping[str, str]:
        """Of each interface under /proc/sys/net/ipv4/conf, and their values."""
        return {
            # Frames for others are passed on.
            "forwarding": "1",
            # A route over a link without carrier is passed by.
            "ignore_routes_with_linkdown": "1",
            # A detour may lead a frame back through the host that sent it.
            "accept_local": "1",
            # Frames come in by links by which no answer would go, and even the loose filter drops some of them.
            "rp_filter": "0",
        }


def as_file(plan: NodePlan) -> dict[str, Any]:
    """A plan as `penstock-end watch` reads it."""
    return {
        "version": _VERSION,
        "node": plan.name,
        "interfaces": [*plan.macs],
        "neighbours": [_fields(each) for each in plan.neighbours],
        "routes": [_fields(each) for each in plan.routes],
    }


def _fields(entry: Neighbour | Route) -> dict[str, Any]:
    return {key: value if isinstance(value, int) else str(value) for key, value in asdict(entry).items()}


def plan_node(torus: Torus, node: Node) -> NodePlan:
    """What the host of a node is set to. `InputError` if the scenario names no interfaces."""
    grid = torus.routing.grid
    ports = grid.neighbours[node]
    interfaces = {port: torus.interfaces.get(interface_key(grid.tile, port), "") for port in ports}
    if not all(interfaces.values()):
        allowed = ", ".join(f'{interface_key(grid.tile, port)} = "eth1"' for port in ports)
        raise InputError("the scenario names no interfaces", allowed=f"interfaces = {{ {allowed} }}", file=torus.name)
    tables = {reception: _FIRST + number for number, reception in enumerate((None, *ports))}
    return NodePlan(
        name=torus.said(node),
        node=node,
        address=ipv4_address(node),
        macs={interfaces[port]: mac_address(node, port_of(grid.tile, port)) for port in ports},
        rules=tuple(Rule(table, interfaces[port] if port else "lo", table) for port, table in tables.items()),
        routes=tuple(sorted(_routes(torus.routing, node, interfaces, tables))),
        neighbours=tuple(
            sorted(
                Neighbour(interfaces[port], ipv4_address(other), mac_address(other, port_of(grid.tile, entry)))
                for port, (other, entry) in ports.items()
            )
        ),
    )


def interface_key(tile: tuple[int, int], port: Port) -> str:
    """By which key a scenario names the interface of a port."""
    return str(port) if tile == (1, 1) or port in (Port.ROW, Port.COLUMN) else "side"


def _routes(
    routing: Routing, node: Node, interfaces: Mapping[Port, str], tables: Mapping[Reception, int]
) -> Iterator[Route]:
    for destination in routing.grid.nodes:
        if destination == node:
            continue
        for reception, table in tables.items():
            for number, port in enumerate(routing.ports(node, reception, destination)):
                other, _ = routing.grid.neighbours[node][port]
                yield Route(
                    table,
                    ipv4_address(destination),
                    _FIRST_METRIC + number,
                    interfaces[port],
                    ipv4_address(other),
                    ipv4_address(node),
                )
