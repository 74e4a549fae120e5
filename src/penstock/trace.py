# SPDX-License-Identifier: Apache-2.0
"""The trace: one row per frame event, written while the network runs. All that a run says of frames is read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

NO_FRAME = 2**64 - 1  # `frame_id` of rows that are of no frame: the begin and the end of a fault
NO_STREAM = ""  # and their `stream`
PARTIAL = "penstock.partial"  # key in the file's metadata: "true" when the run was interrupted

# What the engine's chunks hold; columns of names hold indices.
_TYPES = {
    "frame_id": pa.uint64(),
    "stream": pa.int32(),
    "node": pa.int32(),
    "port": pa.uint16(),
    "event": pa.int8(),
    "time_ps": pa.uint64(),
    "bytes": pa.uint32(),
    "traffic_class": pa.uint8(),
    "reason": pa.int8(),
}
NAMED = ("stream", "node", "event", "reason")
COLUMNS = tuple(_TYPES)

_NUMBERS = tuple(column for column in COLUMNS if column not in NAMED)
# Measured on a core, in million rows a second and bytes a row: this 18 and 8.7; differences in place of bytes of equal
# weight 15 and 8; the library's defaults 5 and 12. Indices of names are as short as they can be and not compressed.
# Statistics of the time alone, since those of the other columns take more than half of the time.
_OPTIONS: dict[str, Any] = {
    "compression": {column: "none" if column in NAMED else "lz4" for column in COLUMNS},
    "use_dictionary": list(NAMED),
    "write_statistics": ["time_ps"],
    "column_encoding": dict.fromkeys(_NUMBERS, "BYTE_STREAM_SPLIT"),
}


class TraceWriter:
    """Writes the engine's chunks to Parquet as they come; memory does not grow with the run."""

    def __init__(self, path: Path, names: Mapping[str, Sequence[str]]) -> None:
        """`names` are those of each column in NAMED."""
        self.rows = 0
        self._names = {column: pa.array(list(names[column]), pa.string()) for column in NAMED}
        kinds = {c: pa.dictionary(t, pa.string()) if c in NAMED else t for c, t in _TYPES.items()}
        # Without nulls there are no definition levels to write.
        self._schema = pa.schema([pa.field(column, kind, nullable=False) for column, kind in kinds.items()])
        self._file = pq.ParquetWriter(path, self._schema, **_OPTIONS)

    def write(self, chunk: Mapping[str, Any]) -> None:
        """Writes a chunk: `rows`, and a buffer of each column."""
        rows = int(chunk["rows"])
        if rows == 0:
            return
        arrays = [self._array(column, rows, chunk[column]) for column in COLUMNS]
        self._file.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self.rows += rows

    def _array(self, column: str, rows: int, data: Any) -> Any:
        array = pa.Array.from_buffers(_TYPES[column], rows, [None, pa.py_buffer(data)])
        if column in NAMED:
            return pa.DictionaryArray.from_arrays(array, self._names[column], safe=False)
        return array

    def mark_partial(self) -> None:
        """Says in the file that the run was interrupted."""
        self._file.add_key_value_metadata({PARTIAL: "true"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()


def read_trace(path: Path) -> pl.DataFrame:
    """The whole trace in the order of time; what happened at one instant is in the order of frames."""
    return pl.read_parquet(path).sort("time_ps", "frame_id", maintain_order=True)


def last_time_ps(trace: pl.DataFrame) -> int:
    """Of the last row; 0 without rows."""
    return int(trace["time_ps"].max() or 0)  # type: ignore[arg-type]


def write_sorted(path: Path, trace: pl.DataFrame) -> None:
    """Writes a trace again that was read, in its order, and keeps what the file says of itself."""
    metadata = {PARTIAL: "true"} if is_partial(path) else None
    new = path.with_suffix(".sorted")
    pq.write_table(trace.to_arrow().replace_schema_metadata(metadata), new, row_group_size=1 << 18, **_OPTIONS)
    new.replace(path)


def is_partial(path: Path) -> bool:
    """Whether the run that left this trace was interrupted."""
    metadata = pq.read_metadata(path).metadata or {}
    return bool(metadata.get(PARTIAL.encode()) == b"true")


def count_rows(path: Path) -> int:
    """How many rows a trace has, without reading them."""
    return int(pq.read_metadata(path).num_rows)
