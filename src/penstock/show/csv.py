# SPDX-License-Identifier: Apache-2.0
"""A run's streams as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from penstock.summary import stream_table


def stream_csv(summary: Mapping[str, Any]) -> str:
    """A line per stream below one of column names, which carry their units.

    A value that is not known is empty; listeners stand in one column, with a space between them.
    """
    return stream_table(summary).with_columns(pl.col("to").list.join(" ")).write_csv()
