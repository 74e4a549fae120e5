# SPDX-License-Identifier: Apache-2.0
"""What a user is told without a stack trace: errors of what they gave, and of the machine."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class InputError(Exception):
    """Something in a user's file is wrong: says where, what, and what would be right."""

    def __init__(
        self, what: str, *, allowed: str, file: Path | str, line: int | None = None, key: str | None = None
    ) -> None:
        self.what = what
        self.allowed = allowed
        self.file = str(file)
        self.line = line
        self.key = key
        super().__init__(str(self))

    @property
    def errors(self) -> tuple[InputError, ...]:
        """Each thing that is wrong, in the order of the file."""
        return (self,)

    def as_json(self) -> dict[str, Any]:
        """For programs; null where nothing is known."""
        return located(self.what, file=self.file, line=self.line, key=self.key, allowed=self.allowed)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        key = f" {self.key}:" if self.key else ""
        return f"{place}:{key} {self.what}; allowed: {self.allowed}"


class CollectedInputError(InputError):
    """Several things are wrong in one file: all that were found, and as an `InputError` the first of them."""

    def __init__(self, errors: Iterable[InputError]) -> None:
        self._errors = tuple(sorted(errors, key=lambda e: e.line or 0))
        first = self._errors[0]
        super().__init__(first.what, allowed=first.allowed, file=first.file, line=first.line, key=first.key)

    @property
    def errors(self) -> tuple[InputError, ...]:
        """Each thing that is wrong, in the order of the file."""
        return self._errors

    def __str__(self) -> str:
        return "\n".join(map(str, self._errors))


class MachineError(Exception):
    """What fails is not what was given: a tool is missing, a permission, room on a disk, or Penstock has a fault."""

    @property
    def errors(self) -> tuple[MachineError, ...]:
        """Each thing that fails."""
        return (self,)

    def as_json(self) -> dict[str, Any]:
        """As that of an `InputError`."""
        return located(str(self))


class RunError(MachineError):
    """A run that broke a promise of the platform itself: a frame lost, doubled or damaged, or the hardware failing."""


class EngineError(MachineError):
    """The engine is not there or cannot be built."""


class NoTraceError(Exception):
    """A trace is asked of a run that was made without one."""


def located(
    what: str, *, file: str | None = None, line: int | None = None, key: str | None = None, allowed: str | None = None
) -> dict[str, Any]:
    """An error as all commands print it with `--json`."""
    return {"file": file, "line": line, "key": key, "what": what, "allowed": allowed}


def check_known(word: str, known: Iterable[str], place: str) -> None:
    """Raises InputError where a word is none of those known; `place` is the option or argument that has it."""
    words = list(known)
    if word not in words:
        raise InputError(f'"{word}" is not known{did_you_mean(word, words)}', allowed=", ".join(words), file=place)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`(did you mean "x"?)` when a known word is near, else nothing."""
    near = nearest(word, known)
    return "" if near is None else f' (did you mean "{near}"?)'


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is nearest to one that is not, if any is near."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return near[0] if near else None
