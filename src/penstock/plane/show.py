# SPDX-License-Identifier: Apache-2.0
"""A plane on a terminal: what passed, and a view that follows it."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console, Group
from rich.table import Table
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from penstock.command.tables import new_table
from penstock.plane.proposal import Proposal
from penstock.words import count

_GATE_WIDTH = 60
_BAR_WIDTH = 24
_CLASSES = range(7, -1, -1)
_PICTURE_WIDTH = 128  # characters
_WITHOUT_FONTS = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def counters(told: Mapping[str, Any]) -> Table:
    """A row per port."""
    table = new_table(["port", "dropped"], ["received", "sent", "late", "missed window", "error p50", "p99", "max"])
    for name, port in told["ports"].items():
        left = port["departures"]
        dropped = ", ".join(f"{count} {reason}" for reason, count in port["dropped"].items()) or "0"
        times = (_us(left[key]) for key in ("p50_ns", "p99_ns", "max_ns"))
        table.add_row(
            name + (" (down)" if port["down"] else ""),
            dropped,
            str(port["received"]["frames"]),
            str(port["sent"]["frames"]),
            str(left["late"]),
            str(left["missed"]),
            *times,
        )
    return table


def _us(nanoseconds: int) -> str:
    return f"{nanoseconds / 1000:.1f} us"


def flows(found: Proposal) -> Table:
    """A row per flow that was watched."""
    table = new_table(["flow"], ["frames seen", "period", "in each", "longest"])
    for each in found.flows:
        seen, longest = each.flow.times_ns.size, each.flow.frame_bytes
        table.add_row(each.flow.name, str(seen), _us(each.period_ns), str(each.frames), f"{longest} B")
    return table


def in_words(found: Proposal) -> str:
    """What a list is."""
    windows = f"{count(len(found.windows), 'window')} in a cycle of {found.cycle_ns / 1e6:g} ms"
    part = f"open for {found.open_part:.1%} of it"
    return f"{windows}, {part}; {found.inside:.2%} of the frames seen have room in one"


def as_toml(found: Proposal) -> str:
    """A list as `penstock plane gates` reads it."""
    gates = found.gates
    lines = [f'cycle_time = "{gates["cycle_time"]}ns"', f'base_time = "{gates["base_time"]}ns"', "entries = ["]
    lines += [f'  {{ open = {entry["open"]}, interval = "{entry["interval"]}ns" }},' for entry in gates["entries"]]
    return "\n".join([*lines, "]", ""])


def as_json(found: Proposal) -> dict[str, Any]:
    """A list, and the flows that it is made from."""
    told = [
        {
            "flow": each.flow.name,
            "frames_seen": int(each.flow.times_ns.size),
            "period_ns": each.period_ns,
            "frames_in_period": each.frames,
            "longest_bytes": each.flow.frame_bytes,
        }
        for each in found.flows
    ]
    return {"ok": True, "gates": found.gates, "flows": told, "open": found.open_part, "inside": found.inside}


@dataclass(frozen=True)
class Reading:
    """Counters and occupancy of one time."""

    counters: Mapping[str, Any]
    occupancy: Mapping[str, Any]


def mean_occupancy(before: Mapping[str, Any], after: Mapping[str, Any], port: str, traffic_class: int) -> float:
    """Frames in a queue between two readings, averaged over all of the time."""
    first, last = (told["ports"][port][traffic_class]["integral_frame_ns"] for told in (before, after))
    elapsed = after["time_ns"] - before["time_ns"]
    return float((last - first) / elapsed) if elapsed > 0 else 0.0


def view(before: Reading, now: Reading) -> Group:
    """Gates, queues and lateness of all ports."""
    seconds = (now.occupancy["time_ns"] - before.occupancy["time_ns"]) / 1e9 or 1.0
    return Group(*(_port(name, before, now, seconds) for name in now.counters["ports"]), counters(now.counters))


def picture(shown: Group, title: str) -> str:
    """A view as SVG that needs nothing from elsewhere: its letters are the reader's own."""
    console = Console(record=True, width=_PICTURE_WIDTH, file=io.StringIO())
    console.print(shown)
    return console.export_svg(title=title, theme=SVG_EXPORT_THEME, code_format=_WITHOUT_FONTS)


def _port(name: str, before: Reading, now: Reading, seconds: float) -> Group:
    port, earlier = now.counters["ports"][name], before.counters["ports"][name]
    told = f"{name}: {port['rate_bps'] / 1e6:g} Mb/s"
    if port["gates"]:
        told += f", cycle of {port['gates']['cycle_time_ns'] / 1e6:g} ms"
    if port["pending_gates"]:
        told += f", {port['pending_gates']['cycle_time_ns'] / 1e6:g} ms to come"
    table = new_table(["class", "gate over a cycle", "queue"], ["mean", "most", "limit", "Mb/s"])
    for number in _CLASSES:
        sent, was = port["sent_of_class"][number], earlier["sent_of_class"][number]
        most = now.occupancy["ports"][name][number]["most"]
        if not (sent["frames"] or most):
            continue
        mean, limit = mean_occupancy(before.occupancy, now.occupancy, name, number), port["limits"][number]
        table.add_row(
            str(number),
            gate_bar(port, number, now.counters["time_tai_ns"]),
            _bar(mean, limit),
            f"{mean:.1f}",
            str(most),
            str(limit),
            f"{(sent['bytes'] - was['bytes']) * 8 / 1e6 / seconds:.2f}",
        )
    return Group(Text(told, style="bold"), table)


def gate_bar(port: Mapping[str, Any], traffic_class: int, now_tai_ns: int) -> Text:
    """A cycle of the gate, open where it is full, with the place of now."""
    gates = port["gates"]
    if gates is None:
        return Text("-" if port["gate_states"] >> traffic_class & 1 else "closed", style="dim")
    cycle = gates["cycle_time_ns"]
    place = int((now_tai_ns - gates["since_tai_ns"]) % cycle / cycle * _GATE_WIDTH)
    text = Text()
    for cell in range(_GATE_WIDTH):
        is_open = _states(gates, (cell + 0.5) / _GATE_WIDTH * cycle) >> traffic_class & 1
        style = "reverse" if cell == place else "green" if is_open else "dim"
        text.append("█" if is_open else "·", style=style)
    return text


def _states(gates: Mapping[str, Any], at_ns: float) -> int:
    begin, last = 0, 0
    for states, interval in gates["entries"]:
        begin, last = begin + interval, states
        if at_ns < begin:
            break
    return int(last)


def _bar(mean: float, limit: int) -> Text:
    filled = min(_BAR_WIDTH, round(mean / limit * _BAR_WIDTH)) if limit else 0
    return Text("█" * filled, style="yellow") + Text("·" * (_BAR_WIDTH - filled), style="dim")
