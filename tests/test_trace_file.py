# SPDX-License-Identifier: Apache-2.0
"""The trace's file: what others read of it is what was written, value by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace import COLUMNS, NAMED, TraceWriter, is_partial, read_trace, write_sorted

KINDS = dict(zip(COLUMNS, ("u8", "u4", "u4", "u2", "u1", "u8", "u4", "u1", "u1"), strict=True))
NAMES = {
    "stream": [f"stream{n}" for n in range(300)],
    "node": ["only"],
    "event": ["created", "received", "queued", "eligible", "sent"],
    "reason": ["none", "fcs"],
}
# Values of a column are below it.
BOUNDS = {"frame_id": 2**64, "port": 2**16, "time_ps": 2**64, "bytes": 2**16, "traffic_class": 2**8} | {
    column: len(names) for column, names in NAMES.items()
}
Rows = dict[str, "np.ndarray[Any, Any]"]


def chunk(rows: Rows) -> dict[str, Any]:
    return {column: values.astype(KINDS[column]).tobytes() for column, values in rows.items()}


def write(path: Path, chunks: list[Rows]) -> TraceWriter:
    with TraceWriter(path, NAMES) as writer:
        for rows in chunks:
            writer.write(chunk(rows))
    return writer


def check(path: Path, rows: Rows) -> None:
    """By Arrow's reader and by that of polars."""
    read, polars = pq.read_table(path), pl.read_parquet(path)
    assert read.num_rows == polars.height == len(rows["time_ps"])
    for column, values in rows.items():
        if column in NAMED:
            wanted = [NAMES[column][value] for value in values]
            assert read[column].to_pylist() == wanted
            assert polars[column].cast(pl.String).to_list() == wanted
        else:
            assert np.array_equal(read[column].to_numpy(), values.astype(KINDS[column]))
            assert np.array_equal(polars[column].to_numpy(), values.astype(KINDS[column]))


def drawn(seed: int, count: int, runs: bool = False) -> Rows:
    """Any values, in runs of equal ones or each for itself."""
    random = np.random.default_rng(seed)

    def values(column: str) -> Any:
        largest = random.integers(0, BOUNDS[column], dtype="u8", endpoint=False)
        each = random.integers(0, largest, count, dtype="u8", endpoint=True)
        return np.repeat(each, random.integers(1, 700, count))[:count] if runs else each

    return {column: values(column) for column in COLUMNS}


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    counts=st.lists(st.integers(0, 700), max_size=3),
    runs=st.booleans(),
)
def test_any_rows_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, seed: int, counts: list[int], runs: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.parquet"
    chunks = [drawn(seed + number, count, runs) for number, count in enumerate(counts)]
    write(path, chunks)
    none = drawn(0, 0)
    check(path, {column: np.concatenate([none[column], *(rows[column] for rows in chunks)]) for column in COLUMNS})


def test_a_long_trace_has_row_groups_of_which_the_times_are_known(tmp_path: Path) -> None:
    count = 600_000
    random = np.random.default_rng(1)
    rows = drawn(2, count)
    # In the order in which they became known: almost that of time.
    rows["time_ps"] = np.arange(count, dtype="u8") * 1_000_000 + random.integers(0, 5_000_000, count, dtype="u8")
    assert write(tmp_path / "t.parquet", [rows]).rows == count
    told = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert (told.num_rows, told.num_row_groups) == (count, 3)
    first = 0
    for group in range(told.num_row_groups):
        times = rows["time_ps"][first : first + told.row_group(group).num_rows]
        first += len(times)
        statistics = told.row_group(group).column(COLUMNS.index("time_ps")).statistics
        assert (statistics.min, statistics.max) == (times.min(), times.max())
    read = pq.read_table(tmp_path / "t.parquet")
    assert all(np.array_equal(read[column].to_numpy(), rows[column]) for column in ("frame_id", "time_ps", "bytes"))
    late = pl.scan_parquet(tmp_path / "t.parquet").filter(pl.col("time_ps") > 599_990_000_000)
    assert late.collect().height == (rows["time_ps"] > 599_990_000_000).sum()


def test_names_are_a_dictionary_and_nothing_is_missing(tmp_path: Path) -> None:
    for name, chunks in (("none", []), ("some", [drawn(3, 5)])):
        write(tmp_path / name, chunks)
        schema = pq.read_schema(tmp_path / name)
        assert [field.name for field in schema] == list(COLUMNS)
        assert not any(field.nullable for field in schema)
        for field in schema:
            assert pa.types.is_dictionary(field.type) == (field.name in NAMED)
        assert pl.read_parquet_schema(tmp_path / name)["stream"] == pl.Categorical
        assert pl.read_parquet(tmp_path / name).height == len(chunks) * 5


@pytest.mark.parametrize("partial", [False, True])
def test_a_trace_that_is_sorted_is_the_same_otherwise(tmp_path: Path, partial: bool) -> None:
    path = tmp_path / "t.parquet"
    with TraceWriter(path, NAMES) as writer:
        writer.write(chunk(drawn(4, 5000)))
        if partial:
            writer.mark_partial()
    table, schema = read_trace(path), pq.read_schema(path)
    write_sorted(path, table)
    assert pl.read_parquet(path).equals(table)
    assert pq.read_schema(path).equals(schema)
    assert is_partial(path) == partial
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"stream": [300]}, '300 has no name in column "stream"'),
        ({"node": [1]}, '1 has no name in column "node"'),
        ({"reason": [2]}, '2 has no name in column "reason"'),
        ({"event": [99]}, "99 is no event"),
        ({"bytes": [65536]}, "65536 bytes are no frame"),
        ({"port": [1, 2]}, "not equally long"),
    ],
)
def test_rows_that_mean_nothing_are_refused(tmp_path: Path, changes: dict[str, list[int]], what: str) -> None:
    rows = drawn(5, 1) | {column: np.array(values) for column, values in changes.items()}
    with TraceWriter(tmp_path / "t.parquet", NAMES) as writer:
        with pytest.raises(ValueError, match=what):
            writer.write(chunk(rows))
        with pytest.raises(ValueError, match='"port" is missing'):
            writer.write({column: values for column, values in chunk(drawn(5, 1)).items() if column != "port"})
        with pytest.raises(ValueError, match="numbers of 8 bytes"):
            writer.write(chunk(drawn(5, 1)) | {"time_ps": b"1234567"})
    with pytest.raises(ValueError, match="closed"):
        writer.write(chunk(drawn(5, 1)))


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left"), TraceWriter(Path("/dev/full"), NAMES):
        pass
    with pytest.raises(FileNotFoundError):
        TraceWriter(tmp_path / "none" / "t.parquet", NAMES)
