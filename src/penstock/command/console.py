# SPDX-License-Identifier: Apache-2.0
"""How commands speak to people: results on standard output, everything else on standard error.

Whoever stops reading, as `| head` does, disturbs no command: what comes later is not written, and the command ends
with the status that it would have had. A terminal that knows only ASCII gets what is nearest to other characters.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from rich.console import Console
from rich.markup import escape

from penstock.words import count

WIDE = 200  # columns where no terminal says how many there are
Progress = Callable[[str, float], None]  # what is done, and which part of it: 0 to 1

_ASCII = {"\N{EN DASH}": "-", "\N{EM DASH}": "-", "\N{HORIZONTAL ELLIPSIS}": "...", "\N{MIDDLE DOT}": ".",
          "\N{MICRO SIGN}": "u", "\N{MULTIPLICATION SIGN}": "x", "\N{RIGHTWARDS ARROW}": "->",
          "\N{LESS-THAN OR EQUAL TO}": "<=", "\N{GREATER-THAN OR EQUAL TO}": ">=", "\N{BULLET}": "*"}  # fmt: skip


class _Console(Console):
    def on_broken_pipe(self) -> None:
        nobody_reads(self.file)


def output(width: int | None = WIDE) -> Console:
    """Of results. Where a pipe or a file takes them, tables have so much room; None: 80 columns."""
    if sys.stdout is not None and sys.stdout.isatty():
        return _Console(highlight=False)
    return _Console(width=width, no_color=True, highlight=False)


def messages() -> Console:
    """Of what is said beside the results."""
    return _Console(stderr=True, soft_wrap=True, highlight=False)


def say(*lines: object) -> None:
    """Results that are plain lines, which are neither coloured nor broken."""
    for line in lines:
        output().print(str(line), markup=False, soft_wrap=True)


def tell(what: str) -> None:
    """A word on standard error about what is being done."""
    messages().print(what, markup=False)


def warn(what: str) -> None:
    """What is probably not meant."""
    messages().print(f"[yellow]warning[/] {escape(what)}")


def complain(what: str) -> None:
    """Why a command could not do its work."""
    messages().print(f"[bold red]error:[/] {escape(what)}")


@contextmanager
def progress(quiet: bool = False) -> Iterator[Progress | None]:
    """A bar on a terminal while something long is done; None where nobody would see it."""
    console = messages()
    if quiet or not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell_part(what: str, part: float) -> None:
            bar.update(task, description=escape(what), completed=part, total=1.0 if part > 0 else None)

        yield tell_part


def of_runs(progress: Progress | None) -> Callable[[int, int], None]:
    """For work that is so many runs of so many."""

    def done(number: int, of: int) -> None:
        if progress is not None:
            progress(f"{number:,} of {count(of, 'run')}", number / of)

    return done


def part_of(progress: Progress | None, what: str) -> Callable[[float], None]:
    """For work that says which part of it is done."""

    def done(part: float) -> None:
        if progress is not None:
            progress(what, part)

    return done


def nobody_reads(stream: IO[str]) -> None:
    """From now on what is written to a stream is lost without an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def prepare_streams() -> None:
    """No character that a terminal does not know, and no name of a file that is not UTF-8, ends a command."""
    codecs.register_error("penstock", _nearest)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="penstock")


def _nearest(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_ASCII.get(each, "?") for each in error.object[error.start : error.end]), error.end
