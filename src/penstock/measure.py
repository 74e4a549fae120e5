# SPDX-License-Identifier: Apache-2.0
"""What is measured of each stream: counts and times, from the trace, or from what the engine counted while it ran.

Both give the same numbers; tests hold them equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.journeys import View
from penstock.paths import path_table
from penstock.percentile import percentile_of
from penstock.scenario.network import Network

_PS = 10**12
_LIFETIME_PS = 1_100_000_000_000  # a bridge drops frames after a second
_MARGIN_PS = 20_000_000  # more than a bridge takes for any step that no queue is part of
KEYS = ("min", "mean", "p50", "p99", "max")


@dataclass(frozen=True)
class Distribution:
    """Of times, in ps. Percentiles are off by at most this relative error; 0: they are exact."""

    min: float
    mean: float
    p50: float
    p99: float
    max: float
    percentile_error: float = 0.0

    def ns(self) -> dict[str, float | None]:
        """For `summary.json`."""
        return {key: round(getattr(self, key) / 1000, 3) for key in KEYS}


@dataclass(frozen=True)
class Measured:
    """Of one stream. A copy is a frame on its way to one listener."""

    frames: int = 0
    copies: int = 0
    delivered: int = 0
    inside: int = 0
    lost: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    late: int | None = 0  # delivered after the deadline; None: some, not counted
    latency: Distribution | None = None
    interval: Distribution | None = None
    talker_wait: Distribution | None = None
    launch_missed: int = 0  # frames that reached the talker's controller after their launch times
    spoiled: int = 0  # copies that had begun to leave a bridge by cut-through when their frame turned out bad
    rate_bps: float | None = None  # on the wire, at each listener

    @property
    def dropped_copies(self) -> int:
        """All that were dropped."""
        return sum(self.dropped.values())

    @property
    def conserved(self) -> bool:
        """Each copy is delivered, dropped or inside."""
        return self.lost == 0 and self.copies == self.delivered + self.dropped_copies + self.inside


def distribution(row: Mapping[str, Any], prefix: str) -> Distribution | None:
    """From the columns that `distribution_of` made."""
    if row[f"{prefix}_min"] is None:
        return None
    return Distribution(*(float(row[f"{prefix}_{key}"]) for key in KEYS))


def distribution_of(name: str, values: pl.Expr) -> list[pl.Expr]:
    """The columns `name_min` and so on; as `penstock.percentile` has them."""
    values = values.drop_nulls()
    found = (
        values.min(),
        values.mean(),
        percentile_of(values, 0.5),
        percentile_of(values, 0.99),
        values.max(),
    )
    return [value.alias(f"{name}_{key}") for key, value in zip(KEYS, found, strict=True)]


def from_trace(view: View, *, end_ps: int = 0, partial: bool = False) -> dict[str, Measured]:
    """From a whole trace. In that of an interrupted run, what has no end is inside."""
    network, steps = view.network, view.journeys
    deadlines = pl.DataFrame(
        [(s.name, s.deadline_ps) for s in network.streams.values()],
        schema={"stream": pl.Categorical, "deadline_ps": pl.Int64},
        orient="row",
    )
    steps = steps.join(deadlines, on="stream", how="left", maintain_order="left").with_columns(
        (pl.col("delivered") - pl.coalesce("talker_sent", "created")).alias("latency")
    )
    arrived = steps.filter(pl.col("delivered").is_not_null())
    counts = _by_stream(
        steps.group_by("stream").agg(
            pl.col("frame_id").n_unique().alias("frames"),
            pl.len().alias("copies"),
            pl.col("frame_id").filter(pl.col("missed").is_not_null()).n_unique().alias("missed"),
        )
    )
    wait = pl.col("talker_sent") - pl.col("created")
    waits = _by_stream(steps.unique("frame_id").group_by("stream").agg(distribution_of("wait", wait)))
    times = _by_stream(
        arrived.group_by("stream").agg(
            pl.len().alias("delivered"),
            (pl.col("latency") > pl.col("deadline_ps")).sum().alias("late"),
            (pl.col("bytes").cast(pl.Int64) + WIRE_OVERHEAD_BYTES).sum().alias("wire_bytes"),
            pl.col("delivered").min().alias("first"),
            pl.col("delivered").max().alias("last"),
            *distribution_of("latency", pl.col("latency")),
        )
    )
    gaps = arrived.sort("delivered").select(
        "stream", pl.col("delivered").diff().over("stream", "listener").alias("interval")
    )
    intervals = _by_stream(gaps.group_by("stream").agg(distribution_of("interval", pl.col("interval"))))
    open_end = steps.filter(pl.col("delivered").is_null())
    drops: dict[str, dict[str, int]] = {}
    dropped = open_end.filter(pl.col("dropped").is_not_null())
    reasons = dropped.group_by(pl.col("stream", "reason").cast(pl.String)).len().sort("stream", "reason")
    for stream, reason, count in reasons.iter_rows():
        drops.setdefault(stream, {})[reason] = count
    waiting = open_end.filter(pl.col("dropped").is_null())
    bad = view.rows.filter(pl.col("event") == "spoiled")
    spoiled = dict(bad.group_by(pl.col("stream").cast(pl.String)).len().iter_rows())
    lost = {} if partial else _lost(view, waiting, end_ps)
    inside = dict(waiting.group_by(pl.col("stream").cast(pl.String)).len().iter_rows())
    found = {}
    for name, stream in network.streams.items():
        if name not in counts:
            found[name] = Measured()
            continue
        time = times.get(name)
        gap = intervals.get(name)
        found[name] = Measured(
            frames=counts[name]["frames"],
            copies=counts[name]["copies"],
            delivered=time["delivered"] if time else 0,
            inside=inside.get(name, 0) - lost.get(name, 0),
            lost=lost.get(name, 0),
            dropped=drops.get(name, {}),
            late=time["late"] if time else 0,
            latency=distribution(time, "latency") if time else None,
            interval=distribution(gap, "interval") if gap else None,
            talker_wait=distribution(waits[name], "wait"),
            launch_missed=counts[name]["missed"],
            spoiled=spoiled.get(name, 0),
            rate_bps=None
            if time is None
            else _rate(time["wire_bytes"], time["delivered"], time["first"], time["last"], stream.listeners),
        )
    return found


def from_engine(network: Network, result: Mapping[str, Any]) -> dict[str, Measured]:
    """From the engine's statistics."""
    found = {}
    for name, said in result["statistics"].items():
        stream = network.streams[name]
        latency = told(said["latency_ps"])
        beyond = latency is not None and stream.deadline_ps is not None and latency.max > stream.deadline_ps
        found[name] = Measured(
            frames=said["frames"],
            copies=said["copies"],
            delivered=said["delivered"],
            inside=said["inside"],
            dropped={reason: count for reason, count in sorted(said["dropped"].items()) if count},
            late=None if beyond else 0,
            latency=latency,
            interval=told(said["interval_ps"]),
            talker_wait=told(said["talker_wait_ps"]),
            launch_missed=said["launch_missed"],
            spoiled=said["spoiled"],
            rate_bps=_rate(
                said["delivered_wire_bytes"],
                said["delivered"],
                said["first_delivered_ps"],
                said["last_delivered_ps"],
                stream.listeners,
            ),
        )
    return found


def told(said: Mapping[str, Any] | None) -> Distribution | None:
    """What the engine says of a distribution, in ps; None without values."""
    if not said or not said["count"]:
        return None
    least, mean, p50, p99, most = (float(said[key]) for key in KEYS)
    return Distribution(least, mean, p50, p99, most, float(said["percentile_error"]))


def _by_stream(rows: pl.DataFrame) -> dict[str, dict[str, Any]]:
    return {str(row["stream"]): row for row in rows.iter_rows(named=True)}


def _rate(
    wire_bytes: int, frames: int, first_ps: int | None, last_ps: int | None, listeners: tuple[str, ...]
) -> float | None:
    """The length of the mean frame over the mean time from frame to frame."""
    if frames < 2 or first_ps is None or last_ps is None or last_ps == first_ps:
        return None
    return round(wire_bytes * 8 * _PS * (frames - 1) / frames / (last_ps - first_ps) / len(listeners), 1)


def _lost(view: View, waiting: pl.DataFrame, end_ps: int) -> dict[str, int]:
    """Copies that cannot be inside any more, since the step after their last one is overdue."""
    if waiting.height == 0:
        return {}
    network = view.network
    rows = (
        view.rows.filter(pl.col("frame_id").is_in(waiting["frame_id"].unique().implode()))
        .select("frame_id", "stream", "node", "event", "port", "time_ps")
        .with_columns(pl.col("event").is_in(["received", "created"]).alias("whole"))
    )
    path = path_table(network).select("stream", "listener", "node", "egress")
    at_bridge = rows.join(path, on=["stream", "node"], how="inner").filter(
        pl.col("whole") | (pl.col("port") == pl.col("egress"))
    )
    talkers = pl.Series([s.talker for s in network.streams.values()], dtype=pl.Categorical).unique()
    listeners = path.select("stream", "listener").unique()
    # A listener may be a talker, too, of another stream.
    own = pl.col("node").is_in(talkers.implode()) & pl.col("event").is_in(["created", "sent"])
    at_talker = rows.filter(own).join(listeners, on="stream", how="inner")
    columns = ["frame_id", "stream", "listener", "node", "event", "time_ps"]
    last = (
        pl.concat([at_bridge.select(columns), at_talker.select(columns)])
        .join(waiting.select("frame_id", "listener"), on=["frame_id", "listener"], how="semi")
        .sort("time_ps", maintain_order=True)
        .group_by("frame_id", "stream", "listener", maintain_order=True)
        # An eligibility time may lie after the frame's being sent: the row of the last step counts, not the latest.
        .agg(pl.col("node", "event", "time_ps").last())
    )
    age = pl.lit(end_ps) - pl.col("time_ps")
    queued = pl.col("event").is_in(["queued", "eligible"])
    at_talker_still = pl.col("event") == "created"
    # How long a node of one's own keeps a frame is its own business.
    kept = pl.col("node").cast(pl.String).is_in([b.name for b in network.bridges.values() if b.nodes == "own"])
    overdue = (~queued & ~kept & ~at_talker_still & (age > _settle_ps(network))) | (queued & (age > _LIFETIME_PS))
    counted = last.filter(overdue).group_by(pl.col("stream").cast(pl.String)).len()
    return dict(counted.iter_rows())


def _settle_ps(network: Network) -> int:
    """More than a frame takes for any step that no queue is part of."""
    longest = max(stream.max_frame_bytes for stream in network.streams.values())
    slowest = min(link.rate_bps for link in network.links)
    delay = max(link.delay_ps for link in network.links)
    processing = max(bridge.processing_delay_ps for bridge in network.bridges.values())
    return longest * 8 * _PS // slowest + delay + processing + _MARGIN_PS
