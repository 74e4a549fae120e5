# SPDX-License-Identifier: Apache-2.0
"""A run's summary on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

NOTHING = "\u2013"
_MOST_STREAMS = 40
_MOST_WARNINGS = 20
_MOST_TERMS = 8  # of a bound


def us(ns: float | None) -> str:
    """Nanoseconds as microseconds, or a dash."""
    return NOTHING if ns is None else f"{ns / 1000:,.3f}"


def drops(reasons: dict[str, int]) -> str:
    """`12 queue_full, 3 residence`."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "0"


def most_urgent(summary: dict[str, Any], most: int) -> list[str]:
    """All of a few streams, or else those nearest to their limits and then the slowest, in the scenario's order."""
    streams = summary["streams"]
    if len(streams) <= most:
        return list(streams)

    def urgency(name: str) -> tuple[bool, float, float]:
        stream = streams[name]
        worst = stream["latency_ns"]["max"] or 0.0
        limits = [limit for limit in (stream["bound_ns"], stream["deadline_ns"]) if limit]
        return (not stream["ok"], max((worst / limit for limit in limits), default=0.0), worst)

    chosen = set(sorted(streams, key=urgency, reverse=True)[:most])
    return [name for name in streams if name in chosen]


def others(summary: dict[str, Any], shown: int) -> str | None:
    """What is said of the streams that are not shown."""
    total = len(summary["streams"])
    if shown == total:
        return None
    ok = sum(1 for stream in summary["streams"].values() if stream["ok"])
    return (
        f"{shown} of {total:,} streams, those nearest to their limits or the slowest; {ok:,} meet their requirements; "
        "all are in summary.json"
    )


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
    names = most_urgent(summary, _MOST_STREAMS)
    for name in names:
        stream = summary["streams"][name]
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
    beside = others(summary, len(names))
    if beside:
        console.print(beside)
    for name in names if beside is None else ():
        stream = summary["streams"][name]
        described = stream["bound"]
        if described is None:
            continue
        worst = us(stream["latency_ns"]["max"])
        if len(described["terms"]) > _MOST_TERMS:
            console.print(
                f"bound of [bold]{escape(name)}[/]: {us(described['total_ns'])} us, measured {worst} us at most; "
                "its terms are in report.html"
            )
        elif described["terms"]:
            console.print(f"bound of [bold]{escape(name)}[/], equation (1) and the way around it:")
            for term in described["terms"]:
                console.print(f"  {us(term['ns']):>10} us  {escape(term['name'])} ({escape(term['detail'])})")
            console.print(f"  {us(described['total_ns']):>10} us  in all; measured {worst} us at most")
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
    for warning in summary["warnings"][:_MOST_WARNINGS]:
        console.print(f"[yellow]warning[/] {escape(warning)}")
    if len(summary["warnings"]) > _MOST_WARNINGS:
        console.print(f"[yellow]and {len(summary['warnings']) - _MOST_WARNINGS:,} warnings more[/]")
    if summary["partial"]:
        reached = summary["simulation"].get("end_ps", 0) / 1e9
        console.print(
            f"[bold red]interrupted[/] after {reached:,.3f} ms of network time; what happened until then is in "
            f"{escape(str(folder))}/",
            highlight=False,
        )
        return
    verdict = "[bold green]every requirement met[/]" if summary["ok"] else "[bold red]a requirement was not met[/]"
    console.print(f"{verdict}; results in {escape(str(folder))}/", highlight=False)
