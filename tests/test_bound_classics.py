# SPDX-License-Identifier: Apache-2.0
"""Results of network calculus that everybody knows, out of the analysis of the engine.

Le Boudec and Thiran, Network Calculus (2001): theorem 1.4.2 (a token bucket at a rate-latency server waits T + b/R at
most), theorem 1.4.3 (what leaves has a burst of b + r T); what priority leaves to others has the rate R - r_H after
(b_H + L) / (R - r_H); the packetizer of a line; the flows of a FIFO server are one (total flow analysis).
De Azua and Boyer, Complete modelling of AVB in network calculus (RTNS 2014): a class with credit has a server of its
idleSlope after credit_max / idleSlope, which is L / R for the highest class. Mohammadpour, Stai, Mohiuddin and Le
Boudec, Latency and backlog bounds in time-sensitive networking with credit based shapers and asynchronous traffic
shaping (ITC 30, 2018, arXiv 1804.10608): ATS makes the bursts of each switch anew, and adds nothing to its delay.
"""

from __future__ import annotations

import json
from fractions import Fraction
from math import ceil
from typing import Any

import pytest

from penstock import _engine, plan
from penstock.bound import bound
from penstock.bound.certificate import refusals
from penstock.scenario import load

R = 10**9
FRAME = 1000  # bytes on the wire
PS = 10**12


def port(rate: int = R, **more: Any) -> dict[str, Any]:
    return {"slowest_bps": rate, "fastest_bps": rate, **more}


def stream(hops: list[dict[str, Any]], frames: int, rate: int, length: int = FRAME) -> dict[str, Any]:
    """A token bucket of so many frames."""
    bucket = {"burst_millibits": frames * length * 8000, "rate_bps": rate}
    return {"buckets": [bucket], "min_bytes": length, "max_bytes": length, "hops": hops}


def hop(number: int, traffic_class: int, before: int | None = None, regulator: int | None = None) -> dict[str, Any]:
    return {"port": number, "class": traffic_class, "from": before, "jitter_ps": 0, "regulator": regulator}


def solved(network: dict[str, Any]) -> tuple[dict[tuple[int, int], int], list[list[int]]]:
    """Waits by queue and by hop; an independent checker accepts them."""
    network = {"regulators": [], **network}
    found = json.loads(_engine.bounds(json.dumps(network)))
    waits = {(queue["port"], queue["class"]): queue["wait_ps"] for queue in found["queues"]}
    assert (
        refusals({"network": network, "waits": [[*key, wait] for key, wait in waits.items() if wait is not None]}) == []
    )
    return waits, [[each["wait_ps"] for each in hops] for hops in found["hops"]]


def ps(byte_count: int | Fraction, rate: int | Fraction = R) -> int:
    return ceil(Fraction(byte_count * 8 * PS) / rate)


def near(found: int, expected: int) -> bool:
    """But for whole picoseconds."""
    return 0 <= found - expected <= 4


def test_a_token_bucket_at_a_rate_latency_server() -> None:
    """T is a lower frame, b the burst less the frame itself, which is sent at the rate of the line."""
    top, low = stream([hop(0, 7)], 5, 100_000_000), stream([hop(0, 0)], 1, 10_000_000, 1500)
    waits, _ = solved({"ports": [port()], "streams": [top, low]})
    assert near(waits[0, 7], ps(1500) + ps(4 * FRAME))


def test_what_leaves_a_server_has_a_burst_of_r_t_more() -> None:
    """Behind a fast first server comes a slow one, with nothing else: b + r T less what the link between has shaped."""
    low = stream([hop(0, 0)], 1, 10_000_000, 1500)
    lone = stream([hop(0, 7), hop(1, 7, 0)], 5, 100_000_000)
    waits, _ = solved({"ports": [port(), port(50_000_000 * 4)], "streams": [lone, low]})
    burst = 5 * FRAME * 8 * PS + 100_000_000 * waits[0, 7]  # in 10^-12 bit
    # The link brings l + R t, the bucket b + r t; they meet where the slower server is furthest behind.
    meet = Fraction(burst - FRAME * 8 * PS, R - 100_000_000)
    expected = (FRAME * 8 * PS + R * meet - FRAME * 8 * PS) / 200_000_000 - meet
    assert near(waits[1, 7], ceil(expected))


def test_what_priority_leaves_to_others() -> None:
    high, own = stream([hop(0, 7)], 3, 250_000_000), stream([hop(0, 5)], 2, 100_000_000)
    low = stream([hop(0, 0)], 1, 10_000_000, 1500)
    waits, _ = solved({"ports": [port()], "streams": [high, own, low]})
    assert near(waits[0, 5], ps(3 * FRAME + 1500 + FRAME, R - 250_000_000))


def test_the_flows_of_a_fifo_server_are_one() -> None:
    flows = [stream([hop(0, 5)], frames, 50_000_000) for frames in (1, 2, 4)]
    waits, hops = solved({"ports": [port()], "streams": flows})
    assert near(waits[0, 5], ps(7 * FRAME - FRAME))
    assert {each[0] for each in hops} == {waits[0, 5]}


@pytest.mark.parametrize("idle", [10_000_000, 200_000_000, 750_000_000])
def test_a_class_with_credit(idle: int) -> None:
    credit = {"class": 6, "slowest_bps": idle, "fastest_bps": idle, "free_bytes": 0, "most_bits": 1 << 40}
    own, low = stream([hop(0, 6)], 3, idle // 2), stream([hop(0, 0)], 1, 10_000_000, 1500)
    waits, _ = solved({"ports": [port(credit=[credit])], "streams": [own, low]})
    # credit_max is idleSlope * L / R, so that the latency of the server is L / R.
    assert near(waits[0, 6], ps(1500) + ps(2 * FRAME, idle))


def test_ats_behind_a_class_with_credit_adds_nothing_and_makes_its_burst_again() -> None:
    idle = 200_000_000
    credit = {"class": 6, "slowest_bps": idle, "fastest_bps": idle, "free_bytes": 0, "most_bits": 1 << 40}
    regulator = {"burst_millibits": 2 * FRAME * 8000, "rate_bps": 50_000_000}
    flows = [stream([hop(0, 6), hop(1, 6, 0, number)], 2, 50_000_000) for number in range(2)]
    low = stream([hop(0, 0), hop(1, 0, 0)], 1, 10_000_000, 1500)
    network = {"ports": [port(credit=[credit])] * 2, "regulators": [regulator] * 2, "streams": [*flows, low]}
    waits, _ = solved(network)
    assert near(waits[0, 6], ps(1500) + ps(3 * FRAME, idle))
    # The second port is as the first: what the first one's queue may add is gone. Without regulators it is not.
    assert near(waits[1, 6], waits[0, 6])
    for flow in flows:
        flow["hops"][1]["regulator"] = None
    unshaped, _ = solved({**network, "regulators": []})
    assert unshaped[1, 6] > waits[1, 6]


@pytest.mark.parametrize(("rate", "converges"), [(100_000_000, True), (499_000_000, True)])
def test_streams_in_a_circle(rate: int, converges: bool) -> None:
    """A ring of three, each stream over two links: total flow analysis has a fixed point, lines shape what comes."""
    flows = [stream([hop(n, 5), hop((n + 1) % 3, 5, 0)], 2, rate) for n in range(3)]
    waits, _ = solved({"ports": [port()] * 3, "streams": flows})
    assert (waits[0, 5] is not None) is converges
    assert waits[0, 5] == waits[1, 5] == waits[2, 5], "the ring is the same from everywhere"


def test_a_line_brings_whole_frames() -> None:
    """The packetizer: twenty frames come by a fast link as l + R t, and not as R t, one of them less."""
    network = load(
        {
            "name": "packets", "duration": "3ms", "nodes": "model",
            "links": {"slow": {"between": ["b.1", "c.0"], "rate": "100Mb/s"}, "fast": {"between": ["a.1", "b.0"]}},
            "bridges": {name: {"ports": 2, "processing_delay": "0ns"} for name in "abc"},
            "stations": {"x": {"at": "a.0"}, "z": {"at": "c.1"}},
            "streams": {
                "s": {
                    "from": "x", "to": ["z"], "vlan": 10, "pcp": 0,
                    "source": {"frames": "980B", "burst": 20, "every": "3ms"},
                }
            },
        }
    )  # fmt: skip
    worst: int | None = _engine.run(json.dumps(plan.network_json(network, {}, {})))["statistics"]["s"]["latency_ps"][
        "max"
    ]
    total = bound(network, "s").total_ps
    assert total is not None
    assert worst is not None
    assert total - ps(FRAME, 10**8) < worst <= total


@pytest.mark.parametrize("rate", [1_000, 1_000_000, 10_000_000])
def test_a_frame_that_comes_as_none_fits_any_more_waits_for_whole_windows(rate: int) -> None:
    """It has nothing of the window in whose last instant one could still begin.

    Of 200 us the gate is open for 100, frames can begin in 92 of these. What fills a window whole is before a frame,
    and however slowly more comes, the rest of it waits for the second one.
    """
    slow = stream([hop(0, 7)], 1, rate)
    slow["buckets"] = [{"burst_millibits": (FRAME * 8 + 92_000) * 1000, "rate_bps": rate}]
    gates = {"entries": [[0x80, 100_000_000], [0x01, 100_000_000]], "edge_ps": 0}
    network = {"ports": [port(gates=gates)], "regulators": [], "streams": [slow]}
    waits, _ = solved(network)
    assert near(waits[0, 7], ps(108_000 // 8) + ps(200_000 // 8))
    claim = waits[0, 7] - R // rate
    assert [refusal.traffic_class for refusal in refusals({"network": network, "waits": [[0, 7, claim]]})] == [7]
