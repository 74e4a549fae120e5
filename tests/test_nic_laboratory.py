# SPDX-License-Identifier: Apache-2.0
"""A scenario whose card a guest drives, without the guest: what it may ask for, and what becomes of captured frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.captures import CapturedFrame, write_pcapng
from penstock.errors import InputError, RunError
from penstock.nic import laboratory
from penstock.run import statistics
from penstock.scenario import load
from penstock.scenario.file import parse_toml

SCENARIO = Path(__file__).parents[1] / "scenarios" / "nic-linux" / "scenario.toml"
CYCLE_NS, FRAME_NS, BEGIN_NS = 1_000_000, 12_304, 5_000_000


def _frame(pcp: int) -> bytes:
    addresses = bytes.fromhex("020000000002020000000001")
    return addresses + b"\x81\x00" + (pcp << 13 | 10).to_bytes(2) + b"\x08\x00" + bytes(1496)


def _captured(first_ns: int = 0) -> list[CapturedFrame]:
    """Two frames of each slot of each cycle, with a cycle before and one after those that are wanted."""
    times = [
        (BEGIN_NS + (cycle - 1) * CYCLE_NS + slot + n * FRAME_NS + first_ns, pcp)
        for cycle in range(10)
        for slot, pcp in ((0, 2), (900_000, 1), (950_000, 0))
        for n in range(2)
    ]
    return [CapturedFrame(ns * 1000, _frame(pcp), 1514) for ns, pcp in times]


def _replayed(folder: Path, captured: list[CapturedFrame]) -> dict[str, Any]:
    network = load(SCENARIO)
    station = laboratory._station(network)
    flows = laboratory._flows(network, station)
    write_pcapng(folder / "wire.pcapng", captured)
    return statistics(load(laboratory._replayed(network, station, flows, folder, BEGIN_NS)))


def test_what_left_the_card_goes_through_the_network(tmp_path: Path) -> None:
    summary = _replayed(tmp_path, _captured())
    assert summary["ok"]
    for stream in summary["streams"].values():
        assert stream["sent"] == stream["delivered"] == 2 * 8
        assert stream["talker_wait_ns"]["max"] == 64, "of its preamble: its gate is open when the card's was"


def test_a_frame_outside_of_its_slot_waits(tmp_path: Path) -> None:
    summary = _replayed(tmp_path, sorted([*_captured()[6:48], *_captured(-8)[48:54]], key=lambda frame: frame.time_ps))
    assert summary["streams"]["high"]["talker_wait_ns"]["max"] == 64 + 8


def test_nothing_of_a_stream(tmp_path: Path) -> None:
    others = [frame for frame in _captured() if frame.data != _frame(1)]
    with pytest.raises(RunError, match='nothing of "middle" left the card'):
        _replayed(tmp_path, others)


def test_a_queue_with_credit_gets_what_its_idle_slope_is_of_the_line() -> None:
    network = load(SCENARIO.with_name("credit.toml"))
    station = laboratory._station(network)
    frame = 8 * 1542 / (network.duration_ps / 1000)
    for share in (0.25, 0.25 + 1.9 * frame, 0.25 - 1.9 * frame):
        laboratory._check_credit(network, station, [{"queue": 2, "share": share}, {"queue": 0, "share": 0.7}])
    for share in (0.25 + 2.1 * frame, 0.25 - 2.1 * frame, 1.0):
        with pytest.raises(RunError, match="by credit, not 25"):
            laboratory._check_credit(network, station, [{"queue": 2, "share": share}])
    with pytest.raises(RunError, match=r"got 0\.00 %"):
        laboratory._check_credit(network, station, [])


def test_what_left_by_credit_leaves_at_once_in_the_network(tmp_path: Path) -> None:
    network = load(SCENARIO.with_name("credit.toml"))
    station = laboratory._station(network)
    flows = laboratory._flows(network, station)
    captured = [frame for frame in _captured() if frame.data != _frame(1)]
    write_pcapng(tmp_path / "wire.pcapng", captured)
    replayed = load(laboratory._replayed(network, station, flows, tmp_path, BEGIN_NS))
    assert station.credit
    assert not replayed.stations["host"].credit
    assert statistics(replayed)["streams"]["high"]["talker_wait_ns"]["max"] == 64


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        (("streams", "high", "source"), {"frames": "1518B", "every": "1ms"}, "has times"),
        (("streams", "high", "to"), ["server", "host"], None),
        (("stations", "host", "classes"), {"1": {"selection": "round_robin"}}, "and no turns"),
        (("stations", "host", "class_of_priority"), [1, 0, 2, 3, 0, 0, 0, 0], "is class 0"),
        (("stations", "host", "gates"), {"entries": [{"open": [0, 1, 2], "interval": "1ms"}]}, "no gate list"),
    ],
)
def test_what_a_guest_does_not_do_is_refused(key: tuple[str, ...], value: Any, what: str | None) -> None:
    values: Any = parse_toml(SCENARIO, SCENARIO.read_text())[0]
    table = values
    for part in key[:-1]:
        table = table[part]
    table[key[-1]] = value

    def load_and_check() -> None:
        network = load(values)
        laboratory._flows(network, laboratory._station(network))

    with pytest.raises(InputError, match=what):
        load_and_check()
