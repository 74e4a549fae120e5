# SPDX-License-Identifier: Apache-2.0
"""Asks a plane that runs: lines of JSON by its Unix socket."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from penstock.errors import InputError, MachineError

_PATIENCE_S = 10.0


class Control:
    """A connection to a plane."""

    def __init__(self, path: Path) -> None:
        """Raises MachineError where no plane listens."""
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_PATIENCE_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise MachineError(
                f"no plane answers at {path}: {error.strerror}; `penstock plane run` starts one"
            ) from None
        self._lines = self._socket.makefile("rb")

    def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """The answer to a request; docs/plane.md has them all.

        Raises:
            InputError: The plane refuses it, and says what is allowed.
            MachineError: The plane is gone, or says nothing.

        """
        try:
            self._socket.sendall(json.dumps({"do": what, **details}).encode() + b"\n")
            line = self._lines.readline()
        except OSError as error:
            raise MachineError(f"the plane at {self._path} is gone: {error}") from None
        if not line:
            raise MachineError(f"the plane at {self._path} has ended")
        answer: dict[str, Any] = json.loads(line)
        if not answer["ok"]:
            wrong = answer["error"]
            raise InputError(wrong["what"], allowed=wrong["allowed"], file=what, key=wrong["place"])
        return answer

    def close(self) -> None:
        """Ends the connection; the plane goes on."""
        self._lines.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
