# SPDX-License-Identifier: Apache-2.0
"""Which way streams go.

The way with the fewest bridges. Where several are equally short, the next bridge towards the destination is the one
that stands first in the scenario; of several links between two bridges, the first is taken. As each bridge decides by
the destination alone, all frames for one station join the same way, and one forwarding entry serves them all. A stream
with several listeners goes by the ways from its talker, decided from the talker's side, so that they form a tree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from penstock.scenario.checked_stream import Hop
from penstock.scenario.network import Link


class Routes:
    """The bridges and the links between them, and the ways through them."""

    def __init__(self, bridges: Iterable[str], links: Iterable[Link]) -> None:
        self.names = list(bridges)
        self.number = {name: n for n, name in enumerate(self.names)}
        # Of each bridge: its neighbours, and by which ports of both. The first link between two bridges stays.
        self.ports: list[dict[int, tuple[int, int]]] = [{} for _ in self.names]
        for link in links:
            a, b = self.number.get(link.a[0]), self.number.get(link.b[0])
            if a is not None and b is not None and a != b:
                self.ports[a].setdefault(b, (link.a[1], link.b[1]))
                self.ports[b].setdefault(a, (link.b[1], link.a[1]))
        self.neighbours = [sorted(ports) for ports in self.ports]
        self._held_by = _held_by(self.neighbours)
        self._towards: dict[int, list[int]] = {}
        self._hops = _Hops(self.names)
        self._steps = _Steps(self.ports, self._hops)

    def towards(self, destination: int) -> list[int]:
        """For each bridge the next one on the way to a destination; itself at the end; -1 where there is no way."""
        known = self._towards.get(destination)
        if known is not None:
            return known
        known = self._towards[destination] = self._hanging(destination) or self._looked_for(destination)
        return known

    def _hanging(self, destination: int) -> list[int] | None:
        """What hangs on the rest by a single link is on the ways towards that link's other end; None of the others."""
        if destination not in self._held_by:
            return None
        chain = [destination]
        while chain[-1] in self._held_by and chain[-1] not in self._towards:
            chain.append(self._held_by[chain[-1]])
        following = [*self.towards(chain[-1])]
        following[destination] = destination
        for before, after in pairwise(chain):
            following[after] = before
        return following

    def _looked_for(self, destination: int) -> list[int]:
        distance = [-1] * len(self.names)
        following = [-1] * len(self.names)
        distance[destination], following[destination] = 0, destination
        queue = deque([destination])
        while queue:
            bridge = queue.popleft()
            far = distance[bridge] + 1
            for other in self.neighbours[bridge]:
                if distance[other] < 0:
                    distance[other], following[other] = far, bridge
                    queue.append(other)
                elif distance[other] == far and bridge < following[other]:
                    following[other] = bridge
        return following

    def way(self, start: str, end: str) -> list[str] | None:
        """The bridges from one to another, decided from the end's side."""
        found = self._numbers(start, end)
        return None if found is None else [self.names[number] for number in found]

    def _numbers(self, start: str, end: str) -> list[int] | None:
        at, last = self.number[start], self.number[end]
        following = self.towards(last)
        if following[at] < 0:
            return None
        found = [at]
        while at != last:
            at = following[at]
            found.append(at)
        return found

    def straight(self, start: str, entry: int, end: str, last: int) -> tuple[Hop, ...] | None:
        """The shortest way from a port of one bridge to a port of another, or None where none leads."""
        here, goal = self.number[start], self.number[end]
        following = self.towards(goal)
        if following[here] < 0:
            return None
        found, steps = [], self._steps
        while here != goal:
            there = following[here]
            hop, entry = steps[here, entry, there]
            found.append(hop)
            here = there
        found.append(self._hops[here, entry, last])
        return tuple(found)

    def adjacent(self, a: str, b: str) -> bool:
        """Whether a link joins two bridges."""
        return self.number[b] in self.ports[self.number[a]]

    def shortest(self, talker: str, listeners: Sequence[str]) -> dict[str, list[str] | None]:
        """The way to each of the bridges at which listeners are, or None where none leads."""
        if len(listeners) == 1:
            return {listeners[0]: self.way(talker, listeners[0])}
        back = {end: self.way(end, talker) for end in listeners}
        return {end: None if way is None else way[::-1] for end, way in back.items()}

    def tree(self, entry: int, ways: Iterable[Sequence[str]], ends: Iterable[tuple[str, int]]) -> tuple[Hop, ...] | str:
        """The union of ways that start at one bridge, with the ports at their ends; or where they meet again."""
        ways, ends = list(ways), list(ends)
        if len(ways) == len(ends) == 1 and ends[0][0] == ways[0][-1] and len({*ways[0]}) == len(ways[0]):
            return self._path(entry, [self.number[name] for name in ways[0]], ends[0][1])
        entries: dict[str, int] = {}
        parents: dict[str, str] = {}
        egress: dict[str, set[int]] = {}
        for way in ways:
            entries[way[0]] = entry
            egress.setdefault(way[0], set())
            for before, after in pairwise(way):
                if parents.setdefault(after, before) != before or after == way[0]:
                    return after
                out, into = self.ports[self.number[before]][self.number[after]]
                entries[after] = into
                egress[before].add(out)
                egress.setdefault(after, set())
        for bridge, port in ends:
            egress[bridge].add(port)
        return tuple(Hop(bridge, entries[bridge], tuple(sorted(egress[bridge]))) for bridge in entries)

    def _path(self, entry: int, way: Sequence[int], last: int) -> tuple[Hop, ...]:
        """The tree that is one way without a loop."""
        found = []
        for here, there in pairwise(way):
            hop, entry = self._steps[here, entry, there]
            found.append(hop)
        return (*found, self._hops[way[-1], entry, last])


class _Hops(dict[tuple[int, int, int], Hop]):
    """By bridge, reception port and egress port: one hop that all streams have in common."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __missing__(self, key: tuple[int, int, int]) -> Hop:
        here, entry, out = key
        found = self[key] = Hop(self._names[here], entry, (out,))
        return found


class _Steps(dict[tuple[int, int, int], tuple[Hop, int]]):
    """By bridge, reception port and the next bridge: the hop there, and the next bridge's reception port."""

    def __init__(self, ports: Sequence[Mapping[int, tuple[int, int]]], hops: _Hops) -> None:
        self._ports, self._hops = ports, hops

    def __missing__(self, key: tuple[int, int, int]) -> tuple[Hop, int]:
        here, entry, there = key
        out, into = self._ports[here][there]
        found = self[key] = self._hops[here, entry, out], into
        return found


def _held_by(neighbours: Sequence[Sequence[int]]) -> dict[int, int]:
    """The bridges that hang on the rest by a single link, when what hangs on them is left out; and on which."""
    left = [len(near) for near in neighbours]
    found: dict[int, int] = {}
    ends = [number for number, count in enumerate(left) if count == 1]
    for number in ends:
        on = next((other for other in neighbours[number] if other not in found), None)
        if on is None:
            continue  # it holds all that was beside it
        found[number] = on
        left[on] -= 1
        if left[on] == 1:
            ends.append(on)
    return found
