# SPDX-License-Identifier: Apache-2.0
"""A run's summary on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.command.tables import NOTHING, new_table, print_whole, say
from penstock.phases import moved, show_ns
from penstock.words import lasting

_MOST_STREAMS = 40
_MOST_PORTS = 40
_MOST_WARNINGS = 20


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


def busiest_ports(summary: dict[str, Any], most: int = _MOST_PORTS) -> list[dict[str, Any]]:
    """What each egress port of bridges did, of those that dropped most and took longest."""
    ports = summary["ports"] or ()
    return sorted(ports, key=lambda row: (row["dropped"], row["passing_ns"]["max"] or 0.0), reverse=True)[:most]


def show(summary: dict[str, Any], console: Console, folder: Path, *, wide: bool = False) -> None:
    """Prints a table per stream and the verdict; with `wide` every column, and each bound term by term."""
    names = most_urgent(summary, _MOST_STREAMS)
    streams = {name: summary["streams"][name] for name in names}
    title = f"{summary['title']}: {lasting(summary['duration_ns'])} on {summary['nodes']} nodes"
    say(console, f"[italic]{escape(title)}[/]")
    print_whole(_wide(streams) if wide else _narrow(streams), console)
    beside = others(summary, len(names))
    if beside:
        say(console, beside)
    if wide and summary["ports"]:
        print_whole(_ports(summary), console)
    if any(stream["copies"] != stream["sent"] for stream in streams.values()) and not wide:
        say(console, "a frame to several listeners counts once for each")
    for name, stream in streams.items():
        _say_of(escape(name), stream, console, wide=wide)
    for name, stream in streams.items() if beside is None else ():
        _say_bound(escape(name), stream, console, wide=wide)
    for fault in summary.get("faults", ()):
        say(console, f"[yellow]fault[/]: {escape(fault['said'])}")
    if summary.get("cards"):
        print_whole(_cards(summary["cards"]), console)
    if summary.get("phases"):
        print_whole(_phases(summary["phases"]), console)
    _say_conserved(summary["conservation"], console)
    for warning in summary["warnings"][:_MOST_WARNINGS]:
        say(console, f"[yellow]warning[/] {escape(warning)}")
    if len(summary["warnings"]) > _MOST_WARNINGS:
        say(console, f"[yellow]and {len(summary['warnings']) - _MOST_WARNINGS:,} warnings more[/]")
    _say_verdict(summary, console, escape(str(folder)))


def _verdict(stream: dict[str, Any]) -> str:
    return "[green]ok[/]" if stream["ok"] else "[red]not met[/]"


def _narrow(streams: dict[str, dict[str, Any]]) -> Table:
    """What is asked first, in 80 characters."""
    times = [f"{what}\nus" for what in ("max", "p99", "bound", "deadline")]
    table = new_table(["stream"], ["delivered\n/sent", *times, "verdict"])
    for name, stream in streams.items():
        latency = stream["latency_ns"]
        counts = f"{stream['delivered']}/{stream['copies']}"
        values = (latency["max"], latency["p99"], stream["bound_ns"], stream["deadline_ns"])
        table.add_row(escape(name), counts, *map(us, values), _verdict(stream))
    return table


def _wide(streams: dict[str, dict[str, Any]]) -> Table:
    """All that is known of the streams."""
    latencies = [f"{key}\nus" for key in ("min", "mean", "p50", "p99", "max")]
    rest = [f"{what}\nus" for what in ("jitter", "interval", "bound", "deadline")]
    table = new_table(["stream"], ["sent", "delivered", "inside", "dropped", *latencies, *rest, "verdict"])
    for name, stream in streams.items():
        counts = (stream["sent"], stream["delivered"], stream["inside"], sum(stream["dropped"].values()))
        latency = [us(stream["latency_ns"][key]) for key in ("min", "mean", "p50", "p99", "max")]
        limits = (stream["jitter_ns"], stream["interval_ns"]["mean"], stream["bound_ns"], stream["deadline_ns"])
        table.add_row(escape(name), *map(str, counts), *latency, *map(us, limits), _verdict(stream))
    return table


def _ports(summary: dict[str, Any]) -> Table:
    """Of bridges: how full each was, from a frame's last bit in to its first bit out, the most bytes that waited."""
    passing = [f"{key}\nus" for key in ("min", "mean", "p50", "p99", "max")]
    table = new_table(["port"], ["sent", "dropped", "utilisation\n%", *passing, "queued\nbytes"])
    for row in busiest_ports(summary):
        times = [us(row["passing_ns"][key]) for key in ("min", "mean", "p50", "p99", "max")]
        counts = (row["frames"], row["dropped"], f"{100 * row['utilisation']:.2f}")
        place = escape(f"{row['bridge']}.{row['port']}")
        table.add_row(place, *map(str, counts), *times, f"{row['queued_bytes_max']}")
    return table


def _cards(found: list[dict[str, Any]]) -> Table:
    """What each queue of a network card got of its line."""
    table = new_table(["card", "queue"], ["sent", "of the line\n%", "gate open\n%"])
    for row in found[:_MOST_STREAMS]:
        values = (row["frames"], f"{100 * row['share']:.2f}", f"{100 * row['open']:.2f}")
        table.add_row(escape(row["station"]), str(row["queue"]), *map(str, values))
    return table


def _phases(found: list[dict[str, Any]]) -> Table:
    """Of each stream that was led around something: before, meanwhile and after."""
    table = new_table(("stream", "sent from"), ("delivered /sent", "p50 us", "max us"))
    table.add_column("way", overflow="fold")
    for name in moved(found)[:_MOST_STREAMS]:
        for phase in found:
            stream = phase["streams"].get(name)
            if stream is not None:
                way = " or ".join(" ".join(each["nodes"]) for each in stream["ways"])
                counted = f"{stream['delivered']:,}/{stream['sent']:,}"
                times = us(stream["p50_ns"]), us(stream["max_ns"])
                table.add_row(name, show_ns(phase["begin_ns"]), counted, *times, way)
    return table


def _say_of(name: str, stream: dict[str, Any], console: Console, *, wide: bool) -> None:
    """What no column has room for."""
    if stream["dropped"]:
        say(console, f"[yellow]dropped[/] of [bold]{name}[/]: {escape(drops(stream['dropped']))}")
    if stream["spoiled"]:
        say(console, f"[yellow]sent on bad[/] of [bold]{name}[/], by cut-through: {stream['spoiled']}")
    if stream["inside"] and not wide:
        say(console, f"still inside of [bold]{name}[/]: {stream['inside']}")
    if stream["deadline_ok"] is False:
        missed = stream["deadline_missed"]
        count = "frames" if missed is None else "1 frame" if missed == 1 else f"{missed} frames"
        say(console, f"deadline of [bold]{name}[/] [red]not met[/]: {count} late or dropped")


def _say_bound(name: str, stream: dict[str, Any], console: Console, *, wide: bool) -> None:
    described = stream["bound"]
    if described is None:
        return
    if wide and described["terms"]:
        say(console, f"bound of [bold]{name}[/], term by term:")
        for term in described["terms"]:
            say(console, f"  {us(term['ns']):>10} us  {escape(term['name'])} ({escape(term['detail'])})")
        worst = us(stream["latency_ns"]["max"])
        say(console, f"  {us(described['total_ns']):>10} us  in all; measured {worst} us at most")
    if described["reason"]:
        color = "red" if stream["bound_ok"] is False else "yellow"
        say(console, f"[{color}]no bound for {name}[/]: {escape(described['reason'])}")
    elif stream["bound_ok"] is False:
        late = "frames that kept to rate and burst were dropped" if stream["dropped"] else "a frame took longer"
        say(console, f"bound of [bold]{name}[/] [red]not met[/]: {late}")


def _say_conserved(kept: dict[str, Any], console: Console) -> None:
    parts = " + ".join(f"{what} {kept[what]}" for what in ("delivered", "dropped", "inside"))
    text = f"created {kept['created']} = {parts}"
    if kept["ok"]:
        say(console, f"[green]conserved[/]: {text}")
    else:
        say(console, f"[red]not conserved[/]: {text}; lost {kept['lost']}, at a wrong place or twice {kept['stray']}")


def _say_verdict(summary: dict[str, Any], console: Console, folder: str) -> None:
    if summary["partial"]:
        reached = summary["simulation"].get("end_ps", 0) / 1e9
        until = f"after {reached:,.3f} ms of network time; what happened until then is in {folder}/"
        say(console, f"[bold red]interrupted[/] {until}")
        return
    verdict = "[bold green]every requirement met[/]" if summary["ok"] else "[bold red]a requirement was not met[/]"
    say(console, f"{verdict}; results in {folder}/")
