# SPDX-License-Identifier: Apache-2.0
"""What guests and machines have in common: processes of their own, which end with them."""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self


class Ending(ABC):
    """Ends with `close`; use it with `with`."""

    @abstractmethod
    def close(self) -> None:
        """Ends what was started and removes its files; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def end(process: subprocess.Popen[Any] | None, patience_s: float = 0.0) -> None:
    """Gives a process so long to end by itself, and kills it then."""
    if process is None:
        return
    try:
        process.wait(timeout=patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
