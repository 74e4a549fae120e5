# SPDX-License-Identifier: Apache-2.0
"""Equation (1), with the paper's own numbers, and who it is for."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from paper_switch import ATS, Stream, write
from penstock import _engine, plan
from penstock.bound import bound, conformance, ways_of
from penstock.bound.analysis import analyse
from penstock.run import run
from penstock.scenario import Network, load


def network(folder: Path, *streams: Stream) -> Network:
    write(folder, *streams)
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
    # links, 1522 B on the wire, processing and preamble, contention; two clock cycles, the 16 ns that
    # a source may be early, and 100 Mb/s of a cycle at 1 Gb/s
    assert found.total_ps == 2 * 50_000 + 12_176_000 + 336_000 + 64_000 + 12_336_000 + 16_000 + 16_000 + 800


def test_no_bound_without_committed_rates(tmp_path: Path) -> None:
    write(tmp_path, ("f", "a", 2, ATS), ("wild", "b", 3, ""))
    values = tomllib.loads((tmp_path / "scenario.toml").read_text())
    # All that a talker's link carries may come of a source by chance, and that is all that there is.
    values["streams"]["wild"]["source"] = {"frames": "1522B", "poisson": "1ms"}
    found = bound(load(values), "f")
    assert found.total_ps is None
    assert (found.reason or "").startswith(
        '"wild" brings what its link carries: the times between its frames are by chance'
    )
    assert bound(load(values), "wild").total_ps is not None
    values["stations"]["b"]["rate"] = "100Mb/s"
    assert bound(load(values), "f").total_ps is not None


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
    """Two bridges of another maker: x and y talk to z over the second link, and all of it is of class 7.

    Their sources are by chance, so that nothing but rate and burst is known of them.
    """
    source = {"frames": "100B", "every": "1ms", "jitter": {"exponential": "1ns"}}
    control = {"vlan": 1, "pcp": 3, "source": source}
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
        "s1: processing": 2000 * ns,
        "s1: contention": (500 + 400 - 120 + 1020) * 80 * ns,
        "s1: preamble": 640 * ns,  # at 100 Mb/s
        "s1: clock grid": 18 * ns + 150,  # 15 Mb/s of 1 ns at 100 Mb/s, and 16 ns that sources may be early
        "s2: link to the bridge": 1000 * ns,
        "s2: frame on the wire": 8000 * ns,
        "s2: processing": 2000 * ns,
        "s2: contention": (500 + 400 - 120 + 1020) * 8 * ns,
        "s2: preamble": 64 * ns,
        "s2: clock grid": 2 * ns + 15,
        "link to the listener": 1000 * ns,
    }


def two_classes() -> dict[str, Any]:
    """The same, with g in class 6."""
    values = line()
    values["streams"]["g"]["pcp"] = 2
    return values


def test_two_hops_and_two_classes_by_hand() -> None:
    """Equation (1) twice for each class, and all that is around it."""
    checked = load(two_classes())
    f, g = (ways_of(checked, name)[0] for name in "fg")
    # f: (500 - 120 + 1020) B / 100 Mb/s, then / 1 Gb/s. Of lower classes be has the longest frame.
    assert [hop.wait_ps for hop in f.hops] == [112_000_000, 11_200_000]
    assert [hop.contention and hop.contention.l_lp_stream for hop in f.hops] == ["be", "be"]
    # g: (500 + 400 - 120 + 1020) B / (100 - 10) Mb/s, then / (1000 - 10) Mb/s.
    assert [hop.wait_ps for hop in g.hops] == [160_000_000, 14_545_455]
    counted = [hop.contention.committed for hop in g.hops if hop.contention]
    assert [[each.stream for each in of] for of in counted] == [["f", "g"], ["f", "g"]]
    # 1 us of cable, 100 B at 1 Gb/s and at 100 Mb/s, 8 B of preamble at 100 Mb/s and at 1 Gb/s.
    assert [hop.media_ps for hop in g.hops] == [1_000_000 + 800_000 + 640_000, 1_000_000 + 8_000_000 + 64_000]
    assert [hop.processing_ps for hop in g.hops] == [2_000_000, 2_000_000]
    # 15 Mb/s of 1 ns at 90 Mb/s and at 990 Mb/s, rounded up, and twice 1 ns; first the 16 ns that sources may be early.
    assert [hop.clock_grid_ps for hop in g.hops] == [18_167, 2_015]
    assert [hop.total_ps for hop in g.hops] == [164_458_167, 25_611_470]
    assert g.total_ps == 164_458_167 + 25_611_470 + 1_000_000
    assert g.total_ps == g.media_ps + g.processing_ps + g.contention_ps + g.clock_ps
    assert g.total_ps == bound(checked, "g").total_ps == sum(term.ps for term in g.terms())


def test_a_frame_of_a_class_with_credit_may_be_in_the_way() -> None:
    values = two_classes()
    credit = {"1": {"selection": "cbs", "idle_slope": "10Mb/s"}}
    for bridge in values["bridges"].values():
        bridge["classes"] = credit
    hop = ways_of(load(values), "g")[0].hops[0]
    assert hop.contention is not None
    assert (hop.contention.l_lp_bytes, hop.wait_ps) == (1020, 160_000_000)


def test_each_listener_has_its_own_bound() -> None:
    values = line()
    values["stations"]["near"] = {"at": "s1.3"}
    values["streams"]["f"]["to"] = ["z", "near"]
    checked = load(values)
    far, near = ways_of(checked, "f")
    assert [hop.bridge for hop in near.hops] == ["s1"]
    # Alone on that port, and so behind its own burst only.
    assert near.hops[0].waits_for == "(500 - 120 + 0) B / (1000 - 0) Mb/s"
    assert near.total_ps is not None
    assert far.total_ps is not None
    assert near.total_ps < far.total_ps == bound(checked, "f").total_ps


def test_rates_and_bursts_that_do_not_count_the_gap_grow_to_what_is_on_the_wire() -> None:
    """100 B counted are 120 B sent: 6/5 of rate and burst."""
    values = two_classes()
    for bridge in values["bridges"].values():
        bridge["overhead"] = "0B"
    hop = ways_of(load(values), "g")[0].hops[0]
    assert hop.waits_for == "(600 + 480 - 120 + 1020) B / (100 - 12) Mb/s"
    # 82 B counted of 100 B.
    for bridge in values["bridges"].values():
        bridge["overhead"] = "-18B"
    hop = ways_of(load(values), "g")[0].hops[0]
    assert hop.waits_for == "(732 + 586 - 120 + 1020) B / (100 - 14.6341) Mb/s"
    # What is counted above the wire is given away.
    values = line(overhead="40B")
    assert ways_of(load(values), "f")[0].hops[0].waits_for == "(500 + 400 - 120 + 1020) B / (100 - 0) Mb/s"


def test_no_bound_where_rates_on_the_wire_are_above_the_link() -> None:
    values = two_classes()
    values["streams"]["f"]["ats"]["rate"] = "90Mb/s"
    assert bound(load(values), "g").total_ps is not None
    for bridge in values["bridges"].values():
        bridge["overhead"] = "0B"
    assert bound(load(values), "g").reason == (
        'the committed rates add up to 114 Mb/s on the wire, above the 100 Mb/s of the link to "s2"; '
        'lower rates have a bound (at "s1")'
    )


def test_rates_that_fill_the_link_still_have_a_bound() -> None:
    values = two_classes()
    values["streams"]["f"]["ats"]["rate"] = "80Mb/s"
    values["streams"]["g"]["ats"]["rate"] = "20Mb/s"
    # (500 + 400 - 120 + 1020) B / (100 - 80) Mb/s: rates that schedulers have exactly.
    assert ways_of(load(values), "g")[0].hops[0].wait_ps == 1800 * 8 * 10**12 // (20 * 10**6)
    # A scheduler rounds 95 Mb/s towards more, so that a queue of the rest grows, if for long.
    values["streams"]["f"]["ats"]["rate"] = "95Mb/s"
    values["streams"]["g"]["ats"]["rate"] = "5Mb/s"
    assert bound(load(values), "g").total_ps is None


def test_a_residence_time_below_what_a_scheduler_may_hold_is_told() -> None:
    """At s2 a frame may be held for as long as another of its class waited at s1: 144 us, grid, and early sources."""
    values = line()
    values["bridges"]["s2"]["classes"] = {"7": {"selection": "ats", "max_residence": "144us"}}
    told = [said for said in analyse(load(values)).warnings if "may be held" in said]
    assert len(told) == 1
    assert "s2: class 7" in told[0]
    assert "may be held for 144.018 us" in told[0]
    values["bridges"]["s2"]["classes"]["7"]["max_residence"] = "145us"
    assert not [said for said in analyse(load(values)).warnings if "may be held" in said]


def test_before_the_last_hop_the_shortest_frame_of_the_class_counts() -> None:
    """A scheduler of the next bridge may hold a frame for the one before it, which may have waited for longest."""
    values = line()
    values["streams"]["g"]["source"] = values["streams"]["g"]["source"] | {"frames": "64B"}
    terms = {term.name: term.ps for term in bound(load(values), "f").terms}
    assert terms["s1: contention"] == (500 + 400 - 84 + 1020) * 80_000
    assert terms["s2: contention"] == (500 + 400 - 120 + 1020) * 8_000


def test_what_was_measured_counts_at_its_bridge() -> None:
    checked = load(line())
    terms = {term.name: term.ps for term in bound(checked, "f", {"s2": 7_000_000}).terms}
    # What was measured ends with the preamble, which is a term of its own.
    assert (terms["s1: processing"], terms["s2: processing"]) == (2_000_000, 7_000_000 - 64_000)


def test_a_processing_delay_max_above_or_below_the_idle_delay() -> None:
    above = {t.name: t.ps for t in bound(load(line(processing_delay_max="5us")), "f").terms}
    assert above["s2: processing"] == 5_000_000
    # Frames that are held back leave up to 2 us earlier after their eligibility than those that are not: bursts grow.
    below = {t.name: t.ps for t in bound(load(line(processing_delay_max="0us")), "f").terms}
    assert below["s1: processing"] == 2_000_000
    assert below["s1: clock grid"] == 18_000 + 2_001_000 * 15 // 100
    hardware = network_of_one(processing_delay_max="1us")
    assert next(t.ps for t in bound(hardware, "f").terms if t.name == "processing") == 1_120_000 - 64_000


def network_of_one(**bridge: Any) -> Network:
    values = line()
    values["bridges"] = {"s1": {"ports": 4, **bridge}}
    del values["links"]["trunk"]
    values["stations"]["z"] = {"at": "s1.3"}
    return load(values)


def test_eight_ports_take_longer_than_four() -> None:
    assert next(t.ps for t in bound(network_of_one(ports=8), "f").terms if t.name == "processing") == 408_000 - 64_000


def test_drift_is_paid_for_over_the_run() -> None:
    values = line()
    ideal = bound(load(values), "f").total_ps
    values["bridges"]["s2"]["clock"] = {"drift": "-10ppm"}
    found = bound(load(values), "f")
    drift = next(t.ps for t in found.terms if t.name == "clock drift")
    assert ideal is not None
    # 10 ppm of a second, and a little for what comes after it.
    assert 10_000_000 < drift < 10_100_000
    # And its link is slower by as much.
    assert found.total_ps is not None
    assert ideal + drift < found.total_ps < ideal + drift + 1_000
    # Two clocks that agree fall behind only where they are held against the network's time.
    values["bridges"]["s1"]["clock"] = {"drift": "-10ppm"}
    assert next(t.ps for t in bound(load(values), "f").terms if t.name == "clock drift") == drift
    # A clock that is faster than the one before holds nothing back, however long the run.
    values["bridges"]["s1"]["clock"] = {"drift": "0ppm"}
    values["bridges"]["s2"]["clock"] = {"drift": "10ppm"}
    assert next(t.ps for t in bound(load(values), "f").terms if t.name == "clock drift") < 10_000


NO_BOUND: dict[str, tuple[dict[str, Any], str]] = {
    "learned": (
        {"s2": {"forwarding": "learned"}},
        "the bridge learns its addresses, and may flood other streams to the same port; "
        'static forwarding mends it (at "s2")',
    ),
    "counted more leniently before": (
        {"s1": {"overhead": "8B"}},
        "ATS counts 20 B around a frame, but 8 B at the bridge before, which lets more pass; "
        'the same overhead at both has a bound (at "s2")',
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


def test_lower_classes_may_take_turns() -> None:
    values = line()
    alone = bound(load(values), "f").total_ps
    assert alone is not None
    for bridge in values["bridges"].values():
        bridge["classes"] = {k: {"selection": "round_robin"} for k in "014"}
    assert bound(load(values), "f").total_ps == alone


# Of these the analysis of ATS alone said nothing.
BOUND_ALL_THE_SAME: dict[str, dict[str, Any]] = {
    "strict at a bridge": {"s2": {"classes": {"7": {"selection": "strict"}}}},
    "a higher class with a period alone": {"s2": {"class_of_priority": [7, 0, 6, 6, 2, 3, 4, 5]}},
    "a higher class of credit": {
        "s2": {
            "class_of_priority": [7, 0, 6, 6, 2, 3, 4, 5],
            "classes": {"7": {"selection": "cbs", "idle_slope": "10Mb/s"}},
        }
    },
    "turns of a level above": {
        "s2": {
            "class_of_priority": [1, 0, 6, 5, 2, 3, 4, 7],
            "classes": {"5": {"selection": "ats"}} | {k: {"selection": "round_robin"} for k in "17"},
        }
    },
}


@pytest.mark.parametrize("case", BOUND_ALL_THE_SAME)
def test_mixes_have_a_bound(case: str) -> None:
    values = line()
    values["duration"] = "20ms"
    for name in "fg":
        values["streams"][name]["source"] = {"frames": "100B", "every": "1ms"}
    for name, keys in BOUND_ALL_THE_SAME[case].items():
        values["bridges"][name] |= keys
    checked = load(values)
    result: dict[str, Any] = dict(_engine.run(json.dumps(plan.network_json(checked, {}, {}))))
    for name in checked.streams:
        found, worst = bound(checked, name), result["statistics"][name]["latency_ps"]["max"]
        assert found.reason is None
        assert found.total_ps is not None
        assert worst <= found.total_ps


def test_no_bound_for_a_group_out_of_two_queues() -> None:
    """At s2 both are of class 7 in one group, but at s1 one of them overtakes the other."""
    values = line()
    values["streams"]["g"]["pcp"] = 2
    values["bridges"]["s2"]["class_of_priority"] = [1, 0, 7, 7, 2, 3, 4, 5]
    found = bound(load(values), "f")
    assert (
        found.reason == "streams of its scheduler group were of different classes at the bridge before; "
        'one class has a bound (at "s2")'
    )


def test_contention_is_not_taken_for_processing(tmp_path: Path) -> None:
    """On links that are never idle for long, what an idle switch takes is still found, or nothing is said of it."""
    checked = load(Path(__file__).parents[1] / "scenarios" / "line5", "model")
    summary = run(checked, tmp_path / "results").summary
    assert summary["warnings"] == []
    for name, stream in summary["streams"].items():
        total_ps = bound(checked, name).total_ps
        assert stream["bound_ns"] == (None if total_ps is None else total_ps / 1000)
        assert total_ps is None or stream["latency_ns"]["max"] <= stream["bound_ns"]
    for bridge in summary["bridges"].values():
        assert set(bridge["processing_ns"].values()) <= {344.0}
