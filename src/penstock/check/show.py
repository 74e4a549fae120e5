# SPDX-License-Identifier: Apache-2.0
"""A checked scenario on a terminal."""

from __future__ import annotations

from itertools import groupby

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.check.checked import Checked
from penstock.check.streams import CheckedStream, CheckedWay
from penstock.command.tables import NOTHING, print_whole, say
from penstock.table import us
from penstock.words import count

_MOST_STREAMS = 60
_MOST_LISTENERS = 6
_MOST_WARNINGS = 40
_COLOURS = {"kept": "green", "assumed": "yellow"}


def show(checked: Checked, console: Console) -> None:
    """Prints a row per stream and class on its way, then what is probably not meant."""
    if checked.streams:
        print_whole(_table(checked.streams[:_MOST_STREAMS]), console)
    if len(checked.streams) > _MOST_STREAMS:
        say(console, f"{_MOST_STREAMS} of {len(checked.streams):,} streams; --json has all")
    for each in checked.streams[:_MOST_STREAMS]:
        _say_of(each, console)
    for note in checked.notes:
        say(console, f"[cyan]note[/] {escape(note)}")
    for warning in checked.warnings[:_MOST_WARNINGS]:
        say(console, f"[yellow]warning[/] {escape(warning)}")
    if len(checked.warnings) > _MOST_WARNINGS:
        say(console, f"[yellow]and {len(checked.warnings) - _MOST_WARNINGS:,} warnings more[/]; --json has all")
    for unmet in checked.impossible[:_MOST_WARNINGS]:
        say(console, f"[red]impossible[/] {escape(unmet)}")
    network = checked.network
    there = {"stream": len(network.streams), "station": len(network.stations), "bridge": len(network.bridges)}
    parts = ", ".join(count(number, noun) for noun, number in there.items())
    say(console, f"[green]{escape(network.name)} is well-formed[/]: {parts}")


def _say_of(each: CheckedStream, console: Console) -> None:
    """Why a stream has no bound, and what its bound rests on."""
    if each.stream.ats is None:
        return
    name = f"[bold]{escape(each.stream.name)}[/]"
    for reason in dict.fromkeys(way.reason for way in each.ways if way.reason is not None):
        say(console, f"no bound for {name}: {escape(reason)}")
    if each.contract is not None and each.contract.state == "assumed":
        what = f"keeps to rate and burst is assumed, and judged by the run: {each.contract.said}"
        say(console, f"that {name} {escape(what)}")


def _table(streams: tuple[CheckedStream, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("stream", style="bold", overflow="fold")
    for column in ("PCP", "class"):
        table.add_column(column, justify="right")
    table.add_column("selection")
    table.add_column("route", overflow="fold")
    table.add_column("bound\nus", justify="right")
    table.add_column("rate and\nburst")
    for each in streams:
        stream, contract = each.stream, "" if each.contract is None else each.contract.state
        before = [escape(stream.name), NOTHING if stream.vlan is None else str(stream.pcp)]
        after = f"[{_COLOURS.get(contract, 'red')}]{contract}[/]" if contract else NOTHING
        for way in each.ways[:_MOST_LISTENERS]:
            bound = us(None if way.bound_ps is None else way.bound_ps / 1000)
            for number, selection, route in _parts(stream.talker, way):
                table.add_row(*before, number, selection, escape(route), bound, after)
                before, bound, after = ["", ""], "", ""
        if len(each.ways) > _MOST_LISTENERS:
            table.add_row(*before, "", "", f"and {len(each.ways) - _MOST_LISTENERS:,} listeners more", "", after)
    return table


def _parts(talker: str, way: CheckedWay) -> list[tuple[str, str, str]]:
    """Class, selection and nodes of each part of a way that treats the stream alike."""
    parts: list[tuple[str, str, list[str]]] = []
    for (number, name, said), hops in groupby(way.hops, lambda hop: (hop.traffic_class, hop.class_name, hop.said)):
        parts.append((f"{number}" if name is None else f"{number} {name}", said, [hop.bridge for hop in hops]))
    parts[0][2].insert(0, talker)
    parts[-1][2].append(way.listener)
    return [(number, said, " > ".join(nodes)) for number, said, nodes in parts]
