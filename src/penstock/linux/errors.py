# SPDX-License-Identifier: Apache-2.0
"""Why a host is left as it is."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Sequence
from typing import Any

from penstock.errors import MachineError, located


class HostError(MachineError):
    """Something about the host is not as it has to be; nothing was changed."""

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(f"{what}; allowed: {remedy}")

    def as_json(self) -> dict[str, Any]:
        """With what would be right."""
        return located(self.what, allowed=self.remedy)


class CollectedHostError(MachineError):
    """Several things are in the way; nothing was changed."""

    def __init__(self, errors: Sequence[HostError]) -> None:
        self._errors = tuple(errors)
        super().__init__("\n".join(map(str, errors)))

    @property
    def errors(self) -> tuple[HostError, ...]:
        """Each of them."""
        return self._errors


class KernelError(MachineError):
    """The kernel refused a request."""

    def __init__(self, code: int, text: str | None) -> None:
        self.code = code
        self.text = text
        said = os.strerror(code)
        super().__init__(f"{said} ({errno.errorcode.get(code, code)})" + (f": {text}" if text else ""))


class TerminatedError(Exception):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


class ApplyError(MachineError):
    """A change failed or is not what the kernel shows; all that had been changed was undone."""
