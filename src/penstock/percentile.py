# SPDX-License-Identifier: Apache-2.0
"""A percentile, by nearest rank everywhere: the least value that at least a part of all do not exceed.

It is a value that occurred. The engine and the end station have the same, `engine/frame/src/percentile.rs`.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray


def percentile(values: ArrayLike, part: float) -> float:
    """Of one value or more; 0.99 for p99."""
    return float(percentiles(values, [part])[0])


def percentiles(values: ArrayLike, parts: ArrayLike) -> NDArray[np.float64]:
    """Each of these parts."""
    all_parts = np.asarray(parts, dtype=np.float64)
    return np.quantile(np.asarray(values, dtype=np.float64), all_parts, method="inverted_cdf")


def percentile_of(values: pl.Expr, part: float) -> pl.Expr:
    """Of a column; null without values."""
    return values.quantile(part, "equiprobable")
