# SPDX-License-Identifier: Apache-2.0
"""`penstock compare`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from penstock.command.answer import answer
from penstock.command.console import output, say
from penstock.command.ending import end
from penstock.command.options import JsonOption
from penstock.folder import check_file

FailOn = Enum("FailOn", {"WORSE": "worse", "DIFFERENT": "different"})


def compare(
    before: Annotated[Path, typer.Argument(metavar="RUN_A", help="The folder of a finished run, as out/hello.")],
    after: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another, held against it.")],
    tolerance: Annotated[
        str, typer.Option(metavar="PERCENT|TIME", help="By how much p99 and largest latency may grow, as 5% or 200ns.")
    ] = "1%",
    fail_on: Annotated[
        FailOn | None, typer.Option(help="Exit with 1 if a stream is worse, or if anything is different.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="The page; out/NAME-compare.html if not given.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """What changed from one run to another, stream by stream: a table and one page.

    A stream is worse if its requirements were met and are not any more, if a greater part of its frames is late or
    dropped, if its p99 or largest latency grew by more than the tolerance, or if it is gone.
    """
    from penstock.compare import show
    from penstock.compare.judge import Tolerance, compare
    from penstock.show.summary_file import read_summary

    allowed = Tolerance.of(tolerance)
    found = compare(read_summary(before), read_summary(after), allowed)
    file = out or Path("out") / f"{after.resolve().name}-compare.html"
    check_file(file, "--out")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(show.as_page(found, (str(before), str(after))), encoding="utf-8")
    ok = not (found.different if fail_on is FailOn.DIFFERENT else found.worse)
    if as_json:
        answer(show.as_json(found, ok))
    else:
        show.table(found, output(None))
        say(f"page: {file}")
    end(ok or fail_on is None)
