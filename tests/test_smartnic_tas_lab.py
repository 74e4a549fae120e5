# SPDX-License-Identifier: Apache-2.0
"""What is read from the SmartNIC testbed of real packets, of frames made here; and a run of it on this kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

from penstock.lab.machine import Machine
from penstock.lab.planes import TOLERANCE_NS
from penstock.plane.sync import Plan
from penstock.reproduce.smartnic_tas import cycle, occupancy, real_clocks, seen, testbed
from penstock.reproduce.smartnic_tas.laboratory import bound_us
from penstock.reproduce.smartnic_tas.place import case
from penstock.scenario import load
from rights import needs_namespaces

US = 10**6
WIRE_US, WINDOW_US, CYCLE_US = 430, 3500, 5000


@dataclass(frozen=True)
class Frame:
    """Of an aligned talker: when it is due in its cycle, and what the machine adds in us."""

    due: int = 0
    talker: int = 0
    cable: int = 3
    to_listener: int = 2
    held: int = 5  # from the second switch on, by whatever
    late: str = ""
    cycle: int = 0


def frames(*given: Frame) -> pl.DataFrame:
    rows = []
    for each in given:
        due = each.cycle * CYCLE_US + each.due
        first = due + each.talker
        second = first + 8 + each.cable
        times = {
            "due": due,
            "in_cycle": each.due,
            "created": first - 10,
            "received_nic1": first,
            "sent_nic1": first + 8,
            "received_nic2": second,
            "sent_nic2": second + each.held,
            "delivered": second + each.held + each.to_listener,
        }
        late = {f"late_{node}": each.late == node for node in ("nic1", "nic2")}
        rows.append({"stream": "st0", **{name: us * US for name, us in times.items()}, **late})
    return pl.DataFrame(rows)


def kept(*given: Frame) -> list[bool]:
    return seen.in_time(frames(*given), WIRE_US * US, WINDOW_US * US).to_list()


def test_which_frames_the_machine_let_go_in_time() -> None:
    assert kept(Frame(), Frame(due=480), Frame(due=960)) == [True, True, True]
    assert kept(Frame(late="nic1"), Frame(due=480, late="nic2")) == [False, False]
    assert kept(Frame(cable=60), Frame(due=960, to_listener=41)) == [False, False]
    # One that is late is on the wire when the next one comes; the one behind that is not concerned.
    assert kept(Frame(talker=60), Frame(due=480), Frame(due=960)) == [True, False, True]
    # No room in the window any more.
    assert kept(Frame(due=2880, talker=160), Frame(cycle=1)) == [False, True]


@pytest.mark.parametrize(("held_us", "ok"), [(5, True), (440, False), (1500, False)])
def test_a_frame_that_a_gate_or_other_traffic_holds_breaks_the_bound(held_us: int, ok: bool) -> None:
    """Neither is the machine's doing, so it is not among those that are only counted."""
    network = load(testbed.document(case("tas", aligned=True), 100))
    told = frames(*(Frame(due=480 * number, cycle=number, held=held_us) for number in range(4)))
    played = testbed.Played(network, {}, told, ())
    bound, count, others = seen.bounded("fig8.tas", "", played, 11.0)
    assert (bound.ok, count.measured, others.measured) == (ok, 4, 0)
    assert bound.bound == 11.0 + (2 + 2 * 2) * TOLERANCE_NS / 1000
    assert not seen.bounded("fig8.tas", "", played, None)[0].ok


def test_nothing_in_time_meets_no_bound() -> None:
    network = load(testbed.document(case("tas", aligned=True), 100))
    played = testbed.Played(network, {}, frames(Frame(late="nic1")), ())
    bound, count, others = seen.bounded("fig8.tas", "", played, 11.0)
    assert (bound.ok, count.measured, others.measured) == (False, 0, 1)


def test_the_bound_without_the_time_of_a_switch() -> None:
    """That of the scenario, 16.7 us, less 3 us at each switch."""
    assert bound_us(case("tas", aligned=True)) == pytest.approx(16.714 - 6, abs=0.01)


def reading(at_ms: int, st: tuple[int, int], be: tuple[int, int]) -> dict[str, Any]:
    """Integrals in frames times ms, and the most."""
    levels = [
        {"class": number, "integral_frame_ns": integral * 10**6, "most": most}
        for number, (integral, most) in enumerate((be, st))
    ]
    return {"ask": {"do": "occupancy"}, "answer": {"time_ns": at_ms * 10**6, "ports": {"port1": levels}}}


def test_what_queues_held_between_readings() -> None:
    told = [reading(7, (0, 0), (100, 9)), {"ask": {"do": "gates"}}, reading(107, (50, 2), (6300, 64))]
    held = seen.held([*told, reading(307, (50, 1), (18_900, 64))])
    assert held.mean == {"st": pytest.approx([0.5, 0]), "be": pytest.approx([62, 63])}
    assert held.most == {"st": 2, "be": 64}
    assert all(row.ok is True for row in occupancy.rows("aligned", "", held)), "and JSON can say so"
    full = seen.held([reading(0, (0, 3), (0, 0)), reading(100, (300, 3), (1000, 20))])
    bad = {row.id for row in occupancy.rows("aligned", "", full) if not row.ok}
    assert bad == {"fig9.aligned.st.mean", "fig9.aligned.be.mean", "fig9.aligned.be.most"}


def plane(sent: int, *, outside: int = 0, cycle_ns: int = 10_000_000) -> dict[str, Any]:
    out = {
        "sent": {"frames": sent},
        "dropped": {"queue_full": 30},
        "waiting": [0, 10, 0, 0, 0, 0, 0, 0],
        "departures": {"outside": outside},
        "gates": {"cycle_time_ns": cycle_ns},
    }
    return {"counters": {"ports": {"port0": {"received": {"frames": 100}}, "port1": out}}}


@pytest.mark.parametrize(
    ("second", "delivered", "bad"),
    [
        (plane(60), 5, set()),
        (plane(59), 5, {"missing"}),
        (plane(60, outside=1), 5, {"outside"}),
        (plane(60, cycle_ns=5_000_000), 5, {"planes"}),
        (plane(60), 4, {"lost"}),
    ],
)
def test_what_a_change_of_the_cycle_must_not_do(second: dict[str, Any], delivered: int, bad: set[str]) -> None:
    summary = {
        "laboratory": {"planes": {"nic1": plane(60), "nic2": second}},
        "streams": {"st": {"sent": 5, "delivered": delivered}, "be": {"sent": 9, "delivered": 2}},
    }
    network = load(testbed.document(case("tas", aligned=False), 100))
    found = cycle.seen(testbed.Played(network, summary, frames(Frame()), ()))
    assert {row.id.removeprefix("cycle.change.") for row in found.rows if not row.ok} == bad


@needs_namespaces
def test_the_clocks_of_two_planes_are_brought_together() -> None:
    """They were 7 ms apart; how near they come is the machine's."""
    with Machine() as machine:
        answers = real_clocks.play(machine, lambda _what: None, Plan(4, 200, 60, 20))
    rows = {row.id: row.measured for row in real_clocks.seen(answers).rows}
    assert [name for name, measured in rows.items() if measured is None] == []
    assert 0 < (rows["fig5.least_trip"] or 0) < (rows["fig5.round_trip"] or 0)
    assert (rows["fig6.error"] or 0) < 1e6
    own, other = answers
    not_told = [*other[:-1], {**other[-1], "compensated": False}]
    assert real_clocks.seen([own, not_told]).rows[-1].measured is None


@needs_namespaces
def test_the_cycle_changes_under_real_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both planes get the longer list in the middle of a short run, and are asked for their queues."""
    monkeypatch.setattr(cycle, "_DURATION_MS", 300)
    monkeypatch.setattr(cycle, "_CHANGE_MS", 120)
    with Machine() as machine:
        played = cycle.play(machine, lambda _what: None)
    rows = {row.id: row for row in cycle.seen(played).rows}
    assert [name for name, row in rows.items() if not row.ok] == []
    asked = [each["ask"]["do"] for each in played.answers]
    assert asked == ["occupancy", "occupancy", "gates", "occupancy", "occupancy"]
    assert len(seen.held(played.answers).mean["be"]) == 3
