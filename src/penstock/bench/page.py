# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/performance.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import data

if TYPE_CHECKING:
    from penstock.bench.engine import Job, Result, Spread


def update(name: str, rows: list[dict[str, Any]], page: Path | None = None) -> None:
    """Replaces what stands between the marks of this name by a table of these rows."""
    table = ["| quantity | measured | goal |", "|---|--:|--:|"]
    for row in rows:
        goal = f"{row['goal']:,} {row['unit']}" if "goal" in row else ""
        spread = f" ({row['low']:,} to {row['high']:,})" if "low" in row else ""
        table.append(f"| {row['quantity']} | {row['measured']:,} {row['unit']}{spread} | {goal} |")
    replace(name, table, page)


def replace(name: str, lines: Iterable[str], page: Path | None = None) -> None:
    """Replaces what stands between the marks of this name."""
    page = page or data.page("performance.md")
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, rest = page.read_text().split(begin)
    page.write_text(before + "\n".join([begin, *lines, end]) + rest.split(end)[1])


def engine_table(results: Iterable[Result]) -> list[str]:
    """A row per network, of `penstock bench engine`."""
    head = ["network", "counted", "M hops/s", "instructions a hop", "MiB", "in turns with", "times as fast", "goal"]
    table = [f"| {' | '.join(head)} |", "|---|---|--:|--:|--:|---|--:|--:|"]
    for result in results:
        speed = result.speed
        cells = [
            f"`{result.job.network}`{_how(result.job)}: {result.purpose}",
            result.counted,
            f"{speed.median / 1e6:.2f} ({speed.low / 1e6:.2f} to {speed.high / 1e6:.2f})",
            "not countable here" if result.instructions is None else f"{result.instructions:,.0f}",
            f"{result.memory_mib:,}",
        ]
        held: list[tuple[str, Spread | None, float | None]] = []
        if result.reference is not None:
            held.append((str(result.reference_name), result.reference, result.goal))
        if result.against is not None:
            held.append(("the other build", result.against, result.against_goal))
        for name, found, goal in held or [("", None, None)]:
            table.append(f"| {' | '.join([*cells, name, *_held(found, goal)])} |")
            cells = ["", "", "", "", ""]
    return table


def _how(job: Job) -> str:
    if job.cores > 1:
        return f", {job.cores} cores"
    return ", full trace" if job.traced else ""


def _held(found: Spread | None, goal: float | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    ratio = f"{found.median:.2f} ({found.low:.2f} to {found.high:.2f})"
    if goal is None:
        return ratio, ""
    return ratio, f"{goal}: {'met' if round(found.median, 3) >= goal else 'not met'}"
