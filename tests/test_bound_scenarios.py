# SPDX-License-Identifier: Apache-2.0
"""The scenarios of the repository: each stream with a contract has a bound, which its run keeps; and traps."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from penstock import _engine, plan
from penstock.bound import Conformance, applies, bound
from penstock.bound.analysis import analyse
from penstock.bound.solution import backlogs
from penstock.check.checked import check
from penstock.run import run as run_whole
from penstock.scenario import Network, load
from penstock.scenario.limits import CELL_BYTES

SCENARIOS = Path(__file__).parents[1] / "scenarios"
# Streams that bring more than is left for them, as long as they last.
WITHOUT = {"line5": {"bulk"}, "ring": {"backup"}}
NAMES = ("cbs", "hello", "line5", "mixed", "ring", "round-robin", "tas")


def run(network: Network) -> dict[str, Any]:
    result: dict[str, Any] = dict(_engine.run(json.dumps(plan.network_json(network, {}, {}))))
    statistics: dict[str, Any] = result["statistics"]
    return statistics


def longest_ps(network: Network) -> dict[str, int]:
    return {name: of["latency_ps"]["max"] or 0 for name, of in run(network).items()}


@pytest.mark.parametrize("name", NAMES)
def test_each_stream_with_a_contract_has_a_bound_that_its_run_keeps(name: str) -> None:
    network = load(SCENARIOS / name, "model")
    found = {stream: bound(network, stream) for stream in network.streams}
    assert {stream for stream, of in found.items() if of.total_ps is None} == WITHOUT.get(name, set())
    seen = run(network)
    conforming = {
        stream: Conformance.from_engine(of["conformance"])
        for stream, of in seen.items()
        if of["conformance"] is not None
    }
    looked = 0
    for stream, of in seen.items():
        total = found[stream].total_ps
        if total is not None and applies(network, stream, conforming) is None:
            assert (of["latency_ps"]["max"] or 0) <= total, stream
            looked += 1
    assert looked >= 1


def test_a_source_that_is_early_by_what_conforms_keeps_its_bound() -> None:
    """1330 B at 900 Mb/s every 11.985 us: 15 ns early, which a scheduler holds back and nobody holds against it."""
    network = load(
        {
            "name": "early",
            "duration": "1ms",
            "nodes": "model",
            "bridges": {"b": {"ports": 2, "processing_delay": "0ns"}},
            "stations": {"a": {"at": "b.0"}, "z": {"at": "b.1"}},
            "streams": {
                "f": {
                    "from": "a", "to": ["z"], "vlan": 10, "pcp": 3, "ats": {"rate": "900Mb/s", "burst": "1350B"},
                    "source": {"frames": "1330B", "every": "11985ns", "count": 2},
                }
            },
        }
    )  # fmt: skip
    total, worst = bound(network, "f").total_ps, longest_ps(network)["f"]
    assert total is not None
    assert total - 16_000 < worst <= total


def behind(gates: dict[str, Any] | None) -> Network:
    """A class with credit, a class above that brings a burst, and frames below that never stop."""
    bridge: dict[str, Any] = {
        "ports": 4,
        "processing_delay": "0ns",
        "class_of_priority": [0, 1, 2, 3, 4, 5, 6, 7],
        "classes": {"5": {"selection": "cbs", "idle_slope": "100Mb/s"}, "7": {"selection": "strict"}},
    }
    if gates is not None:
        bridge["port"] = {"3": {"gates": gates}}
    source = {"frames": "1000B", "burst": 4, "every": "1ms"}
    common = {"to": ["z"], "vlan": 10}
    return load(
        {
            "name": "behind",
            "duration": "5ms",
            "nodes": "model",
            "bridges": {"b": bridge},
            "stations": {name: {"at": f"b.{number}"} for number, name in enumerate("xyvz")},
            "streams": {
                "held": {"from": "x", "pcp": 5, "source": source | {"start": "198us"}, **common},
                "above": {"from": "y", "pcp": 7, "source": source | {"start": "195us"}, **common},
                "below": {"from": "v", "pcp": 0, "source": {"frames": "1522B", "back_to_back": True}, **common},
            },
        }
    )


def test_credit_behind_gates_is_not_that_of_the_time_in_which_they_are_open() -> None:
    """The bound without gates, made longer by the open part of the cycle and the time shut, is broken by a run."""
    cycle_us, open_us = 250, 200
    entries = [
        {"open": [0, 5, 7], "interval": f"{open_us}us"},
        {"open": [6], "interval": f"{cycle_us - open_us}us"},
    ]
    gated, plain = behind({"entries": entries}), behind(None)
    worst = longest_ps(gated)["held"]
    bounds = [bound(network, "held").total_ps for network in (gated, plain)]
    assert bounds[0] is not None
    assert bounds[1] is not None
    assert bounds[1] < worst <= bounds[0]


def test_check_fails_on_a_deadline_that_no_bound_can_meet() -> None:
    """100 B need 0.8 us to come, and the idle switch its 0.3 us."""
    values = tomllib.loads((SCENARIOS / "cbs" / "scenario.toml").read_text())
    for deadline, fails in (("1.1us", True), ("3us", False)):
        values["streams"]["audio"] |= {"source": {"frames": "100B", "every": "1ms"}, "deadline": deadline}
        checked = check(load(values))
        assert checked.as_json()["ok"] is not fails
        assert len(checked.impossible) == fails
        said = "no bound can be within 1.1 us: a frame that waits for nothing takes 1."
        assert all(said in each for each in checked.impossible)


@pytest.mark.parametrize(("deadline", "told"), [("1.1us", False), ("3us", True), ("1ms", False)])
def test_check_warns_of_a_deadline_that_is_not_proven(deadline: str, told: bool) -> None:
    """Not of one that cannot be met at all: that is told."""
    values = tomllib.loads((SCENARIOS / "cbs" / "scenario.toml").read_text())
    values["streams"]["audio"] |= {"source": {"frames": "100B", "every": "1ms"}, "deadline": deadline}
    warned = [each.what for each in check(load(values)).warnings if each.key == "streams.audio.deadline"]
    assert [each.partition(" is not proven: the bound to ")[0] for each in warned] == ["3 us"] * told


@pytest.mark.parametrize("name", ["cbs", "mixed", "round-robin"])
def test_no_port_holds_more_than_its_queues_may(name: str, tmp_path: Path) -> None:
    """Of whole frames, what the trace of a run saw; by bounds that count preambles and gaps too."""
    network = load(SCENARIOS / name, "model")
    most: dict[tuple[str, int], int] = {}
    for each in backlogs(network):
        assert each.bytes is not None
        assert each.frames is not None
        assert each.cells is not None
        assert each.cells >= each.frames > 0
        most[each.place] = most.get(each.place, 0) + each.bytes
    ports = run_whole(network, tmp_path / "run").summary["ports"]
    assert ports
    seen = {(row["bridge"], row["port"]): row["queued_bytes_max"] for row in ports}
    for place, held in seen.items():
        assert held <= most[place], place
    assert any(held > most[place] // 10 for place, held in seen.items())


def test_a_queue_that_is_too_small_is_told() -> None:
    values = tomllib.loads((SCENARIOS / "cbs" / "scenario.toml").read_text())
    assert all(each.fits for each in backlogs(load(values)))
    (video,) = [each for each in backlogs(load(values)) if each.traffic_class == 5]
    assert video.cells is not None
    for cells, fits in ((video.cells, True), (video.cells - 1, False)):
        values["bridges"]["sw"]["classes"]["5"]["queue_limit"] = {"bytes": f"{cells * CELL_BYTES}B"}
        (found,) = [each for each in backlogs(load(values)) if each.traffic_class == 5]
        assert found.fits is fits


# What no bound can be about: sources that take what they get, by chance, against their own contract; and what breaks.
CAUSES = (
    "it takes all that its link carries",
    "are by chance",
    "by a distribution without a limit",
    "the source does not keep rate and burst",
    "it answers other frames; ats gives it a contract",
    "its talker's card is hardware, and fetches each frame out of its host's memory first; ats gives it a contract",
    "(faults), and what waits meanwhile comes at once; without it there may be a bound",
    "(faults), and nodes lead frames around it; without it there may be a bound",
)
# Their sources bring more than their windows let through.
OVERLOADED = {("plane", "bulk"), ("smartnic-tas", "be")}


def test_every_stream_of_every_scenario_has_a_bound_or_is_without_a_contract() -> None:
    bounded = without = 0
    for file in sorted(SCENARIOS.rglob("*.toml")):
        if file.name == "run.toml":  # of a recording
            continue
        network = load(file.parent if file.name == "scenario.toml" else file)
        for each in analyse(network).streams:
            for way in each.ways:
                said = way.reason
                bounded += said is None
                without += said is not None
                overloaded = (network.name, each.stream.name) in OVERLOADED
                assert said is None or overloaded or any(cause in said for cause in CAUSES), (file, said)
    assert bounded > 60
    assert without > 20
