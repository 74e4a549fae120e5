# SPDX-License-Identifier: Apache-2.0
"""Signals that end a process, held back while a host is changed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from penstock.linux.errors import TerminatedError
from penstock.signals import handled

_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


class Signals:
    """Signals that end a process wait while something changes, and are heard between two changes."""

    def __init__(self) -> None:
        self._first: int | None = None

    def check(self) -> None:
        """Raises if a signal has come."""
        if self._first is not None:
            raise TerminatedError(self._first)

    @contextmanager
    def held(self) -> Iterator[None]:
        """No signal interrupts what is in here."""
        with handled(self._note, *_SIGNALS):
            yield

    def _note(self, number: int, _: FrameType | None) -> None:
        if self._first is None:
            self._first = number
