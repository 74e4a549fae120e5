# SPDX-License-Identifier: Apache-2.0
"""How commands speak to programs: one JSON object on standard output, whatever happens."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import Any

from penstock.command.console import nobody_reads
from penstock.errors import InputError


class Format(Enum):
    """In which form a command says what it found."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    JUNIT = "junit"

    @classmethod
    def chosen(cls, form: Format, as_json: bool) -> Format:
        """Of `--format` and `--json`, which stands for `--format json`."""
        if as_json and form in (cls.GITHUB, cls.JUNIT):
            raise InputError("stands beside --json", allowed="one of both", file=f"--format {form.value}")
        return cls.JSON if as_json else form


class _Answered:
    """Whether this command has said its object."""

    yet = False


def answer(content: Mapping[str, Any]) -> None:
    """Prints the one object of a command that was started with `--json`."""
    said()
    try:
        print(json.dumps(content), flush=True)
    except BrokenPipeError:
        nobody_reads(sys.stdout)


def said() -> None:
    """Notes that the command has printed what it was asked for."""
    _Answered.yet = True


def asked(arguments: Sequence[str]) -> Format:
    """The form that the words of a command line ask for, before it is known whether they are right."""
    ours = list(arguments[: arguments.index("--")]) if "--" in arguments else list(arguments)
    if "--json" in ours:
        return Format.JSON
    after = [word for option, word in pairwise(ours) if option == "--format"]
    after += [word.removeprefix("--format=") for word in ours if word.startswith("--format=")]
    return next((form for form in Format if form.value in after), Format.TEXT)


def is_answered() -> bool:
    """Whether the object was printed already, so that another one would make two."""
    return _Answered.yet


def forget() -> None:
    """Before the next command of the same process."""
    _Answered.yet = False


def refusal(errors: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The object of a command that could not do its work; `penstock.errors.located` makes each error."""
    return {"ok": False, "errors": list(errors)}
