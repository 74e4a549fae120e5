# SPDX-License-Identifier: Apache-2.0
"""The trace: one row per frame event, the only thing that a run leaves behind. All else is read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

EVENTS = ("created", "received", "queued", "eligible", "sent", "delivered", "dropped")

# pen_pkg's reason_e, in its order.
REASONS = (
    "none",
    "preamble",
    "rx_er",
    "giant",
    "runt",
    "fcs",
    "overrun",
    "port_disabled",
    "reserved_address",
    "vlan",
    "no_destination",
    "residence",
    "store_full",
    "queue_full",
    "class_full",
    "lifetime",
)

SCHEMA: dict[str, Any] = {
    "frame_id": pl.UInt64,
    "stream": pl.Categorical,
    "node": pl.Categorical,
    "port": pl.UInt16,
    "event": pl.Enum(EVENTS),
    "time_ps": pl.UInt64,
    "bytes": pl.UInt32,
    "traffic_class": pl.UInt8,
    "reason": pl.Categorical,
}
_NUMBERS = {
    "frame_id": np.uint64,
    "port": np.uint16,
    "time_ps": np.uint64,
    "bytes": np.uint32,
    "traffic_class": np.uint8,
}


def from_columns(
    columns: Mapping[str, Any],
    *,
    streams: Sequence[str],
    nodes: Sequence[str],
    events: Sequence[str] = EVENTS,
    reasons: Sequence[str] = REASONS,
) -> pl.DataFrame:
    """The trace from the engine's columns (arrays, or their bytes), whose names are indices, in the order of time."""
    data: dict[str, Any] = {name: _array(columns[name], kind) for name, kind in _NUMBERS.items()}
    data["stream"] = _named(_array(columns["stream"], np.uint32), streams)
    data["node"] = _named(_array(columns["node"], np.uint32), nodes)
    data["event"] = _named(_array(columns["event"], np.uint8), events)
    data["reason"] = _named(_array(columns["reason"], np.uint8), reasons)
    frame = pl.DataFrame(data).select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    return frame.sort("time_ps", "frame_id", maintain_order=True)


def _array(values: Any, kind: Any) -> np.ndarray[Any, Any]:
    if isinstance(values, bytes | bytearray | memoryview):
        return np.frombuffer(values, dtype=kind)
    return np.asarray(values)


def _named(indices: np.ndarray[Any, Any], names: Sequence[str]) -> pl.Series:
    return pl.Series(
        np.asarray([*names, None], dtype=object)[np.minimum(indices, len(names))].tolist(), dtype=pl.String
    )


def journeys(trace: pl.DataFrame, listeners: Mapping[str, Sequence[str]], bridges: Sequence[str]) -> pl.DataFrame:
    """One row per frame and listener: the time of each step, null where it was not reached.

    Columns: frame_id, stream, listener, bytes, traffic_class, created, talker_sent, received, queued, eligible,
    bridge_sent, delivered, dropped (times in ps) and reason. Drops count for every copy that was not delivered.
    """
    at_bridge = pl.col("node").cast(pl.String).is_in(list(bridges))
    rows = trace.with_columns(pl.col("stream", "node", "reason").cast(pl.String))

    def first(event: str, name: str, where: pl.Expr | None = None) -> pl.DataFrame:
        chosen = rows.filter((pl.col("event") == event) & (where if where is not None else pl.lit(True)))
        return chosen.group_by("frame_id").agg(pl.col("time_ps").cast(pl.Int64).min().alias(name))

    created = rows.filter(pl.col("event") == "created").select(
        "frame_id", "stream", "bytes", pl.col("time_ps").cast(pl.Int64).alias("created")
    )
    pairs = pl.DataFrame(
        [(stream, name) for stream, names in listeners.items() for name in names],
        schema={"stream": pl.String, "listener": pl.String},
        orient="row",
    )
    result = created.join(pairs, on="stream", how="left")
    for event, name, where in (
        ("sent", "talker_sent", ~at_bridge),
        ("received", "received", at_bridge),
        ("queued", "queued", at_bridge),
        ("eligible", "eligible", at_bridge),
        ("sent", "bridge_sent", at_bridge),
    ):
        result = result.join(first(event, name, where), on="frame_id", how="left")
    classes = (
        rows.filter(pl.col("event").is_in(["queued", "eligible"]))
        .group_by("frame_id")
        .agg(pl.col("traffic_class").first())
    )
    delivered = (
        rows.filter(pl.col("event") == "delivered")
        .group_by("frame_id", "node")
        .agg(pl.col("time_ps").cast(pl.Int64).min().alias("delivered"))
        .rename({"node": "listener"})
    )
    drops = (
        rows.filter(pl.col("event") == "dropped")
        .group_by("frame_id")
        .agg(pl.col("time_ps").cast(pl.Int64).first().alias("dropped"), pl.col("reason").first())
    )
    undelivered = pl.col("delivered").is_null()
    return (
        result.join(classes, on="frame_id", how="left")
        .join(delivered, on=["frame_id", "listener"], how="left")
        .join(drops, on="frame_id", how="left")
        .with_columns(
            pl.when(undelivered).then(pl.col("dropped")).alias("dropped"),
            pl.when(undelivered).then(pl.col("reason")).alias("reason"),
        )
        .sort("created", "frame_id", maintain_order=True)
    )


def strays(trace: pl.DataFrame, listeners: Mapping[str, Sequence[str]]) -> int:
    """Copies that arrived where no listener is, or more than once."""
    rows = trace.filter(pl.col("event") == "delivered").select(pl.col("stream", "node").cast(pl.String), "frame_id")
    wanted = pl.DataFrame(
        [(stream, name) for stream, names in listeners.items() for name in names],
        schema={"stream": pl.String, "node": pl.String},
        orient="row",
    )
    right = rows.join(wanted, on=["stream", "node"], how="semi")
    return rows.height - right.unique(["frame_id", "node"]).height
