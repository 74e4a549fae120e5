# SPDX-License-Identifier: Apache-2.0
"""The values in a scenario's file, or why it cannot be read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NoReturn

from penstock.errors import InputError
from penstock.plain_file import check_ends
from penstock.scenario.positions import Lines, parse

_AT_LINE = re.compile(r"^(.*) \(at line (\d+), column \d+\)$")
_ALLOWED = "a folder with scenario.toml, a file, or one of `penstock scenarios`"


def read_text(file: Path) -> str:
    """The text of a file."""
    try:
        check_ends(file)
        content = file.read_bytes()
    except FileNotFoundError:
        raise InputError("no such scenario", allowed=_ALLOWED, file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", allowed="a readable file", file=file) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", allowed="TOML in UTF-8", file=file, line=line) from None


def parse_toml(file: Path, text: str) -> tuple[dict[str, Any], Lines]:
    """The values of a file's text, and the lines of its keys."""
    try:
        return parse(text)
    except ValueError as error:
        _explain(file, text)
        raise InputError(f"is not TOML: {error}", allowed="TOML 1.0", file=file) from None


def _explain(file: Path, text: str) -> None:
    """Python's own reader says in a line what is wrong, and is slow."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _not_toml(file, text, error)
    except ValueError:  # of Python's int, above 4300 digits
        raise InputError("holds a number too long to be read", allowed="numbers of 64 bit", file=file) from None
    except RecursionError:
        raise InputError("holds lists or tables too deep to be read", allowed="a few levels", file=file) from None


def _not_toml(file: Path, text: str, error: tomllib.TOMLDecodeError) -> NoReturn:
    message = str(error)
    match = _AT_LINE.match(message)
    what, line = (match.group(1), int(match.group(2))) if match else (message, text.count("\n") + 1)
    source = text.split("\n")[line - 1].strip() if line <= text.count("\n") + 1 else ""
    key = source.strip("[] ") if source.startswith("[") else source.split("=")[0].strip()
    if what.startswith(("Cannot declare", "Cannot overwrite")):
        what, allowed = f'"{key}" is there twice', "each name once"
    else:
        what, allowed = f"is not TOML: {what[0].lower()}{what[1:]}", "TOML 1.0"
    raise InputError(what, allowed=allowed, file=file, line=line, key=key or None) from None
