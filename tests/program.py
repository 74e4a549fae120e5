# SPDX-License-Identifier: Apache-2.0
"""The command line, or a part of it, called within a test."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import typer

from penstock.command import ending


@dataclass(frozen=True)
class Ended:
    """How it ended and what it printed."""

    status: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """All of it."""
        return self.stdout + self.stderr


def invoke(app: typer.Typer, words: Sequence[str]) -> Ended:
    """Runs a command line to its end."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = ending.run(app, words)
    return Ended(status, out.getvalue(), err.getvalue())
