# SPDX-License-Identifier: Apache-2.0
"""Bounds against an independent checker: what the engine claims is accepted, and less of any queue is not."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from penstock.bound.certificate import refusals
from penstock.bound.drawn import drawn
from penstock.bound.solution import certificate
from penstock.errors import InputError
from penstock.scenario import load

SCENARIOS = Path(__file__).parents[1] / "scenarios"
NAMES = sorted(path.parent.name for path in SCENARIOS.glob("*/scenario.toml"))
OTHERS = sorted(
    {path.relative_to(SCENARIOS) for path in SCENARIOS.rglob("*.toml")}
    - {Path(name, "scenario.toml") for name in NAMES}
)
# Two reach what the first ones do not: gates that meet, and a phase that is done with. One takes twenty seconds.
SEEDS = [seed for seed in [*range(200), 245, 550] if seed != 162]
CHUNKS = 8


def claimed(scenario: Any) -> dict[str, Any] | None:
    try:
        return certificate(load(scenario))
    except InputError:  # what only runs on Linux, or lacks its captures; and random rates above a link
        return None


def longest_list(claim: dict[str, Any]) -> int:
    lists = [port["gates"]["entries"] for port in claim["network"]["ports"] if port.get("gates")]
    return max(map(len, lists), default=0)


def with_less(claim: dict[str, Any], queue: int) -> dict[str, Any]:
    """One wait is a hundredth less, and 100 ps."""
    less = copy.deepcopy(claim)
    less["waits"][queue][2] = less["waits"][queue][2] * 99 // 100 - 100
    return less


@pytest.mark.parametrize("name", NAMES)
def test_the_bounds_of_each_scenario_are_accepted_and_less_is_not(name: str) -> None:
    claim = claimed(SCENARIOS / name)
    assert claim is not None
    assert refusals(claim) == []
    for queue, (port, traffic_class, _) in enumerate(claim["waits"]):
        refused = {(each.port, each.traffic_class) for each in refusals(with_less(claim, queue))}
        assert (port, traffic_class) in refused, claim["waits"][queue]


def test_the_bounds_of_all_other_files_are_accepted() -> None:
    claims = [claim for claim in (claimed(SCENARIOS / path) for path in OTHERS) if claim is not None]
    assert len(claims) > 20
    assert [refused for claim in claims for refused in refusals(claim)] == []


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_bounds_of_random_mixes_are_accepted_and_less_is_not(chunk: int) -> None:
    accepted = looked = 0
    for seed in SEEDS[chunk::CHUNKS]:
        claim = claimed(drawn(seed))
        # The fractions of many streams or of long lists take seconds.
        if claim is None or len(claim["network"]["streams"]) > 12 or longest_list(claim) > 8:
            continue
        assert refusals(claim) == [], seed
        accepted += len(claim["waits"])
        if looked < 3:
            queue = seed % len(claim["waits"])
            port, traffic_class, _ = claim["waits"][queue]
            refused = {(each.port, each.traffic_class) for each in refusals(with_less(claim, queue))}
            assert (port, traffic_class) in refused, seed
            looked += 1
    assert accepted > 50
    assert looked == 3
