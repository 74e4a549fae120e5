# SPDX-License-Identifier: Apache-2.0
"""The differential test itself: it finds what differs, makes it small, and is equal where nothing is planted."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import _engine
from penstock.errors import InputError
from penstock.hardware.cli import app
from penstock.hardware.configure import SwitchConfig, Table, configure, table_writes
from penstock.hardware.differential import play as playing
from penstock.hardware.differential.campaign import (
    ENOUGH_SCENARIOS,
    SHOULD_BE_MET,
    Outcome,
    Report,
    campaign,
    differ,
    met,
)
from penstock.hardware.differential.compare import Difference, compare
from penstock.hardware.differential.draw import draw
from penstock.hardware.differential.play import Record, play_model, play_rtl
from penstock.hardware.differential.scenario import Arrival, Change, Scenario, load, save
from penstock.hardware.differential.shrink import MOST_RUNS, shrink
from penstock.hardware.registers import registers
from penstock.hardware.traffic import TYPE_EXPERIMENTAL, Frame, configured_switch, station_address
from program import invoke

pytestmark = pytest.mark.long(250)

PORTS = 4
FRAMES = 300
FEW_FRAMES = 100  # in which a planted fault is found and made small sooner

Plant = Callable[[SwitchConfig], SwitchConfig]


# More of them are the runner `differential`.
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("ports", [2, PORTS])
def test_equal(ports: int, seed: int) -> None:
    scenario = draw(seed, ports, FRAMES)
    assert len(scenario.arrivals) == FRAMES
    differences, _ = differ(scenario)
    assert not differences, differences[0].what


# ---- the scenarios


def test_a_seed_says_all() -> None:
    assert draw(7, PORTS, 50) == draw(7, PORTS, 50)
    assert draw(7, PORTS, 50) != draw(8, PORTS, 50)


def test_a_stream_stays_with_its_port() -> None:
    met = 0
    for seed in range(30):
        scenario = draw(seed, PORTS, FEW_FRAMES)
        for change in scenario.changes:
            words = dict(change.writes)
            entry = sum(words.get(f"table_data[{word}]", 0) << 32 * word for word in range(4))
            if change.kind == "stream_key" and entry:
                met += 1
                assert scenario.config.streams[entry >> 109 & 0xFFF].port == entry >> 104 & 7
    assert met > 10


@pytest.mark.parametrize("seed", range(5))
def test_a_scenario_is_written_and_read(seed: int, tmp_path: Path) -> None:
    scenario = draw(seed, 2 + seed, 100)
    save(scenario, tmp_path / "s.json", ["remark"])
    assert load(tmp_path / "s.json") == scenario


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is none"),
        ("[]", "is none"),
        ('{"format": 9}', "format 9"),
        ('{"format": 1, "seed": 1, "config": {}, "arrivals": [], "changes": []}', "is none"),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_no_scenario(text: str | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=says):
        load(path)


def test_a_value_of_the_wrong_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    save(draw(1, PORTS, 3), path, [])
    plain = json.loads(path.read_text())
    plain["arrivals"][1]["frame"]["size"] = "long"
    path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match=r"arrivals\.1\.frame\.size"):
        load(path)


# ---- planted faults


def _overhead(config: SwitchConfig) -> SwitchConfig:
    return replace(config, overhead_bytes=(config.overhead_bytes + 1) % 256)


def _burst(config: SwitchConfig) -> SwitchConfig:
    # One register of each rate, by one byte.
    return replace(config, streams=[replace(entry, burst_bytes=entry.burst_bytes + 1) for entry in config.streams])


def _max_frame(config: SwitchConfig) -> SwitchConfig:
    return replace(config, max_frame_bytes=config.max_frame_bytes % 2000 + 1)


def _member(config: SwitchConfig) -> SwitchConfig:
    return replace(config, vlans={vlan: members - {0} for vlan, members in config.vlans.items()})


def _queue_limit(config: SwitchConfig) -> SwitchConfig:
    return replace(config, queue_limit_cells={k: cells + 1 for k, cells in config.queue_limit_cells.items()})


@pytest.mark.parametrize(
    ("plant", "frames"), [(_overhead, 4), (_burst, 4), (_max_frame, 2), (_member, 2), (_queue_limit, 40)]
)
def test_a_planted_fault_is_found_and_made_small(plant: Plant, frames: int, tmp_path: Path) -> None:
    def wrong(scenario: Scenario, end_cycle: int) -> Record:
        return play_model(replace(scenario, config=plant(scenario.config)), end_cycle)

    runs = 0

    def differs(scenario: Scenario) -> list[Difference]:
        nonlocal runs
        runs += 1
        return differ(scenario, wrong)[0]

    scenario, differences = next(
        (scenario, found)
        for scenario in (draw(seed, PORTS, FEW_FRAMES) for seed in range(1, 40))
        if (found := differs(scenario))
    )
    runs = 0
    small, _ = shrink(scenario, differences, differs)
    assert runs <= MOST_RUNS
    assert len(small.arrivals) <= frames
    assert not small.changes
    assert small.ports == PORTS
    save(small, tmp_path / "small.json", [])
    assert differ(load(tmp_path / "small.json"), wrong)[0]
    assert not differ(load(tmp_path / "small.json"))[0]


def test_a_model_that_fails_differs() -> None:
    def broken(scenario: Scenario, end_cycle: int) -> Record:
        raise _engine.InputError("not this")

    differences, _ = differ(draw(1, PORTS, 20), broken)
    assert "not this" in differences[0].what


# ---- the comparison


def _pair() -> Scenario:
    """Two frames of different length, from port 0 and 1 to port 2, one after the other."""
    head = station_address(2, 0) + station_address(0, 0) + TYPE_EXPERIMENTAL
    arrivals = (Arrival(100, Frame(0, head, 64)), Arrival(300, Frame(1, head, 200)))
    return Scenario(0, SwitchConfig(ports=PORTS, vlans={1: {0, 1, 2}}), arrivals)


def test_a_class_that_gets_credit_pays_for_the_rest_of_the_frame_it_is_sending() -> None:
    """At a port that nothing was shaped at before."""
    head = station_address(2, 0) + station_address(0, 0) + TYPE_EXPERIMENTAL
    arrivals = (Arrival(100, Frame(0, head, 1500)), Arrival(100, Frame(1, head, 1500)))
    untagged_at_port_2, tenth_of_the_rate = 2 << 3 | 5, 1 << 96 | (8 << 24) // 10
    names = {register.address: name for name, register in registers().items()}
    writes = table_writes(registers(), Table.CREDIT, untagged_at_port_2, tenth_of_the_rate)
    change = Change(2_500, "credit", tuple((names[address], value) for address, value in writes))
    scenario = Scenario(0, SwitchConfig(ports=PORTS, vlans={1: {0, 1, 2}}), arrivals, (change,))
    differences, record = differ(scenario)
    assert not differences, differences[0].what
    selected = (record.events["kind"] == _engine.KINDS.index("selected")) & (record.events["port"] == 2)
    first, second = record.events["cycle"][selected]
    assert second - first > 3_000, "without credit it would follow the first one at once"


@pytest.mark.parametrize("ports", [PORTS, pytest.param(8, marks=pytest.mark.slow)])
def test_cells_come_back_to_the_cycle_whatever_becomes_of_a_tag(ports: int) -> None:
    """Ports that add a tag, take it away, or are the host's: another frame comes as one that fills its queue leaves."""
    adds, removes, host = 1, 2, ports - 1
    # From the first frame to the second one that finds its cells.
    room_after = {PORTS: {adds: 322, removes: 313, host: 325}, 8: {adds: 342, removes: 341, host: 349}}[ports]
    arrivals: list[Arrival] = []
    for egress, offset in room_after.items():
        first, second = [port for port in range(ports) if port != egress][:2]
        tag = bytes.fromhex("81000001") if egress == removes else b""
        for phase in range(ports):
            for after in range(offset - 6, offset + 7):
                at = len(arrivals) * 500 + phase
                for port, start, size in ((first, at, 200), (second, at + after, 80)):
                    head = station_address(egress, 0) + station_address(port, 1) + tag + TYPE_EXPERIMENTAL
                    arrivals.append(Arrival(start, Frame(port, head, size)))
    config = SwitchConfig(
        ports=ports,
        host=True,
        learning=False,
        class_of_pcp=[5] * 8,
        queue_limit_cells={5: 2},
        vlans={1: set(range(ports))},
        tagging_ports={adds, removes},
        untagged={1: {removes}},
        static_addresses=[(int.from_bytes(station_address(port, 0)), 1, {port}) for port in range(ports)],
    )
    differences, record = differ(Scenario(1, config, tuple(arrivals)))
    assert not differences, differences[0].what
    verdict = record.events["kind"] == _engine.KINDS.index("verdict")
    found_room = record.events["destination"][verdict & (record.events["length"] == 80)] != 0
    assert len(arrivals) * 0.2 < found_room.sum() < len(arrivals) * 0.3


def test_classes_take_no_turns_any_more_from_the_same_cycle_on() -> None:
    """Class 5 was served last, so class 3 has the turn; without turns 5 goes first. A write in each cycle about."""
    arrivals: list[Arrival] = []
    changes: list[Change] = []
    for after in range(1_236, 1_249):
        at = 3_000 * len(changes) // 2
        for port, start, pcp, size in ((0, at, 5, 600), (1, at + 700, 5, 100), (3, at + 700, 3, 100)):
            tag = bytes((0x81, 0, pcp << 5, 1))
            head = station_address(2, 0) + station_address(port, 1) + tag + TYPE_EXPERIMENTAL
            arrivals.append(Arrival(start, Frame(port, head, size)))
        for start, members in ((at + 100, 1 << 5 | 1 << 3), (at + after, 0)):
            changes.append(Change(start, "round_robin", (("round_robin[2]", members),)))
    config = SwitchConfig(
        ports=PORTS,
        learning=False,
        class_of_pcp=range(8),
        vlans={1: {0, 1, 2, 3}},
        static_addresses=[(int.from_bytes(station_address(2, 0)), 1, {2})],
    )
    differences, record = differ(Scenario(1, config, tuple(arrivals), tuple(changes)))
    assert not differences, differences[0].what
    output = record.events["kind"] == _engine.KINDS.index("output")
    second = [frame % 3 for frame in record.events["frame"][output].tolist()[1::3]]
    assert second == sorted(second), "5 goes first where the change came in time"
    assert set(second) == {1, 2}


@pytest.mark.parametrize("path", sorted(Path(__file__).with_name("differential").glob("*.json")), ids=lambda p: p.stem)
def test_what_once_differed(path: Path) -> None:
    differences, _ = differ(load(path))
    assert not differences, differences[0].what


@pytest.fixture(scope="module")
def recorded() -> tuple[Scenario, Record]:
    scenario = _pair()
    return scenario, play_rtl(scenario)


@pytest.mark.parametrize(
    ("kind", "column", "says"),
    [
        ("input", "cycle", r"frame 0 .*input: cycle"),
        ("verdict", "cycle", r"frame 0 .*verdict: cycle"),
        ("verdict", "visible", "visible"),
        ("verdict", "destination", "destination"),
        ("verdict", "traffic_class", "traffic_class"),
        ("verdict", "flags", "flags"),
        ("selected", "cycle", "selected at port"),
        ("selected", "traffic_class", "traffic_class"),
        ("output", "cycle", "output at port"),
        ("output", "length", "length"),
        ("output", "frame", "output at port"),
    ],
)
def test_every_column_counts(kind: str, column: str, says: str, recorded: tuple[Scenario, Record]) -> None:
    scenario, rtl = recorded
    assert compare(scenario, rtl, rtl) == []
    events: Any = {name: np.array(values) for name, values in rtl.events.items()}
    first = int(np.flatnonzero(events["kind"] == _engine.KINDS.index(kind))[0])
    events[column][first] ^= 1
    differences = compare(scenario, rtl, replace(rtl, events=events))
    assert any(re.search(says, difference.what) for difference in differences)


def test_an_event_that_is_missing_counts(recorded: tuple[Scenario, Record]) -> None:
    scenario, rtl = recorded
    events: Any = {name: np.asarray(values)[:-1] for name, values in rtl.events.items()}
    assert "1 in the hardware, 0 in the model" in compare(scenario, rtl, replace(rtl, events=events))[0].what


def test_what_is_inside_at_the_end_and_the_counters_count(recorded: tuple[Scenario, Record]) -> None:
    scenario, rtl = recorded
    assert "inside" in compare(scenario, rtl, replace(rtl, inside=1))[0].what
    counters = ({**rtl.counters[0], "received_bytes": 1}, *rtl.counters[1:])
    assert "counters of port 0" in compare(scenario, replace(rtl, counters=counters), rtl)[0].what


def test_how_long_a_write_takes_counts() -> None:
    scenario = next(s for s in (draw(seed, PORTS, 20) for seed in range(50)) if s.changes)
    rtl = play_rtl(scenario)
    late = replace(rtl, written=(rtl.written[0] + 1, *rtl.written[1:]))
    assert "written by" in compare(scenario, rtl, late)[0].what


# ---- many


def _outcome(seed: int, *names: str, differences: tuple[Difference, ...] = ()) -> Outcome:
    return Outcome(seed, PORTS, 10, Counter(names), differences)


def test_what_should_be_met_and_was_not_is_a_failure() -> None:
    all_met = [_outcome(seed, *SHOULD_BE_MET) for seed in range(ENOUGH_SCENARIOS)]
    assert all(row["ok"] for row in Report(10, all_met).rows())
    without = [replace(outcome, met=outcome.met - Counter(["fate.residence"])) for outcome in all_met]
    assert [row["id"] for row in Report(10, without).rows() if not row["ok"]] == ["met.fate.residence"]
    # A few scenarios cannot meet everything.
    assert all(row["ok"] for row in Report(10, without[:-1]).rows())


def test_a_difference_is_a_failure() -> None:
    report = Report(10, [_outcome(2, differences=(Difference(5, "late"),)), _outcome(1)])
    assert [outcome.seed for outcome in report.failed] == [2]
    assert [row["ok"] for row in report.rows() if row["id"].startswith("differential")] == [False]


def test_what_frames_meet_is_counted(recorded: tuple[Scenario, Record]) -> None:
    scenario, rtl = recorded
    count = met(scenario, rtl)
    assert count["fate.sent"] == 4  # to all others of the VLAN
    assert count["fate.several_copies"] == 2


def test_scenarios_run_in_processes() -> None:
    report = campaign(4, seed=3, frames=30, sizes=[2, PORTS], jobs=2)
    assert [(o.seed, o.ports, o.frames) for o in sorted(report.outcomes, key=lambda o: o.seed)] == [
        (3, PORTS, 30), (4, 2, 30), (5, PORTS, 30), (6, 2, 30),
    ]  # fmt: skip
    assert not report.failed


# ---- the command


def test_replay_says_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pair.json"
    save(_pair(), path, [])
    assert invoke(app, ["diff", "--replay", str(path)]).status == 0
    monkeypatch.setattr(playing, "configure", lambda config, registers: configure(_member(config), registers))
    result = invoke(app, ["diff", "--replay", str(path)])
    assert result.status == 1
    assert "frame 0 (port 0, 64 bytes): verdict" in result.stdout
    result = invoke(app, ["diff", "--replay", str(path), "--json"])
    assert not json.loads(result.stdout)["ok"]
    assert invoke(app, ["diff", "--replay", str(tmp_path / "none.json")]).status == 2


def test_the_hardware_as_its_own_model_is_equal() -> None:
    scenario = draw(3, PORTS, 100)
    same, _ = differ(scenario, lambda s, end: playing.play(configured_switch(s.config), s, end))
    assert not same
