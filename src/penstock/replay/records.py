# SPDX-License-Identifier: Apache-2.0
"""The lines of a record, and the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.errors import InputError

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})|0[xX][0-9a-fA-F]{1,30}")
_MOST_SHOWN = 40  # characters of what is wrong


def read_text(file: Path) -> str:
    """The text of a file of the run directory."""
    try:
        if file.exists() and not file.is_file():
            raise InputError("is no file", allowed="a file of text", file=file)
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError("the file is missing", allowed="a run directory has it", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", allowed="a readable file", file=file) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", allowed="UTF-8", file=file) from None


def rows(file: Path, *heads: Sequence[str]) -> Iterable[tuple[int, dict[str, str]]]:
    """The values of each line by column, with the line's number, below a first line that is one of `heads`."""
    first, *lines = read_text(file).split("\n")
    named = [column.strip() for column in first.split(",")]
    columns = next((head for head in heads if named == list(head)), None)
    if columns is None:
        allowed = " or ".join(f'"{",".join(head)}"' for head in heads)
        raise InputError(f'the first line is "{shown(first.strip())}"', allowed=allowed, file=file, line=1)
    for number, text in enumerate(lines, 2):
        if not text.strip():
            continue
        values = [value.strip() for value in text.split(",", len(columns) - 1)]
        if len(values) != len(columns):
            what = "1 value" if len(values) == 1 else f"{len(values)} values"
            raise InputError(what, allowed=f"{len(columns)}: {', '.join(columns)}", file=file, line=number)
        yield number, dict(zip(columns, values, strict=True))


def number_in(file: Path, line: int, key: str, text: str, least: int, most: int) -> int:
    """A number in a line, within its limits."""
    if not _NUMBER.fullmatch(text):
        raise InputError(
            f'"{shown(text)}" is not a whole number', allowed="decimal, or hexadecimal with 0x", file=file, line=line,
            key=key,
        )  # fmt: skip
    number = int(text, 0)
    if not least <= number <= most:
        raise InputError(f"{text} is out of range", allowed=f"{least} to {most}", file=file, line=line, key=key)
    return number


def shown(text: str) -> str:
    """So much of a text as a message has room for."""
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
