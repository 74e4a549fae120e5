# SPDX-License-Identifier: Apache-2.0
"""Sources in a known phase of the gates: their bounds follow from when they come, and no run breaks them."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from penstock import _engine, plan
from penstock.bound import bound
from penstock.bound.certificate import refusals
from penstock.bound.curves import curves_of
from penstock.bound.page import nearest_of
from penstock.bound.solution import certificate
from penstock.errors import InputError
from penstock.run import observe
from penstock.scenario import Network, load

SCENARIOS = Path(__file__).parents[1] / "scenarios"


def longest_ps(network: Network) -> dict[str, int]:
    statistics = _engine.run(json.dumps(plan.network_json(network, {}, {})))["statistics"]
    return {name: of["latency_ps"]["max"] or 0 for name, of in statistics.items()}


def tas() -> dict[str, Any]:
    return tomllib.loads((SCENARIOS / "tas" / "scenario.toml").read_text())


@pytest.mark.parametrize("name", ["tas", "mixed"])
def test_frames_that_always_find_their_window_open_have_a_bound_below_their_deadline(name: str) -> None:
    network = load(SCENARIOS / name, "model")
    total, worst = bound(network, "control").total_ps, longest_ps(network)["control"]
    assert total is not None
    assert worst <= total < worst + 200_000


@pytest.mark.parametrize(
    ("changed", "waits"),
    [
        ({}, False),
        ({"every": "125us", "start": "5us"}, True),  # every second one comes while the gate is shut
        ({"every": "500us"}, False),
        ({"start": "17.7us"}, False),  # it may begin 1.2 us later, and until 20 us less its own 0.96 us
        ({"start": "17.9us"}, True),
        ({"start": "40us"}, True),
        ({"every": "249us"}, True),  # it comes in all phases, in the end
        ({"jitter": {"uniform": "12.5us"}}, False),
        ({"jitter": {"uniform": "16us"}}, True),
        ({"jitter": {"normal": "1ns"}}, True),  # without a limit
    ],
)
def test_who_misses_the_window_waits_for_the_next_one(changed: dict[str, Any], waits: bool) -> None:
    values = tas()
    values["streams"]["control"]["source"] |= changed
    network = load(values, "model")
    total, worst = bound(network, "control").total_ps, longest_ps(network)["control"]
    assert total is None or worst <= total
    assert (total is None or total > 100_000_000) is waits
    assert refusals(certificate(network)) == []


def test_synchronization_that_is_off_counts_either_way() -> None:
    """The frame may begin at 18.9 us, and has until 19.02 us."""
    for error, waits in (("20ns", False), ("900ns", True)):
        values = tas()
        values["streams"]["control"]["source"]["start"] = "17.7us"
        values["bridges"]["sw"]["clock"] = {"sync": {"error": error}}
        total = bound(load(values, "model"), "control").total_ps
        assert total is not None
        assert (total > 100_000_000) is waits


def test_clocks_of_their_own_that_drift_are_in_no_phase() -> None:
    for clocks in (
        {"bridges": {"sw": {"clock": {"drift": "1ppm", "sync": "none"}}}},
        {"stations": {"plc": {"clock": {"drift": "1ppm"}}}},
    ):
        values = tas()
        for table, nodes in clocks.items():
            for node, keys in nodes.items():
                values[table][node] |= keys
        network = load(values, "model")
        total = bound(network, "control").total_ps
        assert total is None or total > 100_000_000


def drawn(seed: int) -> dict[str, Any]:
    """A line of bridges with one cycle of gates, streams of periods that fit it, and others beside them."""
    draw = random.Random(seed)
    count, cycle = draw.randint(1, 3), draw.choice([100, 200, 250])
    cut = [draw.randint(15, 40), draw.randint(45, 80)]
    lists = [
        {"open": [7, *draw.sample(range(7), 1)], "interval": f"{cut[0]}us"},
        {"open": draw.sample(range(7), 4), "interval": f"{cut[1] - cut[0]}us"},
        {"open": list(range(draw.choice([6, 7, 8]))), "interval": f"{cycle - cut[1]}us"},
    ]
    hardware = draw.random() < 0.5
    bridges: dict[str, Any] = {}
    stations: dict[str, Any] = {}
    for n in range(count):
        entries = lists if draw.random() < 0.7 else draw.sample(lists, 3)
        error = draw.choice(["0ns", "200ns", "2us"])
        clock: dict[str, Any] = {"sync": {"error": error}} if error != "0ns" else {}
        if clock and draw.random() < 0.5:
            clock["drift"] = f"{draw.randint(-50, 50)}ppm"
        bridges[f"b{n}"] = {
            "ports": 6, "class_of_priority": list(range(8)), "clock": clock,
            "classes": {"6": {"selection": "strict"}, "7": {"selection": "strict"}},
            "gates": {"base_time": f"{draw.randint(0, cycle)}us", "initial": list(range(8)), "entries": entries},
        }  # fmt: skip
        if not hardware:
            bridges[f"b{n}"]["processing_delay"] = f"{draw.randint(0, 3000)}ns"
        stations |= {
            f"s{n}{k}": {"at": f"b{n}.{k + 2}", "clock": {"offset": f"{draw.randint(0, 50)}us"}} for k in range(3)
        }
    links = {f"l{n}": {"between": [f"b{n}.1", f"b{n + 1}.0"]} for n in range(count - 1)}
    streams: dict[str, Any] = {}
    for n in range(draw.randint(2, 7)):
        talker, listener = draw.sample(list(stations), 2)
        period = draw.choice([cycle, cycle, cycle, cycle // 2, 2 * cycle, cycle * 3 // 2])
        source: dict[str, Any] = {
            "frames": f"{draw.choice([64, 300, 900])}B",
            "every": f"{period}us",
            "start": f"{draw.randint(60, 60 + period)}us",
        }
        if draw.random() < 0.3:
            source["burst"] = draw.randint(2, 6)
        if draw.random() < 0.2:
            source |= {"jitter": {"uniform": f"{draw.choice([1, 20])}us"}, "seed": seed}
        streams[f"f{n}"] = {
            "from": talker,
            "to": [listener],
            "vlan": 10,
            "pcp": draw.choice([7, 7, 6, 5, 3]),
            "source": source,
        }
    talker, listener = draw.sample(list(stations), 2)
    streams["greedy"] = {
        "from": talker,
        "to": [listener],
        "vlan": 10,
        "pcp": 0,
        "source": {"frames": "1522B", "back_to_back": True},
    }
    network = {"bridges": bridges, "stations": stations, "links": links, "streams": streams}
    return {"name": "drawn", "duration": "3ms", "nodes": "model", **network}


def test_no_run_breaks_the_bound_of_a_source_in_a_known_phase() -> None:
    looked = nearer = 0
    for seed in range(120):
        try:
            network = load(drawn(seed))
        except InputError:  # a class that never opens, or not for long enough
            continue
        worst = longest_ps(network)
        assert refusals(certificate(network)) == [], seed
        for name in network.streams:
            total = bound(network, name).total_ps
            if total is not None:
                assert worst[name] <= total, (seed, name)
                looked += 1
                nearer += worst[name] * 2 > total
    assert looked > 300
    assert nearer > 60


def test_frames_of_one_length_fill_a_window_to_the_last_one_that_fits() -> None:
    """Ten of 12.3 us come in each cycle, and ten fit the 130 us of their window, though not as much as it is long."""
    network = load(SCENARIOS / "tas", "model")
    total, worst = bound(network, "bulk").total_ps, longest_ps(network)["bulk"]
    assert total is not None
    assert worst <= total < worst * 5 // 4
    assert refusals(certificate(network)) == []
    values = tas()
    values["streams"]["bulk"]["source"]["every"] = f"{250_000 // 11}ns"
    assert bound(load(values, "model"), "bulk").total_ps is None


@pytest.mark.parametrize("name", ["tas", "mixed", "cbs"])
def test_no_frame_waits_in_a_queue_for_longer_than_is_claimed_of_it(name: str) -> None:
    """Also of those that come at once."""
    network = load(SCENARIOS / name, "model")
    nearest = nearest_of(network, observe(network)[1])
    curves = list(curves_of(network))
    assert len(curves) == len(network.streams)
    for each in curves:
        assert nearest[each.place, each.traffic_class].wait_ps <= each.wait_ps, each.traffic_class
        drawn_ps = each.shapes[0].wait_us * 1e6
        assert drawn_ps < each.wait_ps * 1.01 + 100_000, "the picture shows what is claimed"
