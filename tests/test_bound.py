# SPDX-License-Identifier: Apache-2.0
"""Equation (1), with the paper's own numbers, and who it is for."""

from __future__ import annotations

import json
import random
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import plan
from penstock.bound import Conformance, applies, bound, conformance
from penstock.errors import InputError
from penstock.run import run
from penstock.scenario import Network, load

engine: Any = import_module("penstock._engine")

HEAD = """
name = "paper"
duration = "10ms"
bridges.sw.ports = 4
stations = { a = { at = "sw.0" }, b = { at = "sw.1" }, c = { at = "sw.2" }, d = { at = "sw.3" } }
"""
STREAM = """
[streams.{name}]
from = "{talker}"
to = ["d"]
vlan = 1
pcp = {pcp}
source = {{ frames = "1522B", every = "1ms" }}
{more}
"""
ATS = 'ats = { rate = "100Mb/s", burst = "1542B" }'


def network(folder: Path, *streams: tuple[str, str, int, str]) -> Network:
    text = HEAD + "".join(STREAM.format(name=n, talker=t, pcp=p, more=m) for n, t, p, m in streams)
    (folder / "scenario.toml").write_text(text)
    return load(folder)


def contention_ps(network: Network, name: str) -> int:
    return next(t.ps for t in bound(network, name).terms if t.name == "contention")


def test_equation_2_best_effort_beside(tmp_path: Path) -> None:
    # (1542 - 1542 + 1542) B / 1 Gb/s = 12.3 us
    assert contention_ps(network(tmp_path, ("f", "a", 3, ATS), ("be", "b", 7, "")), "f") == 12_336_000


def test_equation_3_same_class_beside(tmp_path: Path) -> None:
    assert contention_ps(network(tmp_path, ("f1", "a", 3, ATS), ("f2", "b", 3, ATS)), "f1") == 12_336_000


def test_equation_4_higher_class_and_best_effort(tmp_path: Path) -> None:
    # (1542 + 1542 - 1542 + 1542) B / (1 Gb/s - 100 Mb/s) = 27.4 us
    streams = (("f1", "a", 3, ATS), ("f2", "b", 2, ATS), ("be", "c", 7, ""))
    both = network(tmp_path, *streams)
    assert contention_ps(both, "f2") == pytest.approx(27_413_334, abs=1)
    assert contention_ps(both, "f1") == 12_336_000


def test_total_is_the_sum_of_its_terms(tmp_path: Path) -> None:
    found = bound(network(tmp_path, ("f", "a", 3, ATS), ("be", "b", 7, "")), "f")
    assert found.total_ps == sum(t.ps for t in found.terms)
    # links, 1522 B on the wire, processing, contention, two clock cycles, and 100 Mb/s of one at 1 Gb/s
    assert found.total_ps == 2 * 50_000 + 12_176_000 + 400_000 + 12_336_000 + 16_000 + 800


def test_no_bound_without_committed_rates(tmp_path: Path) -> None:
    found = bound(network(tmp_path, ("f", "a", 2, ATS), ("wild", "b", 3, "")), "f")
    assert found.total_ps is None
    assert found.reason == '"wild" in the higher class has no committed rate and burst'
    found = bound(network(tmp_path, ("f", "a", 3, ATS), ("wild", "b", 3, "")), "f")
    assert found.reason == '"wild" in the same class has no committed rate and burst'
    assert bound(network(tmp_path, ("f", "a", 3, "")), "f").total_ps is None


def test_conformance() -> None:
    # 125 B on the wire take 10 us at 100 Mb/s.
    def arrivals(*times_us: float) -> list[tuple[int, int]]:
        return [(round(t * 10**6), 105) for t in times_us]

    assert conformance(arrivals(0, 10, 20, 30), 10**8, 125, 20).ok
    assert conformance(arrivals(0, 0, 20, 20), 10**8, 250, 20).ok
    early = conformance(arrivals(0, 10, 19, 30), 10**8, 125, 20)
    assert (early.ok, early.late_frames, early.first_late) == (False, 1, 3)
    assert early.worst_ps == pytest.approx(10**6, abs=100)
    # What is late makes the next one late too.
    assert conformance(arrivals(0, 0, 0, 30), 10**8, 125, 20).late_frames == 2


def line(rates: tuple[str, ...] = ("1Gb/s", "100Mb/s"), **bridge: Any) -> dict[str, Any]:
    """Two bridges of another maker: x and y talk to z over the second link, and all of it is of class 7."""
    control = {"vlan": 1, "pcp": 3, "source": {"frames": "100B", "every": "1ms"}}
    return {
        "name": "line",
        "duration": "1s",
        "nodes": "model",
        "links": {"rate": rates[0], "delay": "1us", "trunk": {"between": ["s1.0", "s2.0"], "rate": rates[1]}},
        "bridges": {n: {"ports": 4, "processing_delay": "2us", **bridge} for n in ("s1", "s2")},
        "stations": {"x": {"at": "s1.1"}, "y": {"at": "s1.2"}, "z": {"at": "s2.1"}},
        "streams": {
            "f": {"from": "x", "to": ["z"], **control, "ats": {"rate": "10Mb/s", "burst": "500B"}},
            "g": {"from": "y", "to": ["z"], **control, "ats": {"rate": "5Mb/s", "burst": "400B"}},
            "be": {"from": "y", "to": ["z"], "vlan": 1, "pcp": 0, "source": {"frames": "1000B", "every": "1ms"}},
        },
    }


def test_the_terms_of_two_hops() -> None:
    terms = {term.name: term.ps for term in bound(load(line()), "f").terms}
    ns = 1000
    assert terms == {
        "s1: link to the bridge": 1000 * ns,
        "s1: frame on the wire": 800 * ns,
        "s1: processing": 2000 * ns + 640 * ns,  # and a preamble at 100 Mb/s
        "s1: contention": (500 + 400 - 120 + 1020) * 80 * ns,
        "s1: clock grid": 2 * ns + 150,  # 15 Mb/s of 1 ns at 100 Mb/s
        "s2: link to the bridge": 1000 * ns,
        "s2: frame on the wire": 8000 * ns,
        "s2: processing": 2000 * ns + 64 * ns,
        "s2: contention": (500 + 400 - 120 + 1020) * 8 * ns,
        "s2: clock grid": 2 * ns + 15,
        "link to the listener": 1000 * ns,
    }


def test_before_the_last_hop_the_shortest_frame_of_the_class_counts() -> None:
    """A scheduler of the next bridge may hold a frame for the one before it, which may have waited for longest."""
    values = line()
    values["streams"]["g"]["source"] = {"frames": "64B", "every": "1ms"}
    terms = {term.name: term.ps for term in bound(load(values), "f").terms}
    assert terms["s1: contention"] == (500 + 400 - 84 + 1020) * 80_000
    assert terms["s2: contention"] == (500 + 400 - 120 + 1020) * 8_000


def test_what_was_measured_counts_at_its_bridge() -> None:
    checked = load(line())
    terms = {term.name: term.ps for term in bound(checked, "f", {"s2": 7_000_000}).terms}
    assert (terms["s1: processing"], terms["s2: processing"]) == (2_640_000, 7_000_000)


def test_a_processing_delay_max_above_or_below_the_idle_delay() -> None:
    above = {t.name: t.ps for t in bound(load(line(processing_delay_max="5us")), "f").terms}
    assert above["s2: processing"] == 5_000_000 + 64_000
    # Frames that are held back leave up to 2 us earlier after their eligibility than those that are not: bursts grow.
    below = {t.name: t.ps for t in bound(load(line(processing_delay_max="0us")), "f").terms}
    assert below["s1: processing"] == 2_640_000
    assert below["s1: clock grid"] == 2000 + 2_001_000 * 15 // 100
    hardware = network_of_one(processing_delay_max="1us")
    assert next(t.ps for t in bound(hardware, "f").terms if t.name == "processing") == 1_120_000


def network_of_one(**bridge: Any) -> Network:
    values = line()
    values["bridges"] = {"s1": {"ports": 4, **bridge}}
    del values["links"]["trunk"]
    values["stations"]["z"] = {"at": "s1.3"}
    return load(values)


def test_eight_ports_take_longer_than_four() -> None:
    assert next(t.ps for t in bound(network_of_one(ports=8), "f").terms if t.name == "processing") == 408_000


def test_drift_is_paid_for_over_the_run() -> None:
    values = line()
    ideal = bound(load(values), "f").total_ps
    values["bridges"]["s2"]["clock"] = {"drift": "10ppm"}
    found = bound(load(values), "f")
    drift = next(t.ps for t in found.terms if t.name == "clock drift")
    assert ideal is not None
    # 10 ppm of a second, and a little for what comes after it.
    assert 10_000_000 < drift < 10_100_000
    assert found.total_ps == ideal + drift
    # Two clocks that agree fall behind only where they are held against the network's time.
    values["bridges"]["s1"]["clock"] = {"drift": "10ppm"}
    assert next(t.ps for t in bound(load(values), "f").terms if t.name == "clock drift") == drift


NO_BOUND: dict[str, tuple[dict[str, Any], str]] = {
    "strict": (
        {"s2": {"classes": {"7": {"selection": "strict"}}}},
        'class 7 is strict priority: the stream is not shaped (at "s2")',
    ),
    "cut-through": (
        {"s1": {"switching": "cut_through"}},
        'the bridge forwards by cut-through, and equation (1) is about whole frames (at "s1")',
    ),
    "learned": (
        {"s2": {"forwarding": "learned"}},
        'the bridge learns its addresses, and may flood other streams to the same port (at "s2")',
    ),
    "a higher class that is not shaped": (
        {"s2": {"class_of_priority": [7, 0, 6, 6, 2, 3, 4, 5]}},
        '"be" in the higher class has no committed rate and burst (at "s2")',
    ),
}


@pytest.mark.parametrize("case", NO_BOUND)
def test_why_there_is_no_bound(case: str) -> None:
    more, reason = NO_BOUND[case]
    values = line()
    for name, keys in more.items():
        values["bridges"][name] |= keys
    found = bound(load(values), "f")
    assert (found.total_ps, found.reason) == (None, reason)


def test_no_bound_for_a_group_out_of_two_queues() -> None:
    """At s2 both are of class 7 in one group, but at s1 one of them overtakes the other."""
    values = line()
    values["streams"]["g"]["pcp"] = 2
    values["bridges"]["s2"]["class_of_priority"] = [1, 0, 7, 7, 2, 3, 4, 5]
    found = bound(load(values), "f")
    assert found.reason == 'streams of its scheduler group were of different classes at the bridge before (at "s2")'


def drawn(seed: int) -> dict[str, Any]:
    """A network in which every shaped source sends its bursts as fast as it may, beside others that never stop."""
    draw = random.Random(seed)
    hardware = draw.random() < 0.5
    rates = ["1Gb/s"] if hardware else ["100Mb/s", "1Gb/s", "2.5Gb/s", "10Gb/s"]
    drifting = draw.random() < 0.5
    count = draw.randint(1, 6)
    free = [0] * count

    def port(bridge: int) -> str:
        free[bridge] += 1
        return f"b{bridge}.{free[bridge] - 1}"

    def clock() -> dict[str, str]:
        if not drifting:
            return {}
        return {"offset": f"{draw.randint(-5000, 5000)}ns", "drift": f"{draw.randint(-100, 100)}ppm"}

    cables = [(draw.randrange(i), i) for i in range(1, count)]
    links: dict[str, Any] = {
        f"l{i}": {"between": [port(a), port(b)], "rate": draw.choice(rates), "delay": f"{draw.randint(0, 2000)}ns"}
        for i, (a, b) in enumerate(cables)
    }
    stations: dict[str, Any] = {}
    for i in range(draw.randint(3, 8)):
        bridge = draw.choice([b for b in range(count) if free[b] < 8])
        stations[f"e{i}"] = {"at": port(bridge), "rate": draw.choice(rates), "clock": clock()}
    bridges: dict[str, Any] = {}
    for i in range(count):
        bridges[f"b{i}"] = {"ports": max(2, free[i]), "clock": clock()}
        if not hardware:
            bridges[f"b{i}"]["processing_delay"] = f"{draw.randint(0, 5000)}ns"
        if draw.random() < 0.4:
            bridges[f"b{i}"]["processing_delay_max"] = draw.choice(["0ns", "100ns", "400ns", "1us", "6us"])
    streams: dict[str, Any] = {}
    for i in range(draw.randint(2, 10)):
        talker, *others = draw.sample(list(stations), 3)
        length, burst = draw.choice([64, 100, 300, 1000, 1522]), draw.randint(1, 5)
        stream: dict[str, Any] = {"from": talker, "to": others[: draw.choice([1, 1, 1, 2])], "vlan": 10}
        if draw.random() < 0.7:
            rate = draw.choice([10**6, 5 * 10**6, 2 * 10**7, 5 * 10**7]) // (1 if hardware else 4)
            held = burst * (length + 20)
            # As fast as allowed, if need be by the fastest clock.
            period = -(-held * 8 * 10**12 // rate) * (10_003 if drifting else 10_000) // 10_000 + 1000
            stream["pcp"] = draw.choice([2, 3])
            stream["ats"] = {"rate": f"{rate}b/s", "burst": f"{held}B"}
            stream["source"] = {"frames": f"{length}B", "burst": burst, "every": f"{period}ps"}
            stream["source"]["start"] = f"{draw.choice([0, draw.randint(0, 10**6)])}ns"
        else:
            stream["pcp"] = draw.choice([0, 1])
            stream["source"] = {"frames": f"{length}B", "back_to_back": True}
        streams[f"s{i}"] = stream
    return {
        "name": "drawn",
        "duration": "5ms",
        "nodes": "model",
        "links": links,
        "bridges": bridges,
        "stations": stations,
        "streams": streams,
    }


def conforming(checked: Network, result: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Conformance]:
    """What each shaped stream brought to its first bridge."""
    kinds = {"event": "u1", "stream": "<u4", "node": "<u4", "time_ps": "<u8", "bytes": "<u4"}
    column = {key: np.concatenate([np.frombuffer(chunk[key], kind) for chunk in rows]) for key, kind in kinds.items()}
    received = column["event"] == result["events"].index("received")
    found = {}
    for index, (name, stream) in enumerate(checked.streams.items()):
        talker = checked.stations[stream.talker]
        if stream.ats is not None:
            here = received & (column["stream"] == index) & (column["node"] == result["nodes"].index(talker.bridge))
            pairs = sorted(zip(column["time_ps"][here].tolist(), column["bytes"][here].tolist(), strict=True))
            ends = [(time + size * 8 * 10**12 // talker.link_rate_bps, size) for time, size in pairs]
            found[name] = conformance(ends, stream.ats.rate_bps, stream.ats.burst_bytes, 20)
    return found


def test_no_frame_takes_longer_than_its_bound() -> None:
    """Networks drawn at random, run in the engine; some frames come near their bound."""
    refused, checked_streams, nearest = 0, 0, 0.0
    for seed in range(60):
        try:
            checked = load(drawn(seed))
        except InputError:  # rates above a link
            refused += 1
            continue
        rows: list[dict[str, Any]] = []
        result: dict[str, Any] = engine.run(json.dumps(plan.network_json(checked, {}, {})), rows.append)
        met = conforming(checked, result, rows)
        for name, stream in checked.streams.items():
            limit = bound(checked, name).total_ps if stream.ats else None
            worst = result["statistics"][name]["latency_ps"]["max"]
            if limit is None or worst is None or applies(checked, name, met):
                continue
            checked_streams += 1
            nearest = max(nearest, worst / limit)
            assert worst <= limit, (seed, name)
    assert refused < 6
    assert checked_streams > 150
    assert nearest > 0.9


def test_contention_is_not_taken_for_processing(tmp_path: Path) -> None:
    """On links that are never idle for long, what an idle switch takes is still found, or nothing is said of it."""
    checked = load(Path(__file__).parents[1] / "scenarios" / "line5", "model")
    summary = run(checked, tmp_path / "results").summary
    assert summary["warnings"] == []
    for name, stream in summary["streams"].items():
        if stream["bound"] is not None:
            assert stream["bound_ns"] * 1000 == bound(checked, name).total_ps
            assert stream["latency_ns"]["max"] <= stream["bound_ns"]
    for bridge in summary["bridges"].values():
        assert set(bridge["processing_ns"].values()) <= {344.0}
