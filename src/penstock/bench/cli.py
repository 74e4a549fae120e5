# SPDX-License-Identifier: Apache-2.0
"""The commands `penstock bench ...`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import typer

from penstock.bench.bound import NETWORKS as BOUND_NETWORKS
from penstock.bench.networks import NETWORKS
from penstock.command.answer import answer
from penstock.command.console import say, tell
from penstock.command.ending import end, interruptible
from penstock.command.options import JsonOption, UpdateDocsOption
from penstock.errors import InputError, check_known
from penstock.folder import check_folder

app = typer.Typer(no_args_is_help=True, help="How fast the engine, the analysis of bounds and the data plane are.")

Row = dict[str, Any]


@app.callback()
def _root() -> None:
    pass


@app.command()
def engine(
    networks: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NETWORK]...", help=f"All if none is named: {', '.join(NETWORKS)}."),
    ] = None,
    duration_ms: Annotated[
        int, typer.Option("--duration-ms", min=1, help="Network time; a fifth of it is traced.")
    ] = 500,
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each; medians and quartiles are told.")] = 5,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="BUILD",
            help="In turns with another build: a checkout, a Python that has Penstock, or an engine (_engine*.so).",
        ),
    ] = None,
    describe: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run nothing: write each network as the engine takes it, to be profiled."),
    ] = None,
    update_docs: UpdateDocsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Frame-hops per second, in ratios of networks to each other, to no trace, to another build; two cores to one."""
    from penstock.bench import build, page
    from penstock.bench import engine as engine_bench

    for name in networks or ():
        check_known(name, NETWORKS, "NETWORK")
    if describe is not None:
        write = partial(engine_bench.description, duration_ms=duration_ms)
        _describe(networks or NETWORKS, describe, write)
        return
    other = None if against is None else build.found(against)
    results = list(_told(engine_bench.bench(networks, duration_ms, rounds, other), as_json=as_json))
    if update_docs:
        page.replace("engine", page.engine_table(results))
    _end((row for result in results for row in result.rows()), as_json=as_json)


@app.command()
def plane(
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each in turns; medians and extremes are told.")] = 3,
    seconds: Annotated[float, typer.Option(min=0.1, help="Of each run.")] = 1.0,
    soak_s: Annotated[
        float | None,
        typer.Option(
            "--soak",
            min=1,
            metavar="SECONDS",
            help="A random mix for so long, and changes all the while; every frame is counted.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the mix.")] = 1,
    taprio: Annotated[
        bool,
        typer.Option(
            "--taprio",
            help="Instead the error against gate openings of a plane and of taprio, on one kernel or in a guest.",
        ),
    ] = False,
    update_docs: UpdateDocsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Frames per second of processor time through a data plane and the kernel's bridge; error against gate openings."""
    from penstock.bench import gate_error, page
    from penstock.bench.plane import bench
    from penstock.bench.soak import soak
    from penstock.lab.emulation import Emulation
    from penstock.lab.run import Where

    if taprio and soak_s is not None:
        raise InputError("says nothing of --soak", allowed="one of both", file="--taprio")
    if update_docs and soak_s is not None:
        raise InputError("says nothing of --soak", allowed="one of both", file="--update-docs")
    rows = []
    with interruptible():
        found: Iterable[Row]
        if taprio:
            found = gate_error.bench(rounds, seconds, Where(emulation=Emulation("icount")), tell)
        else:
            found = bench(rounds, seconds) if soak_s is None else soak(soak_s, seed)
        for row in found:
            rows.append(row)
            if not as_json:
                say(_line(row))
    if update_docs:
        page.update("taprio" if taprio else "plane", rows)
    _end(rows, as_json=as_json)


@app.command()
def bound(
    networks: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NETWORK]...", help=f"All if none is named: {', '.join(BOUND_NETWORKS)}."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Analyses of each; the median is told.")] = 5,
    describe: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Analyse nothing: write each network as the analysis takes it."),
    ] = None,
    update_docs: UpdateDocsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Processor time of the analysis of bounds on one core, alone and with loading."""
    from penstock.bench import bound as bound_bench
    from penstock.bench import page

    for name in networks or ():
        check_known(name, BOUND_NETWORKS, "NETWORK")
    if describe is not None:
        _describe(networks or BOUND_NETWORKS, describe, bound_bench.description)
        return
    results = list(_told(bound_bench.bench(networks, rounds), as_json=as_json))
    if update_docs:
        page.replace("bound", bound_bench.table(results))
    _end((row for result in results for row in result.rows()), as_json=as_json)


class _Result(Protocol):
    def rows(self) -> Iterator[Row]: ...


Told = TypeVar("Told", bound=_Result)


def _describe(names: Iterable[str], folder: Path, write: Callable[[str, Path], None]) -> None:
    """A file of each network, each named as soon as it is there."""
    check_folder(folder, "--describe")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        file = folder / f"{name}.json"
        write(name, file)
        say(file)


def _told(results: Iterable[Told], *, as_json: bool) -> Iterator[Told]:
    """Says the rows of each result as it comes, unless all are said as JSON in the end."""
    for result in results:
        if not as_json:
            for row in result.rows():
                say(_line(row))
        yield result


def _end(rows: Iterable[Row], *, as_json: bool) -> None:
    rows = list(rows)
    ok = all(row["ok"] for row in rows)
    if as_json:
        answer({"ok": ok, "rows": rows})
    end(ok)


def _line(row: Row) -> str:
    if row["measured"] is None:
        return str(row["quantity"])
    said = f"{row['quantity']}: {row['measured']:,} {row['unit']}".rstrip()
    if "low" in row:
        said += f" ({row['low']:,} to {row['high']:,})"
    if "goal" in row:
        said += f", goal {row['goal']:,}" + ("" if row["ok"] else " NOT MET")
    return said
