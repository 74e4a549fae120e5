# SPDX-License-Identifier: Apache-2.0
"""A percentile means the same wherever it is computed; `engine/frame/src/percentile.rs` has the same test."""

from __future__ import annotations

import random

import polars as pl
import pytest

from penstock.measure import distribution, distribution_of
from penstock.percentile import percentile, percentile_of, percentiles

PERCENTS = (50, 90, 99, 100)


def counted(values: list[int], percent: int) -> int:
    """The least value that so many in a hundred do not exceed, by counting."""
    enough = (value for value in values if sum(other <= value for other in values) * 100 >= percent * len(values))
    return min(enough)


def test_of_any_number_of_values_all_have_the_same() -> None:
    rng = random.Random(1)
    for count in range(1, 201):
        values = [rng.randrange(100) * rng.randrange(1000) for _ in range(count)]
        wanted = [counted(values, percent) for percent in PERCENTS]
        parts = [percent / 100 for percent in PERCENTS]
        assert [percentile(values, part) for part in parts] == wanted
        assert percentiles(values, parts).tolist() == wanted
        of_column = [percentile_of(pl.col("x"), part).alias(str(part)) for part in parts]
        assert pl.DataFrame({"x": values}).select(of_column).row(0) == tuple(wanted)


def test_what_a_trace_says_is_that_percentile() -> None:
    table = pl.DataFrame({"of": ["a"] * 4 + ["b"], "x": [5, 1, 4, 2, None]}, schema_overrides={"x": pl.Int64})
    a, b = table.group_by("of", maintain_order=True).agg(distribution_of("x", pl.col("x"))).iter_rows(named=True)
    found = distribution(a, "x")
    assert found is not None
    assert (found.p50, found.p99) == (2, 5), "half of them are 2 or less"
    assert distribution(b, "x") is None


def test_of_no_values_there_is_none() -> None:
    with pytest.raises(IndexError):
        percentile([], 0.5)
