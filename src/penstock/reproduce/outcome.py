# SPDX-License-Identifier: Apache-2.0
"""What a run gave, as experiments read it: its summary, and the times of all frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.journeys import View
from penstock.run import observe
from penstock.scenario.network import Network

Times = NDArray[np.float64]
Instants = NDArray[np.int64]

NONE = -1  # of an instant that a frame did not reach
_STEPS = ("received", "arrived", "queued", "eligible", "sent")


@dataclass(frozen=True)
class Frames:
    """The frames of a stream that were delivered, in the order of their arrival. Instants in ps.

    `missed_ps` is the launch time of a frame that missed it, `sent_ps` is at the talker. `at_bridge` has the instants
    at the first bridge, named as in `penstock.journeys.hops`.
    """

    bytes: Instants
    created_ps: Instants
    missed_ps: Instants
    sent_ps: Instants
    delivered_ps: Instants
    at_bridge: dict[str, Instants]

    @property
    def latency_us(self) -> Times:
        """From the delimiter at the talker to the delimiter at the listener."""
        return (self.delivered_ps - self.sent_ps) / 1e6

    @property
    def interval_us(self) -> Times:
        """From each arrival to the next."""
        return np.diff(self.delivered_ps) / 1e6


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    nodes: str
    summary: dict[str, Any]
    frames: dict[str, Frames]

    def stream(self, name: str) -> dict[str, Any]:
        """The stream's part of the summary."""
        found: dict[str, Any] = self.summary["streams"][name]
        return found

    def bound_us(self, name: str) -> float | None:
        """The stream's bound, if its source keeps to its rate and burst."""
        bound = self.stream(name)["bound_ns"]
        return None if bound is None else bound / 1000

    def term_us(self, name: str, term: str) -> float:
        """A term of the stream's bound, over all bridges."""
        terms = self.stream(name)["bound"]["terms"]
        return sum(float(each["ns"]) for each in terms if str(each["name"]).endswith(term)) / 1000


def watch(network: Network) -> Outcome:
    """Runs a network."""
    return outcome_of(network, *observe(network))


def outcome_of(network: Network, summary: dict[str, Any], view: View) -> Outcome:
    """Of a run that is done."""
    hops = view.hops.with_columns(pl.col("stream", "node").cast(pl.String))
    journeys = view.journeys.filter(pl.col("delivered").is_not_null()).with_columns(pl.col("stream").cast(pl.String))
    frames = {}
    for name, stream in network.streams.items():
        first = hops.filter((pl.col("stream") == name) & (pl.col("node") == stream.tree[0].bridge))
        rows = (
            journeys.filter(pl.col("stream") == name)
            .join(first.select("frame_id", *_STEPS), on="frame_id", how="left")
            .sort("delivered", "frame_id")
        )
        frames[name] = Frames(
            _instants(rows, "bytes"),
            _instants(rows, "created"),
            _instants(rows, "missed"),
            _instants(rows, "talker_sent"),
            _instants(rows, "delivered"),
            {step: _instants(rows, step) for step in _STEPS},
        )
    return Outcome(network.nodes, summary, frames)


def _instants(rows: pl.DataFrame, column: str) -> Instants:
    return rows[column].cast(pl.Int64).fill_null(NONE).to_numpy()


def wire_bits(frames: Frames) -> Instants:
    """Of each frame, with preamble, delimiter and gap."""
    return (frames.bytes + WIRE_OVERHEAD_BYTES) * 8
