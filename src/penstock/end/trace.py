# SPDX-License-Identifier: Apache-2.0
"""From the tables of talker and listener to the trace: one row per frame event.

A trace counts picoseconds from an origin that its metadata name, since picoseconds of CLOCK_TAI need more than 64 bits.
Each kind of event is of one kind of time stamps in the whole file; the metadata say of which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from penstock.errors import InputError

ORIGIN = "penstock.origin_tai_ns"
STAMPS = "penstock.stamps_of"  # followed by `.sent` or `.delivered`
REASONS = {
    "skipped": "window_closed",
    "refused": "refused_by_the_kernel",
    "missed": "launch_time_missed",
    "invalid": "launch_time_invalid",
}
LOST = "lost"
_SECOND_NS = 10**9
_COLUMNS = ("frame_id", "stream", "node", "port", "event", "time_ps", "bytes", "traffic_class", "reason")
_TALK_STAMPS = {"hardware": "hardware_ns", "kernel": "kernel_realtime_ns", "user": "handed_tai_ns"}
_LISTEN_STAMPS = {"hardware": "hardware_ns", "kernel": "kernel_realtime_ns", "user": "user_tai_ns"}


@dataclass(frozen=True)
class Names:
    """What a trace calls the nodes, and the traffic class of each stream."""

    talkers: Mapping[str, str]  # by stream
    listener: str
    traffic_classes: Mapping[str, int]


@dataclass(frozen=True)
class End:
    """What one end left: its table, and its summary."""

    rows: pl.DataFrame
    summary: Mapping[str, Any]

    @property
    def tai_offset_ns(self) -> int:
        """CLOCK_TAI less CLOCK_REALTIME."""
        return int(self.summary["clock"]["tai_minus_realtime_ns"])


def read_end(folder: Path, role: str) -> End:
    """What `penstock-end talk` or `listen` left in a folder."""
    import json

    table, summary = folder / f"{role}.csv", folder / f"{role}.json"
    for file in (table, summary):
        if not file.is_file():
            raise InputError("is not there", allowed=f"a folder that `penstock {role}` wrote", file=file)
    whole = dict.fromkeys((*_TALK_STAMPS.values(), *_LISTEN_STAMPS.values(), "construction_tai_ns"), pl.Int64)
    rows = pl.read_csv(table, schema_overrides={"stream": pl.String, **whole})
    return End(rows, json.loads(summary.read_text(encoding="utf-8")))


def knows(talk: End, listen: End) -> bool:
    """Whether all frames that were heard are the talker's: built at the same time under the same number."""
    key = ["stream_id", "sequence", "construction_tai_ns"]
    return listen.rows.join(talk.rows, on=key, how="anti").is_empty()


def trace_of(talk: End | None, listen: End | None, names: Names) -> tuple[pl.DataFrame, dict[str, str]]:
    """The trace of one end or of both, and its metadata. With both, frames that left and came nowhere are lost."""
    parts, metadata = [], {}
    if talk is not None:
        kind, sent = _sent(talk)
        metadata[f"{STAMPS}.sent"] = kind
        created = talk.rows.select("stream", "stream_id", "sequence", "bytes", time_ns="construction_tai_ns")
        parts += [_events(created, "created"), sent, _dropped(talk)]
    if listen is not None:
        first = listen.rows.filter(pl.col("kind") != "duplicate")
        kind = str(listen.summary["stamps"]["latency_from"])
        metadata[f"{STAMPS}.delivered"] = kind
        if talk is None:
            created = first.select("stream", "stream_id", "sequence", "bytes", time_ns="construction_tai_ns")
            parts.append(_events(created, "created"))
        stamp = _time(kind, _LISTEN_STAMPS, listen.tai_offset_ns)
        parts.append(_events(first.select("stream", "stream_id", "sequence", "bytes", time_ns=stamp), "delivered"))
    rows = pl.concat(parts)
    if talk is not None and listen is not None:
        rows = pl.concat([rows, _lost(rows)])
    origin = _origin_ns(rows)
    metadata[ORIGIN] = str(origin)
    return _finished(rows, origin, names), metadata


def _time(kind: str, columns: Mapping[str, str], tai_offset_ns: int) -> pl.Expr:
    column = pl.col(columns[kind])
    return column + tai_offset_ns if kind == "kernel" else column


def _sent(talk: End) -> tuple[str, pl.DataFrame]:
    """When frames left, by the best kind of stamps that all of them have."""
    left = talk.rows.filter(pl.col("outcome") == "sent")
    kind = next(k for k, column in _TALK_STAMPS.items() if k == "user" or not left[column].has_nulls())
    stamp = _time(kind, _TALK_STAMPS, talk.tai_offset_ns)
    return kind, _events(left.select("stream", "stream_id", "sequence", "bytes", time_ns=stamp), "sent")


def _dropped(talk: End) -> pl.DataFrame:
    gone = talk.rows.filter(pl.col("outcome") != "sent")
    at = pl.max_horizontal("construction_tai_ns", "handed_tai_ns")
    reason = pl.col("outcome").replace_strict(REASONS, return_dtype=pl.String)
    return _events(gone.select("stream", "stream_id", "sequence", "bytes", time_ns=at, reason=reason), "dropped")


def _lost(rows: pl.DataFrame) -> pl.DataFrame:
    """Frames that left and came nowhere; nobody knows when they were lost, so it is when they left."""
    key = ["stream", "stream_id", "sequence"]
    delivered = rows.filter(pl.col("event") == "delivered").select(key)
    missing = rows.filter(pl.col("event") == "sent").join(delivered, on=key, how="anti")
    return missing.with_columns(event=pl.lit("dropped"), reason=pl.lit(LOST))


def _events(rows: pl.DataFrame, event: str) -> pl.DataFrame:
    reason = pl.col("reason") if "reason" in rows.columns else pl.lit("none")
    return rows.select("stream", "stream_id", "sequence", "bytes", "time_ns", event=pl.lit(event), reason=reason)


def _origin_ns(rows: pl.DataFrame) -> int:
    """The whole second before the first event."""
    first: Any = rows["time_ns"].min()
    return 0 if first is None else int(first) // _SECOND_NS * _SECOND_NS


def _finished(rows: pl.DataFrame, origin_ns: int, names: Names) -> pl.DataFrame:
    talker = pl.col("stream").replace_strict(dict(names.talkers), default="talker", return_dtype=pl.String)
    traffic_class = pl.col("stream").replace_strict(dict(names.traffic_classes), default=0, return_dtype=pl.UInt8)
    there = pl.col("event") == "delivered"
    category = pl.Categorical
    return (
        rows.with_columns(
            frame_id=pl.col("stream_id").cast(pl.UInt64) * 2**32 + pl.col("sequence").cast(pl.UInt64),
            node=pl.when(there).then(pl.lit(names.listener)).otherwise(talker).cast(category),
            port=pl.lit(0, pl.UInt16),
            time_ps=((pl.col("time_ns") - origin_ns) * 1000).cast(pl.UInt64),
            bytes=pl.col("bytes").cast(pl.UInt32),
            traffic_class=traffic_class,
            stream=pl.col("stream").cast(category),
            event=pl.col("event").cast(category),
            reason=pl.col("reason").cast(category),
        )
        .select(_COLUMNS)
        .sort("time_ps", "frame_id", maintain_order=True)
    )


def write(path: Path, trace: pl.DataFrame, metadata: Mapping[str, str]) -> None:
    """Writes a trace with its metadata."""
    pq.write_table(trace.to_arrow().replace_schema_metadata(dict(metadata)), path)
