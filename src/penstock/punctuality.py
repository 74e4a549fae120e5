# SPDX-License-Identifier: Apache-2.0
"""How punctual a stream is: its total transmit time, period jitter and frame delay variation, from a whole trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from penstock import delay_variation
from penstock.delay_variation import Spread
from penstock.measure import KEYS, distribution, distribution_of
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network

_SPREADS = ("period_jitter_ns", "latency_change_ns", "delay_variation_ns")
UNKNOWN: dict[str, Any] = {"transmit_ns": dict.fromkeys(KEYS), **dict.fromkeys(_SPREADS)}


def period_ps(stream: Stream) -> int | None:
    """The time from frame to frame; None where frames do not come one by one at equal times."""
    source = stream.source
    return source.every if source.burst is None else None


def punctuality(network: Network, journeys: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The times of each stream, in ns.

    `transmit_ns` is from construction to reception, `period_jitter_ns` of equation 1, where the stream has a period,
    `latency_change_ns` of (2) and (3), `delay_variation_ns` of (4).
    """
    arrived = journeys.filter(pl.col("delivered").is_not_null()).sort("delivered", "frame_id")
    found = {}
    for (name,), rows in arrived.partition_by("stream", as_dict=True).items():
        stream = network.streams[str(name)]
        whole = rows.select(distribution_of("transmit", pl.col("delivered") - pl.col("created")))
        transmit = distribution(whole.row(0, named=True), "transmit")
        found[str(name)] = {
            "transmit_ns": transmit.ns() if transmit else dict.fromkeys(KEYS),
            **_spreads(stream, rows.partition_by("listener")),
        }
    return {name: found.get(name, UNKNOWN) for name in network.streams}


def _spreads(stream: Stream, by_listener: list[pl.DataFrame]) -> dict[str, dict[str, float] | None]:
    """Over all listeners, each with the frames that it received."""
    period = period_ps(stream)
    times = [(rows["created"].to_numpy(), rows["delivered"].to_numpy()) for rows in by_listener]
    values = {
        "period_jitter_ns": []
        if period is None
        else [delay_variation.period_jitter(received, period) for _, received in times],
        "latency_change_ns": [delay_variation.latency_change(*pair) for pair in times],
        "delay_variation_ns": [delay_variation.frame_delay_variation(*pair) for pair in times],
    }
    return {key: _ns(delay_variation.spread(np.concatenate(each)) if each else None) for key, each in values.items()}


def _ns(spread: Spread | None) -> dict[str, float] | None:
    if spread is None:
        return None
    found = spread.scaled(1000)
    return {
        "min": round(found.min, 3),
        "mean": round(found.mean, 3),
        "max": round(found.max, 3),
        "peak_to_peak": round(found.peak_to_peak, 3),
    }
