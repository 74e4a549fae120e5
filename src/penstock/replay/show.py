# SPDX-License-Identifier: Apache-2.0
"""Replays run directories and prints what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.command.answer import answer
from penstock.command.console import progress, say
from penstock.replay.compare import compare
from penstock.replay.play import Progress, play
from penstock.replay.read import load
from penstock.replay.result import Comparison
from penstock.replay.setup import Nodes


def replay(folder: Path, nodes: Nodes, progress: Progress | None = None) -> Comparison:
    """Replays a run directory and compares."""
    recording = load(folder)
    return compare(recording, play(recording, nodes, progress), nodes)


def show(folders: Sequence[Path], nodes: Nodes, as_json: bool) -> bool:
    """Replays run directories and prints a line for each, or one JSON object; gives whether all agree.

    All folders are checked before the first is replayed.
    """
    recordings = [load(folder) for folder in folders]
    rows: list[dict[str, Any]] = []
    ok = True
    for recording in recordings:
        with progress(as_json) as tell:
            found = compare(recording, play(recording, nodes, tell), nodes)
        ok &= found.ok
        rows += found.rows()
        if not as_json:
            say(found.line())
    if as_json:
        answer({"ok": ok, "nodes": nodes, "rows": rows})
    return ok
