# SPDX-License-Identifier: Apache-2.0
"""Cut-through, other guard bands, and gates that begin to act: each has bounds that no run breaks, or says why not."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from penstock import _engine, plan
from penstock.bound import bound
from penstock.bound.analysis import analyse
from penstock.bound.certificate import refusals
from penstock.bound.drawn import drawn
from penstock.bound.solution import certificate
from penstock.errors import InputError
from penstock.run import statistics
from penstock.scenario import Network, load

SCENARIOS = Path(__file__).parents[1] / "scenarios"


def longest_ps(network: Network) -> dict[str, int]:
    statistics = _engine.run(json.dumps(plan.network_json(network, {}, {})))["statistics"]
    return {name: of["latency_ps"]["max"] or 0 for name, of in statistics.items()}


def with_cut_through(bridge: dict[str, Any]) -> None:
    bridge |= {"switching": "cut_through", "processing_delay": "500ns"}


def without_the_gap(bridge: dict[str, Any]) -> None:
    bridge |= {"guard_band_gap": False, "processing_delay": "500ns"}


def with_frozen_credit(bridge: dict[str, Any]) -> None:
    bridge |= {"guard_band_credit": "frozen", "processing_delay": "500ns"}


@pytest.mark.parametrize("changed", [with_cut_through, without_the_gap, with_frozen_credit])
def test_no_run_breaks_the_bounds_of_other_bridges(changed: Any) -> None:
    looked = 0
    for seed in range(500, 530):
        values = drawn(seed)
        for bridge in values["bridges"].values():
            if random.Random(seed).random() < 0.8:
                changed(bridge)
        try:
            network = load(values)
        except InputError:
            continue
        worst = longest_ps(network)
        for name, stream in network.streams.items():
            total = bound(network, name).total_ps
            if total is not None and stream.ats is None:
                assert worst[name] <= total, (seed, name)
                looked += 1
        if seed < 505:
            assert refusals(certificate(network)) == [], seed
    assert looked > 35


def gated(base: str, start: str, initial: list[int]) -> Network:
    entries = [{"open": [7], "interval": "50us"}, {"open": [0, 1, 2, 3, 4, 5, 6], "interval": "200us"}]
    return load(
        {
            "name": "late", "duration": "4ms", "nodes": "model",
            "bridges": {
                "b": {
                    "ports": 2, "processing_delay": "0ns", "class_of_priority": list(range(8)),
                    "classes": {"7": {"selection": "strict"}},
                    "port": {"1": {"gates": {"base_time": base, "initial": initial, "entries": entries}}},
                }
            },
            "stations": {"a": {"at": "b.0"}, "z": {"at": "b.1"}},
            "streams": {
                "s": {
                    "from": "a", "to": ["z"], "vlan": 10, "pcp": 7,
                    "source": {"frames": "100B", "every": "250us", "start": start},
                }
            },
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("base", "start", "initial", "said"),
    [
        ("1ms", "1ms", [], None),
        ("1ms", "900us", [], None),  # shut, as at the end of the cycle
        ("1ms", "0us", list(range(8)), None),
        ("1ms", "0us", [], "begin to act during the run"),
        ("1ms", "900us", [7], "begin to act during the run"),
    ],
)
def test_gates_that_begin_to_act(base: str, start: str, initial: list[int], said: str | None) -> None:
    network = gated(base, start, initial)
    found = bound(network, "s")
    if said is not None:
        assert found.total_ps is None
        assert said in (found.reason or "")
        return
    assert found.total_ps is not None
    assert longest_ps(network)["s"] <= found.total_ps < 260_000_000


def test_a_stream_whose_frames_may_be_lost_says_where() -> None:
    values = tomllib.loads((SCENARIOS / "cbs" / "scenario.toml").read_text())
    assert [each.loss for each in analyse(load(values)).streams] == [None, None, None]
    values["bridges"]["sw"]["classes"]["5"]["queue_limit"] = {"bytes": "6kB"}
    losses = {each.stream.name: each.loss for each in analyse(load(values)).streams}
    assert losses["audio"] is None
    assert (losses["video"] or "").startswith("the queue of class 5 (video) at sw.2 may be full: up to ")
    told = statistics(load(values, "model"))["streams"]["video"]
    assert told["bound"]["if_nothing_is_lost"] == losses["video"]
    values = tomllib.loads((SCENARIOS / "line5" / "scenario.toml").read_text())
    assert "nothing limits what comes" in (analyse(load(values)).streams[3].loss or "")
