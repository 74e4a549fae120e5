# SPDX-License-Identifier: Apache-2.0
"""What each queue of a network card got of its line, read from a trace."""

from __future__ import annotations

from typing import Any

import polars as pl

from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.journeys import View
from penstock.scenario.network import Network, Station

_PS = 10**12


def queue_shares(view: View) -> list[dict[str, Any]]:
    """A row for each queue of each card that frames came to: frames, and part of the run that they were on the wire.

    Counted is what begins before the sources end. `open` is the part of a cycle in which its gate is open.
    """
    network, found = view.network, []
    for station in network.stations.values():
        if station.card is not None:
            found += _of(network, station, view.rows)
    return found


def _of(network: Network, station: Station, rows: pl.DataFrame) -> list[dict[str, Any]]:
    names = [stream.name for stream in network.streams_from.get(station.name, ())]
    queue = {name: network.class_at_talker(network.streams[name]) for name in names}
    within = (pl.col("event") == "sent") & (pl.col("time_ps") < network.duration_ps)
    sent = rows.filter(within & (pl.col("node") == station.name)).select(
        pl.col("stream").cast(pl.String).replace_strict(queue, default=None).alias("queue"),
        (pl.col("bytes").cast(pl.Int64) + WIRE_OVERHEAD_BYTES).alias("wire"),
    )
    counted = sent.group_by("queue").agg(pl.len().alias("frames"), pl.col("wire").sum())
    by_queue = {row["queue"]: row for row in counted.iter_rows(named=True)}
    line_bits = station.link_rate_bps * network.duration_ps / _PS
    return [
        {
            "station": station.name,
            "queue": number,
            "frames": by_queue[number]["frames"] if number in by_queue else 0,
            "share": 8 * by_queue[number]["wire"] / line_bits if number in by_queue else 0.0,
            "open": _open(station, number),
        }
        for number in sorted(set(queue.values()), reverse=True)
    ]


def _open(station: Station, number: int) -> float:
    gates = station.gates.get(0)
    if gates is None:
        return 1.0
    states, _ = gates.entries[-1]
    listed = sum(interval for _, interval in gates.entries)
    opened = sum(interval for states, interval in gates.entries if states >> number & 1)
    # The last entry lasts to the end of the cycle.
    rest = max(gates.cycle_time_ns - listed, 0) if states >> number & 1 else 0
    return (opened + rest) / gates.cycle_time_ns
