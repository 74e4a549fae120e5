# SPDX-License-Identifier: Apache-2.0
"""The files that a scenario names: captures, and times of a distribution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def references(scenario: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Each table that names a file, and the key, of a scenario that nothing is wrong with."""
    for stream in scenario["streams"].values():
        source = stream["source"]
        launch = source.get("launch")
        distributions = (
            source.get("jitter"),
            (source.get("software") or {}).get("delay"),
            launch.get("error") if isinstance(launch, dict) else None,
        )
        for table, key in ((source, "capture"), *((distribution or {}, "file") for distribution in distributions)):
            if key in table:
                yield table, key
