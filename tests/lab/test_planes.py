# SPDX-License-Identifier: Apache-2.0
"""Data planes beside Linux's own bridges, on a kernel that has both."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.end.trace import ORIGIN
from penstock.journeys import View
from penstock.lab.emulation import Emulation
from penstock.lab.machine import Machine
from penstock.lab.programs import How
from penstock.lab.run import Where, hosts, play
from penstock.scenario import load
from penstock.scenario.network import Network
from penstock.side_by_side.run import run_on
from penstock.side_by_side.steps import WHOLE, steps

pytestmark = pytest.mark.long(90)

LAB = Path(__file__).parents[2] / "scenarios" / "lab" / "scenario.toml"
WINDOW_PS = 2_000_000_000
SHORT = {"duration": "40ms"}


def _side(nodes: str) -> Network:
    return load(tomllib.loads(LAB.read_text()) | SHORT, nodes)


def _mixed() -> Network:
    """A plane with gates, behind it Linux with taprio that has the windows of each a half cycle later."""
    gates: dict[str, Any] = {
        "cycle_time": "4ms",
        "entries": [{"open": [7], "interval": "2ms"}, {"open": [1], "interval": "2ms"}],
    }
    bridge = {"ports": 2, "classes": {"7": {"selection": "strict"}, "1": {"selection": "strict"}}}
    stream = {"from": "plc", "to": ["drive"], "vlan": 10, "source": {"frames": "500B", "every": "1ms"}}
    said = {
        "name": "mixed",
        "nodes": "linux",
        "bridges": {
            "first": bridge | {"nodes": "plane", "port": {"1": {"gates": gates}}},
            "second": bridge | {"port": {"1": {"gates": gates | {"base_time": "2ms"}}}},
        },
        "links": {"trunk": {"between": ["first.1", "second.0"]}},
        "stations": {"plc": {"at": "first.0"}, "drive": {"at": "second.1"}},
        "streams": {"high": stream | {"pcp": 3}, "low": stream | {"pcp": 0}},
    }
    return load(said | SHORT)


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    networks = [_side("linux"), _mixed()]
    with hosts(networks, Where(emulation=Emulation("icount")), print) as made:
        yield made


def test_one_plane_stands_beside_a_bridge_of_linux(machine: Machine, tmp_path: Path) -> None:
    network = _mixed()
    played = play(machine, network, How(), tmp_path / "ends")
    told = played.summary["laboratory"]
    assert {name: s["delivered"] for name, s in played.summary["streams"].items()} == {"high": 40, "low": 40}
    assert (list(told["planes"]), told["qdiscs_verified"]) == (["first"], {"second": ["port1"]})
    hops = View(network, played.trace).hops.with_columns(pl.col("node", "stream").cast(pl.String))
    assert hops["node"].unique().to_list() == ["first"]
    assert hops.height == 80
    # Each left the plane in its window, or was counted late; Linux's windows are half a cycle later.
    base_ps = (told["base_tai_ns"] - int(told["stamps"][ORIGIN])) * 1000
    place = (pl.col("sent") - base_ps) % (2 * WINDOW_PS)
    is_high = pl.col("stream") == "high"
    outside = hops.filter(pl.when(is_high).then(place >= WINDOW_PS).otherwise(place < WINDOW_PS))
    assert outside.height == told["planes"]["first"]["counters"]["ports"]["port1"]["departures"]["outside"]
    arrived = played.trace.filter(pl.col("event") == "delivered").with_columns(pl.col("stream").cast(pl.String))
    came = (pl.col("time_ps").cast(pl.Int64) - base_ps) % (2 * WINDOW_PS)
    early = arrived.filter(pl.when(is_high).then(came < WINDOW_PS).otherwise(came >= WINDOW_PS))
    assert early.height <= 3, "an emulated processor may be late at the end of a window"


def test_linux_and_a_plane_side_by_side(machine: Machine, tmp_path: Path) -> None:
    networks = {kind: _side(kind) for kind in ("model", "linux", "plane")}
    sides = run_on(machine, networks, tmp_path, print, How())
    found = {(each.stream, each.place, each.nodes): each for each in steps({s.nodes: s.summary for s in sides})}
    for kind in networks:
        assert (found["control", WHOLE, kind].frames, found["bulk", WHOLE, kind].frames) == (20, 40)
        assert (tmp_path / kind / "report.html").exists()
    assert found["control", "sw.2", "linux"].times_ns is None
    # Control waits for its window on all of them, 1.5 ms after it came.
    for kind in networks:
        times = found["control", WHOLE, kind].times_ns
        assert times is not None
        assert 1_300_000 < times["p50"] < 1_500_000 + 300_000
    through = found["control", "sw.2", "plane"].times_ns
    assert through is not None
    assert through["p50"] > 1_200_000
