# SPDX-License-Identifier: Apache-2.0
"""What is read from runs on real Linux, of rows made here: each claim holds for what it says, not for its opposite."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from penstock.command.tables import NOTHING
from penstock.end.trace import ORIGIN
from penstock.lab.background import parted
from penstock.lab.machine import About
from penstock.reproduce import documentation, page, papers
from penstock.reproduce.experiment import Outcomes
from penstock.reproduce.laboratory import Laboratory
from penstock.reproduce.linux_shapers import PAPER
from penstock.reproduce.linux_shapers.laboratory import InLaboratory, document
from penstock.reproduce.linux_shapers.packets import STREAMS
from penstock.reproduce.linux_shapers.place import CONFIGURATIONS, cases
from penstock.reproduce.outcome import Frames, Outcome
from penstock.reproduce.result import Compared, Reproduction, Section
from penstock.reproduce.row import Row

ORIGIN_US = 7_000_300  # 300 us into a cycle of 1 ms, of which the gate for audio is open for 800 us
DELAYS_US = {"mqprio": 12.0, "taprio": 30.0, "cbs-mqprio": 20.0, "cbs-taprio": 40.0}
COUNT = 8


def outcome(delay_us: float, *, lost: int = 0, at_us: int = 0, rate: float = 2e6) -> Outcome:
    """Packets of each stream, one in each cycle at `at_us` of it, that all take so long."""
    created = (np.arange(1, COUNT + 1) * 1000 + at_us - 300) * 10**6
    none = np.full(COUNT, -1)
    frames = Frames(np.full(COUNT, 82), created, none, none, created + int(delay_us * 1e6), {})
    streams = {name: {"sent": COUNT + lost, "delivered": COUNT} for name in STREAMS}
    said = json.dumps({"end": {"sum_received": {"bits_per_second": rate}}}) if rate else "{}"
    summary: dict[str, Any] = {
        "streams": streams,
        "laboratory": {"emulated": True, "stamps": {ORIGIN: str(ORIGIN_US * 1000)}},
        "beside": {f"iperf3-{kind}": {"stdout": said} for kind in ("udp", "tcp", "sctp")},
    }
    return Outcome("linux", summary, dict.fromkeys(STREAMS, frames))


def outcomes(mixed: bool, **other: Outcome) -> Outcomes:
    found = []
    for case in cases(*((False, True) if mixed else (False,))):
        name = case.at["configuration"]
        found.append((case, other.get(name.replace("-", "_"), outcome(DELAYS_US[name]))))
    return found


def rows(name: str, found: Outcomes) -> dict[str, Row]:
    (experiment,) = papers.chosen(PAPER, [name])
    assert experiment.laboratory is not None
    return {row.id: row for row in experiment.laboratory(found).rows}


@pytest.mark.parametrize("name", ["fig2", "fig3", "fig4", "fig5", "fig6", "fig7"])
def test_every_claim_is_met(name: str) -> None:
    found = rows(name, outcomes(name in ("fig5", "fig6", "fig7")))
    assert all(row.ok for row in found.values())
    assert len(found) > 4


def test_orders_of_means() -> None:
    found = rows("fig2", outcomes(False, mqprio=outcome(25.0)))
    assert {row.id for row in found.values() if not row.ok} == {"audio.mqprio<cbs-mqprio"}
    assert (found["audio.mqprio<taprio"].measured, found["audio.mqprio<taprio"].bound) == (25, 30)


def test_a_lost_packet() -> None:
    found = rows("fig2", outcomes(False, cbs_taprio=outcome(40.0, lost=1)))
    assert {row.id: row.measured for row in found.values() if not row.ok} == {"audio.cbs-taprio.lost": 4}


def test_a_packet_behind_a_closed_gate() -> None:
    """The gate closes at 800 us; what comes by 850 us may have left before."""
    assert rows("fig2", outcomes(False, taprio=outcome(30.0, at_us=819)))["audio.taprio.closed"].ok
    late = rows("fig2", outcomes(False, taprio=outcome(30.0, at_us=821), mqprio=outcome(12.0, at_us=850)))
    assert late["audio.taprio.closed"].measured == 100
    assert not late["audio.taprio.closed"].ok
    assert late["audio.mqprio.closed"].ok


def test_traffic_beside_that_is_not_there() -> None:
    found = rows("fig5", outcomes(True, taprio=outcome(30.0, rate=0)))
    assert {row.id for row in found.values() if not row.ok} == {f"mix.taprio.{kind}" for kind in ("udp", "tcp", "sctp")}


def test_the_column() -> None:
    (fig2,) = papers.chosen(PAPER, ["fig2"])
    assert fig2.laboratory is not None
    model = Row.told("audio.mqprio.mean", "mean delay, mqprio", "us", 20.0, paper=19.896).as_key()
    result = Reproduction(PAPER, ("model",), [Section(fig2, [Compared(model, {"model": 20.0})], [])])
    assert "laboratory" not in documentation.table(result)
    about = About("6.1.0-rt", "#1 SMP PREEMPT_RT", "TCG", 0)
    result.add(Laboratory(about, found={"fig2": fig2.laboratory(outcomes(False, mqprio=outcome(25.0)))}))
    table = documentation.table(result)
    assert f"| Figure 2 | mean delay, mqprio | us | 19.896 | {NOTHING} | {NOTHING} | 20 | 25 |  |" in table
    assert f"| {NOTHING} | {NOTHING} | 25 (at most 20) | **not met** |" in table
    assert "an emulated processor's, not the paper's" in table
    assert "an emulated processor&#39;s" in page.render(result)
    assert not result.ok
    assert result.as_json()["rows"][0]["laboratory"] == 25


def test_the_scenario_on_linux() -> None:
    case = next(case for case in cases(False) if case.at["configuration"] == "cbs-taprio")
    said = document(case, 4)
    talker = said["stations"]["talker"]
    assert (talker["gates"]["cycle_time"], talker["gates"]["entries"][1]["interval"]) == ("1000us", "200us")
    assert talker["classes"]["6"]["idle_slope"] == "25Mb/s"
    assert list(said["streams"]) == list(STREAMS)
    network = InLaboratory().network(case, True)
    assert network.streams["audio1"].max_frame_bytes == 82
    assert network.streams["audio1"].source.every == 500 * 10**6


def test_what_runs_beside() -> None:
    alone, mixed = cases(False, True)[0], cases(False, True)[len(CONFIGURATIONS)]
    lab = InLaboratory()
    assert not parted(lab.network(alone, True)).streams
    beside = parted(lab.network(mixed, True))
    assert list(beside.network.streams) == list(STREAMS)
    assert [(stream.name, stream.source.rate) for stream in beside.streams] == [
        ("udp", 2_000_000), ("tcp", 8_000_000), ("sctp", 2_000_000)]  # fmt: skip
    assert parted(lab.network(mixed, False)).streams[0].source.rate == 50_000_000
