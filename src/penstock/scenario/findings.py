# SPDX-License-Identifier: Apache-2.0
"""What is probably not meant in a scenario, each with its place."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any

from penstock.scenario.keys import said
from penstock.scenario.positions import KeyPath, Lines, parse

_PLAIN = re.compile(r"[^\s\"'\x00-\x1f\x7f]+")  # a part of a key that needs no quotes in a message


class Finding(str):
    """A text for people, `FILE:LINE: KEY: WHAT`, whose parts are there for programs."""

    file: str
    line: int | None
    key: str
    what: str

    def __new__(cls, what: str, file: str, line: int | None, key: str) -> Finding:
        """Of these parts."""
        place = file if line is None else f"{file}:{line}"
        made = super().__new__(cls, f"{place}: {key}: {what}")
        made.file, made.line, made.key, made.what = file, line, key, what
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.what, self.file, self.line, self.key

    def as_json(self) -> dict[str, Any]:
        """Its parts."""
        return {"file": self.file, "line": self.line, "key": self.key, "what": self.what}


def dotted(path: KeyPath) -> str:
    """A path as a user would write it."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f"{'.' if text else ''}{part if _PLAIN.fullmatch(part) else said(part)}"
    return text


class Places:
    """Where the keys of a scenario stand, for what is found in a checked network; without a file they have no line."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @cached_property
    def _lines(self) -> Lines | None:
        return parse(self._file.read_text(encoding="utf-8-sig"))[1] if self._file.is_file() else None

    def bridge(self, name: str) -> KeyPath:
        """The table that says how a bridge is: its own, or that of the topology which it is of."""
        topology = ("topology", name.rstrip("0123456789"))
        known = self._lines
        if known is not None and ("bridges", name) not in known and topology in known:
            return (*topology, "bridge")
        return ("bridges", name)

    def finding(self, path: KeyPath, what: str) -> Finding:
        """Something that is said of a key."""
        line = None if self._lines is None else self._lines.near(path) or 1
        return Finding(what, str(self._file), line, dotted(path))
