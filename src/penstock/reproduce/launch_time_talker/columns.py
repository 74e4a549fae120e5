# SPDX-License-Identifier: Apache-2.0
"""What the tables have in common: the least, mean and largest of some times, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.delay_variation import Instants
from penstock.reproduce.row import Row

_NAMES = ("min", "mean", "max")


def rows(name: str, quantity: str, values_ps: Instants, paper_ns: Sequence[float], key: bool = False) -> list[Row]:
    """Three rows in ns, without a requirement."""
    ours = (values_ps.min(), values_ps.mean(), values_ps.max())
    found = []
    for which, value, theirs in zip(_NAMES, ours, paper_ns, strict=True):
        row = Row.told(f"{name}.{which}", f"{quantity}, {which}", "ns", float(value) / 1000, paper=theirs)
        found.append(row.as_key() if key else row)
    return found
