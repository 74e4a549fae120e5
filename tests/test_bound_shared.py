# SPDX-License-Identifier: Apache-2.0
"""Streams that share an ATS scheduler: what they promise together is what is asked of them, and has a bound."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from penstock import _engine, plan
from penstock.bound import Conformance, bound, conditions
from penstock.bound.analysis import analyse
from penstock.run import run
from penstock.scenario import Network, load

BYTES = 200
WIRE = BYTES + 20
TOGETHER = {"rate": "12Mb/s", "burst": f"{3 * WIRE}B"}


def stream(talker: str, start_us: int = 0, every_us: int = 500, size: int = BYTES, **more: Any) -> dict[str, Any]:
    source = {"frames": f"{size}B", "every": f"{every_us}us", "start": f"{start_us}us"}
    return {"from": talker, "to": ["z"], "vlan": 2, "pcp": 3, "scheduler": "shared", "source": source} | more


def line(streams: dict[str, Any], together: dict[str, str], duration: str = "20ms") -> Network:
    """Three bridges in a line, with best effort that takes what its link carries."""
    greedy = {"from": "y", "to": ["z"], "vlan": 2, "pcp": 0, "source": {"frames": "1500B", "back_to_back": True}}
    return load(
        {
            "name": "shared", "duration": duration, "nodes": "model",
            "bridges": {name: {"ports": 3} for name in "abc"},
            "links": {"ab": {"between": ["a.2", "b.0"]}, "bc": {"between": ["b.2", "c.0"]}},
            "stations": {"x": {"at": "a.0"}, "y": {"at": "a.1"}, "z": {"at": "c.1"}},
            "schedulers": {"shared": together},
            "streams": streams | {"greedy": greedy},
        }
    )  # fmt: skip


def seen(network: Network) -> dict[str, Any]:
    found: dict[str, Any] = _engine.run(json.dumps(plan.network_json(network, {}, {})))["statistics"]
    return found


THREE = {"left": stream("x"), "right": stream("x"), "rear": stream("x")}


def test_streams_that_keep_a_contract_together_have_a_bound() -> None:
    network = line(THREE, TOGETHER)
    statistics = seen(network)
    for each in analyse(network).streams:
        if each.stream.name == "greedy":
            continue
        assert each.contract is not None
        assert each.contract.state == "kept", each.contract.said
        assert each.worst is not None, each.ways[0].reason
        longest = statistics[each.stream.name]["latency_ps"]["max"]
        assert longest <= (each.worst.total_ps or 0)
    worst = max(statistics[name]["latency_ps"]["max"] for name in THREE)
    assert worst > 0.5 * (bound(network, "left").total_ps or 0), "three frames come at once, behind one of best effort"


def test_each_alone_may_keep_what_they_do_not_keep_together(tmp_path: Path) -> None:
    """Two of three frames that come at once are within the burst: the third one is held, and said so everywhere."""
    network = line(THREE, TOGETHER | {"burst": f"{2 * WIRE}B"})
    statistics = seen(network)
    late = {name: statistics[name]["conformance"]["late_frames"] for name in THREE}
    assert sorted(late.values()) == [0, 0, statistics["left"]["conformance"]["frames"]]
    for each in analyse(network).streams:
        if each.stream.name != "greedy":
            assert "does not keep rate and burst" in (each.ways[0].reason or "")
    # A run's trace is judged as the engine judges.
    summary = run(network, tmp_path / "out").summary
    for name, held in late.items():
        told = Conformance.from_engine(statistics[name]["conformance"])
        assert summary["streams"][name]["conforms"] is (held == 0)
        assert summary["streams"][name]["conformance"] == told.describe()


@pytest.mark.parametrize("seed", range(25))
def test_no_frame_takes_longer_than_its_bound(seed: int) -> None:
    rng = random.Random(seed)
    streams, rate, burst = {}, 0.0, 0
    for number in range(rng.randint(2, 4)):
        size, every_us = rng.randint(64, 1200), rng.choice([125, 250, 400, 1000])
        streams[f"s{number}"] = stream("x", rng.randint(0, 300), every_us, size)
        rate += (size + 20) * 8 / every_us
        burst += 2 * (size + 20)
    network = line(streams, {"rate": f"{int(rate * 1.01) + 1}Mb/s", "burst": f"{burst}B"})
    statistics = seen(network)
    for name in streams:
        assert not statistics[name]["conformance"]["late_frames"]
        found = bound(network, name)
        assert found.total_ps is not None, found.reason
        assert statistics[name]["latency_ps"]["max"] <= found.total_ps


def two_links() -> Network:
    """Each talker keeps the contract; behind the bridge where they meet, one scheduler has both."""
    return load(
        {
            "name": "meeting", "duration": "40ms", "nodes": "model",
            "bridges": {"a": {"ports": 3}, "b": {"ports": 2}},
            "links": {"ab": {"between": ["a.2", "b.0"]}},
            "stations": {"x": {"at": "a.0"}, "y": {"at": "a.1"}, "z": {"at": "b.1"}},
            "schedulers": {"shared": {"rate": "4Mb/s", "burst": f"{WIRE}B"}},
            "streams": {"one": stream("x"), "other": stream("y", 100)},
        }
    )  # fmt: skip


def test_two_that_keep_it_each_may_be_held_where_they_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be taken for a bound is not one: at the second bridge each waits for the other, longer and longer."""
    network = two_links()
    for name in ("one", "other"):
        reason = bound(network, name).reason
        assert reason is not None
        assert 'came to "a" by several links' in reason
    statistics = seen(network)
    assert not any(statistics[name]["conformance"]["late_frames"] for name in ("one", "other"))
    monkeypatch.setattr(conditions, "_come_together", lambda *_: None)
    trusting = bound(two_links(), "one").total_ps
    assert trusting is not None
    assert statistics["one"]["latency_ps"]["max"] > 2 * trusting
