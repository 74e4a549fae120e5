# SPDX-License-Identifier: Apache-2.0
"""A soak of any length: runs of their own seeds on all cores, kept as they end, so that it can be gone on with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.errors import InputError
from penstock.hardware.pool import each
from penstock.hardware.soak.run import soak
from penstock.hardware.traffic import library

RUN_FRAMES = 100_000


@dataclass(frozen=True)
class Outcome:
    """What one run found."""

    model: str  # which build of the switch
    ports: int
    seed: int
    frames: int  # that were drawn
    sent: int
    delivered: int
    dropped: dict[str, int]
    faults: list[str]

    @property
    def key(self) -> tuple[str, int, int, int]:
        """The same for two that are the same run of the same switch."""
        return self.model, self.ports, self.seed, self.frames


def one(model: str, ports: int, seed: int, frames: int) -> Outcome:
    """One run of the soak."""
    board = soak(frames, seed=seed, ports=ports)
    return Outcome(model, ports, seed, frames, board.sent, board.delivered, dict(board.dropped), board.faults)


def split(frames: int, seed: int) -> Iterator[tuple[int, int]]:
    """Seed and frames of each run."""
    for number, start in enumerate(range(0, frames, RUN_FRAMES)):
        yield seed + number, min(RUN_FRAMES, frames - start)


def campaign(
    frames: int,
    *,
    seed: int = 1,
    ports: int = 4,
    jobs: int = 1,
    record: Path | None = None,
    progress: Callable[[float], object] | None = None,
) -> list[Outcome]:
    """That many frames in runs of RUN_FRAMES, the seeds from `seed` on.

    `record` is a file of JSON lines, one for each run: those that it has of this very switch are not run again.
    Raises ToolError if it cannot be read.
    """
    model = library(ports=ports).parent.name  # built here, once
    wanted = [(model, ports, run_seed, count) for run_seed, count in split(frames, seed)]
    kept = {outcome.key: outcome for outcome in read(record)}
    outcomes = [kept[key] for key in wanted if key in kept]
    done = sum(outcome.frames for outcome in outcomes)
    for outcome in each(one, [key for key in wanted if key not in kept], jobs):
        outcomes.append(outcome)
        if record is not None:
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
        done += outcome.frames
        if progress is not None:
            progress(done / frames)
    return outcomes


def read(record: Path | None) -> Iterable[Outcome]:
    """The runs that are in a record; none if there is no such file."""
    if record is None or not record.exists():
        return
    for number, line in enumerate(record.read_text(encoding="utf-8").splitlines(), 1):
        try:
            yield Outcome(**json.loads(line))
        except (ValueError, TypeError):
            raise InputError("not a run of a soak", allowed="what --record wrote", file=record, line=number) from None


def total(outcomes: Iterable[Outcome]) -> Counter[str]:
    """Drops by reason, of all runs."""
    return sum((Counter(outcome.dropped) for outcome in outcomes), Counter())
