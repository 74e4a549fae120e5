# SPDX-License-Identifier: Apache-2.0
"""How commands speak to programs: one JSON object on standard output, whatever happens."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from penstock.command.console import nobody_reads


class _Answered:
    """Whether this command has said its object."""

    yet = False


def answer(content: Mapping[str, Any]) -> None:
    """Prints the one object of a command that was started with `--json`."""
    _Answered.yet = True
    try:
        print(json.dumps(content), flush=True)
    except BrokenPipeError:
        nobody_reads(sys.stdout)


def is_asked(arguments: Sequence[str]) -> bool:
    """Whether the words of a command line ask for JSON, before it is known whether they are right."""
    ours = list(arguments[: arguments.index("--")]) if "--" in arguments else list(arguments)
    after = (word for option, word in pairwise(ours) if option == "--format")
    return "--json" in ours or "--format=json" in ours or "json" in after


def is_answered() -> bool:
    """Whether the object was printed already, so that another one would make two."""
    return _Answered.yet


def forget() -> None:
    """Before the next command of the same process."""
    _Answered.yet = False


def refusal(errors: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The object of a command that could not do its work; `penstock.errors.located` makes each error."""
    return {"ok": False, "errors": list(errors)}
