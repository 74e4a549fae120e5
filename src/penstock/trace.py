# SPDX-License-Identifier: Apache-2.0
"""The trace: one row per frame event, the only thing that a run leaves behind. All else is read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from penstock.scenario.network import Network

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


def journeys(network: Network, trace: pl.DataFrame) -> pl.DataFrame:
    """One row per frame and listener: the time of each step, null where it was not reached.

    Columns: frame_id, stream, listener, bytes, traffic_class, created, talker_sent, received, queued, eligible,
    bridge_sent, delivered, dropped (times in ps) and reason.
    """
    rows = trace.with_columns(pl.col("stream", "node", "reason").cast(pl.String), pl.col("time_ps").cast(pl.Int64))
    at_bridge = pl.col("node").is_in(list(network.bridges))

    def first(name: str, where: pl.Expr, *keys: str) -> pl.DataFrame:
        return rows.filter(where).group_by("frame_id", *keys).agg(pl.col("time_ps").min().alias(name))

    event = pl.col("event")
    created = rows.filter(event == "created").select("frame_id", "stream", "bytes", pl.col("time_ps").alias("created"))
    # What concerns one copy happens at its egress port; a frame that is dropped whole, at its reception port.
    ports = {name: station.port for name, station in network.stations.items()}
    copies = [(s.name, name, ports[name], ports[s.talker]) for s in network.streams.values() for name in s.listeners]
    kinds = {"stream": pl.String, "listener": pl.String, "port": pl.UInt16, "entry": pl.UInt16}
    result = created.join(pl.DataFrame(copies, schema=kinds, orient="row"), on="stream", how="left")
    result = result.join(first("talker_sent", (event == "sent") & ~at_bridge), on="frame_id", how="left")
    result = result.join(first("received", (event == "received") & at_bridge), on="frame_id", how="left")
    for what, name in (("queued", "queued"), ("eligible", "eligible"), ("sent", "bridge_sent")):
        step = first(name, (event == what) & at_bridge, "port")
        result = result.join(step, on=["frame_id", "port"], how="left")
    delivered = first("delivered", event == "delivered", "node").rename({"node": "listener"})
    result = result.join(delivered, on=["frame_id", "listener"], how="left")
    classes = rows.filter(event == "queued").group_by("frame_id").agg(pl.col("traffic_class").first())
    drops = (
        rows.filter(event == "dropped")
        .group_by("frame_id", "port")
        .agg(pl.col("time_ps").first().alias("dropped"), pl.col("reason").first())
    )
    whole = drops.rename({"port": "entry", "dropped": "dropped_whole", "reason": "reason_whole"})
    gone = pl.col("delivered").is_null()
    return (
        result.join(classes, on="frame_id", how="left")
        .join(drops, on=["frame_id", "port"], how="left")
        .join(whole, on=["frame_id", "entry"], how="left")
        .with_columns(
            pl.when(gone).then(pl.coalesce("dropped", "dropped_whole")).alias("dropped"),
            pl.when(gone).then(pl.coalesce("reason", "reason_whole")).alias("reason"),
        )
        .drop("dropped_whole", "reason_whole", "entry", "port")
        .sort("created", "frame_id", maintain_order=True)
    )


def strays(network: Network, trace: pl.DataFrame) -> int:
    """Copies that arrived where no listener is, or more than once."""
    rows = trace.filter(pl.col("event") == "delivered").select(pl.col("stream", "node").cast(pl.String), "frame_id")
    places = [(stream.name, name) for stream in network.streams.values() for name in stream.listeners]
    wanted = pl.DataFrame(places, schema={"stream": pl.String, "node": pl.String}, orient="row")
    right = rows.join(wanted, on=["stream", "node"], how="semi")
    return rows.height - right.unique(["frame_id", "node"]).height
