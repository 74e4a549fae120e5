# SPDX-License-Identifier: Apache-2.0
"""What an end says on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from penstock.command.console import output
from penstock.command.tables import NOTHING, new_table, print_whole
from penstock.end.plan import Role
from penstock.table import us
from penstock.words import count

_LISTEN = {
    "latency_ns": "latency",
    "period_jitter_ns": "period jitter (1)",
    "latency_difference_ns": "latency difference (2)",
    "frame_delay_variation_ns": "delay variation (4)",
    "gap_ns": "gap",
}
_TALK = {"wake_late_ns": "woken late", "ahead_ns": "ahead of due"}
_NUMBERS = ("min", "mean", "p50", "p99", "max", "peak_to_peak")


def show(role: Role, summary: Mapping[str, Any], folder: Path) -> None:
    """Prints counts, times in microseconds, what is trusted, and the verdict."""
    console = output()
    for name, stream in summary["streams"].items():
        console.print(f"[bold]{escape(name)}[/]: {_talk_counts(stream) if role == 'talk' else _listen_counts(stream)}")
    print_whole(_times(summary, _TALK if role == "talk" else _LISTEN), console)
    for line in _talk_notes(summary) if role == "talk" else _listen_notes(summary):
        console.print(escape(line))
    for grant in summary["realtime"]:
        if not grant["granted"]:
            console.print(f"[yellow]refused[/]: {escape(grant['what'])}: {escape(grant['refused'])}")
    verdict = "[bold green]every requirement met[/]" if summary["ok"] else "[bold red]a requirement was not met[/]"
    console.print(f"{verdict}; results in {escape(str(folder))}/", highlight=False)


def _times(summary: Mapping[str, Any], quantities: Mapping[str, str]) -> Table:
    table = new_table(["stream", "times in us"], [number.replace("_to_", " to\n") for number in _NUMBERS])
    for name, stream in summary["streams"].items():
        for key, label in quantities.items():
            found = stream[key]
            cells = [NOTHING if found is None else us(found[number]) for number in _NUMBERS]
            table.add_row(escape(name), label, *cells)
    return table


def _talk_counts(stream: Mapping[str, Any]) -> str:
    rest = ", ".join(f"{stream[key]} {key}" for key in ("skipped", "refused", "missed", "invalid"))
    woken = count(stream["woken_late"], "time")
    return f"{stream['sent']} sent, {rest}; woken late {woken}, handed late {stream['handed_late']}"


def _listen_counts(stream: Mapping[str, Any]) -> str:
    counts = f"{stream['received']} of {stream['expected']}, {stream['lost']} lost, {stream['duplicates']} twice"
    window = stream["window"]
    inside = "" if window is None else f", {window['share'] * 100:.3f} % within their window"
    return f"{counts}, {stream['reordered']} reordered{inside}"


def _talk_notes(summary: Mapping[str, Any]) -> list[str]:
    notes = [f"cycle {us(summary['cycle_ns'])} us"]
    for name, stream in summary["streams"].items():
        by = "by launch times" if stream["send"] == "launch_time" else "by sleeping until it is time"
        notes.append(f"{name}: sent {by}, transmit offset {us(stream['transmit_offset_ns'])} us")
        for kind, left in stream["left_after_due_ns"].items():
            if left is not None:
                after = left["after_due_ns"]
                times = f"{us(after['min'])} to {us(after['max'])} us after due, {left['early']} early"
                window = left["window"]
                inside = "" if window is None else f", {window['share'] * 100:.3f} % within their window"
                notes.append(f"{name}: left {times}{inside} ({kind} stamps)")
        if stream["handed_late"]:
            notes.append(
                f"{name}: {stream['handed_late']} of {count(stream['sent'], 'frame')} handed to the kernel late"
            )
        if stream["last_error"]:
            notes.append(f"{name}: the kernel said: {stream['last_error']}")
    return notes


def _listen_notes(summary: Mapping[str, Any]) -> list[str]:
    stamps = summary["stamps"]
    notes = [f"latency from {stamps['latency_from']} stamps, periods from {stamps['periods_from']} stamps"]
    notes += [f"{kind} stamps: {stamps[kind]['why']}" for kind in ("hardware", "kernel", "user")]
    notes += [f"ignored: {count} {kind}" for kind, count in summary["ignored"].items()]
    if stamps["warning"]:
        notes.append(stamps["warning"])
    if summary["clock"]["refused"]:
        notes.append(f"no latency: {summary['clock']['refused']}")
    if summary["dropped_at_the_socket"]:
        notes.append(f"{count(summary['dropped_at_the_socket'], 'frame')} found no room in the listener's own socket")
    return notes
