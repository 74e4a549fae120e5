# SPDX-License-Identifier: Apache-2.0
"""A file about what was changed at a host, which outlives the process that changed it but not the machine's start."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from penstock.linux.host import namespace

_FOLDER = "/run/penstock"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class StateFile:
    """One file of this network namespace, replaced as a whole."""

    def __init__(self, kind: str, name: str, folder: Path | None = None) -> None:
        base = folder or Path(os.environ.get("PENSTOCK_STATE") or _FOLDER)
        stem = "-".join(part for part in (kind, str(namespace()), name) if part)
        self.path = base / f"{stem}.json"

    def read(self) -> dict[str, Any] | None:
        """Its content, if it is there, whole, and of this start of the machine."""
        try:
            content = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) and content.get("boot") == _boot() else None

    def write(self, content: dict[str, Any]) -> None:
        """Is on the disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f"{self.path.name}.new")
        with temporary.open("w") as opened:
            json.dump({"boot": _boot(), **content}, opened)
            opened.flush()
            os.fsync(opened.fileno())
        temporary.replace(self.path)

    def forget(self) -> None:
        """Nothing is left to be undone."""
        self.path.unlink(missing_ok=True)


def _boot() -> str:
    return _BOOT.read_text().strip()
