# SPDX-License-Identifier: Apache-2.0
"""`penstock run --record`: all that can be wrong is found before the run, the recording is made after it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from penstock.command.console import tell, warn
from penstock.errors import InputError
from penstock.folder import check_target
from penstock.replay.record import Recorded, is_recording, record
from penstock.replay.tap import Tap, tap_at
from penstock.scenario.network import Network, TraceFilter
from penstock.words import count


@dataclass(frozen=True)
class Recorder:
    """A recording that is still to be made."""

    tap: Tap
    folder: Path

    def write(self, trace: Path) -> None:
        """Makes it from the trace of a run that came to its end, and says what it holds."""
        made = record(self.tap, trace, self.folder)
        frames = f"{count(made.sent, 'frame')} for {self.tap.name}, of which {made.received:,} left"
        tell(f"recording of {frames}: penstock replay {self.folder}")
        for what in _doubts(made):
            warn(what)


def recorder(network: Network, folder: Path, at: str | None, traced: str | None, results: Path) -> Recorder:
    """Checks what is asked for; `traced` is what `--trace` says, `results` the folder of the run."""
    whole = network.trace == TraceFilter() if traced is None else traced == "full"
    if not whole:
        raise InputError("is made from the whole trace", allowed="--trace full with it", file="--record")
    check_target(folder, is_recording, "recording")
    if os.path.abspath(folder) == os.path.abspath(results):
        raise InputError("is where the results go", allowed="another folder than --out", file=f"--record {folder}")
    return Recorder(tap_at(network, at), folder)


def _doubts(made: Recorded) -> list[str]:
    doubts = []
    if made.not_repeated:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in made.not_repeated.items())
        doubts.append(f"{made.folder}: a replay does not repeat drops but those of ATS, and here are {reasons}")
    if made.inside:
        doubts.append(f"{made.folder}: {count(made.inside, 'frame')} still inside when the run ended left out")
    return doubts
