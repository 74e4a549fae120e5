# SPDX-License-Identifier: Apache-2.0
"""Replays run directories and prints what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.command.answer import answer
from penstock.command.console import output, progress
from penstock.replay.compare import compare
from penstock.replay.play import Progress, play
from penstock.replay.read import load
from penstock.replay.result import Comparison
from penstock.replay.setup import Nodes
from penstock.replay.table import table


def replay(folder: Path, nodes: Nodes, progress: Progress | None = None) -> Comparison:
    """Replays a run directory and compares."""
    recording = load(folder)
    return compare(recording, play(recording, nodes, progress), nodes)


def show(folders: Sequence[Path], nodes: Nodes, as_json: bool) -> bool:
    """Replays run directories and prints a table of them, or one JSON object; gives whether all agree.

    All folders are checked before the first is replayed. Where one cannot be replayed, those before it are printed.
    """
    recordings = [load(folder) for folder in folders]
    found: list[Comparison] = []
    try:
        for recording in recordings:
            with progress(as_json) as tell:
                found.append(compare(recording, play(recording, nodes, tell), nodes))
    finally:
        if not as_json:
            table(found, output())
    ok = all(each.ok for each in found)
    if as_json:
        answer({"ok": ok, "nodes": nodes, "rows": [row for each in found for row in each.rows()]})
    return ok
