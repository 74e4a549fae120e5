# SPDX-License-Identifier: Apache-2.0
"""Scenarios whose bridges are data planes: what a plane is told of them, and a run on real frames."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.errors import InputError
from penstock.journeys import View
from penstock.lab import planes
from penstock.lab.programs import How
from penstock.lab.run import Where, needed, run
from penstock.plan import network_json
from penstock.plane.binary import PROGRAM
from penstock.plane.of_network import config_of
from penstock.scenario import load
from penstock.scenario.network import Network
from penstock.trace import read_trace
from planes_in_time import place_in_cycle_ps
from rights import needs_namespaces

SCENARIOS = Path(__file__).parents[1] / "scenarios"


def small(**others: Any) -> dict[str, Any]:
    """Two windows of 2 ms each, a stream for either, at a port of 20 Mb/s."""
    stream = {"from": "plc", "to": ["drive"], "vlan": 10, "source": {"frames": "500B", "every": "1ms"}}
    return {
        "name": "small",
        "nodes": "plane",
        "duration": "200ms",
        "bridges": {
            "sw": {
                "ports": 2,
                "classes": {"7": {"selection": "strict"}},
                "port": {
                    "1": {
                        "gates": {
                            "cycle_time": "4ms",
                            "entries": [{"open": [7], "interval": "2ms"}, {"open": [1], "interval": "2ms"}],
                        }
                    }
                },
            }
        },
        "stations": {"plc": {"at": "sw.0"}, "drive": {"at": "sw.1", "rate": "20Mb/s"}},
        "streams": {"high": stream | {"pcp": 3}, "low": stream | {"pcp": 0}},
    } | others


def told(network: Network) -> dict[str, Any]:
    """What the only plane of a network is told."""
    (bridge,) = network.bridges.values()
    return config_of(network, bridge, {0: "p0", 1: "p1"})


def test_a_plane_is_told_ports_gates_and_a_rule_for_each_stream() -> None:
    config = told(load(small()))
    port = config["ports"][1]
    assert (port["interface"], port["rate"]) == ("p1", 20_000_000)
    assert port["gates"]["entries"] == [{"open": [7], "interval": 2_000_000}, {"open": [1], "interval": 2_000_000}]
    assert (port["gates"]["base_time"], port["gates"]["cycle_time"]) == (0, 4_000_000)
    rules = [
        (rule["stream"], rule["match"]["vlan"], rule["match"]["pcp"], rule["to"], rule["queue"])
        for rule in config["table"]
    ]
    assert rules == [("high", 10, 3, ["p1"], 7), ("low", 10, 0, ["p1"], 1)]
    assert config["streams"]["high"] == {"number": {"offset": 28, "bytes": 4}}


def test_ats_credit_turns_and_limits_are_told() -> None:
    given = small()
    del given["bridges"]["sw"]["port"]
    given["bridges"]["sw"]["classes"] = {
        "7": {"selection": "ats", "max_residence": "3ms"},
        "5": {"selection": "cbs", "idle_slope": "2Mb/s"},
        "2": {"selection": "round_robin"},
        "1": {"selection": "round_robin", "queue_limit": {"frames": 9}},
    }
    given["streams"]["high"]["ats"] = {"rate": "5Mb/s", "burst": "520B"}
    config = told(load(given))
    port = config["ports"][1]
    assert config["streams"]["high"]["ats"] == {"rate": 5_000_000, "burst": 520}
    assert port["classes"]["7"] == {"limit": 1024, "max_residence": 3_000_000}
    assert port["classes"]["5"] == {"limit": 1024, "idle_slope": 2_000_000}
    assert (port["classes"]["1"], port["round_robin"]) == ({"limit": 9}, [1, 2])


@pytest.mark.parametrize("given", [small(), "plane", "round-robin"])
def test_the_program_takes_what_it_is_told(given: Any, tmp_path: Path) -> None:
    network = load(SCENARIOS / given if isinstance(given, str) else given, "plane")
    for number, request in enumerate(planes.requests(network, network, How())):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(request["plan"] | {"base_time_tai_ns": 5}))
        done = subprocess.run(
            [str(PROGRAM.build()), "--config", str(file)], capture_output=True, text=True, timeout=10, check=False
        )
        assert "no such interface" in done.stderr, "all before the interfaces is right"


def test_a_plane_keeps_no_more_of_a_window_than_its_frames_leave() -> None:
    """100 B at 1 Gb/s take 960 ns of 20 us: half of the rest is kept free, where 20 us would let nothing pass."""
    tas = load(SCENARIOS / "tas", "plane")
    assert planes.tolerance_ns(tas, tas.bridges["sw"]) == (20_000 - 960) // 2
    (request,) = planes.requests(tas, tas, How())
    assert request["plan"]["tolerance"] == 9520
    network = load(small())
    assert planes.tolerance_ns(network, network.bridges["sw"]) == planes.TOLERANCE_NS
    ungated = load(SCENARIOS / "round-robin", "plane")
    assert {planes.tolerance_ns(ungated, bridge) for bridge in ungated.bridges.values()} == {planes.TOLERANCE_NS}


def test_who_asks_when_frames_are_created_asks_a_model() -> None:
    assert [bridge["kind"] for bridge in network_json(load(small()), {}, {})["bridges"]] == ["model"]


def test_planes_need_no_qdiscs_and_stand_beside_no_model() -> None:
    assert needed(load(small())) == []
    given = small(nodes="model")
    given["bridges"]["sw"]["nodes"] = "plane"
    with pytest.raises(InputError, match="real Linux and simulated time do not meet"):
        load(given)
    mixed = small(nodes="linux")
    mixed["bridges"]["sw"]["nodes"] = "plane"
    assert load(mixed).bridges["sw"].nodes == "plane"


@needs_namespaces
def test_a_run_on_real_frames_has_the_trace_of_any_run(tmp_path: Path) -> None:
    network = load(small())
    said: list[str] = []
    result = run(network, tmp_path / "out", Where(guest=False), How(), said.append)
    summary = result.summary
    assert (summary["nodes"], summary["ok"]) == ("plane", True), summary
    assert {name: stream["delivered"] for name, stream in summary["streams"].items()} == {"high": 200, "low": 200}
    counted = summary["laboratory"]["planes"]["sw"]["counters"]["ports"]["port1"]
    assert (counted["sent"]["frames"], counted["departures"]["outside"]) == (400, 0)
    view = View(network, read_trace(tmp_path / "out" / "trace.parquet"))
    hops = view.hops
    assert hops.height == 400
    assert hops.filter(pl.col("arrived") > pl.col("queued") + 1_000_000).height == 0, "to a microsecond"
    assert hops.filter(pl.col("queued") > pl.col("sent")).height == 0
    # Each leaves in its window, unless it came late through the machine, which is counted.
    place = place_in_cycle_ps(tmp_path / "out", 4_000_000_000)
    window = pl.when(pl.col("traffic_class") == 7).then(place < 2_000_000_000).otherwise(place >= 2_000_000_000)
    assert hops.filter(~window).height == 0
