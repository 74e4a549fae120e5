# SPDX-License-Identifier: Apache-2.0
"""What a run with hundreds of streams gave: the frames of each priority together, and what their ways take alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from penstock.check.deadlines import least_ps
from penstock.reproduce.outcome import Frames, Outcome
from penstock.run import observe
from penstock.scenario.network import Network

_NONE = np.zeros(0, np.int64)


def watch(network: Network) -> Outcome:
    """Runs a network whose trace has the begins and ends of journeys; streams of the outcome are "priority N"."""
    _, view = observe(network)
    streams = network.streams.values()
    names = [stream.name for stream in streams]
    known = pl.DataFrame(
        {
            "stream": names,
            "priority": [stream.pcp for stream in streams],
            "alone": [least_ps(network, stream, stream.listeners[0]) / 1e6 for stream in streams],
        }
    )
    rows = view.journeys.with_columns(pl.col("stream").cast(pl.String)).join(known, on="stream")
    frames, summary = {}, {}
    for priority in sorted(set(known["priority"])):
        sent = rows.filter(pl.col("priority") == priority)
        came = sent.filter(pl.col("delivered").is_not_null()).sort("delivered", "frame_id")
        name = f"priority {priority}"
        frames[name] = _frames(came)
        summary[name] = {
            "sent": sent.height,
            "delivered": came.height,
            "dropped": sent["dropped"].drop_nulls().len(),
            "alone_us": came["alone"].mean(),
        }
    told: dict[str, Any] = {"streams": summary}
    return Outcome(network.nodes, told, frames)


def _frames(rows: pl.DataFrame) -> Frames:
    created, delivered = (rows[column].cast(pl.Int64).to_numpy() for column in ("created", "delivered"))
    return Frames(rows["bytes"].cast(pl.Int64).to_numpy(), created, _NONE, _NONE, delivered, {})
