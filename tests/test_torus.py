# SPDX-License-Identifier: Apache-2.0
"""Topologies of tiles in scenarios, and `penstock torus`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import app
from penstock.errors import InputError
from penstock.scenario import load
from program import invoke

SCENARIO = "scenarios/torus"
ROOT = Path(__file__).parents[1]


def scenario(tmp_path: Path, keys: str, talker: str = "t0", listener: str = "t1") -> Path:
    """Two stations at two nodes of a topology with these keys."""
    file = tmp_path / "scenario.toml"
    file.write_text(f"""
name = "s"
nodes = "model"
duration = "2ms"
[topology.t]
{keys}
[stations]
a = {{ at = "{talker}.*" }}
b = {{ at = "{listener}.*" }}
[streams.s]
from = "a"
to = ["b"]
source = {{ frames = "100B", every = "1ms" }}
""")
    return file


def torus(*words: str) -> dict[str, Any]:
    """What the command says to programs."""
    return dict(json.loads(invoke(app, ["torus", *words, "--json"]).stdout))


def test_a_torus_joins_what_is_documented(tmp_path: Path) -> None:
    network = load(scenario(tmp_path, 'kind = "torus"\ntiles = [1, 2]', "t0", "t7"))
    between = [(*link.a, *link.b) for link in network.links if link.b[0] not in network.stations]
    assert between == [
        ("t0", 0, "t1", 0), ("t0", 1, "t4", 1), ("t4", 0, "t5", 0), ("t1", 1, "t5", 1), ("t1", 2, "t2", 2),
        ("t2", 0, "t3", 0), ("t2", 1, "t6", 1), ("t6", 0, "t7", 0), ("t3", 1, "t7", 1), ("t3", 2, "t0", 2),
    ]  # fmt: skip
    assert {bridge.ports for bridge in network.bridges.values()} == {5}


def test_the_ports_of_a_plain_torus_are_those_of_a_grid(tmp_path: Path) -> None:
    network = load(scenario(tmp_path, 'kind = "torus"\ntiles = [3, 3]\ntile = [1, 1]'))
    ends = {(link.a, link.b) for link in network.links}
    assert {(("t0", 1), ("t1", 3)), (("t0", 2), ("t3", 0)), (("t2", 1), ("t0", 3)), (("t6", 2), ("t0", 0))} <= ends


def test_streams_go_by_dimension_order_and_not_the_first_shortest_way(tmp_path: Path) -> None:
    network = load(scenario(tmp_path, 'kind = "torus"\ntiles = [4, 4]\ntile = [1, 1]', "t5", "t10"))
    assert [hop.bridge for hop in network.streams["s"].tree] == ["t5", "t6", "t10"]
    network = load(scenario(tmp_path, 'kind = "torus"\ntiles = [4, 4]\ntile = [1, 1]', "t5", "t0"))
    assert [hop.bridge for hop in network.streams["s"].tree] == ["t5", "t4", "t0"]


def test_nodes_that_are_absent_are_no_bridges(tmp_path: Path) -> None:
    keys = 'kind = "mesh2d"\ntiles = [1, 2]\nabsent = ["0,0,0,0", "0,0,1,0", "0,0,1,1"]'
    network = load(scenario(tmp_path, keys, "t0", "t4"))
    assert len(network.bridges) == 5
    assert [hop.bridge for hop in network.streams["s"].tree] == ["t0", "t1", "t2", "t4"]


def test_engine_and_tables_agree_on_every_way() -> None:
    network = load(ROOT / SCENARIO)
    ways = [("sensor", "motor", "node0", "node15"), ("camera", "store", "node5", "node10")]
    for (talker, listener, start, goal), stream in zip(ways, network.streams.values(), strict=True):
        assert (stream.talker, stream.listeners) == (talker, (listener,))
        said = torus("way", SCENARIO, start, goal)
        numbers = [torus("way", SCENARIO, hop.bridge, hop.bridge)["nodes"][0] for hop in stream.tree]
        assert said["nodes"] == numbers


@pytest.mark.parametrize(
    ("keys", "key", "what"),
    [
        ('kind = "torus"', "topology.t", '"tiles" is missing'),
        ('kind = "torus"\ntiles = [1, 1]', "topology.t", "1 x 1 tiles"),
        ('kind = "torus"\ntiles = [2, 2]\ntile = [3, 3]', "topology.t", "a tile of 3 x 3"),
        ('kind = "torus"\ntiles = [2, 2]\ntile = [1, 2]', "topology.t", "a tile of 1 x 2"),
        ('kind = "torus"\ntiles = [128, 2]', "topology.t", "256 x 4 nodes"),
        ('kind = "torus"\ntiles = [2, 2]\nbridges = 16', "topology.t.bridges", "as many as its tiles have"),
        ('kind = "torus"\ntiles = [2, 0]', "topology.t.tiles[1]", "is not a whole number from 1 to 254"),
        ('kind = "torus"\ntiles = [2]', "topology.t.tiles[1]", "missing"),
        ('kind = "torus"\ntiles = [2, 2]\nabsent = ["0,0,0"]', "topology.t.absent[0]", "is no node"),
        ('kind = "torus"\ntiles = [2, 2]\nabsent = ["5,0,0,0"]', "topology.t", "outside of the grid"),
        ('kind = "ring"\nbridges = 4\ntiles = [2, 2]', "topology.t.tiles", "says nothing about a ring"),
        ('kind = "ring"', "topology.t.bridges", "missing"),
    ],
)
def test_what_is_no_torus_is_refused_with_what_would_be_one(tmp_path: Path, keys: str, key: str, what: str) -> None:
    with pytest.raises(InputError) as error:
        load(scenario(tmp_path, keys))
    assert (error.value.key, what in error.value.what) == (key, True), error.value


def test_the_command_says_who_a_node_is_from_each_of_its_names() -> None:
    expected = {"identity": "0,1,1,0", "number": "0x00010100", "row": 1, "column": 2, "ipv4": "10.0.2.3"}
    for name in ("0,1,1,0", "0x00010100", "65792", "10.0.2.3", "02:00:00:02:02:03"):
        assert torus("id", name) == expected | {"mac": "02:00:00:00:02:03"}
    assert torus("id", "0,1,0,0", "--tile", "1x1")["row"] == 0


def test_the_command_leads_around_what_is_dead() -> None:
    usual = torus("way", SCENARIO, "0,0,0,0", "1,1,1,1")
    assert (usual["nodes"], usual["links"]) == (["0,0,0,0", "0,1,0,1", "0,1,1,1", "1,1,1,0", "1,1,1,1"], 4)
    around = torus("way", SCENARIO, "0,0,0,0", "1,1,1,1", "--dead", "0,1,1,1/1,1,1,0")
    assert around["ok"]
    assert not {("0,1,1,1", "1,1,1,0"), ("1,1,1,0", "0,1,1,1")} & set(
        zip(around["nodes"], around["nodes"][1:], strict=False)
    )
    assert torus("cut", SCENARIO) == {"ok": True, "cases": 24, "pairs": []}


def test_the_command_says_whom_two_faults_part() -> None:
    lonely = ["--dead", "node0/node1", "--dead", "node0/node4", "--dead", "node0/node3"]
    said = invoke(app, ["torus", "cut", SCENARIO, *lonely])
    assert (said.status, "cuts 30 of 240 ways, 87.5 % arrive" in said.stdout) == (1, True), said.stdout
    way = torus("way", SCENARIO, "node0", "node1", *lonely)
    assert (way["ok"], way["outcome"], way["nodes"]) == (False, "stuck", ["0,0,0,0"])
    assert torus("cut", SCENARIO, "--dead", "node0")["ok"]


def test_the_command_makes_the_numbers_of_the_page() -> None:
    assert torus("cut", SCENARIO, "--each", "node") == {"ok": True, "cases": 16, "pairs": []}
    said = invoke(app, ["torus", "cut", SCENARIO, "--each", "two-links"])
    assert said.stdout.splitlines()[-1] == "each two-links of 276: cuts 988 of 66,240 ways, 98.5 % arrive"
    assert "the same link again" not in said.stdout


def test_the_command_names_the_circles_of_links_that_would_wait_for_each_other(tmp_path: Path) -> None:
    waits = torus("waits", SCENARIO)
    assert (waits["ok"], waits["channels"], len(waits["circles"])) == (False, 48, 11)
    mesh = scenario(tmp_path, 'kind = "mesh2d"\ntiles = [3, 3]\ntile = [1, 1]')
    said = invoke(app, ["torus", "waits", str(mesh)])
    assert (said.status, said.stdout) == (0, "24 channels: no circle\n")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["id", "9,9,2,0"], "outside of a tile"),
        (["id", "0,0,0,0", "--tile", "3x3"], "no size of a tile"),
        (["id", "10.0.0.0"], "no address of a node"),
        (["way", SCENARIO, "4,0,0,0", "0,0,0,0"], "is not there"),
        (["way", SCENARIO, "node0", "node16"], "no identity"),
        (["way", SCENARIO, "node0", "node1", "--dead", "node1"], "is dead"),
        (["way", SCENARIO, "node0", "node1", "--dead", "node0/node15"], "no link joins"),
        (["way", "scenarios/ring", "0,0,0,0", "0,0,0,1"], "has no torus"),
        (["cut", SCENARIO, "--topology", "other"], "has no torus or mesh2d"),
    ],
)
def test_words_that_mean_nothing_are_told_what_would(words: list[str], what: str) -> None:
    said = invoke(app, ["torus", *words])
    assert (said.status, what in said.output, "allowed" in said.output) == (2, True, True), said.output
