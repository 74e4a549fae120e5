# SPDX-License-Identifier: Apache-2.0
"""One trace of a network from what its talkers and listeners left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from penstock.end.trace import LOST, ORIGIN, STAMPS, Names, read_end, trace_of
from penstock.lab.programs import Program
from penstock.scenario.network import Network
from penstock.trace import COLUMNS as _COLUMNS

_MS_NS = 10**6
# What each end says of frames. When one left its talker nobody saw: the one kernel of all hosts stamps it anew at each
# veth, and the talker itself reads the clock only after it was sent.
_TOLD = {"talk": ["created", "dropped"], "listen": ["delivered"]}


def collect(
    network: Network, programs: Sequence[Program], folder: Path, at_planes: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The trace, and its metadata: the origin of its times and of which stamps each kind of event is.

    `at_planes` is what data planes saw. What left and came nowhere is lost at the first bridge: nobody saw where.
    """
    parts: list[pl.DataFrame] = []
    metadata: dict[str, str] = {}
    for program in programs:
        end = read_end(folder / program.name, program.role)
        if end.rows.height == 0:
            continue
        streams = network.streams.values()
        classes = {stream.name: network.class_at(stream, stream.tree[0].bridge) for stream in streams}
        names = Names({stream.name: stream.talker for stream in streams}, program.host, classes)
        talk = end if program.role == "talk" else None
        rows, said = trace_of(talk, None if talk else end, names)
        rows = rows.filter(pl.col("event").is_in(_TOLD[program.role]))
        delivered = f"{STAMPS}.delivered"
        metadata |= {delivered: said[delivered]} if delivered in said else {}
        parts.append(_plain(rows, int(said[ORIGIN])))
    if not parts:
        return _empty(), {ORIGIN: "0"}
    trace = _placed(network, pl.concat(parts))
    if at_planes is not None:
        trace = pl.concat([trace, at_planes.select(trace.columns).cast(trace.schema)])
    trace = pl.concat([trace, _lost(network, trace)])
    origin_ns = int(trace["time_ns"].min() or 0) // _MS_NS * _MS_NS  # type: ignore[arg-type]
    metadata[ORIGIN] = str(origin_ns)
    return _finished(trace, origin_ns), metadata


def _plain(rows: pl.DataFrame, origin_ns: int) -> pl.DataFrame:
    """Names as text, and times as ns of TAI."""
    texts = [pl.col(name).cast(pl.String) for name in ("stream", "node", "event", "reason")]
    time = (pl.col("time_ps").cast(pl.Int64) // 1000 + origin_ns).alias("time_ns")
    return rows.with_columns(*texts, time).drop("time_ps")


def _placed(network: Network, trace: pl.DataFrame) -> pl.DataFrame:
    """Drops belong to the first bridge: a trace has none at stations, which have no queue that may be full."""
    dropped = pl.col("event") == "dropped"
    node, port = _first(network)
    return trace.with_columns(
        pl.when(dropped).then(pl.col("stream").replace_strict(node, default="")).otherwise("node").alias("node"),
        pl.when(dropped)
        .then(pl.col("stream").replace_strict(port, default=0, return_dtype=pl.UInt16))
        .otherwise("port")
        .cast(pl.UInt16)
        .alias("port"),
    )


def _lost(network: Network, trace: pl.DataFrame) -> pl.DataFrame:
    """A row for each frame that did not reach all of its listeners."""
    node, port = _first(network)
    counts = {name: len(stream.listeners) for name, stream in network.streams.items()}
    arrived = trace.filter(pl.col("event") == "delivered").group_by("frame_id").len("copies")
    gone = trace.filter(pl.col("event") == "dropped").select("frame_id")
    sent = trace.filter(pl.col("event") == "created").join(gone, on="frame_id", how="anti")
    missing = sent.join(arrived, on="frame_id", how="left").filter(
        pl.col("copies").fill_null(0) < pl.col("stream").replace_strict(counts, default=1, return_dtype=pl.UInt32)
    )
    return missing.drop("copies").with_columns(
        event=pl.lit("dropped"),
        reason=pl.lit(LOST),
        node=pl.col("stream").replace_strict(node, default=""),
        port=pl.col("stream").replace_strict(port, default=0, return_dtype=pl.UInt16),
    )


def _first(network: Network) -> tuple[dict[str, str], dict[str, int]]:
    """The first bridge of each stream, and the port by which it comes in."""
    trees = {name: stream.tree[0] for name, stream in network.streams.items()}
    return {n: hop.bridge for n, hop in trees.items()}, {n: hop.entry for n, hop in trees.items()}


def _finished(trace: pl.DataFrame, origin_ns: int) -> pl.DataFrame:
    kinds = [pl.col(name).cast(pl.Categorical) for name in ("stream", "node", "event", "reason")]
    time = ((pl.col("time_ns") - origin_ns) * 1000).cast(pl.UInt64).alias("time_ps")
    return trace.with_columns(*kinds, time).select(_COLUMNS).sort("time_ps", "frame_id", maintain_order=True)


def _empty() -> pl.DataFrame:
    texts = dict.fromkeys(("stream", "node", "event", "reason"), pl.Categorical)
    numbers = {"frame_id": pl.UInt64, "port": pl.UInt16, "time_ps": pl.UInt64, "bytes": pl.UInt32}
    kinds = {**texts, **numbers, "traffic_class": pl.UInt8}
    return pl.DataFrame(schema={name: kinds[name] for name in _COLUMNS})
