# SPDX-License-Identifier: Apache-2.0
"""The lines of a record, and the numbers in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.errors import InputError


def read_text(file: Path) -> str:
    """The text of a file of the run directory."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        raise InputError("the file is missing", allowed="a run directory has it", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", allowed="a readable file", file=file) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", allowed="UTF-8", file=file) from None


def rows(file: Path, columns: Sequence[str]) -> Iterable[tuple[int, list[str]]]:
    """The values of each line, with its number, below a first line that names the columns."""
    lines = read_text(file).splitlines()
    if not lines or [column.strip() for column in lines[0].split(",")] != list(columns):
        raise InputError(
            f'the first line is "{lines[0] if lines else ""}"', allowed=f'"{",".join(columns)}"', file=file, line=1
        )
    for number, text in enumerate(lines[1:], 2):
        if not text.strip():
            continue
        values = [value.strip() for value in text.split(",", len(columns) - 1)]
        if len(values) != len(columns):
            raise InputError(
                f"{len(values)} values", allowed=f"{len(columns)}: {', '.join(columns)}", file=file, line=number
            )
        yield number, values


def number_in(file: Path, line: int, key: str, text: str) -> int:
    """A number in a line."""
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(
            f'"{text}" is not a whole number', allowed="decimal, or hexadecimal with 0x", file=file, line=line, key=key
        ) from None


def tick_in(file: Path, line: int, text: str) -> int:
    """An instant in a line."""
    tick = number_in(file, line, "tick", text)
    if not abs(tick) < 1 << 48:
        raise InputError(f"{tick} is out of range", allowed="less than 2^48", file=file, line=line, key="tick")
    return tick
