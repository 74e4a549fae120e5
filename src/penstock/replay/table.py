# SPDX-License-Identifier: Apache-2.0
"""Replayed runs on a terminal."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from penstock.command.tables import NOTHING, new_table, print_whole, say
from penstock.replay.result import Comparison

_NODES = {"model": "the model", "rtl": "the hardware"}


def table(found: Sequence[Comparison], console: Console) -> None:
    """Prints what became of the frames of each run, and then which frames are not the same."""
    if not found:
        return
    say(console, f"[italic]replayed by {_NODES[found[0].nodes]}; residuals in ticks[/]")
    made = new_table(["run", "frames"], ["number", "min", "median", "max", "within", ""])
    for run in found:
        sent, survive = (sum(getattr(flow, name) for flow in run.flows) for name in ("sent", "measured"))
        made.add_row(
            escape(run.name), f"survive of {sent}", str(survive), *[NOTHING] * 4, _verdict(run.identical, "same")
        )
        for name, kind in (("unhindered", run.unhindered), ("behind another flow", run.behind)):
            if kind.residuals:
                made.add_row("", name, str(len(kind.residuals)), *_three(kind.residuals), f"{kind.within:.0f}",
                             _verdict(kind.ok, "ok"))  # fmt: skip
        made.add_section()
    print_whole(made, console)
    for run in found:
        if not run.identical:
            say(console, f"{escape(run.name)}: {run.difference()}")


def _verdict(met: bool, word: str) -> str:
    return word if met else "[bold red]DIFFERS[/]"


def _three(values: Sequence[float]) -> list[str]:
    least = (min(values), statistics.median(values), max(values))
    return [f"{round(value, 1) + 0.0:.10g}" for value in least]
