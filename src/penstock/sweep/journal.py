# SPDX-License-Identifier: Apache-2.0
"""The rows of a sweep's finished runs, kept as they come: whatever ends the sweep, they are there."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from penstock.folder import check_file


class Journal:
    """A line of JSON for each row, in a file beside the table; it goes once the table is written.

    Raises:
        OSError: The table's place cannot be written to; or, of `add`, no longer.

    """

    def __init__(self, table: Path) -> None:
        check_file(table, "--out")
        table.parent.mkdir(parents=True, exist_ok=True)
        self.path = table.with_suffix(".partial.jsonl")
        # Unbuffered: what `add` has written outlives a process that is killed.
        self._file = self.path.open("wb", buffering=0)

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Keeps the rows of a run."""
        text = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        while text:  # a disk that fills up takes a part of it first
            text = text[self._file.write(text) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None:
            self.path.unlink()
