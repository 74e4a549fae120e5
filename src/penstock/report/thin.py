# SPDX-License-Identifier: Apache-2.0
"""Points that a picture can do without: those that would be drawn upon others."""

from __future__ import annotations

import polars as pl

# Places that a picture has room for; more than a screen has.
_COLUMNS, _LINES = 1600, 400


def visible(rows: pl.DataFrame, x: str, y: str, most: int, *, log_y: bool = False) -> pl.DataFrame:
    """Of the rows that fall on one place of a picture the one with the largest `y`; at most `most`, in their order.

    Where there are more places with points than `most`, places are made larger until there are not.
    """
    if rows.height <= min(most, 2):
        return rows
    numbered = rows.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("index"),
        pl.col(x).cast(pl.Float64).alias("x"),
        pl.col(y).cast(pl.Float64).alias("y"),
    )
    height = pl.col("y").clip(lower_bound=1e-9).log() if log_y else pl.col("y")
    columns, lines = _COLUMNS, _LINES
    while True:
        kept = (
            numbered.group_by(_place(pl.col("x"), columns).alias("column"), _place(height, lines).alias("line"))
            .agg(pl.col("index").get(pl.col("y").arg_max()))["index"]
            .sort()
        )
        if kept.len() <= most or columns == lines == 1:
            return rows[kept]
        columns, lines = max(columns // 2, 1), max(lines // 2, 1)


def _place(value: pl.Expr, places: int) -> pl.Expr:
    span = value.max() - value.min()
    part = pl.when(span > 0).then((value - value.min()) / span).otherwise(0.0)
    return (part * places).clip(upper_bound=places - 1).cast(pl.UInt32)
