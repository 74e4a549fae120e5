# SPDX-License-Identifier: Apache-2.0
"""Room that is proposed for queues: nothing is lost with it, and with a cell less something is."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock import _engine, plan
from penstock.bound.proposal import Room, rooms
from penstock.cli import app
from penstock.scenario import load
from penstock.scenario.limits import CELL_BYTES

SCENARIOS = Path(__file__).parents[1] / "scenarios"
SELECTIONS: dict[str, dict[str, Any]] = {
    "strict": {"classes": {"5": {"selection": "strict"}}},
    "cbs": {"classes": {"5": {"selection": "cbs", "idle_slope": "20Mb/s"}}},
    "ats": {"classes": {"5": {"selection": "ats"}}},
    "round_robin": {"classes": {"5": {"selection": "round_robin"}, "4": {"selection": "round_robin"}}},
    "gates": {
        "classes": {"5": {"selection": "strict"}},
        "gates": {"entries": [{"open": [0, 1], "interval": "90us"}, {"open": list(range(8)), "interval": "60us"}]},
    },
}


def scenario(selection: str) -> dict[str, Any]:
    """Six talkers send in the same instant, to one port: a frame each, and three where its gate is shut meanwhile."""
    talkers = [f"e{number}" for number in range(6)]
    source: dict[str, Any] = {"frames": "1000B", "every": "9ms"}
    if selection == "gates":
        source["burst"] = 3
    ats = {"ats": {"rate": "1Mb/s", "burst": "1020B"}} if selection == "ats" else {}
    return {
        "name": "met",
        "nodes": "model",
        "duration": "1ms",
        "bridges": {"sw": {"ports": 8, "class_of_priority": list(range(8)), **copy.deepcopy(SELECTIONS[selection])}},
        "stations": {name: {"at": f"sw.{number}"} for number, name in enumerate([*talkers, "d"])},
        "streams": {
            name: {"from": name, "to": ["d"], "vlan": 10, "pcp": 5, "source": source} | ats for name in talkers
        },
    }


def room_of(described: dict[str, Any]) -> Room:
    (room,) = rooms(load(described))
    return room


def lost(described: dict[str, Any], queue_cells: int, store_cells: int | None = None) -> int:
    described = copy.deepcopy(described)
    bridge = described["bridges"]["sw"]
    bridge["classes"]["5"]["queue_limit"] = {"bytes": f"{queue_cells * CELL_BYTES}B"}
    if store_cells is not None:
        bridge["store"] = f"{store_cells * CELL_BYTES}B"
    result: dict[str, Any] = dict(_engine.run(json.dumps(plan.network_json(load(described), {}, {}))))
    return sum(sum(of["dropped"].values()) for of in result["statistics"].values())


@pytest.mark.parametrize("selection", SELECTIONS)
def test_nothing_is_lost_with_what_is_proposed_and_a_frame_with_less(selection: str) -> None:
    described = scenario(selection)
    room = room_of(described)
    cells, store = room.queue_limits[5], room.needed_cells
    assert store is not None
    assert lost(described, cells, store) == 0
    # No more is proposed than what is there at once: each cell is needed.
    assert cells == (18 if selection == "gates" else 6) * 8
    assert lost(described, cells - 1) > 0


def test_a_store_without_room_for_what_is_not_guaranteed_is_told() -> None:
    described = scenario("gates")
    room = room_of(described)
    assert room.fits
    assert room.needed_cells is not None
    described["bridges"]["sw"]["store"] = f"{(room.needed_cells - 1) * CELL_BYTES}B"
    assert not room_of(described).fits
    described["bridges"]["sw"]["store"] = f"{room.needed_cells * CELL_BYTES}B"
    assert room_of(described).fits


def test_frames_in_processing_are_in_their_queue_already() -> None:
    """At 10 Gb/s 17 frames come while one is looked at for 5 us."""
    described = {
        "name": "slow",
        "nodes": "model",
        "duration": "1ms",
        "links": {"rate": "10Gb/s"},
        "bridges": {"sw": {"ports": 2, "processing_delay": "5us", "class_of_priority": list(range(8))}},
        "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}},
        "streams": {
            "s": {"from": "a", "to": ["b"], "vlan": 10, "pcp": 5,
                  "source": {"frames": "300B", "burst": 40, "every": "1ms"}},
        },
    }  # fmt: skip
    cells = room_of(described).queue_limits[5]
    described["bridges"]["sw"]["classes"] = {"5": {}}  # type: ignore[index]
    assert lost(described, cells) == 0
    assert lost(described, cells // 2) > 0


def test_the_command_proposes_keys_that_the_scenario_takes() -> None:
    done = CliRunner().invoke(app, ["bound", str(SCENARIOS / "cbs"), "--store", "--json"])
    told = json.loads(done.stdout)
    assert done.exit_code == 0
    assert {row["quantity"] for row in told["rows"]} == {"queue", "class", "store"}
    proposal = told["proposal"]["sw"]
    assert proposal["store"].endswith("B")
    assert all(of["queue_limit"]["bytes"].endswith("B") for of in proposal["classes"].values())
