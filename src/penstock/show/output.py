# SPDX-License-Identifier: Apache-2.0
"""The forms in which a run's summary is printed, and the options that choose one."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from penstock.command.answer import answer
from penstock.command.console import output

WideOption = Annotated[bool, typer.Option("--wide", help="All columns, and each bound term by term.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print one line per stream as CSV and nothing else.")]


class Form(Enum):
    """How a summary is printed."""

    NARROW = "narrow"
    WIDE = "--wide"
    CSV = "--csv"
    JSON = "--json"

    @property
    def for_programs(self) -> bool:
        """Whether nothing else may be printed."""
        return self in (Form.CSV, Form.JSON)

    @classmethod
    def of(cls, *, wide: bool, as_csv: bool, as_json: bool) -> Self:
        """The one form that is asked for."""
        forms = {cls.WIDE: wide, cls.CSV: as_csv, cls.JSON: as_json}
        asked = [form for form, given in forms.items() if given]
        if len(asked) > 1:
            allowed = ", ".join(form.value for form in forms)
            raise typer.BadParameter(f"one of {allowed} at a time", param_hint=asked[1].value)
        return asked[0] if asked else cls.NARROW


def print_summary(summary: dict[str, Any], folder: Path, form: Form) -> None:
    """Prints a run's summary on standard output."""
    if form is Form.JSON:
        answer(summary)
    elif form is Form.CSV:
        from penstock.show.csv import stream_csv

        output().out(stream_csv(summary), end="", highlight=False)
    else:
        from penstock.table import show

        show(summary, output(width=None), folder, wide=form is Form.WIDE)
