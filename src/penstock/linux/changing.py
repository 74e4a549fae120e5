# SPDX-License-Identifier: Apache-2.0
"""What commands that change this host have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from penstock.command.answer import answer
from penstock.command.console import complain, say
from penstock.linux.errors import HostError, TerminatedError


def need_root(command: str) -> None:
    """Raises `HostError` for a user who may not."""
    from penstock.linux.host import may_configure

    if not may_configure():
        raise HostError(f"penstock {command} changes interfaces and needs CAP_NET_ADMIN", "root, by sudo")


@contextmanager
def undone_when_told_to_end() -> Iterator[None]:
    """A signal that asked for the end was obeyed, after everything was undone."""
    try:
        yield
    except TerminatedError as error:
        complain(f"{error}: all that had been changed was undone")
        raise typer.Exit(128 + error.number) from None


def tell(as_json: bool, content: dict[str, Any], text: str) -> None:
    """One of the two."""
    if as_json:
        answer(content)
    else:
        say(text)
