# SPDX-License-Identifier: Apache-2.0
"""`penstock replay`: two frames whose order the record is not exact enough to tell, and such where it is.

A true run of the model is recorded with an error of some ticks, so that its replay chooses the other order.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from penstock import cli
from penstock.replay import Played, load, play

ERROR_TICKS = 10
WIRE_BYTES = 20  # preamble and gap
CALM = 200_000  # ticks; before it, frames are alone
FIRST, LOW, HIGH = 901, 902, 903  # numbers of the frames that meet

Replay = Callable[[Path], tuple[int, dict[str, Any]]]


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Replay:
    """The command: exit status, and rows by id."""

    def call(folder: Path) -> tuple[int, dict[str, Any]]:
        monkeypatch.setattr(sys, "argv", ["penstock", "replay", str(folder), "--json"])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return int(end.value.code or 0), {row["id"]: row for row in json.loads(capfd.readouterr().out)["rows"]}

    return call


@dataclass(frozen=True)
class Sent:
    number: int
    flow: str
    last_bit: int  # tick
    bytes: int


@dataclass
class Truth:
    """What was really sent, and what the model really did with it."""

    frames: list[Sent]
    class_of: dict[str, int]
    port_of: dict[str, int] = field(default_factory=lambda: {"low": 1, "high": 0, "other": 2})
    burst_bytes: dict[str, int] = field(default_factory=dict)

    def write(self, folder: Path, received: dict[int, int], late: dict[int, int], error_ticks: int) -> Path:
        """A run directory in which frames are sent so much late."""
        folder.mkdir()
        text = f"tick_ns = 8\nerror_ticks = {error_ticks}\nreceived_port = 3\n"
        for flow, traffic_class in self.class_of.items():
            burst = self.burst_bytes.get(flow, 20_000)
            text += (
                f'\n[[flow]]\nname = "{flow}"\nsent_port = {self.port_of[flow]}\ntraffic_class = {traffic_class}\n'
                f'shaper = "ats"\nframe_bytes = 1522\nwire_bytes = {1522 + WIRE_BYTES}\n'
                f"committed_information_rate_bps = {100_000_000}\ncommitted_burst_size_bytes = {burst}\n"
            )
        (folder / "run.toml").write_text(text)
        for port in sorted({self.port_of[flow] for flow in self.class_of}):
            rows = sorted(
                (frame.last_bit + late.get(frame.number, 0), frame)
                for frame in self.frames
                if self.port_of[frame.flow] == port
            )
            lines = [f"{f.number},{tick},{f.bytes},{f.flow}\n" for tick, f in rows]
            (folder / f"sent_port{port}.csv").write_text("frame_id,tick,frame_bytes,flow\n" + "".join(lines))
        lines = [f"{number},{tick}\n" for number, tick in sorted(received.items(), key=lambda each: each[1])]
        (folder / "received_port3.csv").write_text("frame_id,tick\n" + "".join(lines))
        return folder

    def run(self, folder: Path) -> tuple[Played, dict[int, int], dict[int, int], dict[int, int]]:
        """What the model did, and by number, in ticks: when each frame could be selected, was, and left."""
        recording = load(self.write(folder, {}, {}, 1))
        played = play(recording, "model")
        first = recording.frames[0]
        zero = played.arrived[0] + first.bytes - first.sent

        def ticks(cycles: list[int | None]) -> dict[int, int]:
            return {f.number: at - zero for f, at in zip(recording.frames, cycles, strict=True) if at is not None}

        return played, ticks(played.visible), ticks(played.selected), ticks(played.left)


def alone(*flows: str) -> list[Sent]:
    """Frames that meet no other, by which the constant is known."""
    return [Sent(10 * n + i, flow, 40_000 * n + 10_000 * i, 500) for n in range(5) for i, flow in enumerate(flows)]


def behind_a_long_frame(classes: dict[str, int], high_at: int) -> Truth:
    """Two frames meet while one goes that came in by the port of the second."""
    return Truth(
        [
            *alone("low", "high"),
            Sent(FIRST, "low", CALM, 1522),
            Sent(LOW, "low", CALM + 400, 300),
            Sent(HIGH, "high", CALM + high_at, 1000),
        ],
        classes,
    )


def recorded(
    truth: Truth, tmp_path: Path, late: dict[int, int], left_late: dict[int, int], error_ticks: int = ERROR_TICKS
) -> Path:
    """The record of what truly happened, with the errors given."""
    _, _, _, left = truth.run(tmp_path / "truth")
    received = {number: tick + left_late.get(number, 0) for number, tick in left.items()}
    return truth.write(tmp_path / "run", received, late, error_ticks)


# Errors of the record by which the frames change places, and further ones that spoil it.
SPOILT = {
    "within the error": (0, 0, ERROR_TICKS, 0),
    "came further apart than the error": (25, 0, ERROR_TICKS, 1),
    "left at a time that no order gives": (0, 40, ERROR_TICKS, 1),
    "a record that is more exact": (0, 0, 2, 1),
}


@pytest.mark.parametrize("case", SPOILT)
def test_flows_of_one_class(case: str, tmp_path: Path, replay: Replay) -> None:
    apart, left_late, error_ticks, status = SPOILT[case]
    truth = behind_a_long_frame({"low": 7, "high": 7}, 397)
    run = recorded(truth, tmp_path, {LOW: -6, HIGH: 6 + apart}, {HIGH: -9, LOW: 9 + left_late}, error_ticks)
    found, rows = replay(run)
    assert found == status, rows
    if not status:
        behind = rows["run/low/residual_behind_another_flow"]
        assert behind["min"] == pytest.approx(-1020, abs=15)
        assert behind["ok"]


@pytest.mark.parametrize("case", SPOILT)
def test_a_higher_class_that_is_just_there(case: str, tmp_path: Path, replay: Replay) -> None:
    """It goes first in the real switch, and misses the selection by a few ticks in the replay."""
    apart, left_late, error_ticks, status = SPOILT[case]
    classes = {"low": 5, "high": 7}
    _, visible, selected, _ = behind_a_long_frame(classes, 3_000).run(tmp_path / "without")
    in_time = selected[LOW] - 6 - (visible[HIGH] - CALM - 3_000) - CALM
    truth = behind_a_long_frame(classes, in_time)
    late = {FIRST: -6, LOW: -6, HIGH: 6 + apart}
    found, rows = replay(recorded(truth, tmp_path, late, {HIGH: -9, LOW: 9 + left_late}, error_ticks))
    assert found == status, rows


@pytest.mark.parametrize("case", SPOILT)
def test_a_higher_class_that_just_misses(case: str, tmp_path: Path, replay: Replay) -> None:
    """The lower one goes first in the real switch, and the higher one in the replay."""
    apart, left_late, error_ticks, status = SPOILT[case]
    truth = Truth(
        [*alone("low", "high"), Sent(LOW, "low", CALM, 1000), Sent(HIGH, "high", CALM + 3, 1000)],
        {"low": 5, "high": 7},
    )
    late = {LOW: 6 + apart, HIGH: -6}
    found, rows = replay(recorded(truth, tmp_path, late, {LOW: -9, HIGH: 9 + left_late}, error_ticks))
    assert found == status, rows


@pytest.mark.parametrize(("apart", "status"), [(0, 0), (25, 1)])
def test_a_row_of_a_higher_class_that_just_misses(apart: int, status: int, tmp_path: Path, replay: Replay) -> None:
    """All of the row wait for the lower frame, and the first of them tells why."""
    row = [Sent(HIGH + n, "high", CALM + 3 + 1030 * n - 500 * (n > 0), 1000 - 500 * (n > 0)) for n in range(3)]
    truth = Truth([*alone("low", "high"), Sent(LOW, "low", CALM, 1000), *row], {"low": 5, "high": 7})
    late = {LOW: 6 + apart} | dict.fromkeys((frame.number for frame in row), -6)
    left_late = {LOW: -9} | dict.fromkeys((frame.number for frame in row), 9)
    found, rows = replay(recorded(truth, tmp_path, late, left_late))
    assert found == status, rows
    if not status:
        assert rows["run/high/residual_behind_another_flow"]["min"] == pytest.approx(-1020, abs=15)


def test_flows_of_one_group_keep_their_order(tmp_path: Path, replay: Replay) -> None:
    """They may be selected at the same time, and in the order of arrival, which the record does tell."""
    truth = Truth(
        [
            *alone("low", "other"),
            Sent(FIRST, "low", CALM, 300),
            Sent(LOW, "low", CALM + 400, 300),
            Sent(HIGH, "other", CALM + 800, 300),
        ],
        {"low": 7, "other": 7},
        port_of={"low": 1, "other": 1},
        burst_bytes={"low": 560},
    )
    _, visible, _, left = truth.run(tmp_path / "truth")
    assert abs(visible[HIGH] - visible[LOW]) <= 1
    assert left[HIGH] - left[LOW] == 320
    swapped = left | {LOW: left[HIGH], HIGH: left[LOW]}
    assert replay(truth.write(tmp_path / "same", left, {}, ERROR_TICKS))[0] == 0
    assert replay(truth.write(tmp_path / "run", swapped, {}, ERROR_TICKS))[0] == 1
