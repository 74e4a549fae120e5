# SPDX-License-Identifier: Apache-2.0
"""The launch time paper on real Linux: what becomes of its scenarios, and that each claim can fail. Nothing runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from penstock.end.trace import ORIGIN
from penstock.errors import InputError
from penstock.lab.programs import programs
from penstock.reproduce import documentation, papers
from penstock.reproduce.experiment import Case, Experiment, Outcomes
from penstock.reproduce.laboratory import AHEAD
from penstock.reproduce.launch_time_talker import PAPER
from penstock.reproduce.launch_time_talker.laboratory import DELTA_NS, SLOWER, InLaboratory, document
from penstock.reproduce.outcome import Frames, Instants, Outcome
from penstock.reproduce.row import Row
from penstock.scenario import load

US, MS = 10**6, 10**9  # in ps
COUNT = 20
ORIGIN_NS = 8_001_000_000  # an eighth of a period of 8 ms


def experiment(name: str) -> Experiment:
    (found,) = papers.sized(PAPER, papers.chosen(PAPER, [name]), ["model"], COUNT)
    return found


def case_of(name: str, **at: Any) -> Case:
    (found,) = (case for case in experiment(name).cases if case.at == at)
    return found


def test_windows_and_launch_times_are_the_scenarios_on_a_real_processor() -> None:
    case = case_of("table1", launch=True)
    engine, linux = load(case.scenario), InLaboratory().network(case, emulated=False)
    for name, bridge in engine.bridges.items():
        assert linux.bridges[name].gates == bridge.gates
    assert linux.duration_ps == COUNT * MS
    (talk,) = (program for program in programs(linux, InLaboratory().how(case, False), 0) if program.role == "talk")
    (stream,) = talk.plan["streams"]
    # The talker wakes up at the nominal time, and etf lets frames go at the scenario's launch time.
    assert stream["offset_ns"] - stream["transmit_offset_ns"] == 0
    assert (stream["offset_ns"] - DELTA_NS, stream["period_ns"], stream["bytes"]) == (500_000, 1_000_000, 840)
    launch_times = linux.linux["host"][0].launch_times
    assert launch_times is not None
    assert (launch_times.delta_ns, set(launch_times.classes)) == (DELTA_NS, {7})


def test_an_emulated_processor_has_all_times_longer() -> None:
    case = case_of("table1", launch=True)
    engine, linux = load(case.scenario), InLaboratory().network(case, emulated=True)
    for name, bridge in engine.bridges.items():
        before, after = bridge.gates[1], linux.bridges[name].gates[1]
        assert after.entries == tuple((states, SLOWER * interval) for states, interval in before.entries)
        assert after.cycle_time_ns == SLOWER * before.cycle_time_ns
        assert (after.base_time_ns - SLOWER * before.base_time_ns) % after.cycle_time_ns == 0
    source = document(case, emulated=True)["streams"]["tsn"]["source"]
    assert source == {
        "frames": "840B",
        "every": f"{SLOWER}000000ns",
        "start": "0ns",
        "launch": {"offset": f"{SLOWER * 500_000 + DELTA_NS}ns"},
    }


def test_without_launch_times_there_is_no_etf_and_the_same_phase() -> None:
    said = document(case_of("table1", launch=False), emulated=True)
    assert said["stations"]["host"]["linux"] == {"interface": "eth0", "vlans": "none"}
    assert said["streams"]["tsn"]["source"]["start"] == f"{round(436_200 * SLOWER)}ns"


@pytest.mark.parametrize("offset", [65, 75, 85, 90, 95])
def test_back_to_back_nothing_is_longer(offset: int) -> None:
    said = document(case_of("table2", offset=offset), emulated=True)
    source = said["streams"]["tsn"]["source"]
    assert (source["every"], source["launch"]["offset"]) == ("1000000ns", f"{offset * 1000 + DELTA_NS}ns")


def test_interference_is_left_out_where_it_never_begins() -> None:
    assert set(document(case_of("table3", interference=False), emulated=True)["streams"]) == {"tsn", "be"}
    case = case_of("table3", interference=True)
    assert document(case, emulated=True)["streams"]["interference"]["source"]["burst"] == 110
    network, how = InLaboratory().network(case, emulated=True), InLaboratory().how(case, True)
    real_time = {program.name: bool(program.plan["realtime"]) for program in programs(network, how, 0)}
    assert real_time == {
        "listen-client": True, "listen-sink": False, "talk-launch-host": True, "talk-generator": False,
    }  # fmt: skip
    assert set(network.linux["host"][0].launch_times.classes) == {1, 7}  # type: ignore[union-attr]


def frames_of(created_us: float, delivered_us: float, period_ps: int, *, shake_us: float = 0.0) -> Frames:
    """One frame in each period, at these phases of it by TAI; every other arrives later by `shake_us`."""
    begins = np.arange(1, COUNT + 1) * period_ps - ORIGIN_NS * 1000 % period_ps
    delivered = begins + round(delivered_us * US) + np.arange(COUNT) % 2 * round(shake_us * US)
    none = np.full(COUNT, -1)
    return Frames(np.full(COUNT, 840), begins + round(created_us * US), none, none, delivered, {})


def outcome_of(frames: Mapping[str, Frames], *, lost: int = 0, ahead_ns: int = DELTA_NS + 1) -> Outcome:
    streams = {name: {"sent": each.bytes.size + lost, "delivered": each.bytes.size} for name, each in frames.items()}
    ahead: dict[str, Instants] = {name: np.full(each.bytes.size, ahead_ns) for name, each in frames.items()}
    laboratory = {"emulated": True, "stamps": {ORIGIN: str(ORIGIN_NS)}, AHEAD: ahead}
    return Outcome("linux", {"streams": streams, "laboratory": laboratory}, dict(frames))


def table_1(launch: Frames | None = None, software: Frames | None = None, **more: Any) -> Outcomes:
    """The third window opens at 4,089.6 us and closes 192 us later."""
    period = SLOWER * MS
    runs = {
        True: launch or frames_of(4, 4_120, period, shake_us=0.1),
        False: software or frames_of(3_495, 4_120, period, shake_us=0.1),
    }
    return [
        (case, outcome_of({"tsn": runs[case.at["launch"]]}, **more if case.at["launch"] else {}))
        for case in experiment("table1").cases
    ]


def table_2(**other: Frames) -> Outcomes:
    found = []
    for case in experiment("table2").cases:
        at = case.at["offset"]
        usual = frames_of(4, 18, MS, shake_us=0.7) if at is None else frames_of(4, at + 30, MS, shake_us=0.05)
        found.append((case, outcome_of({"tsn": other.get(f"at_{at}", usual)})))
    return found


def table_3(tsn_us: float = 980.0, be_us: float = 870.0, tsn_shake_us: float = 1.0) -> Outcomes:
    """The third window opens at 934.4 us and closes 192 us later."""
    period = SLOWER * MS
    found = []
    for case in experiment("table3").cases:
        late = case.at["interference"]
        tsn = frames_of(4, tsn_us if late else 970, period, shake_us=tsn_shake_us)
        be = frames_of(16, be_us if late else 850, period, shake_us=10)
        found.append((case, outcome_of({"tsn": tsn, "be": be, **({"interference": be} if late else {})})))
    return found


def rows(name: str, outcomes: Outcomes) -> dict[str, Row]:
    laboratory = experiment(name).laboratory
    assert laboratory is not None
    return {row.id: row for row in laboratory(outcomes).rows}


def failed(name: str, outcomes: Outcomes) -> set[str]:
    return {row.id for row in rows(name, outcomes).values() if not row.ok}


def test_every_claim_is_met() -> None:
    found = rows("table1", table_1()) | rows("table2", table_2()) | rows("table3", table_3())
    assert [row.id for row in found.values() if not row.ok] == []
    assert sum(row.requirement is not None for row in found.values()) > 40
    assert found["table1.launch.interval.mean"].measured == pytest.approx(SLOWER * 1e6, abs=10)
    assert found["table1.launch.interval.mean"].paper == 1_000_000
    assert found["table2.65.mean"].measured == pytest.approx(91.025)
    assert found["table3.tsn.interference.transmit.mean"].measured == pytest.approx(976_500)


def test_rows_stand_beside_those_of_the_model() -> None:
    """All that the paper prints has one id, whoever measured it."""
    found = rows("table1", table_1()) | rows("table2", table_2()) | rows("table3", table_3())
    printed = {row_id for row_id, row in found.items() if row.paper is not None}
    for table in ("table1.launch.jitter", "table1.software.interval", "table2.65.transmit", "table3.be.quiet.transmit"):
        assert {f"{table}.{which}" for which in ("min", "mean", "max")} <= printed


def test_a_frame_behind_the_last_gate() -> None:
    # It closes at 4,281.6 us, and the kernel has 50 us for what was let go before.
    assert failed("table1", table_1(frames_of(4, 4_331, SLOWER * MS))) == set()
    behind = {"table1.launch.window", "table1.launch.held"}
    assert failed("table1", table_1(frames_of(4, 4_332, SLOWER * MS))) == behind
    assert failed("table1", table_1(frames_of(4, 4_089, SLOWER * MS))) == behind  # before it opened
    assert failed("table3", table_3(tsn_us=1_180)) >= {"table3.tsn.interference.window"}


def test_a_frame_that_missed_its_window_or_its_launch_time() -> None:
    late = frames_of(4, 4_120 + 8_000, SLOWER * MS)
    assert failed("table1", table_1(late)) == {"table1.launch.late"}
    software = rows("table1", table_1(software=frames_of(3_495, 4_120 + 8_000, SLOWER * MS)))
    assert (software["table1.software.late"].measured, software["table1.software.late"].ok) == (COUNT, True)
    assert failed("table1", table_1(ahead_ns=DELTA_NS - 1)) == {"table1.launch.missed"}


def test_a_frame_that_is_lost_or_passed_by_another() -> None:
    assert failed("table1", table_1(lost=1)) == {"table1.launch.lost"}
    frames = frames_of(4, 4_120, SLOWER * MS)
    frames.created_ps[[3, 4]] = frames.created_ps[[4, 3]]
    assert "table1.launch.order" in failed("table1", table_1(frames))


def test_a_run_of_which_nothing_arrived() -> None:
    nothing = np.array([], dtype=np.int64)
    none = Frames(nothing, nothing, nothing, nothing, nothing, {})
    found = rows("table1", table_1(none))
    assert "table1.launch.jitter.mean" not in found
    assert "table1.software.jitter.mean" in found


def test_a_frame_that_did_not_wait_for_its_launch_time() -> None:
    assert "table2.95.early" in failed("table2", table_2(at_95=frames_of(4, 94, MS)))
    # 95 us after 0.5 us, both eight times as long.
    assert failed("table3", table_3(be_us=764.1)) == set()
    assert failed("table3", table_3(be_us=763.9)) == {"table3.be.interference.early"}
    assert "table1.launch.causal" in failed("table1", table_1(frames_of(4_120, 4_119, SLOWER * MS)))


def test_orders_of_back_to_back() -> None:
    assert failed("table2", table_2(at_75=frames_of(4, 125, MS))) == {"table2.75<85"}
    assert failed("table2", table_2(at_85=frames_of(4, 115, MS, shake_us=0.8))) == {"table2.85.jitter"}


def test_interference_that_costs_a_window_or_that_was_not_there() -> None:
    assert failed("table3", table_3(tsn_us=8_980)) == {"table3.tsn.interference.late"}
    outcomes = table_3()
    outcomes[0][1].summary["streams"]["interference"]["delivered"] = 0
    assert failed("table3", outcomes) == {"table3.interference"}
    added = rows("table3", table_3())
    assert failed("table3", table_3(tsn_shake_us=11)) == {"table3.spread"}
    assert (added["table3.tsn.added"].measured, added["table3.be.added"].measured) == (10, 20)


def test_the_page_keeps_what_the_laboratory_measured() -> None:
    for paper in ("launch-time-talker", "linux-shapers"):
        documentation.check(paper, laboratory=True)
        with pytest.raises(InputError, match="which would be gone"):
            documentation.check(paper, laboratory=False)
    documentation.check("ats-switch", laboratory=False)
