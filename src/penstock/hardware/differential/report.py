# SPDX-License-Identifier: Apache-2.0
"""What a person is told of differences: the seed, the smallest scenario that shows one, and how to see it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from penstock.hardware.differential.campaign import Outcome, Report, Row, differ
from penstock.hardware.differential.compare import Difference
from penstock.hardware.differential.draw import draw
from penstock.hardware.differential.scenario import load, save
from penstock.hardware.differential.shrink import shrink
from penstock.words import count

SHRUNK_SCENARIOS = 3  # one fault shows in many scenarios; a few are enough to find it
SHOWN_DIFFERENCES = 5


def replayed(path: Path) -> tuple[Row, list[str]]:
    """Plays a scenario from a file."""
    scenario = load(path)
    differences, _ = differ(scenario)
    quantity = f"differences in {path}, {scenario.ports} ports, {len(scenario.arrivals)} frames"
    row = {
        "id": f"differential.{path.stem}", "quantity": quantity, "unit": "differences", "measured": len(differences),
        "goal": 0, "ok": not differences,
    }  # fmt: skip
    return row, [*_told(differences), f"{quantity}: {len(differences)}"]


def shrunk(report: Report, folder: Path) -> Iterator[list[str]]:
    """What to say of each scenario that differs; the first ones are made small and written into the folder."""
    for number, outcome in enumerate(report.failed):
        lines = [
            f"seed {outcome.seed}, {outcome.ports} ports: {count(len(outcome.differences), 'difference')}; again by",
            f"  ./penstock hw diff --scenarios 1 --seed {outcome.seed} --ports {outcome.ports} "
            f"--frames {report.frames_each}",
        ]
        if number < SHRUNK_SCENARIOS:
            lines += _shrunk(outcome, report.frames_each, folder)
        yield lines


def _shrunk(outcome: Outcome, frames: int, folder: Path) -> list[str]:
    scenario = draw(outcome.seed, outcome.ports, frames)
    small, differences = shrink(scenario, list(outcome.differences), lambda smaller: differ(smaller)[0])
    told = _told(differences)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{outcome.seed}-ports-{outcome.ports}.json"
    save(small, path, told)
    sizes = {"frame": small.arrivals, "change": small.changes, "stream": small.config.streams}
    size = ", ".join(count(len(each), noun) for noun, each in sizes.items())
    return [f"  shrunk to {size}; see it again by", f"  ./penstock hw diff --replay {path}", *(f"  {t}" for t in told)]


def _told(differences: list[Difference]) -> list[str]:
    more = len(differences) - SHOWN_DIFFERENCES
    return [d.what for d in differences[:SHOWN_DIFFERENCES]] + ([f"and {more} more"] if more > 0 else [])
