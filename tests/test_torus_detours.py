# SPDX-License-Identifier: Apache-2.0
"""Networks of tiles in the engine: frames go as the tables say, also around what is dead in the middle of a run."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from penstock.bound import bound
from penstock.detours import detours_of
from penstock.report.tiles import Plane
from penstock.run import CompiledEngine, observe
from penstock.run import run as run_network
from penstock.scenario import load
from penstock.table import show
from penstock.tiles.detours import Routing
from penstock.tiles.grid import Grid
from penstock.tiles.identity import Node
from penstock.tiles.walk import HOP_LIMIT, Link, Outcome, cut, follow, links_of

ROOT = Path(__file__).parents[1]
TILES = {"kind": "torus", "tiles": [2, 2], "bridge": {"ports": 4, "processing_delay": "1us"}}
ROOM = {"ports": 5, "processing_delay": "1us", "store": "1MB"}
PLAIN = {**TILES, "tiles": [4, 4], "tile": [1, 1], "bridge": {"ports": 5, "processing_delay": "1us"}}


def scenario(
    topology: Mapping[str, Any], pairs: Collection[tuple[int, int]], faults: list[dict[str, Any]], **keys: Any
) -> dict[str, Any]:
    """A station at each node that has something to say or to hear."""
    nodes = sorted({node for pair in pairs for node in pair})
    source = keys.pop("source", {"frames": "100B", "every": "1ms", "count": 3})
    return {
        "name": "ways",
        "nodes": "model",
        "duration": "3ms",
        "topology": {"t": dict(topology)},
        "stations": {f"s{node}": {"at": f"t{node}.*"} for node in nodes},
        "streams": {f"{a}-{b}": {"from": f"s{a}", "to": [f"s{b}"], "source": source} for a, b in pairs},
        "faults": faults,
        **keys,
    }


def grid_of(topology: Mapping[str, Any]) -> Grid:
    return load(scenario(topology, [(0, 1)], [])).tilings["t"].routing.grid


def fault(grid: Grid, link: Link, **when: str) -> dict[str, Any]:
    return {"link": [f"t{grid.nodes.index(end[0])}" for end in link], **when}


def ways(described: dict[str, Any]) -> dict[str, list[list[int]]]:
    """By stream, of each of its frames: the nodes that had it, in order."""
    trace = observe(load(described))[1].trace
    received = trace.filter(pl.col("event") == "received").sort("time_ps").select("stream", "frame_id", "node")
    found: dict[tuple[str, int], list[int]] = {}
    for stream, frame, node in received.iter_rows():
        found.setdefault((stream, frame), []).append(int(node[1:]))
    by_stream: dict[str, list[list[int]]] = {}
    for (stream, _), way in sorted(found.items()):
        by_stream.setdefault(stream, []).append(way)
    return by_stream


def wanted(grid: Grid, pairs: Collection[tuple[int, int]], *dead: Collection[Link]) -> dict[str, list[list[int]]]:
    """One frame after the other, with this dead."""
    routing = Routing(grid)

    def way(a: int, b: int, links: Collection[Link]) -> list[int]:
        return [grid.nodes.index(node) for node in follow(routing, grid.nodes[a], grid.nodes[b], links).nodes]

    return {f"{a}-{b}": [way(a, b, links) for links in dead] for a, b in pairs}


@pytest.mark.parametrize("topology", [TILES, PLAIN], ids=["tiles", "plain"])
def test_engine_and_table_agree_on_all_ways_with_each_link_dead(topology: Mapping[str, Any]) -> None:
    grid = grid_of(topology)
    pairs = [(a, b) for a in range(16) for b in range(16) if a != b]
    for link in grid.links[:: 3 if topology is TILES else 5]:
        found = ways(scenario(topology, pairs, [fault(grid, link, at="500us", until="1500us")]))
        assert found == wanted(grid, pairs, [], [link], []), link


def test_a_node_that_dies_is_led_around_until_it_is_back() -> None:
    grid = grid_of(TILES)
    pairs = [(a, b) for a in range(16) for b in range(16) if a != b and 6 not in (a, b)]
    dead = links_of(grid, grid.nodes[6])
    found = ways(scenario(TILES, pairs, [{"node": "t6", "at": "500us", "until": "1500us"}]))
    assert found == wanted(grid, pairs, [], dead, [])


def test_a_node_that_comes_back_knows_which_of_its_links_are_still_down() -> None:
    grid = grid_of(TILES)
    link = grid.links[0]
    dies = {"node": f"t{grid.nodes.index(link[0][0])}", "at": "600us", "until": "700us"}
    found = ways(scenario(TILES, [(0, 1)], [fault(grid, link, at="500us", until="1500us"), dies]))
    assert found == wanted(grid, [(0, 1)], [], [link], [])


def test_what_waits_for_a_link_until_it_is_known_to_be_down_is_lost() -> None:
    """A frame every 100 us; the link is down from 495 us to 995 us, and the nodes know of it 200 us later."""
    grid = grid_of(TILES)
    dead = fault(grid, grid.links[0], at="495us", until="995us")
    source = {"frames": "100B", "every": "100us", "count": 15}
    described = scenario(TILES | {"link_detection": "200us"}, [(0, 1)], [dead], source=source)
    usual, around = wanted(grid, [(0, 1)], [], [grid.links[0]])["0-1"]
    assert ways(described)["0-1"] == [usual] * 5 + [[0]] * 2 + [around] * 5 + [usual] * 3
    summary, view = observe(load(described))
    drops = view.trace.filter(pl.col("event") == "dropped").select("node", "port", "reason", "time_ps").rows()
    assert drops == [("t0", 0, "link_down", 695_000_000)] * 2
    assert summary["streams"]["0-1"]["delivered"] == 13


def test_a_frame_that_no_link_leads_on_is_dropped_where_it_is() -> None:
    """At the rim of a mesh there is no other way than back; each frame is told of once."""
    mesh = TILES | {"kind": "mesh2d"}
    grid = grid_of(mesh)
    pairs = [(a, b) for a in range(16) for b in range(16) if a != b]
    link = next(link for link in grid.links if any(cut(Routing(grid), [link])))
    lost = {f"{grid.nodes.index(a)}-{grid.nodes.index(b)}" for a, b, _ in cut(Routing(grid), [link])}
    described = scenario(mesh, pairs, [fault(grid, link, at="500us", until="1500us")])
    assert ways(described) == wanted(grid, pairs, [], [link], [])
    summary, view = observe(load(described))
    drops = view.trace.filter(pl.col("event") == "dropped")
    assert set(drops["reason"]) == {"no_destination"}
    assert set(drops["stream"]) == lost
    assert len(drops) == len(lost)
    assert {name for name, each in summary["streams"].items() if each["delivered"] == 2} == lost


def test_a_frame_that_two_dead_links_lead_in_a_circle_ends_by_its_hop_limit() -> None:
    """Two links of the destination's are dead, of which either side leads to the other; the run ends at once."""
    larger = TILES | {"tiles": [2, 3]}
    grid = grid_of(larger)
    dead = [
        link for link in grid.links if {link[0][0], link[1][0]} in ({Node(0, 0), Node(0, 1)}, {Node(0, 0), Node(1, 0)})
    ]
    outcomes = {a: follow(Routing(grid), grid.nodes[a], grid.nodes[0], dead).outcome for a in range(1, 24)}
    assert {Outcome.ARRIVED, Outcome.LOOPED} <= set(outcomes.values())
    pairs = [(a, 0) for a in outcomes]
    faults = [fault(grid, link, at="500us", until="1500us") for link in dead]
    summary, view = observe(load(scenario(larger, pairs, faults)))
    lost = {Outcome.LOOPED: {"hop_limit": 1}, Outcome.STUCK: {"no_destination": 1}, Outcome.ARRIVED: {}}
    for a, outcome in outcomes.items():
        assert summary["streams"][f"{a}-0"]["dropped"] == lost[outcome], a
        assert summary["streams"][f"{a}-0"]["conserved"], a
    drops = view.trace.filter(pl.col("reason") == "hop_limit")["frame_id"]
    passed = view.trace.filter(pl.col("event") == "received", pl.col("frame_id").is_in(drops.to_list()))
    assert set(passed.group_by("frame_id").len()["len"]) == {
        1 + HOP_LIMIT + 1
    }  # by the first node, and by one too many


def test_frames_are_led_around_a_congested_port() -> None:
    """By hand: from 0,0 to 1,1 first along the row. A frame takes 8 us, and another one comes every 0.8 us.

    The first is being sent and two wait in the east: that is congested. The fourth is being sent and two wait in the
    south, until it has no less than the east, which gets the seventh.
    """
    topology = PLAIN | {"congestion_detour": 2, "rate": "1Gb/s"}
    source = {"frames": "1000B", "every": "1ns", "count": 7}
    described = scenario(topology, [(0, 5)], [], source=source)
    described["stations"] = {name: each | {"rate": "10Gb/s"} for name, each in described["stations"].items()}
    east, south = [0, 1, 5], [0, 4, 5]
    assert ways(described)["0-5"] == [east, east, east, south, south, south, east]
    del described["topology"]["t"]["congestion_detour"]
    assert ways(described)["0-5"] == [east] * 7


@pytest.mark.parametrize(("is_dead", "usual_us", "led_us"), [(False, 133, 96), (True, 122, 102)])
def test_a_hotspot_is_reached_sooner_by_all_ways(is_dead: bool, usual_us: int, led_us: int) -> None:
    """Each node sends 10 frames at once to one of two; all arrive, whatever way they took, also with a link dead."""
    pairs = [(a, 5 if a % 2 else 10) for a in range(16) if a not in (5, 10)]
    source = {"frames": "1000B", "every": "1ns", "count": 10}
    grid = grid_of(PLAIN)
    mean_us = []
    for keys in ({}, {"congestion_detour": 4}):
        topology = PLAIN | {"rate": "1Gb/s", "bridge": ROOM} | keys
        described = scenario(topology, pairs, [fault(grid, grid.links[0], at="0s")] if is_dead else [], source=source)
        described["stations"] = {name: each | {"rate": "10Gb/s"} for name, each in described["stations"].items()}
        streams = observe(load(described))[0]["streams"]
        assert {each["delivered"] for each in streams.values()} == {10}
        mean_us.append(round(sum(each["latency_ns"]["mean"] for each in streams.values()) / len(streams) / 1e3))
    assert mean_us == [usual_us, led_us]


def test_what_is_led_around_congestion_is_the_same_on_several_cores() -> None:
    pairs = [(a, 5) for a in range(16) if a != 5]
    source = {"frames": "1000B", "every": "1ns", "count": 20}
    network = load(scenario(PLAIN | {"rate": "1Gb/s", "congestion_detour": 4}, pairs, [], source=source))
    alone, parted = (observe(network, CompiledEngine(cores=cores))[0] for cores in (1, 2))
    assert alone["streams"] == parted["streams"]


def test_no_bound_is_said_of_frames_that_may_be_led_around_congestion() -> None:
    described = scenario(PLAIN | {"congestion_detour": 4}, [(0, 5)], [])
    assert "congestion_detour" in str(bound(load(described), "0-5").reason)


def test_what_the_tables_are_not_of_waits_for_its_link() -> None:
    """Streams to several, those that have a route of their own, bridges that send what is not whole."""
    grid = grid_of(TILES)
    dead = fault(grid, grid.links[0], at="500us", until="1500us")
    several = scenario(TILES, [(0, 1)], [dead])
    several["stations"]["s5"] = {"at": "t5.*"}
    several["streams"]["0-1"]["to"] = ["s1", "s5"]
    routed = scenario(TILES, [(0, 1)], [dead])
    routed["streams"]["0-1"]["route"] = ["t0", "t4", "t5", "t1"]
    routed["faults"] = [{**dead, "link": ["t0", "t4"]}]
    early = scenario(TILES, [(0, 1)], [dead])
    early["topology"]["t"]["bridge"] = {"ports": 4, "processing_delay": "1us", "switching": "cut_through"}
    for described in (several, routed, early):
        summary, view = observe(load(described))
        late = view.trace.filter(pl.col("event") == "sent", pl.col("node") == "t0")["time_ps"].sort()
        assert 1_500_000_000 <= late[1] < 1_510_000_000, described
        assert summary["streams"]["0-1"]["delivered"] == 3 * len(described["streams"]["0-1"]["to"])


def test_one_address_of_two_listeners_has_no_detours() -> None:
    """Their tables would contradict each other: both keep their ways, and wait."""
    grid = grid_of(TILES)
    described = scenario(TILES, [(0, 1), (10, 14)], [fault(grid, grid.links[0], at="500us", until="1500us")])
    for stream in described["streams"].values():
        stream["destination"] = "02:00:00:00:00:77"
    assert set(detours_of(load(described))) == {f"t{number}" for number in range(16)}
    assert all(not detours.orders for detours in detours_of(load(described)).values())
    assert ways(described) == wanted(grid, [(0, 1), (10, 14)], [], [], [])
    del described["streams"]["10-14"]
    assert detours_of(load(described))["t0"].orders


def test_a_run_says_how_frames_went_before_while_and_after(tmp_path: Path) -> None:
    """By hand: 85 us a forward, 128 B and a preamble at 10 Gb/s, 100 ns of cable; both ends at 2.25 Gb/s."""
    run_network(load(ROOT / "scenarios" / "torus"), tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    before, meanwhile, after = [phase["streams"]["control"] for phase in summary["phases"]]
    assert [phase["begin_ns"] for phase in summary["phases"]] == [0, 30e6, 60e6]
    assert [phase["dead"] for phase in summary["phases"]] == [[], ['the link of "node14" and "node15"'], []]
    assert [each["delivered"] for each in (before, meanwhile, after)] == [30, 30, 40]
    hop, ends = 85_000 + 102.4 + 6.4 + 100, 85_000 + 455.111 + 28.444 + 2 * 100
    assert before["max_ns"] == after["max_ns"] == pytest.approx(4 * hop + ends, abs=0.01)
    assert meanwhile["max_ns"] == pytest.approx(6 * hop + ends, abs=0.01)
    assert before["ways"] == [{"nodes": ["node0", "node3", "node7", "node14", "node15"], "frames": 30}]
    around = ["node0", "node3", "node7", "node14", "node10", "node11", "node15"]
    assert meanwhile["ways"] == [{"nodes": around, "frames": 30}]
    page = (tmp_path / "report.html").read_text()
    assert "Ways around what was dead" in page
    console = Console(record=True, width=160, file=io.StringIO())
    show(summary, console, tmp_path)
    assert "control  30 ms                30/30  596.936  596.936  " + " ".join(around) in console.export_text()


def test_a_picture_shows_what_leaves_a_torus_at_both_sides() -> None:
    plane = Plane(load(ROOT / "scenarios" / "torus").tilings["node"])
    inside = plane.between(Node(0, 0), Node(0, 1), 0.0)
    assert inside == [((0.0, 0.0), (1.0, 0.0))]
    (begin, end), (other, far) = plane.between(Node(0, 3), Node(0, 0), 0.0)
    assert begin == plane.at(Node(0, 3))
    assert other == plane.at(Node(0, 0))
    assert end[0] > begin[0]
    assert far[0] < other[0]
