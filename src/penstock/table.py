# SPDX-License-Identifier: Apache-2.0
"""A run's summary on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

NOTHING = "\u2013"


def us(ns: float | None) -> str:
    """Nanoseconds as microseconds, or a dash."""
    return NOTHING if ns is None else f"{ns / 1000:,.3f}"


def drops(reasons: dict[str, int]) -> str:
    """`12 queue_full, 3 residence`."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "0"


def show(summary: dict[str, Any], console: Console, folder: Path) -> None:
    """Prints a table per stream, the bounds and the verdict."""
    table = Table(
        title=f"{summary['title']}: {summary['duration_ns'] / 1e6:g} ms on {summary['nodes']} nodes",
        title_justify="left",
    )
    table.add_column("stream", style="bold")
    for column in ("sent", "delivered", "inside", "dropped"):
        table.add_column(column, justify="right")
    for column in ("min", "mean", "p50", "p99", "max"):
        table.add_column(f"{column}\n" + ("latency/us" if column == "min" else ""), justify="right")
    for column in ("jitter\n/us", "interval\n/us", "bound\n/us", "deadline\n/us", ""):
        table.add_column(column, justify="right")
    for name, stream in summary["streams"].items():
        latency = stream["latency_ns"]
        table.add_row(
            escape(name),
            str(stream["sent"]),
            str(stream["delivered"]),
            str(stream["inside"]),
            drops(stream["dropped"]),
            *(us(latency[key]) for key in ("min", "mean", "p50", "p99", "max")),
            us(stream["jitter_ns"]),
            us(stream["interval_ns"]["mean"]),
            us(stream["bound_ns"]),
            us(stream["deadline_ns"]),
            "[green]ok[/]" if stream["ok"] else "[red]not met[/]",
        )
    console.print(table)
    for name, stream in summary["streams"].items():
        described = stream["bound"]
        if described is None:
            continue
        if described["terms"]:
            console.print(f"bound of [bold]{escape(name)}[/], equation (1) and the way around it:")
            for term in described["terms"]:
                console.print(f"  {us(term['ns']):>10} us  {escape(term['name'])} ({escape(term['detail'])})")
            console.print(
                f"  {us(described['total_ns']):>10} us  in all; measured {us(stream['latency_ns']['max'])} us at most"
            )
            if stream["bound_ok"] is False and stream["dropped"]:
                console.print("  [red]not met[/]: frames that kept to rate and burst were dropped")
        if described["reason"]:
            console.print(f"[yellow]no bound for {escape(name)}[/]: {escape(described['reason'])}")
    kept = summary["conservation"]
    parts = " + ".join(f"{what} {kept[what]}" for what in ("delivered", "dropped", "inside"))
    sum_text = f"created {kept['created']} = {parts}"
    if kept["ok"]:
        console.print(f"[green]conserved[/]: {sum_text}")
    else:
        console.print(
            f"[red]not conserved[/]: {sum_text}; lost {kept['lost']}, at a wrong place or twice {kept['stray']}"
        )
    for warning in summary["warnings"]:
        console.print(f"[yellow]warning[/] {escape(warning)}")
    verdict = "[bold green]every requirement met[/]" if summary["ok"] else "[bold red]a requirement was not met[/]"
    console.print(f"{verdict}; results in {escape(str(folder))}/", highlight=False)
