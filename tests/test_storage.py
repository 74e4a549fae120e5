# SPDX-License-Identifier: Apache-2.0
"""What check says of the room at bridges, by hand and against what runs drop."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from penstock.check.checked import check
from penstock.run import statistics
from penstock.scenario import Network, load
from penstock.scenario.store import Shares, shares, store_cells

FULL = ("queue_full", "class_full", "store_full")


def network(streams: dict[str, dict[str, Any]], classes: dict[str, Any] | None = None, **bridge: Any) -> Network:
    """Talkers at 1 Gb/s, and listeners at 100 Mb/s: a bridge of another maker between them."""
    talkers = {stream["from"] for stream in streams.values()}
    return load(
        {
            "name": "room",
            "duration": "40ms",
            "nodes": "model",
            "bridges": {"b": {"ports": 4, "processing_delay": "1us", "classes": classes or {}} | bridge},
            "stations": {
                **{name: {"at": f"b.{n}"} for n, name in enumerate(sorted(talkers))},
                "y": {"at": "b.2", "rate": "100Mb/s"},
                "z": {"at": "b.3", "rate": "100Mb/s"},
            },
            "streams": {name: {"to": ["z"], "vlan": 1, "pcp": 0} | stream for name, stream in streams.items()},
        }
    )


def told(checked: Network) -> list[str]:
    """The reasons of drops that are told."""
    return [found[1] for each in check(checked).warnings if (found := re.search(r"\((\w+_full)\)", each))]


def dropped(checked: Network) -> set[str]:
    streams = statistics(checked)["streams"].values()
    return {reason for stream in streams for reason in stream["dropped"] if reason in FULL}


def burst(frames: int, talker: str = "a", **more: Any) -> dict[str, Any]:
    """Frames of 1004 B, 8 cells and 1024 B on the wire, every 20 ms."""
    return {"from": talker, "source": {"frames": "1004B", "burst": frames, "every": "20ms"}} | more


def test_the_shares_are_those_of_the_hardware() -> None:
    """1024 cells: 36 and 24 of each port, 12 of each queue; the rest is shared."""
    checked = network({"s": burst(1)})
    assert shares(store_cells(checked.bridges["b"]), 4) == Shares(12, 24, 1024 - 4 * (36 + 24 + 8 * 12))


def test_a_burst_that_waits_for_a_slow_link() -> None:
    """Ten come while one leaves: of 34 nine tenths wait, 31 of the 32 that 256 cells hold; of 40, 36."""
    assert told(network({"s": burst(34)})) == []
    assert dropped(network({"s": burst(34)})) == set()
    over = network({"s": burst(40)})
    assert told(over) == ["queue_full"]
    assert dropped(over) == {"queue_full"}
    # 38 frames are 304 cells.
    limit = {"1": {"queue_limit": {"frames": 38}}}
    assert told(network({"s": burst(40)}, limit)) == []
    assert dropped(network({"s": burst(40)}, limit)) == set()


def test_a_stream_that_needs_more_than_the_store_has() -> None:
    """Of 120 frames 108 wait, 864 cells: 12 are the queue's, 24 the reception port's, and 400 are shared."""
    limit = {"1": {"queue_limit": {"frames": 128}}}
    checked = network({"s": burst(120)}, limit)
    assert told(checked) == ["store_full"]
    assert dropped(checked) == {"store_full"}
    assert told(network({"s": burst(58)}, limit)) == []
    assert dropped(network({"s": burst(58)}, limit)) == set()


def test_two_queues_that_need_more_than_the_store_has() -> None:
    """Each has room in its queue, 29 * 8 = 232 cells, but not both beyond their 12 and the 24 of a port."""
    two = {"s": burst(31), "t": burst(31, "b0", to=["y"])}
    checked = network(two)
    assert told(checked) == []
    limit = {"1": {"queue_limit": {"frames": 100}}}
    more = network({"s": burst(40), "t": burst(40, "b0", to=["y"])}, limit)
    assert told(more) == ["store_full"]
    assert dropped(more) == {"store_full"}


def test_more_than_a_link_carries() -> None:
    endless = {"from": "a", "source": {"frames": "1004B", "every": "80us"}}
    checked = network({"s": endless})
    (what,) = [each for each in check(checked).warnings if "queue_full" in each]
    assert 'is served with 100 Mb/s, and "s" with what goes first come with 102.4 Mb/s' in what
    assert told(network({"s": endless | {"source": {"frames": "1004B", "every": "82us"}}})) == []


def test_a_class_has_its_own_time_behind_gates() -> None:
    """40 Mb/s in half of the time; the higher class has the other half."""
    gates = {
        "entries": [{"open": [7], "interval": "500us"}, {"open": [1], "interval": "500us"}],
    }
    slow: dict[str, Any] = {"from": "a", "source": {"frames": "1004B", "every": "200us"}}
    streams = {"low": slow, "high": slow | {"from": "b0", "pcp": 3}}
    assert told(network(streams, {"7": {"selection": "strict"}}, port={"3": {"gates": gates}})) == []
    fast = slow | {"source": {"frames": "1004B", "every": "150us"}}
    over = network(streams | {"low": fast}, {"7": {"selection": "strict"}}, port={"3": {"gates": gates}})
    assert told(over) == ["queue_full"]
    assert dropped(over) == set()  # in 40 ms it does not fill: 0.09 Mb a ms
    assert "as long as they last the queue grows" in next(each for each in check(over).warnings if "queue_full" in each)


@pytest.mark.parametrize("seed", range(2))
def test_what_nothing_is_said_of_is_not_dropped(seed: int) -> None:
    draw = random.Random(seed)
    seen = dict.fromkeys(("quiet", "told", "dropped"), 0)
    for _ in range(40):
        streams = {}
        for n in range(draw.randint(1, 4)):
            to = draw.choice([["z"], ["y"], ["y", "z"]])
            frames = draw.choice([1, 5, 15, 30, 45])
            length = draw.choice([64, 500, 1522])
            source: dict[str, Any] = {"frames": f"{length}B", "burst": frames, "every": draw.choice(["10ms", "20ms"])}
            if draw.random() < 0.3:
                source["jitter"] = {"uniform": "3ms"}
            talker, pcp = draw.choice(["a", "b0"]), draw.choice([0, 1, 7])
            streams[f"s{n}"] = {"from": talker, "to": to, "pcp": pcp, "source": source}
        limit = draw.choice([{}, {"queue_limit": {"frames": draw.choice([4, 60])}}])
        checked = network(streams, {"1": limit})
        says, drops = set(told(checked)), dropped(checked)
        seen["told" if says else "quiet"] += 1
        seen["dropped"] += bool(drops)
        assert says or not drops, (streams, limit, drops)
    assert seen["quiet"] > 5, seen
    assert seen["dropped"] > 5, seen
    assert seen["told"] < 2.5 * seen["dropped"], seen
