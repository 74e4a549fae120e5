# SPDX-License-Identifier: Apache-2.0
"""Bounds that look right and are broken by a run: each is computed here as it should not be, and broken.

Credit behind gates stands in `test_bound_scenarios.py`, the packetizer of a line in `test_bound_classics.py`, and
regulators behind what is not first in, first out in `test_bound.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.bound import bound, ways_of
from penstock.bound.analysis import analyse
from penstock.scenario import Network, load
from test_bound_scenarios import longest_ps

INTERVAL_US = 125  # the measurement interval of class A
RATE = 100  # Mb/s, of each link
LONGEST_US = 1542 * 8 / RATE
COUNT, FRAME_BYTES = 6, 175
FRAME_US = (FRAME_BYTES + 20) * 8 / RATE  # all together take 75 % of the link


def meeting() -> Network:
    """Streams of class A, each by a bridge of its own to the last one, and a frame of best effort at every port.

    At a first bridge a frame finds best effort on the wire and the next one does not, so that both leave together. The
    victim is the first of such a pair, and comes to the last bridge when the pairs of all others have come.
    """
    names = [*(f"a{i}" for i in range(COUNT - 1)), "victim"]
    kept_us = (FRAME_BYTES + 8) * 8 / RATE  # until a frame is stored
    found_us = 4 * INTERVAL_US + kept_us  # when a first bridge has its fifth frame
    begins = {name: 2 * FRAME_US + 0.5 if name == "victim" else 0.0 for name in names}
    beside = {f"be{i}": found_us + begins[name] - 1530 * 8 / RATE - 0.4 for i, name in enumerate(names)}
    # The last link takes its frame of best effort right before the first of class A is there.
    beside["be"] = found_us + LONGEST_US + kept_us - 1530 * 8 / RATE - 1
    a = {"to": ["z"], "vlan": 2, "pcp": 3}
    steady = {"frames": f"{FRAME_BYTES}B", "every": f"{INTERVAL_US}us", "count": 8}
    streams: dict[str, Any] = {
        name: a | {"from": f"t{i}", "source": steady | {"start": f"{round(begins[name] * 1000)}ns"}}
        for i, name in enumerate(names)
    }
    for name, start in beside.items():
        source = {"frames": "1522B", "every": "10ms", "count": 1, "start": f"{round(start * 1000)}ns"}
        streams[name] = {"from": f"e{name[2:]}", "to": ["z"], "vlan": 2, "pcp": 0, "source": source}
    bridge = {"processing_delay": "0ns", "class_of_priority": [1, 0, 2, 6, 3, 4, 5, 7]}
    reserved = {f"b{i}": RATE * 3 // 4 // COUNT + 1 for i in range(COUNT)} | {"last": RATE * 3 // 4}
    return load(
        {
            "name": "meeting",
            "duration": "2ms",
            "nodes": "model",
            "links": {
                "rate": f"{RATE}Mb/s",
                "delay": "0ns",
                **{f"l{i}": {"between": [f"b{i}.2", f"last.{i}"]} for i in range(COUNT)},
            },
            "bridges": {
                name: bridge
                | {
                    "ports": COUNT + 2 if name == "last" else 3,
                    "classes": {"6": {"selection": "cbs", "idle_slope": f"{slope}Mb/s"}},
                }
                for name, slope in reserved.items()
            },
            "stations": {
                **{f"{kind}{i}": {"at": f"b{i}.{port}"} for i in range(COUNT) for port, kind in enumerate("te")},
                "e": {"at": f"last.{COUNT}"},
                "z": {"at": f"last.{COUNT + 1}"},
            },
            "streams": streams,
        }
    )


def test_the_formula_for_class_a_is_no_bound() -> None:
    """What IEEE 802.1BA and 802.1Q annex L count: a longest frame, and of each stream one frame of an interval.

    D. Pannell, AVB Latency Math (IEEE 802.1, November 2010): the longest frame, and all streams of an interval but the
    own one, as fast as their reservation, at each bridge. Streams that were delayed bring two frames at once.
    """
    network = meeting()
    worst, found = longest_ps(network)["victim"] / 1e6, bound(network, "victim").total_ps
    first = LONGEST_US + FRAME_US
    last = LONGEST_US + (COUNT - 1) * FRAME_US * 4 / 3 + FRAME_US
    assert found is not None
    assert first + last < worst <= found / 1e6


FRAMES = (400, 700, 1000, 1500)  # bytes, of one talker's streams
SPEED = 50  # Mb/s


def one_talker(jitters_us: float) -> Network:
    """Four ATS streams at their full rates, which wait for each other at their talker; the longer ones go elsewhere.

    Their bursts are a frame, and what comes at their rate in so long a time.
    """

    def stream(talker: str, size: int, start: str) -> dict[str, Any]:
        wire = size + 20
        burst = wire + int(SPEED * jitters_us / 8)
        source = {"frames": f"{size}B", "every": f"{wire * 8000 // SPEED}ns", "start": start}
        to = ["z" if size < 1000 else "y"]
        ats = {"rate": f"{SPEED}Mb/s", "burst": f"{burst}B"}
        return {"from": talker, "to": to, "vlan": 2, "pcp": 3, "ats": ats, "source": source}

    return load(
        {
            "name": "talker",
            "duration": "60ms",
            "nodes": "model",
            "links": {"rate": "1Gb/s", "delay": "0ns"},
            "bridges": {"b": {"ports": 3, "processing_delay": "0ns"}},
            "stations": {"x": {"at": "b.0"}, "y": {"at": "b.1"}, "z": {"at": "b.2"}},
            "streams": {f"s{i}": stream("x", size, f"{i * 3}us") for i, size in enumerate(FRAMES)},
        }
    )


def test_a_contract_counts_where_a_stream_enters_the_network() -> None:
    """Streams of one talker displace each other, so that a burst of one frame is not what comes to the bridge."""
    jitter_us = sum(size + 20 for size in FRAMES) * 8 / 1000
    bare, whole = one_talker(0), one_talker(2 * jitter_us)
    trusting = {name: bound(bare, name).total_ps for name in ("s0", "s1", "s2", "s3")}
    worst = longest_ps(bare)
    assert all(total is not None and worst[name] > total for name, total in trusting.items())
    refused = {each.stream.name: each for each in analyse(bare).streams}
    for name in trusting:
        reason = refused[name].ways[0].reason
        assert reason is not None
        assert "does not keep rate and burst" in reason
    kept = {each.stream.name: each.worst for each in analyse(whole).streams}
    for name, longest in longest_ps(whole).items():
        way = kept[name]
        assert way is not None
        assert longest <= (way.total_ps or 0)


@pytest.mark.parametrize("sync", ["none", {"error": "500ns"}])
def test_schedulers_on_clocks_that_are_synchronized_are_not_on_equal_clocks(sync: Any) -> None:
    """What the slower one lets less pass adds up as long as the run lasts, also where gates follow a common time."""
    network = load(
        {
            "name": "unequal",
            "duration": "100ms",
            "nodes": "model",
            "bridges": {
                "fast": {"ports": 2, "clock": {"drift": "100ppm", "sync": sync}},
                "slow": {"ports": 2, "clock": {"drift": "-100ppm", "sync": sync}},
            },
            "links": {"l": {"between": ["fast.1", "slow.0"]}},
            "stations": {"a": {"at": "fast.0"}, "z": {"at": "slow.1"}},
            "streams": {
                "f": {
                    "from": "a", "to": ["z"], "vlan": 2, "pcp": 3, "ats": {"rate": "10Mb/s", "burst": "120B"},
                    "source": {"frames": "100B", "every": "96us"},
                }
            },
        }
    )  # fmt: skip
    (way,) = ways_of(network, "f")
    worst = longest_ps(network)["f"]
    assert way.total_ps is not None
    assert way.total_ps - way.clock_drift_ps < worst <= way.total_ps
