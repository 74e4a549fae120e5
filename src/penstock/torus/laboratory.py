# SPDX-License-Identifier: Apache-2.0
"""A network of tiles of Linux hosts in namespaces: whether each reaches each as the tables say, whatever is dead."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from penstock.end.binary import build
from penstock.errors import RunError
from penstock.lab.machine import Machine
from penstock.linux.netlink.routes import OURS
from penstock.tiles.grid import End
from penstock.tiles.identity import Node, ipv4_address
from penstock.tiles.walk import Link, Outcome, follow, links_of
from penstock.torus.host_commands import entries, interfaces, preparation
from penstock.torus.host_plan import NodePlan, as_file, interface_key, plan_node
from penstock.torus.of_scenario import Torus

_HOP_LIMIT = 64
_PORT = 7
_SILENCE_S = 0.3
_PATIENCE_S = 5.0
_QUEUES = "numtxqueues 4 numrxqueues 4"  # as a network card has them
# Neighbour discovery of hundreds of hosts is work for nothing. The filter acts where either value says so.
_FIRST = "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6; echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter"


@dataclass(frozen=True)
class Case:
    """What hosts did while something was dead, against the tables."""

    dead: str
    pairs: int  # of hosts that live
    arrived: int
    longest: int  # links of the longest way
    more: int  # links that a way had more than without what is dead, at most
    settled_s: float  # from the fault until all ways were those of the tables
    wrong: list[str] = field(default_factory=list)
    back_s: float | None = None  # from the command that set interfaces up again until they had their routes


class Laboratory:
    """The hosts; gone when it is closed."""

    def __init__(self, torus: Torus, machine: Machine | None = None) -> None:
        """On a machine that stays the caller's, or on this one."""
        self.torus = torus
        self.grid = torus.routing.grid
        self.plans = {node: plan_node(torus, node) for node in torus.nodes}
        self._machine = machine or Machine()
        self._is_own = machine is None
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all hosts."""
        if self._is_own:
            self._machine.close()
        else:
            self._machine.ask("forget")

    def cases(self) -> Iterator[Case]:
        """Nothing dead; then each link, now at its one end and now at its other; then each node."""
        yield self.case("nothing", ())
        for number, link in enumerate(self.grid.links):
            ends = (self.torus.said(link[0][0]), self.torus.said(link[1][0]))
            yield self._without([link[number % 2]], "/".join(ends), [link])
        for node in self.torus.nodes:
            yield self.case_of_node(node)

    def case_of_node(self, node: Node) -> Case:
        """The others, while this one is dead."""
        ends = [(node, port) for port in self.grid.neighbours[node]]
        return self._without(ends, self.torus.said(node), links_of(self.grid, node), {node})

    def _without(self, ends: Sequence[End], dead: str, links: Sequence[Link], without: Collection[Node] = ()) -> Case:
        self._down(ends)
        found = self.case(dead, links, without)
        return replace(found, back_s=self._up(ends))

    def case(
        self, dead: str, links: Sequence[Link], without: Collection[Node] = (), patience_s: float = _PATIENCE_S
    ) -> Case:
        """Measures until all is as the tables say, or patience ends."""
        begin = time.monotonic()
        while True:
            found = self._measure(dead, links, without, begin)
            if not found.wrong or time.monotonic() - begin > patience_s:
                return found

    @contextmanager
    def without(self, link: Link) -> Iterator[None]:
        """While a link is dead, set down at one of its ends."""
        self._down([link[0]])
        try:
            yield
        finally:
            self._up([link[0]])

    def links(self, source: Node, target: Node) -> int | None:
        """Over how many links a datagram goes from one node to another; None if it does not arrive."""
        addresses = {self.name(node): str(ipv4_address(node)) for node in (source, target)}
        came = self._machine.ask("reach", addresses=addresses, port=_PORT, silence_s=_SILENCE_S)["came"]
        left = {(start, end): left for start, end, left in came}.get((self.name(source), self.name(target)))
        return None if left is None else _HOP_LIMIT - left + 1

    def disturb(self, node: Node, words: str) -> None:
        """Has `ip` do something at a host that is not planned."""
        self._batch(node, [words])

    def _measure(self, dead: str, links: Sequence[Link], without: Collection[Node], begin: float) -> Case:
        nodes = [node for node in self.torus.nodes if node not in without]
        addresses = {self.name(node): str(ipv4_address(node)) for node in nodes}
        sent = time.monotonic() - begin
        answer = self._machine.ask("reach", addresses=addresses, port=_PORT, silence_s=_SILENCE_S)
        came = {(source, target): _HOP_LIMIT - left + 1 for source, target, left in answer["came"]}
        wrong, more = [], 0
        for source in nodes:
            for target in nodes:
                if source != target:
                    way = follow(self.torus.routing, source, target, links)
                    wanted = way.links if way.outcome is Outcome.ARRIVED else None
                    has = came.get((self.name(source), self.name(target)))
                    if has != wanted:
                        ends = f"{self.torus.said(source)} to {self.torus.said(target)}"
                        wrong.append(f"{ends}: {_links(has)}, by the tables {_links(wanted)}")
                    elif wanted is not None:
                        more = max(more, wanted - follow(self.torus.routing, source, target).links)
        pairs = len(nodes) * (len(nodes) - 1)
        return Case(dead, pairs, len(came), max(came.values(), default=0), more, sent, wrong)

    def _build(self) -> None:
        paths = {node: self._machine.ask("namespace", host=self.name(node))["path"] for node in self.torus.nodes}
        for node in self.torus.nodes:
            self._machine.run(self.name(node), ["sh", "-c", _FIRST])
        lines = []
        for number, (a, b) in enumerate(self.grid.links):
            lines.append(f"link add a{number} {_QUEUES} type veth peer name b{number} {_QUEUES}")
            for end, (node, port) in (("a", a), ("b", b)):
                name = self.torus.interfaces[interface_key(self.grid.tile, port)]
                lines.append(f"link set {end}{number} netns {paths[node]} name {name}")
        self._machine.run(None, ["ip", "-batch", "-"], "\n".join(lines) + "\n")
        for node, plan in self.plans.items():
            self._machine.run(self.name(node), ["sh", "-e", "-s"], "\n".join(preparation(plan)) + "\n")
            self._batch(node, [*interfaces(plan), *entries(plan)])
            self._keep(node, plan)

    def _keep(self, node: Node, plan: NodePlan) -> None:
        """Starts the watcher of a host."""
        name = self.name(node)
        command = [str(build()), "watch", "--plan", "{plan}"]
        self._machine.ask("keep", host=name, name=f"watch-{name}", command=command, plan=as_file(plan))

    def _down(self, ends: Sequence[End]) -> None:
        for node, names in self._by_node(ends).items():
            self._batch(node, [f"link set dev {name} down" for name in names])

    def _up(self, ends: Sequence[End]) -> float:
        """Sets interfaces up; gives the longest time that a host's watcher took to give them their routes back."""
        longest_s = 0.0
        for node, names in self._by_node(ends).items():
            lost = sum(route.interface in names for route in self.plans[node].routes)
            back = self._machine.ask(
                "up", host=self.name(node), interfaces=names, routes=lost, protocol=OURS, within_s=_PATIENCE_S
            )
            if back["made"] < lost:
                said = f"{back['made']} of {lost} routes came back within {_PATIENCE_S:g} s"
                raise RunError(f"{self.torus.said(node)}: {said}")
            longest_s = max(longest_s, back["seconds"])
        return longest_s

    def _by_node(self, ends: Sequence[End]) -> dict[Node, list[str]]:
        """Interfaces of ports."""
        found: dict[Node, list[str]] = {}
        for node, port in ends:
            found.setdefault(node, []).append(self.torus.interfaces[interface_key(self.grid.tile, port)])
        return found

    def _batch(self, node: Node, lines: Sequence[str]) -> None:
        self._machine.run(self.name(node), ["ip", "-batch", "-"], "\n".join(lines) + "\n")

    @staticmethod
    def name(node: Node) -> str:
        """What the machine calls the host."""
        return f"{node.row}.{node.column}"


def _links(number: int | None) -> str:
    return "does not arrive" if number is None else f"{number} links"
