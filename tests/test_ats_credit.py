# SPDX-License-Identifier: Apache-2.0
"""ATS and credit in one class, computed by hand: a frame is selected when it is eligible and credit is not below zero.

A frame of 980 B takes 1000 B of the wire, 8 us. At an idle slope of 250 Mb/s it costs 6000 bits of credit, which are
earned again in 24 us; at 100 Mb/s its scheduler earns it in 80 us, and holds two.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock import _engine, plan
from penstock.bound import bound
from penstock.errors import InputError
from penstock.scenario import load
from shaped import KINDS, Bridge, frames, ready_ns, released_ns

pytestmark = pytest.mark.long(36)

FRAME = 980
BOTH = 'classes.7 = { selection = "ats", idle_slope = "250Mb/s" }'
ATS = 'ats = { rate = "100Mb/s", burst = "2000B" }'


def four(more: str = ATS) -> str:
    return frames("held", 7, FRAME, 0, source='every = "1s", burst = 4', more=more)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_waits_for_both(tmp_path: Path, kind: str) -> None:
    """Eligible at 0, 8, 80 and 160 us: credit holds the second, its scheduler the third and the fourth."""
    sent = Bridge(tmp_path, kind)(BOTH, four())["held"]
    first = ready_ns(0, FRAME)
    assert [at - first for at in sent] == [0, 32_000, 80_000, 160_000]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_eligible_earns_nothing(tmp_path: Path, kind: str) -> None:
    """From 64 to 80 us the third frame is held, and credit stays at zero: the one behind it waits for all of it."""
    first = ready_ns(0, FRAME)
    late = frames("late", 7, FRAME, released_ns(first + 84_000, FRAME), talker=1)
    sent = Bridge(tmp_path, kind)(BOTH, four() + late)
    assert sent["late"] == [first + 112_000]
    assert [at - first for at in sent["held"]] == [0, 32_000, 80_000, 160_000]


@pytest.mark.parametrize("kind", KINDS[:2])
def test_one_port_may_have_credit_for_it_and_others_not(tmp_path: Path, kind: str) -> None:
    first = ready_ns(0, FRAME)
    ats = 'classes.7 = { selection = "ats" }\n'
    alone = Bridge(tmp_path, kind)(ats, four())["held"]
    assert [at - first for at in alone] == [0, 8_000, 80_000, 160_000]
    here = Bridge(tmp_path, kind)(ats + 'port.2.classes.7 = { idle_slope = "250Mb/s" }', four())["held"]
    assert [at - first for at in here] == [0, 32_000, 80_000, 160_000]


def network(classes: dict[str, Any], **ports: Any) -> dict[str, Any]:
    def stream(pcp: int) -> dict[str, Any]:
        ats = {"rate": "10Mb/s", "burst": "300B"}
        source = {"frames": "200B", "every": "1ms"}
        return {"from": "talker", "to": ["listener"], "vlan": 10, "pcp": pcp, "source": source, "ats": ats}

    return {
        "name": "both",
        "nodes": "model",
        "duration": "10ms",
        "bridges": {"b": {"ports": 4, "classes": classes, "port": ports}},
        "stations": {"talker": {"at": "b.0"}, "listener": {"at": "b.1"}},
        "streams": {"high": stream(3), "low": stream(2)},  # classes 7 and 6
    }


def test_the_bound_of_a_class_with_ats_and_credit_holds() -> None:
    both = {"selection": "ats", "idle_slope": "20Mb/s"}
    for number in "76":
        checked = load(network({number: both}))
        result: dict[str, Any] = dict(_engine.run(json.dumps(plan.network_json(checked, {}, {}))))
        for name in ("high", "low"):
            found = bound(checked, name)
            assert found.total_ps is not None
            assert result["statistics"][name]["latency_ps"]["max"] <= found.total_ps
    # At a port that the streams do not leave by.
    elsewhere = {"2": {"classes": {"7": {"idle_slope": "1Mb/s"}}}}
    assert bound(load(network({"7": {"selection": "ats"}}, **elsewhere)), "high").total_ps is not None


@pytest.mark.parametrize(
    ("classes", "key", "what"),
    [
        ({"7": {"idle_slope": "20Mb/s"}}, "bridges.b.classes.7.idle_slope", "class 7 is ATS, as nothing else is said"),
        ({"7": {"selection": "ats", "scaled": True}}, "bridges.b.classes.7.idle_slope", "has an idle slope"),
        ({"7": {"selection": "ats", "idle_slope": "2Gb/s"}}, "bridges.b.classes.7.idle_slope", "above the 1 Gb/s"),
        (
            {"7": {"selection": "ats", "idle_slope": "600Mb/s"}, "5": {"selection": "cbs", "idle_slope": "500Mb/s"}},
            "bridges.b.classes.5.idle_slope",
            "sum up to 1.1 Gb/s",
        ),
        ({"7": {"selection": "strict", "idle_slope": "1Mb/s"}}, "bridges.b.classes.7.idle_slope", "says nothing about"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(classes: dict[str, Any], key: str, what: str) -> None:
    with pytest.raises(InputError) as refused:
        load(network(classes))
    assert refused.value.key == key
    assert what in str(refused.value)


def test_rates_of_the_streams_are_reserved_once() -> None:
    """Two of 10 Mb/s in a class of 990 Mb/s leave room for others on the link."""
    classes = {"7": {"selection": "ats", "idle_slope": "990Mb/s"}}
    assert load(network(classes)).bridges["b"].credit
