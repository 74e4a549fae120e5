# SPDX-License-Identifier: Apache-2.0
"""Which way streams go, whatever the network: to every listener once, to nobody else, by the shortest way."""

from __future__ import annotations

from collections import defaultdict, deque
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import plan
from penstock.errors import InputError
from penstock.scenario import Network, load

STREAM = {"vlan": 10, "pcp": 3, "source": {"frames": "100B", "every": "1ms"}}


def scenario(
    bridges: int, cables: list[tuple[int, int]], stations: list[int], streams: list[dict[str, Any]]
) -> dict[str, Any]:
    """Bridges b0, b1 and so on, cables between them, and stations e0, e1 and so on, each at one of them."""
    free: defaultdict[int, int] = defaultdict(int)

    def port(bridge: int) -> str:
        free[bridge] += 1
        return f"b{bridge}.{free[bridge] - 1}"

    links = {f"l{i}": {"between": [port(a), port(b)]} for i, (a, b) in enumerate(cables)}
    ends = {f"e{i}": {"at": port(bridge)} for i, bridge in enumerate(stations)}
    return {
        "name": "drawn",
        "duration": "1ms",
        "nodes": "model",
        "links": links,
        "bridges": {f"b{i}": {"ports": max(2, free[i])} for i in range(bridges)},
        "stations": ends,
        "streams": {f"s{i}": {**STREAM, **stream} for i, stream in enumerate(streams)},
    }


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    bridges = draw(st.integers(1, 9))
    # A tree, so that all is joined, and some cables more; two bridges may have several between them.
    cables = [(draw(st.integers(0, i - 1)), i) for i in range(1, bridges)]
    if bridges > 1:
        pairs = st.tuples(st.integers(0, bridges - 1), st.integers(0, bridges - 1)).filter(lambda p: p[0] != p[1])
        cables += draw(st.lists(pairs, max_size=8))
    cables = draw(st.permutations(cables))
    stations = draw(st.lists(st.integers(0, bridges - 1), min_size=2, max_size=8))
    ends = st.lists(st.integers(0, len(stations) - 1), min_size=2, max_size=5, unique=True)
    streams: list[dict[str, Any]] = [
        {"from": f"e{talker}", "to": [f"e{n}" for n in listeners]}
        for talker, *listeners in draw(st.lists(ends, min_size=1, max_size=6))
    ]
    for stream in streams:
        if draw(st.booleans()):
            stream["ats"] = {"rate": "1Mb/s", "burst": "200B"}
    return scenario(bridges, list(cables), stations, streams)


def walk(network: Network, name: str) -> list[str]:
    """The stations that a frame reaches when each bridge does what its tables say; fails when it goes round."""
    stream = network.streams[name]
    talker = network.stations[stream.talker]
    tables = {b.name: {(m, v): p for m, v, p in plan.static_addresses(network, b)} for b in network.bridges.values()}
    heard: list[str] = []
    todo = deque([(talker.bridge, talker.port)])
    for _ in range(10 * len(network.bridges)):
        if not todo:
            return heard
        bridge, entry = todo.popleft()
        vlan = network.vlan_at(stream, bridge, entry)
        members = network.bridges[bridge].vlans[vlan]
        assert entry in members
        for port in (tables[bridge][stream.destination_mac, vlan] & members) - {entry}:
            peer = network.peer(bridge, port)
            assert peer is not None
            if peer[0] in network.stations:
                heard.append(peer[0])
            else:
                todo.append(peer)
    raise AssertionError("a frame goes round")


def distance(network: Network, start: str, end: str) -> int:
    far = {start: 0}
    queue = deque([start])
    while queue:
        at = queue.popleft()
        for (node, _), link in network.link_at.items():
            other = link.b[0] if link.a[0] == node else link.a[0]
            if node == at and other in network.bridges and other not in far:
                far[other] = far[at] + 1
                queue.append(other)
    return far[end]


@settings(max_examples=300, deadline=None)
@given(networks())
def test_every_listener_is_reached_once_and_nobody_else(values: dict[str, Any]) -> None:
    network = load(values)
    for name, stream in network.streams.items():
        assert sorted(walk(network, name)) == sorted(stream.listeners)
        assert len({hop.bridge for hop in stream.tree}) == len(stream.tree)
        start = network.stations[stream.talker].bridge
        for listener in stream.listeners:
            way = [step.bridge for step in network.way(stream, listener)]
            assert way[0] == start
            assert len(way) - 1 == distance(network, start, network.stations[listener].bridge)
            assert network.way(stream, listener)[-1].egress == network.stations[listener].port


@settings(max_examples=200, deadline=None)
@given(networks())
def test_behind_each_port_are_as_many_listeners_as_are_told(values: dict[str, Any]) -> None:
    network = load(values)
    for stream in network.streams.values():
        counted: defaultdict[tuple[str, int], int] = defaultdict(int)
        for listener in stream.listeners:
            for step in network.way(stream, listener):
                counted[step.bridge, step.egress] += 1
        told = plan.downstream(network, stream)
        assert {(bridge, port): count for bridge, port, count in told} == counted
        assert len(told) == len(counted)


@settings(max_examples=200, deadline=None)
@given(networks())
def test_of_equally_short_ways_the_next_bridge_is_the_first_of_the_scenario(values: dict[str, Any]) -> None:
    network = load(values)
    order = list(network.bridges)
    near: defaultdict[str, set[str]] = defaultdict(set)
    for link in network.links:
        if link.b[0] in network.bridges:
            near[link.a[0]].add(link.b[0])
            near[link.b[0]].add(link.a[0])
    for stream in network.streams.values():
        for listener in stream.listeners:
            way = [step.bridge for step in network.way(stream, listener)]
            # With several listeners the way is decided from the talker's side.
            towards = way if len(stream.listeners) == 1 else way[::-1]
            for bridge, following in pairwise(towards):
                left = distance(network, following, towards[-1])
                equal = [other for other in near[bridge] if distance(network, other, towards[-1]) == left]
                assert following == min(equal, key=order.index)


def ring(**more: Any) -> dict[str, Any]:
    """Four bridges in a ring with a station each: between opposite corners two ways are equally short."""
    values: dict[str, Any] = {
        "name": "ring",
        "duration": "1ms",
        "nodes": "model",
        "topology": {"r": {"kind": "ring", "bridges": 4}},
        "stations": {f"e{i}": {"at": f"r{i}.2"} for i in range(4)},
        "streams": {"s": {"from": "e0", "to": ["e2"], **STREAM}},
    }
    values["streams"]["s"].update(more)
    return values


def way(network: Network, listener: str) -> list[str]:
    return [step.bridge for step in network.way(network.streams["s"], listener)]


def test_the_tie_rule() -> None:
    assert way(load(ring()), "e2") == ["r0", "r1", "r2"]
    # Of a stream with several listeners the ways are decided from the talker's side: from r3 r0 is first.
    both = load(ring(**{"from": "e1", "to": ["e3", "e2"]}))
    assert way(both, "e3") == ["r1", "r0", "r3"]
    assert way(both, "e2") == ["r1", "r2"]


def test_the_first_of_parallel_links_is_taken() -> None:
    network = load(scenario(2, [(0, 1), (0, 1)], [0, 1], [{"from": "e0", "to": ["e1"]}]))
    assert [(step.entry, step.egress) for step in network.way(network.streams["s0"], "e1")] == [(2, 0), (0, 2)]


def test_a_given_route_is_followed() -> None:
    assert way(load(ring(route=["r0", "r3", "r2"])), "e2") == ["r0", "r3", "r2"]
    parted = load(ring(to=["e2", "e1"], route={"e2": ["r0", "r3", "r2"], "e1": ["r0", "r1"]}))
    assert way(parted, "e2") == ["r0", "r3", "r2"]
    assert way(parted, "e1") == ["r0", "r1"]
    along = load(ring(to=["e2", "e3"], route=["r0", "r3", "r2"]))
    assert way(along, "e3") == ["r0", "r3"]
    assert sorted(walk(along, "s")) == ["e2", "e3"]


BAD_ROUTES = {
    "unknown": (["r0", "r9", "r2"], "streams.s.route[1]", 'no bridge "r9"'),
    "wrong start": (["r1", "r2"], "streams.s.route[0]", 'starts at "r1", but "e0" is at "r0"'),
    "wrong end": (["r0", "r1", "r2", "r3"], "streams.s.route", 'ends at "r3", where no listener is'),
    "not joined": (["r0", "r2"], "streams.s.route[1]", 'no link joins "r0" and "r2"'),
    "a loop": (["r0", "r1", "r2", "r3", "r0"], "streams.s.route[4]", "the route has a loop"),
    "not passed": (["r0", "r1"], "streams.s.route", 'does not pass "r2", where "e2" is'),
    "no list": ("r0", "streams.s.route", "is not a route"),
    "nobody's": ({"e1": ["r0", "r1"]}, "streams.s.route.e1", "is no listener"),
    "one missing": ({}, "streams.s.route", 'no way for "e2"'),
    "ends elsewhere": ({"e2": ["r0", "r1"]}, "streams.s.route.e2", 'ends at "r1", but "e2" is at "r2"'),
}


@pytest.mark.parametrize("case", BAD_ROUTES)
def test_a_route_that_cannot_be_followed_is_refused(case: str) -> None:
    route, key, what = BAD_ROUTES[case]
    with pytest.raises(InputError) as error:
        load(ring(route=route))
    assert (error.value.key, len(error.value.errors)) == (key, 1)
    assert what in error.value.what


def test_ways_that_meet_again_are_refused() -> None:
    route = {"e2": ["r0", "r1", "r2"], "e3": ["r0", "r1", "r2", "r3"], "e1": ["r0", "r3", "r2", "r1"]}
    with pytest.raises(InputError, match="is reached in two ways"):
        load(ring(to=["e1", "e2", "e3"], route=route))


def test_streams_that_would_go_each_others_way_are_refused() -> None:
    values = ring()
    values["streams"]["other"] = {**STREAM, "from": "e0", "to": ["e2"], "route": ["r0", "r3", "r2"]}
    with pytest.raises(InputError) as error:
        load(values)
    assert {e.key for e in error.value.errors} == {"streams.s", "streams.other"}
    assert "would also go the way of" in error.value.what
    values["streams"]["other"]["vlan"] = 11
    network = load(values)
    assert walk(network, "s") == walk(network, "other") == ["e2"]


TOPOLOGIES: dict[str, tuple[dict[str, Any], list[tuple[str, int, str, int]]]] = {
    "line": ({"bridges": 3}, [("t0", 1, "t1", 0), ("t1", 1, "t2", 0)]),
    "ring": ({"bridges": 3}, [("t0", 1, "t1", 0), ("t1", 1, "t2", 0), ("t2", 1, "t0", 0)]),
    "star": ({"bridges": 4}, [("t0", 0, "t1", 0), ("t0", 1, "t2", 0), ("t0", 2, "t3", 0)]),
    "tree": (
        {"bridges": 6, "children": 2},
        [("t0", 1, "t1", 0), ("t0", 2, "t2", 0), ("t1", 1, "t3", 0), ("t1", 2, "t4", 0), ("t2", 1, "t5", 0)],
    ),
    "mesh": ({"bridges": 3}, [("t0", 0, "t1", 0), ("t0", 1, "t2", 0), ("t1", 1, "t2", 1)]),
    "grid": (
        {"bridges": 4, "columns": 2},
        [("t0", 1, "t1", 3), ("t0", 2, "t2", 0), ("t1", 2, "t3", 0), ("t2", 1, "t3", 3)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_topologies_join_what_is_documented(kind: str) -> None:
    keys, expected = TOPOLOGIES[kind]
    values = ring(**{"from": "a", "to": ["b"]})
    values["topology"] = {"t": {"kind": kind, "rate": "10Gb/s", "delay": "1us", **keys}}
    values["stations"] = {"a": {"at": "t0.*"}, "b": {"at": f"t{keys['bridges'] - 1}.*"}}
    network = load(values)
    between = [link for link in network.links if link.b[0] not in network.stations]
    assert [(*link.a, *link.b) for link in between] == expected
    assert {(link.rate_bps, link.delay_ps) for link in between} == {(10**10, 10**6)}
    assert walk(network, "s") == ["b"]
