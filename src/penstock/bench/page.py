# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/performance.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock import data


def update(name: str, rows: list[dict[str, Any]], page: Path | None = None) -> None:
    """Replaces what stands between the marks of this name by a table of these rows."""
    page = page or data.page("performance.md")
    table = ["| quantity | measured | goal |", "|---|--:|--:|"]
    for row in rows:
        goal = f"{row['goal']:,} {row['unit']}" if "goal" in row else ""
        table.append(f"| {row['quantity']} | {row['measured']:,} {row['unit']} | {goal} |")
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, rest = page.read_text().split(begin)
    page.write_text(before + "\n".join([begin, *table, end]) + rest.split(end)[1])
