# SPDX-License-Identifier: Apache-2.0
"""Work for a sweep's processes, which find it by this name."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from penstock.sweep import Task


def row_of(task: Task) -> list[dict[str, Any]]:
    """A row that says who made it."""
    return [{"run": task.number, "stream": "s", "ok": True, "process": os.getpid()}]


def die_once(task: Task) -> list[dict[str, Any]]:
    """Run 3 ends its process the first time."""
    marker = Path(task.values["marker"])
    if task.number == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return row_of(task)


def always_die(task: Task) -> list[dict[str, Any]]:
    """Run 3 ends its process whenever it is done."""
    if task.number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return row_of(task)


def fail(task: Task) -> list[dict[str, Any]]:
    """Run 3 cannot be done."""
    if task.number == 3:
        raise ValueError("out of order")
    return row_of(task)
