# SPDX-License-Identifier: Apache-2.0
"""All that is wrong with a scenario, each with its place; and what is good enough to be looked at further."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

from penstock.errors import CollectedInputError, InputError, did_you_mean
from penstock.scenario.findings import Finding, dotted
from penstock.scenario.keys import said
from penstock.scenario.positions import KeyPath, Lines

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")
_MANY = 8  # names in a list of what is allowed
_HINTS = 20  # a hint costs a look at all names


class AlreadyToldError(Exception):
    """What is asked for is wrong itself, and that has been told."""


class Report:
    """Collects errors and warnings. `lines` gives the line of each key, where there is a file."""

    def __init__(self, file: str, lines: Lines | None = None) -> None:
        self.file = file
        self._lines = lines
        self._hints = 0
        self.found: dict[tuple[KeyPath, str], InputError] = {}
        self.warnings: list[Finding] = []
        self.renamed: dict[KeyPath, KeyPath] = {}  # what an unknown key counts as, and as what it is written
        self.mended: set[KeyPath] = set()  # what was out of range, and counts as the nearest value

    def line(self, path: KeyPath) -> int | None:
        """The line of a key, of the nearest table around it, or of the file's begin; None without a file."""
        return None if self._lines is None else self._lines.near(path) or 1

    def add(self, path: KeyPath, what: str, allowed: str) -> None:
        """Notes an error and goes on. What follows from a value that was mended is not told."""
        if path in self.mended:
            return
        path = self._written(path)
        what, allowed = _one_line(what), _one_line(allowed)
        error = InputError(what, allowed=allowed, file=self.file, line=self.line(path), key=dotted(path))
        self.found.setdefault((path, what), error)

    def is_mended(self, path: KeyPath) -> bool:
        """Whether something in a table was out of range."""
        return any(mended[: len(path)] == path for mended in self.mended)

    def _written(self, path: KeyPath) -> KeyPath:
        for length in range(len(path), 0, -1):
            if path[:length] in self.renamed:
                return (*self.renamed[path[:length]], *path[length:])
        return path

    def refuse(self, path: KeyPath, what: str, allowed: str) -> NoReturn:
        """Notes an error and gives up what is being looked at."""
        self.add(path, what, allowed)
        raise AlreadyToldError

    def part(self) -> suppress:
        """What is refused in here does not keep the rest from being looked at."""
        return suppress(AlreadyToldError)

    def unknown(self, path: KeyPath, kind: str, name: str, known: Iterable[str]) -> NoReturn:
        """Refuses a name that nothing has."""
        self._hints += 1
        hint = did_you_mean(name, known) if self._hints <= _HINTS else ""
        self.refuse(path, f"there is no {kind} {said(name)}{hint}", names(known) or f"no {kind} is there")

    def warn(self, path: KeyPath, what: str) -> None:
        """What is probably not meant."""
        self.warnings.append(Finding(what, self.file, self.line(path), dotted(path)))

    def done(self) -> None:
        """Raises what was found."""
        if len(self.found) == 1:
            raise next(iter(self.found.values()))
        if self.found:
            raise CollectedInputError(self.found.values())


def missing(path: KeyPath) -> tuple[str, str]:
    """What is said of a key that has to be there."""
    kinds = {"streams": "stream", "bridges": "bridge", "stations": "station", "links": "link", "topology": "topology"}
    kind = kinds.get(str(path[0])) if path[1:] else None
    return "the key is missing", f'every {kind or "scenario"} has "{path[-1]}"'


def names(things: Iterable[str]) -> str:
    """Some names, and how many others there are."""
    listed = list(things)
    if len(listed) <= _MANY + 1:
        return ", ".join(listed)
    return f"{', '.join(listed[:_MANY])} and {len(listed) - _MANY} others"


def _one_line(text: str) -> str:
    """Names may hold anything, but a message is a line."""
    return _CONTROL.sub(lambda match: repr(match.group())[1:-1], text)
