# SPDX-License-Identifier: Apache-2.0
"""Runs talker or listener and turns what it left into a run's folder: trace, summary, report."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from penstock.command.console import tell
from penstock.end import report
from penstock.end.binary import build
from penstock.end.plan import Plan, Role
from penstock.end.trace import End, Names, knows, read_end, trace_of, write
from penstock.errors import InputError
from penstock.folder import replacing
from penstock.signals import handled

_PATIENCE_S = 15.0


class RefusedError(Exception):
    """The program ended with this status; it has said on standard error why, in these lines."""

    def __init__(self, status: int, lines: Sequence[str]) -> None:
        self.status = status
        self.lines = tuple(lines)
        super().__init__("\n".join(lines))


@dataclass(frozen=True)
class Task:
    """What an end is to do. Without a plan the arguments say it all."""

    role: Role
    plan: Plan | None
    arguments: Sequence[str]
    names: Names
    talk_folder: Path | None = None  # what the talker left, for a trace of both ends


def run(task: Task, out: Path) -> dict[str, Any]:
    """Runs the program to its end and gives its summary; Ctrl-C ends it early, with results.

    Raises RefusedError when the program refused the plan or the system refused the program.
    """
    program = build()
    with replacing(out) as folder:
        arguments = [*task.arguments, "--out", str(folder), "--json"]
        if task.plan is not None:
            file = folder / "plan.json"
            file.write_text(json.dumps(task.plan, indent=1) + "\n", encoding="utf-8")
            arguments += ["--plan", str(file)]
        status, output, said = _call([str(program), task.role, *arguments])
        if status not in (0, 1):
            raise RefusedError(status, said)
        summary: dict[str, Any] = json.loads(output)
        _finish(task, folder, summary)
    return summary


def _finish(task: Task, folder: Path, summary: Mapping[str, Any]) -> None:
    own = read_end(folder, task.role)
    if task.role == "talk":
        rows, metadata = trace_of(own, None, task.names)
    else:
        rows, metadata = trace_of(_talker_of(own, task.talk_folder), own, task.names)
    write(folder / "trace.parquet", rows, metadata)
    (folder / "report.html").write_text(report.render(task.role, own, summary), encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(summary) + "\n", encoding="utf-8")


def _talker_of(listen: End, folder: Path | None) -> End | None:
    """What the talker of these very frames left; it may come to its end a little later than the listener."""
    if folder is None:
        return None
    give_up = time.monotonic() + _PATIENCE_S
    while time.monotonic() < give_up:
        try:
            talk = read_end(folder, "talk")
        except InputError:
            talk = None
        if talk is not None and knows(talk, listen):
            return talk
        time.sleep(0.1)
    tell(f"penstock: {folder} is not what the talker of these frames left; the trace is of the listener alone")
    return None


def _call(command: Sequence[str]) -> tuple[int, str, list[str]]:
    """The status, what was printed, and the lines on standard error, which are handed on as they come."""
    try:
        # In a group of its own, so that Ctrl-C reaches it once: by the handler below.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)
    except OSError as error:
        what = f"cannot be run: {error.strerror}"
        raise InputError(what, allowed="a program for this machine", file=command[0]) from None
    said: list[str] = []

    def hear() -> None:
        for line in process.stderr or ():
            said.append(line.rstrip())
            tell(said[-1])

    hearing = threading.Thread(target=hear)
    hearing.start()
    with _handing_on(process):
        output = process.stdout.read() if process.stdout else ""
        process.wait()
    hearing.join()
    return process.returncode, output, said


@contextmanager
def _handing_on(process: subprocess.Popen[str]) -> Iterator[None]:
    """Signals are the program's business: it ends and says what it has; then this goes on."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    with handled(hand_on, signal.SIGINT, signal.SIGTERM):
        try:
            yield
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
