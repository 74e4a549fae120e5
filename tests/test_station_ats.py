# SPDX-License-Identifier: Apache-2.0
"""ATS schedulers of a talker: when frames leave, worked out by hand, what is refused, and what is left of a bound."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import penstock as ps
from penstock import report
from penstock.bound import bound
from penstock.bound.contracts import contract_of
from penstock.errors import InputError
from penstock.journeys import View
from penstock.plan import network_json
from penstock.report.holding import held
from penstock.report.ports import Passage, places
from penstock.scenario import load

HELD = {"selection": "ats"}
BURST = {"frames": "1000B", "burst": 5, "every": "1ms"}
# 1020 B on the wire, which 100 Mb/s earn in 81.6 us; two frames at once.
COMMITTED = {"rate": "100Mb/s", "burst": "2040B"}
LEAD_NS = 64


def network(talker: dict[str, Any], streams: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Priorities are classes at the talker; 2 and 3 are the classes 6 and 7, both ATS, at the bridge."""
    return {
        "name": "held",
        "nodes": "model",
        "duration": "1ms",
        "bridges": {"b": {"ports": 4}},
        "stations": {
            "talker": {"at": "b.0", "class_of_priority": "identity", **talker},
            "listener": {"at": "b.1"},
        },
        "streams": {
            name: {"from": "talker", "to": ["listener"], "vlan": 10, "pcp": 3, "source": BURST, **stream}
            for name, stream in streams.items()
        },
        **more,
    }


@pytest.fixture(autouse=True)
def _no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "render", lambda *_, **__: "")  # has tests of its own


def ran(described: dict[str, Any]) -> Any:
    return ps.load(described).run()


def sent(result: Any, stream: str) -> list[int]:
    """When frames leave the talker, in ns from their selection."""
    rows = result.trace.with_columns(pl.col("stream", "node", "event").cast(pl.String)).filter(
        pl.col("stream") == stream, pl.col("node") == "talker", pl.col("event") == "sent"
    )
    return [time // 1000 - LEAD_NS for time in rows["time_ps"].sort()]


def test_a_burst_is_smoothed_at_its_talker() -> None:
    smooth = ran(network({"classes": {"3": HELD}}, {"burst": {"ats": COMMITTED}}))
    assert sent(smooth, "burst") == [0, 8_160, 81_600, 163_200, 244_800]
    stream = smooth.summary["streams"]["burst"]
    assert stream["talker_wait_ns"]["max"] == 244_800 + LEAD_NS
    # So the bridge has nothing to hold: a frame of 1000 B is stored and forwarded.
    assert stream["shaping_ns"]["max"] <= 64  # from admission on, of any frame
    assert stream["latency_ns"]["max"] < 17_000
    at_once = ran(network({}, {"burst": {"ats": COMMITTED}}))
    assert sent(at_once, "burst") == [8_160 * n for n in range(5)]
    assert at_once.summary["streams"]["burst"]["shaping_ns"]["max"] > 200_000


def test_rate_overhead_and_residence_are_the_talker_s_own() -> None:
    ats = COMMITTED | {"at": {"talker": {"rate": "50Mb/s", "burst": "1000B"}}}
    talker = {"classes": {"3": HELD | {"max_residence": "400us"}}, "overhead": "0B"}
    result = ran(network(talker, {"burst": {"ats": ats}}))
    # 1000 B at 50 Mb/s: 160 us; the fourth and the fifth would wait for 480 us.
    assert sent(result, "burst") == [0, 160_000, 320_000]
    assert result.summary["streams"]["burst"]["dropped"] == {"residence": 2}


def test_streams_of_a_scheduler_share_it_at_their_talker_too() -> None:
    streams = {name: {"source": BURST | {"burst": 1}, "scheduler": "both"} for name in "ab"}
    schedulers = {"both": {"rate": "100Mb/s", "burst": "1020B", "at": {"talker": COMMITTED}}}
    result = ran(network({"classes": {"3": HELD}}, streams | {"c": {"scheduler": "both"}}, schedulers=schedulers))
    assert (sent(result, "a"), sent(result, "b")) == ([0], [8_160])
    assert sent(result, "c") == [81_600 * (n + 1) for n in range(5)]


def test_credit_holds_what_is_eligible() -> None:
    """A frame of 980 B, 8 us, costs 6000 bits of credit, which are earned again in 24 us."""
    ats = {"rate": "100Mb/s", "burst": "2000B"}
    source = {"frames": "980B", "burst": 4, "every": "1ms"}
    talker = {"classes": {"3": HELD | {"idle_slope": "250Mb/s"}}}
    assert sent(ran(network(talker, {"burst": {"ats": ats, "source": source}})), "burst") == [
        0,
        32_000,
        80_000,
        160_000,
    ]


def test_what_held_a_frame_is_told() -> None:
    described = network({"classes": {"3": HELD}}, {"burst": {"ats": COMMITTED}})
    checked = load(described)
    passage = Passage(View(checked, ran(described).trace), places(checked)[0])
    third = passage.frames.sort("begin")["frame_id"][2]
    frame = passage.find(third)
    assert frame is not None
    assert frame.eligible == 81_600_000
    causes = held(passage, frame)
    assert [(cause.cause, cause.begin_ps, cause.end_ps) for cause in causes] == [("eligibility", 0, 81_600_000)]


@pytest.mark.parametrize(
    ("talker", "streams", "key", "what"),
    [
        ({"classes": {"3": {"max_residence": "1ms"}}}, {}, "stations.talker.classes.3.max_residence", "only ATS has"),
        ({}, {"at": {"talker": COMMITTED}}, "streams.burst.ats.at.talker", 'no class of "talker" is ATS'),
        ({"classes": {"3": HELD}}, {"at": {"listener": COMMITTED}}, "streams.burst.ats.at.listener", "listener"),
        (
            {"classes": {"3": HELD}},
            {"at": {"talker": {"rate": "1Mb/s", "burst": "1000B"}}},
            "streams.burst.ats.at.talker.burst",
            "1000 B is less than the longest frame's 1020 B",
        ),
        (
            {"classes": {"3": HELD}},
            {"at": {"talker": {"rate": "2Gb/s", "burst": "1020B"}}},
            "streams.burst.ats.at.talker.rate",
            "above the link's 1 Gb/s",
        ),
        ({"classes": {"3": HELD}, "overhead": "256B"}, {}, "stations.talker.overhead", "256"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    talker: dict[str, Any], streams: dict[str, Any], key: str, what: str
) -> None:
    with pytest.raises(InputError) as refused:
        load(network(talker, {"burst": {"ats": COMMITTED | streams}}))
    assert refused.value.key == key
    assert what in str(refused.value)


def test_real_linux_has_none() -> None:
    with pytest.raises(InputError) as refused:
        load(network({"classes": {"3": HELD}}, {"burst": {"ats": COMMITTED}}) | {"nodes": "linux"})
    assert refused.value.key == "stations.talker.classes.3.selection"


def warnings(described: dict[str, Any]) -> list[str]:
    return [finding.what for finding in load(described).warnings]


def test_a_source_above_its_scheduler_is_warned_of() -> None:
    """5 frames of 1020 B in 0.4 ms are 102 Mb/s."""
    fast = network({"classes": {"3": HELD}}, {"burst": {"ats": COMMITTED, "source": BURST | {"every": "400us"}}})
    assert any('its scheduler at "talker" lets 100 Mb/s pass' in said for said in warnings(fast))
    slow = network({"classes": {"3": HELD}}, {"burst": {"ats": COMMITTED}})
    assert not any("scheduler" in said for said in warnings(slow))
    unshaped = warnings(network({"classes": {"3": HELD}}, {"burst": {}}))
    assert any('class 3 of "talker" is ATS but the stream has no rate' in said for said in unshaped)


def test_only_the_talker_may_shape() -> None:
    described = network({"classes": {"3": HELD}}, {"burst": {"ats": COMMITTED}})
    described["bridges"]["b"]["classes"] = {"7": {"selection": "strict"}}
    assert any("it is not shaped there" in said for said in warnings(described))
    assert sent(ran(described), "burst") == [0, 8_160, 81_600, 163_200, 244_800]


def test_the_engine_gets_the_numbers_of_the_streams() -> None:
    """Those of the network, and of the talker alone its own."""
    other = {"first": {"from": "listener", "to": ["talker"], "pcp": 0, "ats": None}}
    del other["first"]["ats"]
    described = network({"classes": {"3": HELD}}, other | {"burst": {"ats": COMMITTED}})
    talker = network_json(load(described), {}, {})["stations"][0]
    assert talker["ats"]["schedulers"] == [{"streams": [1], "rate_bps": 100_000_000, "burst_bytes": 2040}]
    contract = contract_of(load(described), "burst")
    assert contract is not None
    assert contract.state == "kept"


@pytest.mark.parametrize(
    ("talker", "stream", "state"),
    [
        # The burst is held at the talker, so that the bridge sees what it lets pass.
        ({"classes": {"3": HELD}}, {}, "kept"),
        ({}, {}, "broken"),
        # It lets more pass than the bridge.
        (
            {"classes": {"3": HELD}},
            {"ats": COMMITTED | {"at": {"talker": {"rate": "100Mb/s", "burst": "5100B"}}}},
            "broken",
        ),
        (
            {"classes": {"3": HELD}},
            {"ats": COMMITTED | {"at": {"talker": {"rate": "200Mb/s", "burst": "2040B"}}}},
            "broken",
        ),
        # Nobody knows when it releases its frames.
        ({"classes": {"3": HELD}}, {"source": {"frames": "1000B", "poisson": "100us"}}, "assumed"),
        (
            {"classes": {"3": HELD}},
            {"source": {"frames": "200B", "every": "1ms", "jitter": {"uniform": "1us"}}},
            "assumed",
        ),
    ],
)
def test_what_the_talker_holds_counts_for_the_contract(
    talker: dict[str, Any], stream: dict[str, Any], state: str
) -> None:
    checked = load(network(talker, {"burst": {"ats": COMMITTED, **stream}}))
    found = contract_of(checked, "burst")
    assert found is not None
    assert found.state == state


def test_a_bound_behind_a_talker_s_schedulers_holds() -> None:
    """Also of a stream that keeps its rate and waits for the burst of another one of its group."""
    steady = {"source": {"frames": "200B", "every": "100us"}, "ats": {"rate": "18Mb/s", "burst": "220B"}}
    described = network({"classes": {"3": HELD}}, {"burst": {"ats": COMMITTED}, "steady": steady})
    result = ran(described)
    # The group lets its first frame go with the burst's last one; then 220 B take 97.8 us at its own rate.
    assert sent(result, "steady")[:3] == [244_800 + 8_160, 342_577, 440_355]
    checked = load(described)
    for name, stream in result.summary["streams"].items():
        limit = bound(checked, name)
        assert limit.total_ps is not None
        assert stream["latency_ns"]["max"] * 1000 <= limit.total_ps
