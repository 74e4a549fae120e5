# SPDX-License-Identifier: Apache-2.0
"""Networks of tiles before, while and after something is dead: by which nodes frames went, and how long they took."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl

from penstock.detours import detours_of
from penstock.journeys import View
from penstock.scenario.units import show_time

_MOST = 16  # phases


def phases(view: View) -> list[dict[str, Any]]:
    """From each change of what is dead to the next; a frame is of the phase in which its talker sent it.

    Empty where nothing is led around anything.
    """
    network = view.network
    if not detours_of(network):
        return []
    outages = [fault for fault in network.faults if fault.is_outage and fault.at_ps < network.duration_ps]
    changes = {at for fault in outages for at in (fault.at_ps, fault.until_ps) if at is not None}
    times = sorted({0, network.duration_ps} | {at for at in changes if at < network.duration_ps})
    frames = _frames(view)
    found = []
    for begin, end in list(pairwise(times))[:_MOST]:
        dead = [fault.name for fault in outages if fault.at_ps <= begin < (fault.until_ps or network.duration_ps)]
        part = frames.filter((pl.col("talker_sent") >= begin) & (pl.col("talker_sent") < end))
        streams = {str(name): _stream(rows) for (name,), rows in part.partition_by("stream", as_dict=True).items()}
        known = {name: streams[name] for name in network.streams if name in streams}
        found.append({"begin_ns": begin / 1000, "end_ns": end / 1000, "dead": dead, "streams": known})
    return found


def _frames(view: View) -> pl.DataFrame:
    """One row per frame to one listener: stream, talker_sent, latency (ps, or null), way (names of nodes)."""
    network = view.network
    single = pl.Series(
        [name for name, stream in network.streams.items() if len(stream.listeners) == 1], dtype=pl.Categorical
    )
    bridges = pl.Series(list(network.bridges), dtype=pl.Categorical)
    event = pl.col("event")
    ways = (
        view.rows.filter((event == "received") & pl.col("node").is_in(bridges.implode()))
        .sort("time_ps", maintain_order=True)
        .group_by("frame_id", maintain_order=True)
        .agg(pl.col("node").cast(pl.String).alias("way"))
    )
    return (
        view.journeys.filter(pl.col("stream").is_in(single.implode()))
        .join(ways, on="frame_id", how="inner")
        .select("stream", "talker_sent", "way", (pl.col("delivered") - pl.col("talker_sent")).alias("latency"))
    )


def _stream(rows: pl.DataFrame) -> dict[str, Any]:
    latency = rows["latency"].drop_nulls()
    ways = rows.group_by("way", maintain_order=True).len("frames")
    return {
        "sent": len(rows),
        "delivered": len(latency),
        "p50_ns": _ns(latency.quantile(0.5, "nearest")),
        "max_ns": _ns(latency.max()),
        "ways": [{"nodes": way, "frames": frames} for way, frames in ways.iter_rows()],
    }


def _ns(time_ps: Any) -> float | None:
    return None if time_ps is None else time_ps / 1000


def moved(found: list[dict[str, Any]]) -> list[str]:
    """The streams that do not go the same way in all phases, or lost a frame in one."""
    names = list(dict.fromkeys(name for phase in found for name in phase["streams"]))
    return [name for name in names if len(_kinds(found, name)) > 1]


def show_ns(time_ns: float) -> str:
    """A time of a run for people."""
    return show_time(round(1000 * time_ns)) if time_ns else "0 s"


def _kinds(found: list[dict[str, Any]], name: str) -> set[Any]:
    streams = [phase["streams"][name] for phase in found if name in phase["streams"]]
    ways = {tuple(way["nodes"]) for stream in streams for way in stream["ways"]}
    return ways | {"lost" for stream in streams if stream["delivered"] < stream["sent"]}
