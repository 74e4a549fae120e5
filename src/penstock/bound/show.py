# SPDX-License-Identifier: Apache-2.0
"""Bounds on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.bound.analysis import Analysis, StreamBounds
from penstock.bound.tables import asked, reason
from penstock.bound.terms import Contention, HopBound, WayBound
from penstock.command.tables import new_table, print_whole, say
from penstock.table import us

_MOST_WAYS = 40
_MOST_DETAILED = 8
_MOST_NAMES = 6
_MOST_LOSSES = 6

Way = tuple[StreamBounds, WayBound]


def show(analysis: Analysis, console: Console) -> None:
    """Prints a row per stream and listener, the terms of each hop, and why some have no bound."""
    ways = [(each, way) for each in analysis.streams for way in each.ways if asked(each, way)]
    bounded = [pair for pair in ways if pair[1].reason is None]
    chosen = _most_urgent(bounded)
    if chosen:
        say(console, f"[italic]{escape(analysis.network.title)}: worst case of its streams[/]")
        print_whole(_overview(chosen), console)
    if len(chosen) < len(bounded):
        say(console, f"{len(chosen)} of {len(bounded):,} ways, those nearest to their deadlines; --json has all")
    for _, way in chosen[:_MOST_DETAILED]:
        _detail(way, console)
    if len(chosen) > _MOST_DETAILED:
        say(console, f"the terms of {len(bounded) - _MOST_DETAILED:,} ways more are in --json")
    _refused([pair for pair in ways if pair[1].reason is not None], console)
    _contracts(analysis, console)
    for each, way in _without(analysis)[:_MOST_WAYS]:
        where = f"{escape(each.stream.name)} to {escape(way.listener)}"
        say(console, f"without a bound, which nobody asks for: {where}: {escape(reason(way) or '')}")
    for each in [each for each in analysis.streams if each.loss is not None and each.worst is not None][:_MOST_LOSSES]:
        said = f"{escape(each.stream.name)} has its bound if nothing is lost: {escape(each.loss or '')}"
        say(console, f"[yellow]{said}[/]")
    for warning in analysis.warnings[:_MOST_WAYS]:
        say(console, f"[yellow]warning[/] {escape(warning)}")
    say(console, _verdict(analysis, ways))


def _without(analysis: Analysis) -> list[Way]:
    return [(each, way) for each in analysis.streams for way in each.ways if not asked(each, way)]


def _most_urgent(ways: list[Way]) -> list[Way]:
    """All of a few, or else those nearest to their deadlines and then the slowest, in the scenario's order."""
    if len(ways) <= _MOST_WAYS:
        return ways

    def urgency(number: int) -> tuple[float, int]:
        each, way = ways[number]
        total = way.total_ps or 0
        return (total / each.stream.deadline_ps if each.stream.deadline_ps else 0.0, total)

    return [ways[number] for number in sorted(sorted(range(len(ways)), key=urgency, reverse=True)[:_MOST_WAYS])]


def _overview(ways: list[Way]) -> Table:
    columns = [f"{what}\nus" for what in ("media", "process-\ning", "conten-\ntion", "clock", "bound", "deadline")]
    table = new_table(["stream", "to"], ["hops", *columns, ""])
    for each, way in ways:
        parts = (way.media_ps, way.processing_ps, way.contention_ps, way.clock_ps, way.total_ps)
        table.add_row(
            escape(way.stream),
            escape(way.listener),
            str(len(way.hops)),
            *map(_us, parts),
            _us(each.stream.deadline_ps),
            _judgement(each, way),
        )
    return table


def _judgement(each: StreamBounds, way: WayBound) -> str:
    if not each.late(way):
        return "[green]ok[/]"
    return f"[{'red' if each.required else 'yellow'}]above the deadline[/]"


def _detail(way: WayBound, console: Console) -> None:
    """A way hop by hop, with equation (1) and its numbers."""
    say(console, f"\n[italic]{escape(way.stream)} to {escape(way.listener)}, hop by hop, in us[/]")
    parts = ("class", "cable", "frame", "process-\ning", "conten-\ntion", "preamble", "clock\ngrid", "hop")
    table = new_table(["bridge"], parts)
    for hop in way.hops:
        table.add_row(escape(hop.bridge), str(hop.traffic_class), *map(_us, _columns(hop)))
    table.add_section()
    table.add_row("last cable", *[""] * 7, _us(way.last_cable_ps))
    if way.drift is not None:
        table.add_row("clock drift", *[""] * 7, _us(way.drift.ps))
    table.add_row("in all", *[""] * 7, f"[bold]{_us(way.total_ps)}[/]")
    print_whole(table, console)
    for hop in way.hops:
        say(console, escape(f"  {hop.bridge}: {_us(hop.wait_ps)} us = {hop.waits_for}"))
        if hop.contention is not None:
            say(console, escape(f"    {_numbers(hop, hop.contention)}"))
    for what, said in (
        ("processing", [hop.processing_said for hop in way.hops]),
        ("clock grid", [hop.clock_grid_said for hop in way.hops]),
    ):
        for how in dict.fromkeys(said):
            say(console, escape(f"  {what}: {how}"))
    if way.drift is not None:
        say(console, escape(f"  clock drift: {way.drift.detail}"))


def _columns(hop: HopBound) -> tuple[int, ...]:
    return (
        hop.cable_ps, hop.frame_ps, hop.processing_ps, hop.wait_ps, hop.preamble_ps, hop.clock_grid_ps,
        hop.total_ps,
    )  # fmt: skip


def _numbers(hop: HopBound, one: Contention) -> str:
    """What each number of equation (1) is."""
    bursts = _some([f"{each.stream} {each.burst_bytes} B" for each in one.committed])
    blocking = "0 B, no lower class" if one.l_lp_stream is None else f"{one.l_lp_bytes} B of {one.l_lp_stream}"
    higher = [each for each in one.committed if each.traffic_class > hop.traffic_class]
    rates = _some([f"{each.stream} {each.rate_bps / 10**6:g} Mb/s" for each in higher])
    return f"b: {bursts}; l_min {one.l_min_bytes} B; l_LP {blocking}" + (f"; r: {rates}" if higher else "")


def _refused(ways: list[Way], console: Console) -> None:
    for _, way in ways[:_MOST_WAYS]:
        where = f"[bold]{escape(way.stream)}[/] to [bold]{escape(way.listener)}[/]"
        say(console, f"[red]no bound[/] for {where}: {escape(reason(way) or '')}")
    if len(ways) > _MOST_WAYS:
        say(console, f"and no bound for {len(ways) - _MOST_WAYS:,} more")


def _contracts(analysis: Analysis, console: Console) -> None:
    """Of which sources it is known that they keep to rate and burst."""
    known = [(each.stream.name, each.contract) for each in analysis.streams if each.contract is not None]
    kept = [name for name, contract in known if contract.state == "kept"]
    if kept:
        console.print(f"proved to keep rate and burst: {escape(_some(kept))}", highlight=False)
    for name, contract in [each for each in known if each[1].state == "assumed"][:_MOST_WAYS]:
        console.print(
            f"[yellow]assumed[/] to keep rate and burst, and judged by the run: {escape(f'{name}: {contract.said}')}",
            highlight=False,
        )


def _verdict(analysis: Analysis, ways: list[Way]) -> str:
    if not ways:
        return "no stream has a bound, and none has to have one"
    if analysis.ok:
        assumed = any(each.contract is not None and each.contract.state == "assumed" for each in analysis.streams)
        condition = ", as long as the sources by chance keep to rate and burst" if assumed else ""
        beside = sum(1 for each, way in ways if not each.required and each.late(way))
        late = f"; {beside:,} of streams without ATS are above their deadline" if beside else ""
        return f"[bold green]every ATS stream has a bound[/]{condition}{late}"
    counts = {
        "have no bound": sum(1 for _, way in ways if way.reason is not None),
        "have one above the deadline": sum(1 for each, way in ways if each.required and each.late(way)),
    }
    said = ", ".join(f"{count:,} of {len(ways):,} {what}" for what, count in counts.items() if count)
    return f"[bold red]a requirement was not met[/]: {said}"


def _some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _us(ps: int | None) -> str:
    return us(None if ps is None else ps / 1000)
