# SPDX-License-Identifier: Apache-2.0
"""The trace seen from the frames: the journey of each copy to its listener, and its steps at each bridge on the way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import polars as pl

from penstock.paths import path_table
from penstock.scenario.network import Network

_PS = 10**12


class View:
    """A trace, and what is worked out of it once for all who ask."""

    def __init__(self, network: Network, trace: pl.DataFrame) -> None:
        self.network = network
        self.trace = trace

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The trace with times that can be subtracted."""
        names = self.trace.select(pl.col("stream", "node", "event", "reason").cast(pl.Categorical))
        return self.trace.with_columns(*names.get_columns(), pl.col("time_ps").cast(pl.Int64))

    @cached_property
    def journeys(self) -> pl.DataFrame:
        """Of each copy."""
        return journeys(self.network, self.rows)

    @cached_property
    def hops(self) -> pl.DataFrame:
        """Of each frame and egress port."""
        return hops(self.network, self.rows)


def journeys(network: Network, rows: pl.DataFrame) -> pl.DataFrame:
    """One row per frame and listener, in the order of creation; null where a step was not reached.

    Columns: frame_id, stream, listener, bytes, traffic_class, created, missed (a launch time), talker_sent, delivered,
    dropped (times in ps), dropped_at (a bridge or the talker) and reason.
    """
    event = pl.col("event")
    created = rows.filter(event == "created").select("frame_id", "stream", "bytes", pl.col("time_ps").alias("created"))
    listeners = pl.DataFrame(
        [(s.name, name) for s in network.streams.values() for name in s.listeners],
        schema={"stream": pl.Categorical, "listener": pl.Categorical},
        orient="row",
    )
    stations = pl.Series(list(network.stations), dtype=pl.Categorical)
    sent = (
        rows.filter((event == "sent") & pl.col("node").is_in(stations.implode()))
        .group_by("frame_id")
        .agg(pl.col("time_ps").min().alias("talker_sent"))
    )
    missed = rows.filter(event == "missed").select("frame_id", pl.col("time_ps").alias("missed"))
    delivered = (
        rows.filter(event == "delivered")
        .group_by("frame_id", pl.col("node").alias("listener"))
        .agg(pl.col("time_ps").min().alias("delivered"))
    )
    classes = rows.filter(event == "queued").group_by("frame_id").agg(pl.col("traffic_class").first())
    return (
        created.join(listeners, on="stream", how="inner", maintain_order="left")
        .join(missed, on="frame_id", how="left", maintain_order="left")
        .join(sent, on="frame_id", how="left", maintain_order="left")
        .join(delivered, on=["frame_id", "listener"], how="left", maintain_order="left")
        .join(classes, on="frame_id", how="left", maintain_order="left")
        .join(_drops(network, rows), on=["frame_id", "listener"], how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("delivered").is_null()).then(pl.col(name)).alias(name)
            for name in ("dropped", "dropped_at", "reason")
        )
        .sort("created", "frame_id", maintain_order=True)
    )


def _drops(network: Network, rows: pl.DataFrame) -> pl.DataFrame:
    """The first drop on the way to each listener.

    A frame that is dropped whole is so at its reception port, for all listeners behind; a copy at its egress port; one
    that its talker's port cannot send at the talker, whose port is 0, for all listeners; a damaged one at its listener.
    One that nodes of tiles lead to one listener may be so anywhere.
    """
    dropped = rows.filter(pl.col("event") == "dropped").select(
        "frame_id", "stream", "node", "port", pl.col("time_ps").alias("dropped"), "reason"
    )
    path = path_table(network)
    stations = pl.DataFrame(
        [(s.name, z, at, 0) for s in network.streams.values() for z in s.listeners for at in (s.talker, z)],
        schema=dict.fromkeys(("stream", "listener", "node"), pl.Categorical) | {"port": pl.UInt16},
        orient="row",
    )
    places = pl.concat(
        [path.select("stream", "listener", "node", pl.col(side).alias("port")) for side in ("entry", "egress")]
        + [stations]
    )
    led = pl.DataFrame(
        [(name, network.streams[name].listeners[0]) for name in _led(network)],
        schema=dict.fromkeys(("stream", "listener"), pl.Categorical),
        orient="row",
    )
    on_the_way = dropped.join(places, on=["stream", "node", "port"], how="inner")
    beside = dropped.join(led, on="stream", how="inner").select(on_the_way.columns)
    return (
        pl.concat([on_the_way, beside])
        .sort("dropped", maintain_order=True)
        .group_by("frame_id", "listener", maintain_order=True)
        .agg(pl.col("dropped", "reason").first(), pl.col("node").first().alias("dropped_at"))
    )


def _led(network: Network) -> Iterator[str]:
    """The streams that may leave their route: of one listener, between nodes of tiles."""
    counts = {name: len(tiling.routing.grid.nodes) for name, tiling in network.tilings.items()}
    nodes = {f"{name}{number}" for name, count in counts.items() for number in range(count)}
    for name, stream in network.streams.items():
        if len(stream.listeners) == 1 and any(hop.bridge in nodes for hop in stream.tree):
            yield name


def hops(network: Network, rows: pl.DataFrame) -> pl.DataFrame:
    """One row per frame and egress port at each bridge, in the order of arrival.

    Columns: frame_id, stream, node, port (egress), entry (reception port), bytes, traffic_class, received, arrived
    (the last bit), queued, eligible, sent, dropped (times in ps) and reason.
    """
    event = pl.col("event")
    path = path_table(network)
    entries = path.select("stream", "node", "entry", "entry_rate_bps").unique(["stream", "node"])
    keys = ["frame_id", "node"]
    received = (
        rows.filter(event == "received")
        .group_by(keys)
        .agg(pl.col("time_ps").min().alias("received"), pl.col("stream", "bytes").first())
        .join(entries, on=["stream", "node"], how="inner")
    )
    egress = path.select("stream", "node", pl.col("egress").alias("port")).unique()
    kinds = ("queued", "eligible", "sent", "dropped")
    # Columns of their own, as an aggregate of a whole column is much faster than one of a part.
    steps = (
        rows.filter(event.is_in(kinds))
        .join(egress, on=["stream", "node", "port"], how="semi")
        .select(
            *keys,
            "port",
            *(pl.when(event == kind).then("time_ps").alias(kind) for kind in kinds),
            pl.when(event == "queued").then("traffic_class").alias("traffic_class"),
            pl.when(event == "dropped").then("reason").alias("reason"),
        )
        .group_by(*keys, "port")
        .agg(
            pl.col(*kinds).min(),
            pl.col("traffic_class").min(),
            pl.col("reason").drop_nulls().first(),
        )
    )
    return (
        received.join(egress, on=["stream", "node"], how="inner")
        .join(steps, on=[*keys, "port"], how="left")
        .with_columns(
            (pl.col("received") + _wire_ps(pl.col("bytes").cast(pl.Int64), pl.col("entry_rate_bps"))).alias("arrived")
        )
        .drop("entry_rate_bps")
        .sort("received", "frame_id", "port")
    )


def _wire_ps(length: pl.Expr, rate_bps: pl.Expr) -> pl.Expr:
    """The time of so many bytes on the wire, rounded up as in the engine."""
    return -(-length * (8 * _PS) // rate_bps)


def strays(network: Network, rows: pl.DataFrame) -> int:
    """Copies that arrived where no listener is, or more than once."""
    rows = rows.filter(pl.col("event") == "delivered")
    wanted = path_table(network).select("stream", pl.col("listener").alias("node")).unique()
    right = rows.join(wanted, on=["stream", "node"], how="semi")
    return rows.height - right.unique(["frame_id", "node"]).height
