# SPDX-License-Identifier: Apache-2.0
"""What a run gave, by flow: all frames of ST and of BE, and what their queues at the slow port held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.journeys import View
from penstock.reproduce.outcome import Frames, Instants, Outcome, Times
from penstock.run import observe
from penstock.scenario.network import Network

FLOWS = {"st": "ST", "be": "BE"}
SLOW = ("nic2", 1)  # the port that is slower than both flows
INTERVAL_MS = 100  # over which the paper averages what queues hold
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Held:
    """What the queues of the slow port held, by flow: means of each 100 ms, and the most at any time."""

    mean: Mapping[str, Sequence[float]]
    most: Mapping[str, int]


def held(outcome: Outcome) -> Held:
    """Of a run of `watch`."""
    told = outcome.summary["occupancy"]
    return Held({flow: told[flow]["mean"] for flow in FLOWS}, {flow: told[flow]["most"] for flow in FLOWS})


def watch(network: Network) -> Outcome:
    """Runs a testbed. Streams of the outcome are the flows "st" and "be"."""
    return flows_of(network, *observe(network))


def flows_of(network: Network, summary: dict[str, Any], view: View) -> Outcome:
    """Of a run that is done."""
    journeys = view.journeys.with_columns(pl.col("stream").cast(pl.String))
    frames, told, occupied = {}, {}, {}
    for flow in FLOWS:
        names = [name for name in network.streams if name.startswith(flow)]
        came = journeys.filter(pl.col("stream").is_in(names) & pl.col("delivered").is_not_null())
        frames[flow] = _frames(came.sort("created", "frame_id"))
        streams = [summary["streams"][name] for name in names]
        bounds = [stream["bound_ns"] for stream in streams]
        told[flow] = {
            "sent": sum(stream["sent"] for stream in streams),
            "delivered": sum(stream["delivered"] for stream in streams),
            "dropped": _sums(stream["dropped"] for stream in streams),
            "bound_ns": None if None in bounds else max(bounds),
        }
        occupied[flow] = _held(network, view, names)
    return Outcome(network.nodes, {"streams": told, "occupancy": occupied}, frames)


def latency_us(outcome: Outcome, flow: str) -> Times:
    """From the talker's program to the listener, in the order in which frames were sent."""
    frames = outcome.frames[flow]
    return (frames.delivered_ps - frames.created_ps) / 1e6


def _frames(rows: pl.DataFrame) -> Frames:
    columns = ("bytes", "created", "talker_sent", "delivered")
    length, created, sent, delivered = (rows[column].cast(pl.Int64).to_numpy() for column in columns)
    return Frames(length, created, _NONE, sent, delivered, {})


def _sums(counts: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in counts:
        for reason, count in each.items():
            found[reason] = found.get(reason, 0) + count
    return found


def _held(network: Network, view: View, names: list[str]) -> dict[str, Any]:
    """What the flow's queue at the slow port held: averages over each 100 ms, and the most at any time."""
    node, port = SLOW
    rows = view.hops.with_columns(pl.col("stream", "node").cast(pl.String)).filter(
        (pl.col("node") == node) & (pl.col("port") == port)
        & pl.col("stream").is_in(names) & pl.col("queued").is_not_null()
    )  # fmt: skip
    end_ps = network.duration_ps
    queued = rows["queued"].cast(pl.Int64).to_numpy()
    left = rows.select(pl.coalesce("sent", "dropped").cast(pl.Int64)).to_series().fill_null(end_ps).to_numpy()
    left = np.minimum(left, end_ps)
    return {"mean": means(queued, left, INTERVAL_MS * 10**9, end_ps).tolist(), "most": most(queued, left)}


def means(queued_ps: Instants, left_ps: Instants, interval_ps: int, end_ps: int) -> NDArray[np.float64]:
    """How many frames a queue held, averaged over each whole interval: the integral at its ends, without a sample."""
    ends = np.arange(0, end_ps + 1, interval_ps, dtype=np.int64)
    integral = np.array(
        [np.clip(end - queued_ps, 0, None).sum() - np.clip(end - left_ps, 0, None).sum() for end in ends]
    )
    return np.diff(integral) / interval_ps


def most(queued_ps: Instants, left_ps: Instants) -> int:
    """How many frames a queue held at most; at one instant what comes is there before anything leaves."""
    at = np.concatenate([queued_ps, left_ps])
    change = np.repeat([1, -1], [queued_ps.size, left_ps.size])
    order = np.lexsort((-change, at))
    return int(np.cumsum(change[order]).max(initial=0))
