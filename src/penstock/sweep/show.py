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

from penstock.sweep.plan import Setting
from penstock.sweep.plan import show as show_value
from penstock.sweep.work import Sweep
from penstock.table import us
from penstock.words import count

_MOST_ROWS = 60


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


def table(sweep: Sweep, settings: Sequence[Setting], console: Console, file: Path) -> None:
    """Prints a row per combination and stream, over all seeds."""
    keys = [setting.key for setting in settings]
    if sweep.rows:
        console.print(_by_combination(sweep, keys))
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


def _by_combination(sweep: Sweep, keys: list[str]) -> Table:
    rows = (
        sweep.table()
        .group_by(*keys, "stream", maintain_order=True)
        .agg(
            pl.col("run").n_unique().alias("runs"),
            pl.col("sent", "delivered", "dropped").sum(),
            pl.col("latency_min_ns").min(),
            pl.col("latency_mean_ns").mean(),
            pl.col("latency_p99_ns").max(),
            pl.col("latency_max_ns").max(),
            pl.col("deadline_ns").first(),
            (~pl.col("ok")).sum().alias("failed"),
        )
    )
    found = Table(title="over all seeds: least, mean and greatest; p99 of the worst run", title_justify="left")
    for key in keys:
        found.add_column(escape(key))
    found.add_column("stream", style="bold")
    for column in ("runs", "sent", "delivered", "dropped"):
        found.add_column(column, justify="right")
    for column in ("min", "mean", "p99", "max"):
        found.add_column(f"{column}\n/us", justify="right")
    found.add_column("deadline\n/us", justify="right")
    found.add_column("not met", justify="right")
    for row in rows.head(_MOST_ROWS).iter_rows(named=True):
        found.add_row(
            *(escape(show_value(row[key])) for key in keys),
            escape(row["stream"]),
            *(f"{row[column]:,}" for column in ("runs", "sent", "delivered", "dropped")),
            *(us(row[f"latency_{column}_ns"]) for column in ("min", "mean", "p99", "max")),
            us(row["deadline_ns"]),
            f"[red]{row['failed']}[/]" if row["failed"] else "0",
        )
    if rows.height > _MOST_ROWS:
        found.caption = f"{_MOST_ROWS} of {rows.height:,} rows; all are in the table"
    return found
