# SPDX-License-Identifier: Apache-2.0
"""Tables and sentences on a terminal of any width, and in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

NOTHING = "-"  # in place of a number
_LEAST_TEXT = 12  # characters of a column that may be folded
_NO_LIMIT = 100_000


def new_table(texts: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    """A table with columns of text, which may be folded, and then such of numbers, which are whole."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for place, name in enumerate(texts):
        table.add_column(name, style="" if place else "bold", overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def print_whole(table: Table, console: Console) -> None:
    """Prints a table of which nothing is cut.

    Columns with `overflow="fold"` give way first, down to a dozen characters. Where the numbers need more than the
    terminal has, the lines are longer than it; in a pipe nothing is folded.
    """
    texts = [column for column in table.columns if column.overflow == "fold"]
    for column in table.columns:
        column.no_wrap = column.no_wrap or column not in texts
    unlimited = console.options.update(width=_NO_LIMIT)
    natural = Measurement.get(console, unlimited, table).maximum
    for column in texts:
        column.max_width = _LEAST_TEXT
    least = Measurement.get(console, unlimited, table).maximum
    for column in texts:
        column.max_width = None
    before = console.width
    console.width = max(before, least) if console.is_terminal else max(before, natural)
    try:
        console.print(table)
    finally:
        console.width = before


def say(console: Console, text: str) -> None:
    """Prints a sentence with markup: folded between words on a terminal, one line in a pipe."""
    console.print(text, highlight=False, soft_wrap=not console.is_terminal)
