# SPDX-License-Identifier: Apache-2.0
"""Reads and checks a run directory."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from penstock.errors import InputError, did_you_mean
from penstock.ethernet import AHEAD_BYTES, GAP_BYTES, MIN_FRAME_BYTES
from penstock.replay.recording import (
    RECEIVED_COLUMNS,
    SENT_COLUMNS,
    SENT_COLUMNS_WITH_BYTES,
    TOLERANCE_TICKS,
    Frame,
    Recording,
    Run,
    received_file,
    sent_file,
)
from penstock.replay.records import number_in, rows, shown
from penstock.replay.run_file import run_file

_MAX_NUMBER = (1 << 64) - 1
_MAX_TICK = (1 << 48) - 1
_MAX_SECONDS = 3600


class _Event(NamedTuple):
    """A frame that entered or left, and the line that says so."""

    number: int
    tick: int
    line: int


class _Lines:
    """What all lines say: a frame that no other line has named, at a tick that is not before the line above."""

    def __init__(self) -> None:
        self.places: dict[int, str] = {}  # of the frames

    def read(self, file: Path, *columns: tuple[str, ...]) -> Iterator[tuple[_Event, dict[str, str]]]:
        """The lines of a file."""
        before: int | None = None
        for line, row in rows(file, *columns):
            number = number_in(file, line, "frame_id", row["frame_id"], 0, _MAX_NUMBER)
            if number in self.places:
                raise InputError(
                    f"frame {row['frame_id']} is also in {self.places[number]}", allowed="each frame once", file=file,
                    line=line, key="frame_id",
                )  # fmt: skip
            self.places[number] = f"{file.name}:{line}"
            before = tick = _tick(file, line, row["tick"], before)
            yield _Event(number, tick, line), row


def load(folder: Path) -> Recording:
    """Reads and checks a run directory."""
    if not folder.is_dir():
        raise InputError("is not a folder", allowed="a run directory with run.toml", file=folder)
    run = run_file(folder / "run.toml")
    departures = [each for each, _ in _Lines().read(received_file(folder, run.received_port), RECEIVED_COLUMNS)]
    received = {departure.number: departure.tick for departure in departures}
    frames: dict[int, Frame] = {}
    sent = _Lines()
    for port in sorted({flow.sent_port for flow in run.flow}):
        _read_sent(folder, run, port, received, frames, sent)
    if not frames:
        raise InputError("no frame was sent", allowed="one or more frames", file=folder)
    recording = Recording(folder, run, sorted(frames.values(), key=lambda frame: frame.sent))
    _check_departures(recording, frames, sent.places, departures)
    seconds = (
        (max([*received.values(), recording.frames[-1].sent]) - recording.frames[0].sent) * recording.tick_ns / 10**9
    )
    if seconds > _MAX_SECONDS:
        what = f"the record is {float(seconds):,.10g} s long"
        raise InputError(what, allowed=f"{_MAX_SECONDS:,} s or less", file=folder)
    return recording


def _read_sent(
    folder: Path, run: Run, port: int, received: dict[int, int], frames: dict[int, Frame], sent: _Lines
) -> None:
    """Adds the frames that entered a port."""
    file = sent_file(folder, port)
    flows = {flow.name: (index, flow) for index, flow in enumerate(run.flow) if flow.sent_port == port}
    for (number, tick, line), row in sent.read(file, SENT_COLUMNS, SENT_COLUMNS_WITH_BYTES):
        if row["flow"] not in flows:
            raise InputError(
                f'no flow "{shown(row["flow"])}" is sent into port {port}{did_you_mean(row["flow"], flows)}',
                allowed=", ".join(flows), file=file, line=line, key="flow",
            )  # fmt: skip
        index, flow = flows[row["flow"]]
        length = flow.frame_bytes
        if "frame_bytes" in row:
            length = number_in(file, line, "frame_bytes", row["frame_bytes"], MIN_FRAME_BYTES, flow.frame_bytes)
        frames[number] = Frame(number, index, tick, received.get(number), length)


def _tick(file: Path, line: int, text: str, before: int | None) -> int:
    """An instant in a line, and not before that of the line above."""
    tick = number_in(file, line, "tick", text, -_MAX_TICK, _MAX_TICK)
    if before is not None and tick < before:
        raise InputError(
            f"{tick} is before {before}, the tick of the line above",
            allowed="lines in the order of time, of a counter that does not wrap", file=file, line=line, key="tick",
        )  # fmt: skip
    return tick


def _check_departures(
    recording: Recording, frames: dict[int, Frame], places: dict[int, str], departures: list[_Event]
) -> None:
    """Refuses what no switch does: to send what it never got or has not got yet, or two frames at a time."""
    file = received_file(recording.folder, recording.run.received_port)
    for number, tick, line in departures:
        if number not in frames:
            raise InputError(
                f"frame {number:#010x} was never sent", allowed="frames of the sent_port files", file=file, line=line,
                key="frame_id",
            )  # fmt: skip
        if tick < frames[number].sent:
            raise InputError(
                f"frame {number:#010x} left at tick {tick}, before it was sent ({places[number]})",
                allowed=f"{frames[number].sent} or later", file=file, line=line, key="tick",
            )  # fmt: skip
    for earlier, later in pairwise(departures):
        # Records may be of first or of last bits: the time between is that of one frame or of the other.
        length = min(frames[earlier.number].bytes, frames[later.number].bytes) + AHEAD_BYTES + GAP_BYTES
        least = Fraction(length * 8) / recording.tick_ns - TOLERANCE_TICKS
        if later.tick - earlier.tick < least:
            raise InputError(
                f"frame {later.number:#010x} left {later.tick - earlier.tick} ticks after the one before, while that"
                " was still on the wire", allowed=f"{float(least):.10g} ticks or more at 1 Gb/s", file=file,
                line=later.line, key="tick",
            )  # fmt: skip
