# SPDX-License-Identifier: Apache-2.0
"""The commands `penstock bench ...`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from penstock.bench.networks import NETWORKS
from penstock.command.answer import answer
from penstock.command.console import say
from penstock.command.ending import end
from penstock.command.options import JsonOption, UpdateDocsOption
from penstock.errors import check_known
from penstock.folder import check_folder

app = typer.Typer(no_args_is_help=True, help="How fast the engine is.")


@app.callback()
def _root() -> None:
    pass


@app.command()
def engine(
    networks: Annotated[
        list[str] | None, typer.Argument(metavar=f"[{'|'.join(NETWORKS)}]...", help="All if none is named.")
    ] = None,
    duration_ms: Annotated[
        int, typer.Option("--duration-ms", min=1, help="Network time; a fifth of it is traced.")
    ] = 1_000,
    describe: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run nothing: write each network as the engine takes it, to be profiled."),
    ] = None,
    update_docs: UpdateDocsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Frame-hops per second of processor time, on one core: statistics alone, and with the full trace."""
    from penstock.bench import engine as engine_bench
    from penstock.bench import page

    for name in networks or ():
        check_known(name, NETWORKS, "NETWORK")
    if describe is not None:
        check_folder(describe, "--describe")
        describe.mkdir(parents=True, exist_ok=True)
        for name in networks or NETWORKS:
            file = describe / f"{name}.json"
            file.write_text(json.dumps(engine_bench.description(name, duration_ms)))
            say(file)
        return
    rows = []
    for row in engine_bench.bench(networks, duration_ms):
        rows.append(row)
        if not as_json:
            line = f"{row['quantity']}: {row['measured']:,} {row['unit']}, goal {row['goal']:,}"
            say(line + ("" if row["ok"] else " NOT MET"))
    if update_docs:
        page.update("engine", rows)
    ok = all(row["ok"] for row in rows)
    if as_json:
        answer({"ok": ok, "rows": rows})
    end(ok)
