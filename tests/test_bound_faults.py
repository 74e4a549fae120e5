# SPDX-License-Identifier: Apache-2.0
"""Bounds of networks in which something fails: of the streams that it does not touch."""

from __future__ import annotations

import json
from typing import Any

from penstock import _engine, plan
from penstock.bound import bound
from penstock.scenario import Network, load

CUT = {"link": "ab", "at": "5ms", "until": "9ms"}


def stream(talker: str, listener: str, every: str = "100us", **more: Any) -> dict[str, Any]:
    return {
        "from": talker, "to": [listener], "vlan": 2, "pcp": 5, "source": {"frames": "400B", "every": every}, **more
    }  # fmt: skip


def two_lines(streams: dict[str, Any], faults: list[dict[str, Any]]) -> Network:
    """Bridges a, b, c in a line, and d, e in another one, which a link joins to c."""
    return load(
        {
            "name": "lines", "duration": "20ms", "nodes": "model",
            "bridges": {name: {"ports": 4} for name in "abcde"},
            "links": {
                "ab": {"between": ["a.3", "b.2"]}, "bc": {"between": ["b.3", "c.2"]},
                "cd": {"between": ["c.3", "d.2"]}, "de": {"between": ["d.3", "e.2"]},
            },
            "stations": {f"{bridge}{port}": {"at": f"{bridge}.{port}"} for bridge in "abcde" for port in range(2)},
            "streams": streams, "faults": faults,
        }
    )  # fmt: skip


def longest_ps(network: Network) -> dict[str, int]:
    statistics: dict[str, Any] = _engine.run(json.dumps(plan.network_json(network, {}, {})))["statistics"]
    return {name: of["latency_ps"]["max"] for name, of in statistics.items()}


STREAMS = {"cut": stream("a0", "b0"), "far": stream("d0", "e0"), "beside": stream("d1", "e1", "130us")}


def test_what_a_fault_does_not_touch_has_its_bound() -> None:
    network, whole = two_lines(STREAMS, [CUT]), two_lines(STREAMS, [])
    reason = bound(network, "cut").reason
    assert reason is not None
    assert reason.startswith('link "ab" is down from 5 ms to 9 ms (faults)'), reason
    longest = longest_ps(network)
    assert longest["cut"] > (bound(whole, "cut").total_ps or 0)
    for name in ("far", "beside"):
        total = bound(network, name).total_ps
        assert total is not None
        assert total == bound(whole, name).total_ps
        assert longest[name] <= total


def test_what_meets_what_waited_has_none() -> None:
    """`next` is not on the link that is cut, but behind it; `third` meets `next` alone, `fourth` a bridge of these."""
    streams = {
        "cut": stream("a0", "c0", pcp=6), "next": stream("b0", "d0"), "third": stream("c1", "d0"),
        "fourth": stream("d1", "e0"), "back": stream("e1", "e0"),
    }  # fmt: skip
    network, whole = two_lines(streams, [CUT]), two_lines(streams, [])
    assert "what waits meanwhile comes at once" in (bound(network, "cut").reason or "")
    for name in ("next", "third"):
        assert 'it meets streams that wait while link "ab" is down' in (bound(network, name).reason or "")
    assert longest_ps(network)["next"] > (bound(whole, "next").total_ps or 0), "a stream of another way takes longer"
    assert "it has a bridge in common with streams that wait" in (bound(network, "fourth").reason or "")
    assert longest_ps(network)["back"] <= (bound(network, "back").total_ps or 0), "it meets `fourth` alone"


def test_a_node_that_dies_takes_its_streams() -> None:
    network = two_lines(STREAMS, [{"node": "b", "at": "5ms", "until": "9ms"}])
    assert "(faults)" in (bound(network, "cut").reason or "")
    assert bound(network, "far").total_ps is not None
