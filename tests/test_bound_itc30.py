# SPDX-License-Identifier: Apache-2.0
"""The case study of a paper on bounds of CBS with ATS, by the paper's equations.

Mohammadpour, Stai, Mohiuddin and Le Boudec, Latency and backlog bounds in time-sensitive networking with credit based
shapers and asynchronous traffic shaping (ITC 30, 2018, arXiv 1804.10608). Five switches, links of 100 Mb/s, a class A
with half of each, five of its streams with 20 Mb/s, regulated at each switch, below control data (20 Mb/s, 4 kbit at
once) and above best effort of 2 kbit. Frames of `f1` have 1 kbit, all others 2. Control data freezes the credit of the
paper's class A; it does not freeze ours, which therefore waits no longer. The parameters are those of a public
re-implementation of the paper, not read in the paper itself.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import pytest

from test_bound_classics import hop, near, port, solved, stream

C = 100_000_000
IDLE = 50_000_000
RATE = 20_000_000
CONTROL_BITS = 4000
LOW_BITS = 2000
PS = 10**12
WAYS = {
    "f1": ["H1-1", "1-2", "2-3", "3-4", "4-H4"],
    "f2": ["H1-1", "1-2", "2-H2"],
    "f3": ["H3-3", "3-4", "4-5", "5-H5"],
    "f4": ["H4-4", "4-5", "5-2", "2-H2"],
    "f5": ["H5-5", "5-2", "2-3", "3-H3"],
}
BITS = dict.fromkeys(WAYS, 2000) | {"f1": 1000}
LINKS = list(dict.fromkeys(link for way in WAYS.values() for link in way))


def of_class(link: str) -> list[str]:
    return [name for name, way in WAYS.items() if link in way]


def latency_and_rate(control: bool) -> tuple[Fraction, Fraction]:
    """Equations (1) and (2): of the class, in s and bit/s; each of its links has a lower and an own frame of 2 kbit."""
    rate, burst = (RATE, CONTROL_BITS) if control else (0, 0)
    longest = 2000
    return Fraction(LOW_BITS + burst + Fraction(rate * longest, C), C - rate), Fraction(IDLE * (C - rate), C)


def response(name: str, link: str, control: bool) -> Fraction:
    """Equation (5): from the arrival in the queue of a link to the last bit, in s."""
    latency, rate = latency_and_rate(control)
    together = sum(BITS[other] for other in of_class(link))
    return latency + Fraction(together - BITS[name]) / rate + Fraction(BITS[name], C)


def through(link: str, control: bool) -> Fraction:
    """Equation (7): the queue of a link and the interleaved regulator behind it."""
    latency, rate = latency_and_rate(control)
    together = sum(BITS[other] for other in of_class(link))
    return latency + together / rate + max(BITS[name] * (Fraction(1, C) - 1 / rate) for name in of_class(link))


def end_to_end(name: str, control: bool) -> Fraction:
    """Equation (9)."""
    *before, last = WAYS[name]
    return sum((through(link, control) for link in before), Fraction()) + response(name, last, control)


def network(control: bool) -> dict[str, Any]:
    credit = {"class": 6, "slowest_bps": IDLE, "fastest_bps": IDLE, "free_bytes": 0, "most_bits": 1 << 40}
    regulators: list[dict[str, int]] = []
    streams = []
    for name, way in WAYS.items():
        hops = [hop(LINKS.index(way[0]), 6)]
        for before, link in enumerate(way[1:]):
            regulators.append({"burst_millibits": BITS[name] * 1000, "rate_bps": RATE})
            hops.append(hop(LINKS.index(link), 6, before, len(regulators) - 1))
        streams.append(stream(hops, 1, RATE, BITS[name] // 8))
    for number in range(len(LINKS)):
        streams.append(stream([hop(number, 0)], 1, RATE, LOW_BITS // 8))
        if control:
            streams.append(stream([hop(number, 7)], 1, RATE, CONTROL_BITS // 8))
    return {"ports": [port(C, credit=[credit]) for _ in LINKS], "regulators": regulators, "streams": streams}


def test_the_equations_of_the_paper() -> None:
    """With control data, in us: f1 at its talker, at a switch with another stream, at the last one, and in all."""
    us = Fraction(1, 10**6)
    assert response("f1", "H1-1", True) == through("1-2", True) == 140 * us
    assert response("f1", "4-H4", True) == 90 * us
    assert end_to_end("f1", True) == 650 * us


@pytest.mark.parametrize("control", [False, True])
def test_each_stream_of_the_case_study(control: bool) -> None:
    """Without control data ours are the paper's bounds; with it no more than these, and no less than without."""
    waits, hops = solved(network(control))
    for name, way, found in zip(WAYS, WAYS.values(), hops, strict=False):
        own_ps = Fraction(BITS[name] * PS, C)
        total_ps = Fraction()
        for at, link in enumerate(way):
            expected = ceil(response(name, link, control) * PS - own_ps)
            assert near(found[at], expected) if not control else found[at] <= expected, (name, link)
            assert found[at] >= ceil(response(name, link, False) * PS - own_ps)
            # An interleaved regulator adds nothing to the longest delay of the queue before it.
            shortest_ps = Fraction(min(BITS[other] for other in of_class(link)) * PS, C)
            total_ps += found[at] + own_ps if at == len(way) - 1 else waits[LINKS.index(link), 6] + shortest_ps
        more_ps = total_ps - end_to_end(name, control) * PS
        assert more_ps <= 4 * len(way)
        assert control or more_ps >= 0
