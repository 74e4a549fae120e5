# SPDX-License-Identifier: Apache-2.0
"""How nodes of a network of tiles lead streams around what is down or congested: their tables, for the engine.

They hold for streams to one listener that go by dimension order, at bridges that are models and send whole frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network
from penstock.scenario.tilings import Tiling
from penstock.scenario.topology import port_of
from penstock.tiles.congestion import nearer
from penstock.tiles.detours import Ports, Reception
from penstock.tiles.identity import Node
from penstock.tiles.walk import follow

Key = tuple[int, int]  # destination address and VLAN


@dataclass
class Detours:
    """Of one bridge."""

    link_detection_ps: int
    ports: tuple[int, ...]  # those with links to other nodes
    congestion_frames: int | None = None
    orders: dict[Key, list[list[int]]] = field(default_factory=dict)  # egress ports in order, by reception port
    nearer: dict[Key, list[list[int]]] = field(default_factory=dict)  # those around a congested first one

    @property
    def vlans(self) -> set[int]:
        """Those of which these ports have to be members."""
        return {vlan for _, vlan in self.orders}


def detours_of(network: Network) -> dict[str, Detours]:
    """By bridge; none where no link goes down and nothing is led around congestion."""
    has_outages = any(fault.is_outage for fault in network.faults)
    found: dict[str, Detours] = {}
    for name, tiling in network.tilings.items():
        if not has_outages and tiling.congestion_frames is None:
            continue
        bridges = {node: f"{name}{number}" for number, node in enumerate(tiling.routing.grid.nodes)}
        if all(_leads(network, bridge) for bridge in bridges.values()):
            found |= _of_tiling(network, tiling, bridges)
    return found


def _leads(network: Network, bridge: str) -> bool:
    node = network.bridges[bridge]
    return node.nodes == "model" and node.static_forwarding and node.cut_through_bytes is None


def _of_tiling(network: Network, tiling: Tiling, bridges: dict[Node, str]) -> dict[str, Detours]:
    nodes = {bridge: node for node, bridge in bridges.items()}
    streams = [stream for stream in network.streams.values() if {hop.bridge for hop in stream.tree} & nodes.keys()]
    kept = {key for stream in streams if not _is_led(stream, tiling, nodes) for key in _keys(network, stream, nodes)}
    goals: dict[Key, str] = {}
    for stream in streams:
        for key in _keys(network, stream, nodes):
            if goals.setdefault(key, stream.listeners[0]) != stream.listeners[0]:
                kept.add(key)  # one address at two places leads to neither
    grid = tiling.routing.grid
    found = {
        bridge: Detours(
            tiling.link_detection_ps,
            tuple(port_of(grid.tile, port) for port in grid.neighbours[node]),
            tiling.congestion_frames,
        )
        for node, bridge in bridges.items()
    }
    around: dict[Node, Mapping[tuple[Node, Reception], Ports]] = {}
    for stream in streams:
        if kept.isdisjoint(_keys(network, stream, nodes)):
            goal = nodes[stream.tree[-1].bridge]
            if tiling.congestion_frames is not None and goal not in around:
                around[goal] = nearer(tiling.routing, goal)
            for bridge, detours in found.items():
                _add(network, tiling, nodes, stream, bridge, detours, around.get(goal, {}))
    return found


def _is_led(stream: Stream, tiling: Tiling, nodes: dict[str, Node]) -> bool:
    way = [nodes.get(hop.bridge) for hop in stream.tree]
    if None in way or len(stream.listeners) != 1:
        return False
    usual = follow(tiling.routing, nodes[stream.tree[0].bridge], nodes[stream.tree[-1].bridge])
    return way == list(usual.nodes)


def _keys(network: Network, stream: Stream, nodes: dict[str, Node]) -> Iterator[Key]:
    for bridge in nodes:
        for port in range(network.bridges[bridge].ports):
            yield stream.destination_mac, network.vlan_at(stream, bridge, port)


def _add(
    network: Network,
    tiling: Tiling,
    nodes: dict[str, Node],
    stream: Stream,
    bridge: str,
    detours: Detours,
    around: Mapping[tuple[Node, Reception], Ports],
) -> None:
    grid, last = tiling.routing.grid, stream.tree[-1]
    node, goal = nodes[bridge], nodes[last.bridge]
    receptions = {port_of(grid.tile, port): port for port in grid.neighbours[node]}
    count = network.bridges[bridge].ports
    for number in range(count):
        key = stream.destination_mac, network.vlan_at(stream, bridge, number)
        orders = detours.orders.setdefault(key, [[] for _ in range(count)])
        others = detours.nearer.setdefault(key, [[] for _ in range(count)])
        if node == goal:
            orders[number] = [port for port in last.egress if port != number]
        else:
            ports = tiling.routing.ports(node, receptions.get(number), goal)
            orders[number] = [port_of(grid.tile, port) for port in ports]
            others[number] = [port_of(grid.tile, port) for port in around.get((node, receptions.get(number)), ())]
