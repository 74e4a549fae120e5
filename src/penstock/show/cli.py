# SPDX-License-Identifier: Apache-2.0
"""`penstock show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.command.ending import end
from penstock.command.options import JsonOption
from penstock.show.output import CsvOption, Form, WideOption, print_summary


def show(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run, as out/hello.")],
    wide: WideOption = False,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print a finished run again, from its folder; nothing is run."""
    from penstock.show.summary_file import read_summary

    form = Form.of(wide=wide, as_csv=as_csv, as_json=as_json)
    summary = read_summary(folder)
    print_summary(summary, folder, form)
    end(summary["ok"])
