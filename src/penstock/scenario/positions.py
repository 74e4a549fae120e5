# SPDX-License-Identifier: Apache-2.0
"""Where each key of a TOML file stands."""

from __future__ import annotations

from typing import Any, Protocol

KeyPath = tuple[str | int, ...]


class Lines(Protocol):
    """The lines of a text's keys and of the elements of its lists."""

    def near(self, path: KeyPath) -> int | None:
        """The line (from 1) of a key path, or of the nearest table around it; None of what is in none."""

    def __contains__(self, path: KeyPath) -> bool: ...


def parse(text: str) -> tuple[dict[str, Any], Lines]:
    """The values of a text in TOML 1.0, as `tomllib` gives them, and where they stand; raises ValueError."""
    from penstock import _engine

    return _engine.parse_toml(text)
