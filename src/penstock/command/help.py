# SPDX-License-Identifier: Apache-2.0
"""Help for people: what a value is, in words of the program and not in types of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

_WORDS = {int: "N", float: "X", Path: "PATH"}


def in_words(command: Any) -> None:
    """Gives all parameters of a command, and of those below it, words for their values."""
    # The library makes this one when it is asked for it, and keeps it.
    for each in [*command.params, command.get_help_option(typer.Context(command))]:
        if each.param_type_name == "argument":
            # Whether it may be left out or be there more than once, the library says by itself.
            each.metavar = (each.metavar or each.name.upper()).removesuffix("...").removeprefix("[").removesuffix("]")
            each.display_type_rich = _nothing
        elif each.metavar is None:
            each.metavar = "" if each.is_flag else _word(each.type_descriptor)
    for below in getattr(command, "commands", {}).values():
        in_words(below)


def _word(described: Any) -> str:
    if described.is_choice:
        return "|".join(str(getattr(each, "value", each)) for each in described.choices)
    return next((word for kind, word in _WORDS.items() if kind.__name__ in str(described.annotation)), "TEXT")


def _nothing(ctx: object) -> None:
    return None
