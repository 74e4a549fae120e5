# SPDX-License-Identifier: Apache-2.0
"""The trace: one row per frame event, written while the network runs. All that a run says of frames is read from it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

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
_KINDS = {name: pa.dictionary(kind, pa.string()) if name in NAMED else kind for name, kind in _TYPES.items()}
_SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _KINDS.items()])
_NO_NAMES: dict[str, list[str]] = {column: [] for column in NAMED}


class TraceWriter:
    """Writes rows to Parquet as they come; memory does not grow with the run.

    `write` is what the engine takes as a sink; anyone else calls it with a chunk: a buffer of each column, and the
    indices of names as 4 bytes (stream, node) or one (event, reason).
    """

    def __init__(self, path: Path, names: Mapping[str, Sequence[str]]) -> None:
        """`names` are those of each column in NAMED."""
        from penstock import _engine

        # By it readers know that names are a dictionary, as they do of the files that Arrow's own library writes.
        schema = base64.b64encode(_SCHEMA.serialize()).decode()
        streams, nodes, events, reasons = (list(names[column]) for column in NAMED)
        self.write = _engine.TraceFile(path, streams, nodes, events, reasons, [("ARROW:schema", schema)])
        self.rows = 0  # known once all are written

    def mark_partial(self) -> None:
        """Says in the file that the run was interrupted."""
        self.write.tell(PARTIAL, "true")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.rows = self.write.close()


def read_trace(path: Path) -> pl.DataFrame:
    """The whole trace in the order of time; what happened at one instant is in the order of frames."""
    return pl.read_parquet(path).sort("time_ps", "frame_id", maintain_order=True)


def last_time_ps(trace: pl.DataFrame) -> int:
    """Of the last row; 0 without rows."""
    return int(trace["time_ps"].max() or 0)  # type: ignore[arg-type]


def write_sorted(path: Path, trace: pl.DataFrame) -> None:
    """Writes a trace again that was read, in its order, and keeps what the file says of itself."""
    table = trace.to_arrow().combine_chunks()
    names = {column: table[column].chunk(0).dictionary.to_pylist() for column in NAMED} if table.num_rows else _NO_NAMES
    new = path.with_suffix(".sorted")
    with TraceWriter(new, names) as writer:
        if is_partial(path):
            writer.mark_partial()
        for batch in table.to_batches(max_chunksize=1 << 18):
            indices = {c: batch[c].indices.cast(_TYPES[c]) if c in NAMED else batch[c] for c in COLUMNS}
            writer.write({column: array.to_numpy().view("u1") for column, array in indices.items()})
    new.replace(path)


def is_partial(path: Path) -> bool:
    """Whether the run that left this trace was interrupted."""
    metadata = pq.read_metadata(path).metadata or {}
    return bool(metadata.get(PARTIAL.encode()) == b"true")


def count_rows(path: Path) -> int:
    """How many rows a trace has, without reading them."""
    return int(pq.read_metadata(path).num_rows)
