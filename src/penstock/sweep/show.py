# SPDX-License-Identifier: Apache-2.0
"""A sweep on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.command.tables import new_table, print_whole, say
from penstock.sweep.plan import Setting
from penstock.sweep.plan import show as show_value
from penstock.sweep.work import Sweep
from penstock.table import us
from penstock.words import count

_MOST_ROWS = 60
_HEAD = 16  # characters of a key in one line of a table's head
_FIRST = {"max": "latency_max_ns", "p99": "latency_p99_ns", "deadline": "deadline_ns"}


def as_json(sweep: Sweep, file: Path) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "ok": sweep.ok,
        "partial": not sweep.complete,
        "runs": sweep.runs,
        "finished": sweep.finished,
        "repeated": sweep.repeated,
        "file": str(file) if sweep.rows else None,
        "error": sweep.error,
        "rows": sorted(sweep.rows, key=lambda row: int(row["run"])),
    }


def table(sweep: Sweep, settings: Sequence[Setting], console: Console, file: Path, *, wide: bool = False) -> None:
    """Prints a row per combination and stream, over all seeds; with `wide` every column."""
    keys = [setting.key for setting in settings]
    if sweep.rows:
        _by_combination(sweep, keys, console, wide=wide)
    if sweep.repeated:
        console.print(f"done again, since their process had ended: {count(sweep.repeated, 'run')}")
    runs = count(sweep.runs, "run")
    runs = runs if sweep.complete else f"{sweep.finished:,} of {runs}"
    failed = len({row["run"] for row in sweep.rows if not row["ok"]})
    verdict = (
        f"[bold red]a requirement was not met in {failed:,}[/]" if failed else "[bold green]every requirement met[/]"
    )
    if not sweep.complete:
        verdict = "[bold red]stopped[/]"
    where = f"; table in {escape(str(file))}" if sweep.rows else ""
    console.print(f"{runs}: {verdict}{where}", highlight=False)


def _by_combination(sweep: Sweep, keys: list[str], console: Console, *, wide: bool) -> None:
    rows = (
        sweep.table()
        .group_by(*keys, "stream", maintain_order=True)
        .agg(
            pl.col("run").n_unique().alias("runs"),
            pl.col("sent", "copies", "delivered", "dropped").sum(),
            pl.col("latency_min_ns").min(),
            pl.col("latency_mean_ns").mean(),
            pl.col("latency_p99_ns").max(),
            pl.col("latency_max_ns").max(),
            pl.col("deadline_ns").first(),
            (~pl.col("ok")).sum().alias("failed"),
        )
    )
    fixed = [key for key in keys if rows[key].n_unique() == 1]
    for key in fixed:
        say(console, f"{escape(key)} = {escape(show_value(rows[key][0]))}")
    varied = [key for key in keys if key not in fixed]
    shown = rows.head(_MOST_ROWS)
    print_whole(_wide(shown, varied) if wide else _narrow(shown, varied), console)
    if rows.height > _MOST_ROWS:
        say(console, f"{_MOST_ROWS} of {rows.height:,} rows; all are in the table")


def _narrow(rows: pl.DataFrame, keys: list[str]) -> Table:
    """What is asked first, in 80 characters."""
    times = {f"{what}\nus": column for what, column in _FIRST.items()}
    found = new_table([*map(_head, keys), "stream"], ["delivered\n/sent", *times, "runs\nnot met"])
    for row in rows.iter_rows(named=True):
        found.add_row(
            *_named(row, keys),
            f"{row['delivered']}/{row['copies']}",
            *(us(row[column]) for column in times.values()),
            f"[red]{row['failed']}[/]/{row['runs']}" if row["failed"] else f"0/{row['runs']}",
        )
    return found


def _wide(rows: pl.DataFrame, keys: list[str]) -> Table:
    """The least, the mean and the greatest over all seeds, and p99 of the worst run."""
    counts = ("runs", "sent", "delivered", "dropped")
    times = {f"{column}\nus": f"latency_{column}_ns" for column in ("min", "mean", "p99", "max")}
    times["deadline\nus"] = "deadline_ns"
    found = new_table([*map(_head, keys), "stream"], [*counts, *times, "not met"])
    for row in rows.iter_rows(named=True):
        found.add_row(
            *_named(row, keys),
            *(f"{row[column]:,}" for column in counts),
            *(us(row[column]) for column in times.values()),
            f"[red]{row['failed']}[/]" if row["failed"] else "0",
        )
    return found


def _head(key: str) -> str:
    """A key, broken at its dots."""
    lines = [""]
    for part in key.split("."):
        if lines[-1] and len(lines[-1]) + len(part) > _HEAD:
            lines.append("")
        lines[-1] += f"{part}."
    return escape("\n".join(lines).removesuffix("."))


def _named(row: dict[str, Any], keys: list[str]) -> list[str]:
    return [*(escape(show_value(row[key])) for key in keys), escape(row["stream"])]
