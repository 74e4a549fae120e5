# SPDX-License-Identifier: Apache-2.0
"""Where a talker's own shapers take a bound away, and where they do not."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.bound import bound
from penstock.bound.analysis import analyse
from penstock.scenario import load

GATES = {"entries": [{"open": "all", "interval": "1ms"}]}
CREDIT = {"selection": "cbs", "idle_slope": "100Mb/s"}


def network(**talker: Any) -> dict[str, Any]:
    def stream(pcp: int) -> dict[str, Any]:
        ats = {"rate": "10Mb/s", "burst": "300B"}
        source = {"frames": "200B", "every": "1ms"}
        return {"from": "talker", "to": ["listener"], "vlan": 10, "pcp": pcp, "source": source, "ats": ats}

    return {
        "name": "bound",
        "nodes": "model",
        "duration": "10ms",
        "bridges": {"b": {"ports": 4}},
        "stations": {"talker": {"at": "b.0", **talker}, "listener": {"at": "b.1"}},
        # Classes 7 and 6, both ATS at the bridge.
        "streams": {"high": stream(3), "low": stream(2)},
    }


@pytest.mark.parametrize(
    ("talker", "without"),
    [
        ({}, {}),
        ({"classes": {"7": {"max_sdu": "500B"}}}, {}),
        ({"gates": GATES}, {"high": 'the port of "talker" has gates', "low": 'the port of "talker" has gates'}),
        ({"classes": {"6": CREDIT}}, {"low": 'class 6 of "talker" is served by credit'}),
        ({"classes": {"7": CREDIT | {"name": "hot"}}}, {"high": r'class 7 (hot) of "talker" is served by credit'}),
        (
            {"classes": {k: {"selection": "round_robin"} for k in "16"}},
            {"low": 'the port of "talker" has classes that take turns'},
        ),
        # Another class of the talker for the same class of the bridge: the group waits for it.
        (
            {"class_of_priority": [0, 1, 5, 4, 2, 3, 6, 7], "classes": {"4": CREDIT}},
            {"high": 'class 4 of "talker" is served by credit'},
        ),
    ],
)
def test_shapers_of_a_talker_and_its_bounds(talker: dict[str, Any], without: dict[str, str]) -> None:
    checked = load(network(**talker))
    for name in ("high", "low"):
        found = bound(checked, name)
        assert (found.total_ps is None) == (name in without)
        if name in without:
            assert found.reason is not None
            assert found.reason.startswith(without[name])
    assert analyse(checked).ok is not bool(without)
