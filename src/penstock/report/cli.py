# SPDX-License-Identifier: Apache-2.0
"""`penstock report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.command.console import say
from penstock.errors import InputError
from penstock.folder import check_file

if TYPE_CHECKING:
    import polars as pl

    from penstock.report.moments import Asked
    from penstock.scenario.network import Network


_BEFORE_PS = 5 * 10**9  # of a long trace, what went before a moment


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run, as out/hello.")],
    scenario: Annotated[
        Path | None, typer.Argument(metavar="SCENARIO", help="Its scenario; the one that it holds if not given.")
    ] = None,
    port: Annotated[
        str | None, typer.Option(metavar="NODE.PORT", help="An egress port to look at, as sw.2, or a talker.")
    ] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="When, as 12.3ms; the beginning if not given.")] = None,
    frame: Annotated[
        list[int] | None, typer.Option(min=0, metavar="ID", help="A frame to look at hop by hop; repeatable.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="The page; report.html of the run if not given.")
    ] = None,
) -> None:
    """Make the report of a finished run again, with any port at any time, or any frame."""
    from penstock.journeys import View
    from penstock.kept import kept_in
    from penstock.report import render
    from penstock.report.moments import Asked
    from penstock.scenario import load
    from penstock.show.summary_file import read_summary

    target = out or folder / "report.html"
    check_file(target, "--out")
    summary = read_summary(folder)
    nodes = summary["nodes"] if summary["nodes"] in ("model", "rtl") else None
    scenario = scenario or kept_in(folder)
    network = load(scenario, nodes)
    _check_same(network, summary["streams"], scenario)
    file = folder / "trace.parquet"
    if not file.exists():
        raise InputError("has no trace", allowed="a run made with the trace on", file=folder)
    asked = [] if port is None and at is None else [_asked(network, port, at)]
    asked += [Asked(frame_id=number) for number in frame or ()]
    view = View(network, _trace(file, asked))
    target.write_text(render(network, view, summary, asked), encoding="utf-8")
    say(f"report: {target}")


def _trace(file: Path, asked: Sequence[Asked]) -> pl.DataFrame:
    """All of it, or where it is too long for pictures, what is about the first moment asked for."""
    import polars as pl

    from penstock.report import part_of
    from penstock.run import MOST_ROWS, PICTURED_ROWS
    from penstock.trace import count_rows, read_trace

    rows = pl.scan_parquet(file)
    begin_ps = 0
    for one in asked:
        seen = one.at_ps
        if one.frame_id is not None:
            first = rows.filter(pl.col("frame_id") == one.frame_id).select(pl.col("time_ps").min()).collect().item()
            if first is None:
                raise InputError(
                    f"{one.frame_id} is no frame of this run", allowed="a frame_id of its trace", file="--frame"
                )
            seen = first
        begin_ps = begin_ps or max(seen - _BEFORE_PS, 0)
    if count_rows(file) <= MOST_ROWS:
        return read_trace(file)
    return part_of(file, PICTURED_ROWS, begin_ps)


def _check_same(network: Network, streams: dict[str, dict[str, object]], scenario: Path) -> None:
    """Refuses the scenario of another run."""
    ends = {name: (each["from"], each["to"]) for name, each in streams.items()}
    if ends != {name: (stream.talker, list(stream.listeners)) for name, stream in network.streams.items()}:
        raise InputError("is not the scenario of this run: its streams are others", allowed="its own", file=scenario)


def _asked(network: Network, port: str | None, at: str | None) -> Asked:
    from penstock.report.moments import Asked
    from penstock.report.ports import places
    from penstock.scenario.limits import DURATION
    from penstock.scenario.units import Quantity, read_option

    known = {place.short: place for place in places(network)}
    if port not in known:
        what = "--at needs a port" if port is None else f'"{port}" is no port that streams leave by'
        some = ", ".join(list(known)[:12]) + (", ..." if len(known) > 12 else "")
        raise InputError(what, allowed=some, file="--port")
    place = known[port]
    time = Quantity(DURATION.kind, 0, DURATION.most)
    return Asked(place.node.name, place.port, 0 if at is None else read_option(time, at, "--at"))
