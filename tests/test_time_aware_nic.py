# SPDX-License-Identifier: Apache-2.0
"""The time-aware NIC paper: each claim is met, and would not be by anything; the larger networks in short runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from penstock.hardware.synth import CARD, documented, mark
from penstock.lab.machine import Machine
from penstock.reproduce import papers, work
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes
from penstock.reproduce.outcome import Outcome
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic import PAPER, hosts, printed, tiles
from penstock.reproduce.time_aware_nic.place import FOLDER
from penstock.reproduce.time_aware_nic.traffic import PATTERNS
from penstock.scenario import load
from penstock.tiles.grid import Grid
from penstock.torus.laboratory import Laboratory
from penstock.torus.of_scenario import torus_of
from rights import needs_any_namespaces


def experiment(name: str) -> Experiment:
    (found,) = papers.chosen(PAPER, [name])
    return found


def played(cases: list[Case]) -> Outcomes:
    """Run in this process."""
    return [(case, case.watch(work.task(case, "model").network())) for case in cases]


@cache
def outcomes(name: str) -> Outcomes:
    return played(list(experiment(name).cases))


def rows(found: Found) -> dict[str, Row]:
    assert len({row.id for row in found.rows}) == len(found.rows)
    return {row.id: row for row in found.rows}


@pytest.mark.parametrize("name", ["latency", "shares", "fig4", "table1"])
def test_every_claim_is_met(name: str) -> None:
    found = rows(experiment(name).evaluate(outcomes(name), Options()))
    assert found
    assert [row.id for row in found.values() if not row.ok] == []


def test_a_detour_costs_two_forwards() -> None:
    found = rows(experiment("latency").evaluate(outcomes("latency"), Options()))
    shortest, dead = found["latency.shortest"], found["latency.dead"]
    assert (shortest.paper, dead.paper) == (350, 520)
    assert shortest.measured is not None
    assert dead.measured is not None
    # Two hosts more, and two times a frame of 1516 bytes on a link of 10 Gb/s and its delay.
    assert dead.measured - shortest.measured == pytest.approx(2 * (85 + 1.2128 + 0.1 + 0.0064), abs=2)


def test_claims_fail_where_runs_are_mistaken() -> None:
    ((case, outcome),) = outcomes("latency")
    frames = outcome.frames["iperf"]
    before = frames.delivered_ps < 200 * 10**9
    undone = np.where(before, frames.delivered_ps, frames.delivered_ps - 170 * 10**6)
    straight = Outcome(outcome.nodes, outcome.summary, {"iperf": replace(frames, delivered_ps=undone)})
    bad = rows(experiment("latency").evaluate([(case, straight)], Options()))
    assert [name for name, row in bad.items() if not row.ok] == ["latency.dead"]
    runs = {case.at["run"]: (case, outcome) for case, outcome in outcomes("shares")}
    swapped = [
        (case, runs[{"slots": "turns", "turns": "slots"}.get(name, name)][1]) for name, (case, _) in runs.items()
    ]
    bad = rows(experiment("shares").evaluate(swapped, Options()))
    assert {"turns.high", "turns.low", "slots.high", "slots.gbps", "slots.low"} == {
        name for name, row in bad.items() if not row.ok
    }


def test_what_is_not_there_says_what_it_waits_for() -> None:
    for name in ("fig4", "table1"):
        for row in experiment(name).evaluate((), Options()).rows:
            assert ("waits for" in row.quantity, row.paper is not None) == (row.measured is None, True)


def test_the_card_costs_what_the_page_of_its_synthesis_says() -> None:
    """All blocks together, of four ports as the paper's; more than nothing and less than that."""
    found = rows(experiment("table1").evaluate((), Options()))
    page = documented(mark("xc7", CARD, 4))
    assert found["table1.luts"].measured == sum(block["lut"] for block in page.values())
    for name in ("luts", "lutrams", "ffs", "brams"):
        measured, paper = found[f"table1.{name}"].measured, found[f"table1.{name}"].paper
        assert measured is not None
        assert paper is not None
        assert 0 < measured < paper


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_node_sends_all_that_it_may(pattern: str) -> None:
    grid = Grid((8, 8))
    flows = PATTERNS[pattern](grid)
    sent: dict[object, float] = {}
    for flow in flows:
        assert flow.source != flow.destination
        sent[flow.source] = sent.get(flow.source, 0.0) + flow.part
    assert len(sent) == {"uniform": 256, "transpose": 240, "hotspot": 256}[pattern]
    assert all(0.874 < part < 1.001 for part in sent.values())
    assert flows == PATTERNS[pattern](grid)


def test_larger_networks_are_later_with_links_dead_and_with_load() -> None:
    short = [
        replace(case, values={**case.values, "duration": "1ms"})
        for case in (tiles.case("transpose", load, dead) for load, dead in ((10, False), (90, False), (10, True)))
    ]
    found = played(short)
    seen = rows(experiment("tiles").evaluate(found, Options()))
    assert [row.id for row in seen.values() if not row.ok] == []
    least, most = seen["transpose.10.mean"].measured, seen["transpose.90.mean"].measured
    assert least is not None
    assert most is not None
    assert most > least + 100
    detour = seen["transpose.detour"]
    assert detour.theory is not None
    assert detour.theory > tiles.WAITS_US
    # Frames that go as if nothing were dead are noticed, whatever else is right.
    (first, alive), _, (third, dead) = found
    straight = Outcome(dead.nodes, dead.summary, alive.frames)
    bad = rows(experiment("tiles").evaluate([(first, alive), (third, straight)], Options()))
    assert [name for name, row in bad.items() if not row.ok] == ["transpose.detour"]


@needs_any_namespaces
def test_the_testbeds_hosts_find_a_detour_and_messages_take_it() -> None:
    with Machine() as machine, Laboratory(torus_of(load(FOLDER / "testbed.toml")), machine) as made:
        found = [*hosts.links(made), *hosts.messages(machine, made)]
    assert [row.quantity for row in found if not row.ok] == []
    measured = {row.id: row.measured for row in found}
    assert (measured["hosts.links.shortest"], measured["hosts.links.dead"]) == (3, 5)
    assert (measured["hosts.ways.dead"], measured["hosts.messages.dead"]) == (30, len(hosts.SIZES))


def test_the_papers_numbers() -> None:
    assert printed.LATENCY_MS == {"shortest": 0.35, "dead": 0.52}
    assert (printed.PEAK_GBPS, printed.SHARE_PERCENT) == (2.25, 89)


def test_what_a_guest_sees_stands_beside_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [
        Row.equals("card.mqprio", "tc ... mqprio accepted, of 1", "", 1, 1, 0),
        Row.equals("card.slots.high", "a slot of 90 %", "%", 70.0, 89.73, 1.0),
    ]
    asked = []

    def run(_tell: object, *, rtl: bool) -> list[Row]:
        asked.append(rtl)
        return seen

    monkeypatch.setattr("penstock.nic.linux.run", run)
    behind_linux = experiment("guest")
    (waits,) = behind_linux.evaluate([], Options()).rows
    assert waits.measured is None
    assert asked == []
    rows = behind_linux.evaluate([], Options(guest=True)).rows
    assert asked == [False, True]
    assert [row.id for row in rows if not row.ok] == ["guest.model.slots.high", "guest.hardware.slots.high"]
    assert [row.paper for row in rows] == [None, 89.0, None, 89.0]
    assert waits.id in {row.id for row in rows}
