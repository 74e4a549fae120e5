# SPDX-License-Identifier: Apache-2.0
"""Networks of tiles: identities, links, and the table that leads around what is dead."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.tiles.congestion import nearer
from penstock.tiles.dependencies import circles, dependencies
from penstock.tiles.detours import Routing
from penstock.tiles.dimension_order import preferred, tree
from penstock.tiles.grid import Grid, Port
from penstock.tiles.identity import LARGEST, Identity, Node, ipv4_address, mac_address, node_of_address
from penstock.tiles.walk import HOP_LIMIT, Link, Outcome, cut, follow, links_of

GRIDS = st.builds(
    Grid, st.tuples(st.integers(2, 8), st.integers(2, 8)), st.sampled_from([(1, 1), (2, 2)]), st.just(True)
)


def test_an_identity_is_32_bits_and_two_bytes_of_each_address() -> None:
    identity = Identity(3, 1, 1, 0)
    assert identity.number == 0x03010100
    assert Identity.from_number(0x03010100) == Identity.parse("3,1,1,0") == Identity.parse("0x3010100") == identity
    node = identity.node((2, 2))
    assert node == Node(7, 2)
    assert str(ipv4_address(node)) == "10.0.8.3"
    assert mac_address(node, 2) == "02:00:00:02:08:03"


@given(st.tuples(st.integers(0, LARGEST - 1), st.integers(0, LARGEST - 1)), st.integers(0, 255))
def test_addresses_and_identities_lead_back(place: tuple[int, int], port: int) -> None:
    node = Node(*place)
    assert node_of_address(str(ipv4_address(node))) == node_of_address(mac_address(node, port)) == node
    identity = Identity.of(node, (2, 2))
    assert Identity.from_number(identity.number).node((2, 2)) == Identity.parse(str(identity)).node((2, 2)) == node


@pytest.mark.parametrize(
    "text", ["", "0,0,0", "0,0,0,256", "1,2,3,4,5", "0x100000000", "-1", "0,0,0,x", "\uff11,0,0,0"]
)
def test_what_is_no_identity_is_told_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match=r"0xffffffff|four numbers"):
        Identity.parse(text)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "10.1.1.1", "10.0.255.1", "02:00:00:00:00:01", "02:00:01:00:01:01", "x"]
)
def test_what_is_no_address_of_a_node_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="no address of a node"):
        node_of_address(address)


def test_a_place_outside_of_its_tile_is_refused() -> None:
    with pytest.raises(ValueError, match="outside of a tile of 2 x 2"):
        Identity(0, 0, 2, 0).node((2, 2))


@pytest.mark.parametrize(
    ("tiles", "tile", "wraps", "what"),
    [
        ((1, 1), (2, 2), True, "more than one tile"),
        ((0, 3), (2, 2), True, "1 or more rows"),
        ((2, 2), (3, 3), True, "2 x 2, where a node"),
        ((2, 2), (2, 1), False, "2 x 2, where a node"),
        ((128, 2), (2, 2), True, "254 of each"),
    ],
)
def test_what_is_no_grid_is_told_what_is_allowed(
    tiles: tuple[int, int], tile: tuple[int, int], wraps: bool, what: str
) -> None:
    with pytest.raises(ValueError, match=what):
        Grid(tiles, tile, wraps)


def test_a_node_has_two_ports_within_its_tile_and_one_outside() -> None:
    grid = Grid((2, 3))
    assert len(grid.nodes) == 24
    assert len(grid.links) == 24 * 3 // 2
    assert grid.neighbours[Node(0, 0)] == {
        Port.ROW: (Node(0, 1), Port.ROW),
        Port.COLUMN: (Node(1, 0), Port.COLUMN),
        Port.WEST: (Node(0, 5), Port.EAST),
    }
    assert grid.neighbours[Node(1, 1)][Port.SOUTH] == (Node(3, 0), Port.NORTH)
    assert [set(grid.neighbours[n]) - {Port.ROW, Port.COLUMN} for n in (Node(0, 1), Node(1, 0))] == [
        {Port.EAST},
        {Port.NORTH},
    ]


def test_a_mesh_ends_where_a_torus_wraps() -> None:
    mesh, torus = Grid((2, 3), wraps=False), Grid((2, 3))
    assert set(mesh.links) < set(torus.links)
    assert len(torus.links) - len(mesh.links) == 2 + 3


def test_the_testbed_of_the_paper_is_a_tile_with_a_node_on_each_side() -> None:
    outer = {Node(0, 0), Node(1, 0), Node(1, 1), Node(1, 4), Node(0, 5), Node(1, 5)}
    grid = Grid((1, 3), wraps=False, absent=frozenset(outer))
    routing = Routing(grid)
    west, east = Node(0, 1), Node(0, 4)
    assert [*follow(routing, west, east).nodes] == [west, Node(0, 2), Node(0, 3), east]
    dead = ((Node(0, 2), Port.ROW), (Node(0, 3), Port.ROW))
    assert dead in grid.links
    assert [*follow(routing, west, east, [dead]).nodes] == [
        west, Node(0, 2), Node(1, 2), Node(1, 3), Node(0, 3), east,
    ]  # fmt: skip
    assert list(cut(routing, [dead])) == []


@settings(max_examples=40, deadline=None)
@given(st.tuples(st.integers(1, 3), st.integers(1, 3)), st.sampled_from([(1, 1), (2, 2)]), st.booleans(), st.data())
def test_ways_lead_around_nodes_that_are_absent(
    tiles: tuple[int, int], tile: tuple[int, int], wraps: bool, data: st.DataObject
) -> None:
    assume(tiles != (1, 1) or (tile == (2, 2) and not wraps))
    whole = Grid(tiles, tile, wraps)
    absent = data.draw(st.sets(st.sampled_from(whole.nodes), max_size=min(5, len(whole.nodes) - 2)))
    try:
        grid = Grid(tiles, tile, wraps, frozenset(absent))
    except ValueError:
        assume(False)
    routing, without = Routing(grid), Routing(whole)
    assert [*cut(routing, [])] == []
    for destination in grid.nodes:
        for node, port in tree(grid, destination).items():
            way = follow(without, node, destination).nodes
            assert port == preferred(whole, node, destination) or absent.intersection(way)
    if grid.links:
        outcomes = {way.outcome for *_, way in cut(routing, [data.draw(st.sampled_from(grid.links))])}
        assert outcomes <= {Outcome.STUCK}


def test_nodes_that_are_cut_off_are_no_grid() -> None:
    with pytest.raises(ValueError, match="node 0,2,0,0 and 0,0,0,0 are cut off from each other"):
        Grid((1, 3), (1, 1), wraps=False, absent=frozenset({Node(0, 1)}))


@pytest.mark.parametrize("wraps", [True, False])
def test_dimension_order_leads_to_each_destination_in_all_sizes(wraps: bool) -> None:
    for rows in range(1, 9):
        for columns in range(1, 9):
            if wraps and rows == columns == 1:
                continue
            grid = Grid((rows, columns), wraps=wraps)
            for destination in grid.nodes[:: 1 if rows * columns < 20 else 7]:
                arrived = {destination}
                for node in grid.nodes:
                    way = [node]
                    while way[-1] not in arrived:
                        way.append(grid.neighbours[way[-1]][preferred(grid, way[-1], destination)][0])
                        assert len(way) <= len(grid.nodes), f"{rows} x {columns}: from {node} to {destination}"
                    arrived.update(way)


@settings(max_examples=20, deadline=None)
@given(GRIDS, st.data())
def test_no_single_dead_link_cuts_a_torus(grid: Grid, data: st.DataObject) -> None:
    routing = Routing(grid)
    destination = data.draw(st.sampled_from(grid.nodes))
    for _ in range(20):
        link = data.draw(st.sampled_from(grid.links))
        for source in data.draw(st.permutations(grid.nodes))[:20]:
            if source != destination:
                assert follow(routing, source, destination, [link]).outcome is Outcome.ARRIVED


@pytest.mark.parametrize("grid", [Grid((2, 2)), Grid((2, 3)), Grid((4, 4), (1, 1)), Grid((2, 5), (1, 1))])
def test_no_single_dead_link_cuts_these_at_all(grid: Grid) -> None:
    routing = Routing(grid)
    assert [link for link in grid.links if next(cut(routing, [link]), None)] == []


@pytest.mark.parametrize("grid", [Grid((2, 2)), Grid((3, 3), wraps=False), Grid((4, 4), (1, 1)), Grid((1, 4))])
def test_no_frame_goes_back_over_the_link_it_came_from(grid: Grid) -> None:
    routing = Routing(grid)
    for destination in grid.nodes:
        for (node, reception), ports in routing.towards(destination).items():
            assert reception not in ports
            assert len(set(ports)) == len(ports)
            if reception is None or reception != preferred(grid, node, destination):
                assert ports[0] == preferred(grid, node, destination)


def test_a_dead_node_cuts_nobody_else_of_a_torus() -> None:
    grid = Grid((4, 4), (1, 1))
    routing = Routing(grid)
    for node in grid.nodes:
        found = [(a, b) for a, b, _ in cut(routing, links_of(grid, node), {node})]
        assert found == []


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        (Grid((3, 3), (1, 1)), {Outcome.ARRIVED: 10980, Outcome.STUCK: 36}),
        (Grid((2, 2)), {Outcome.ARRIVED: 65252, Outcome.STUCK: 988}),
        (Grid((4, 4), (1, 1)), {Outcome.ARRIVED: 118576, Outcome.STUCK: 464}),
    ],
)
def test_how_many_ways_two_dead_links_cut_is_as_the_page_says(grid: Grid, expected: dict[Outcome, int]) -> None:
    routing = Routing(grid)
    outcomes: Counter[Outcome] = Counter()
    for dead in combinations(grid.links, 2):
        for source, destination in permutations(grid.nodes, 2):
            outcomes[follow(routing, source, destination, dead).outcome] += 1
    assert outcomes == expected


@settings(max_examples=25, deadline=None)
@given(GRIDS, st.data())
def test_two_dead_links_lead_no_frame_in_circles_but_a_few_which_are_named(grid: Grid, data: st.DataObject) -> None:
    """By sample, since all are many: each way ends, and what does not arrive is named with the reason why."""
    routing = Routing(grid)
    destination = data.draw(st.sampled_from(grid.nodes))
    near = [link for link in grid.links if destination in (link[0][0], link[1][0])]
    dead = {data.draw(st.sampled_from(near)), data.draw(st.sampled_from(grid.links))}
    outcomes = {
        source: follow(routing, source, destination, dead).outcome for source in grid.nodes if source != destination
    }
    assert Outcome.SPENT not in outcomes.values()
    if grid.tile == (1, 1):
        assert Outcome.LOOPED not in outcomes.values()
    lost = {source: outcome for source, outcome in outcomes.items() if outcome is not Outcome.ARRIVED}
    named = cut(routing, dead, set(grid.nodes) - {destination, *list(lost)[:5]})
    assert {(a, b): way.outcome for a, b, way in named if b == destination} == {
        (source, destination): lost[source] for source in list(lost)[:5]
    }


def test_a_way_has_no_more_links_than_a_packet_has_hops() -> None:
    ring = Grid((1, 2 * HOP_LIMIT + 2), (1, 1))
    routing = Routing(ring)
    assert follow(routing, Node(0, 0), Node(0, HOP_LIMIT)).outcome is Outcome.ARRIVED
    assert follow(routing, Node(0, 0), Node(0, HOP_LIMIT + 1)).outcome is Outcome.SPENT


def _all_arrive(grid: Grid, destination: Node, link: Link | None) -> None:
    """Whichever of its ports each node takes at each time: no frame goes round, and each arrives."""
    routing = Routing(grid)
    table, steps = routing.towards(destination), nearer(routing, destination)
    dead = set(link or ())
    done: set[tuple[Node, Port | None]] = set()

    def visit(state: tuple[Node, Port | None], passed: tuple[tuple[Node, Port | None], ...]) -> None:
        node, _ = state
        assert state not in passed, (destination, link, passed)
        if node == destination or state in done:
            return
        first = next((port for port in table[state] if (node, port) not in dead), None)
        assert first is not None, (destination, link, passed, state)
        others = steps.get(state, ()) if first == table[state][0] else ()
        for port in (first, *(port for port in others if (node, port) not in dead)):
            visit(grid.neighbours[node][port], (*passed, state))
        done.add(state)

    for node in grid.nodes:
        if node != destination:
            visit((node, None), ())


@pytest.mark.parametrize("grid", [Grid((2, 2)), Grid((4, 4), (1, 1)), Grid((3, 2), (1, 1)), Grid((2, 3))])
def test_a_way_around_congestion_ends_whatever_link_is_dead(grid: Grid) -> None:
    for destination in grid.nodes[:: 1 if len(grid.nodes) < 20 else 5]:
        for link in (None, *grid.links):
            _all_arrive(grid, destination, link)


@settings(max_examples=10, deadline=None)
@given(GRIDS, st.data())
def test_ways_around_congestion_end_in_larger_networks_too(grid: Grid, data: st.DataObject) -> None:
    destination = data.draw(st.sampled_from(grid.nodes))
    for _ in range(3):
        _all_arrive(grid, destination, data.draw(st.sampled_from([None, *grid.links])))


def test_there_are_ways_around_congestion() -> None:
    """By hand: from 0,0 to 1,1 by the east, or by the south as well."""
    plain = nearer(Routing(Grid((4, 4), (1, 1))), Node(1, 1))
    assert plain[Node(0, 0), None] == (Port.SOUTH,)
    assert plain[Node(0, 0), Port.SOUTH] == ()
    assert plain[Node(0, 1), None] == ()
    for grid in (Grid((2, 2)), Grid((2, 3)), Grid((4, 4))):
        assert any(nearer(Routing(grid), grid.nodes[0]).values())


SIZES = [(rows, columns) for rows in range(1, 9) for columns in range(1, 9)]


@pytest.mark.parametrize("tile", [(1, 1), (2, 2)])
@pytest.mark.parametrize("wraps", [True, False])
def test_no_frame_goes_round_in_any_size_with_any_link_dead(tile: tuple[int, int], wraps: bool) -> None:
    """To one node of each size; from each whose link up is dead, since others go as if nothing were."""
    for number, size in enumerate(SIZES):
        if size == (1, 1) and (wraps or tile == (1, 1)):
            continue
        grid = Grid(size, tile, wraps)
        destination = grid.nodes[number * 7 % len(grid.nodes)]
        table = Routing(grid).towards(destination)
        up = {node: preferred(grid, node, destination) for node in grid.nodes if node != destination}
        for start in table:
            if start[1] == up[start[0]]:
                continue
            (node, reception), passed = start, set()
            dead = {(node, up[node]), grid.neighbours[node][up[node]]}
            while node != destination:
                assert (node, reception) not in passed, (size, start, destination)
                passed.add((node, reception))
                port = next((port for port in table[node, reception] if (node, port) not in dead), None)
                if port is None:
                    break
                node, reception = grid.neighbours[node][port]
            is_cut = min(size) > 1 and wraps and start[1] is None and node != destination
            assert not is_cut, (size, start, destination)


@pytest.mark.parametrize("wraps", [True, False])
def test_what_waits_for_what_in_a_plain_grid_are_its_rings_of_four_and_more(wraps: bool) -> None:
    """Of four nodes one way round only: those across it send that way."""
    ways = [0, 0, 0, 0, 1, 2, 2, 2, 2]
    for rows, columns in SIZES:
        if rows * columns > 1:
            grid = Grid((rows, columns), (1, 1), wraps)
            rings = rows * ways[columns] + columns * ways[rows] if wraps else 0
            found = list(circles(dependencies(grid)))
            assert len(found) == rings, (rows, columns)
            for circle in found:
                assert len({port for _, port in circle}) == 1
                assert len(circle) in (rows, columns)


def test_nodes_of_a_tile_wait_for_each_other_in_a_mesh_too() -> None:
    """Within a tile a frame turns from the column to the row and another from the row to the column."""
    for grid in (Grid((2, 2), wraps=False), Grid((2, 2)), Grid((3, 3))):
        graph = dependencies(grid)
        found = list(circles(graph))
        assert found
        for circle in found:
            for channel, after in zip(circle, [*circle[1:], circle[0]], strict=True):
                assert after in graph[channel]
    assert list(circles(dependencies(Grid((1, 4), wraps=False)))) == []
