# SPDX-License-Identifier: Apache-2.0
"""Reads and checks a run directory."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import InputError, did_you_mean
from penstock.replay.recording import Frame, Recording
from penstock.replay.records import number_in, rows, tick_in
from penstock.replay.run_file import run_file


def load(folder: Path) -> Recording:
    """Reads and checks a run directory."""
    if not folder.is_dir():
        raise InputError("is not a folder", allowed="a run directory with run.toml", file=folder)
    run = run_file(folder / "run.toml")
    received = _received(folder / f"received_port{run.received_port}.csv")
    frames: list[Frame] = []
    places: dict[int, str] = {}
    for port in sorted({flow.sent_port for flow in run.flow}):
        names = {flow.name: index for index, flow in enumerate(run.flow) if flow.sent_port == port}
        sent_file = folder / f"sent_port{port}.csv"
        for line, (number_text, tick_text, name) in rows(sent_file, ("frame_id", "tick", "flow")):
            number, tick = number_in(sent_file, line, "frame_id", number_text), tick_in(sent_file, line, tick_text)
            if number in places:
                raise InputError(
                    f"frame {number_text} is also in {places[number]}", allowed="each frame once", file=sent_file,
                    line=line, key="frame_id",
                )  # fmt: skip
            if name not in names:
                raise InputError(
                    f'no flow "{name}" is sent into port {port}{did_you_mean(name, names)}',
                    allowed=", ".join(names), file=sent_file, line=line, key="flow",
                )  # fmt: skip
            places[number] = f"{sent_file.name}:{line}"
            frames.append(Frame(number, names[name], tick, received.pop(number, (None, 0))[0]))
    if received:
        number, (_, line) = next(iter(received.items()))
        raise InputError(
            f"frame {number:#010x} was never sent", allowed="frames of the sent_port files",
            file=folder / f"received_port{run.received_port}.csv", line=line, key="frame_id",
        )  # fmt: skip
    if not frames:
        raise InputError("no frame was sent", allowed="one or more frames", file=folder)
    frames.sort(key=lambda frame: frame.sent)  # of one port in the order of the file, where ticks are equal
    return Recording(folder, run, frames)


def _received(file: Path) -> dict[int, tuple[int, int]]:
    """Tick and line of each frame that came out."""
    found: dict[int, tuple[int, int]] = {}
    for line, (number_text, tick_text) in rows(file, ("frame_id", "tick")):
        number = number_in(file, line, "frame_id", number_text)
        if number in found:
            raise InputError(
                f"frame {number_text} is there twice", allowed="each frame once", file=file, line=line, key="frame_id"
            )
        found[number] = (tick_in(file, line, tick_text), line)
    return found
