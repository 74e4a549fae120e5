# SPDX-License-Identifier: Apache-2.0
"""The way of each stream to each of its listeners: bridge by bridge, with the ports of reception and egress."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from penstock.scenario.network import Network


@dataclass(frozen=True)
class Hop:
    """A bridge on the way of a stream."""

    bridge: str
    entry: int  # reception port
    egress: int
    entry_rate_bps: int
    egress_rate_bps: int


def path(network: Network, stream: str, listener: str) -> tuple[Hop, ...]:
    """The bridges between a stream's talker and one of its listeners."""
    talker, end = network.stations[network.streams[stream].talker], network.stations[listener]
    return (Hop(talker.bridge, talker.port, end.port, talker.link_rate_bps, end.link_rate_bps),)


@dataclass(frozen=True)
class Join:
    """A link between two nodes, for pictures."""

    a: str
    b: str
    rate_bps: int


def joins(network: Network) -> list[Join]:
    """All links: those between bridges, then those of the stations."""
    return [Join(s.bridge, s.name, s.link_rate_bps) for s in network.stations.values()]


def path_table(network: Network) -> pl.DataFrame:
    """All ways: stream, listener, number, node, entry, egress, entry_rate_bps, egress_rate_bps."""
    rows = [
        (stream.name, listener, number, hop.bridge, hop.entry, hop.egress, hop.entry_rate_bps, hop.egress_rate_bps)
        for stream in network.streams.values()
        for listener in stream.listeners
        for number, hop in enumerate(path(network, stream.name, listener))
    ]
    kinds = {
        "stream": pl.Categorical,
        "listener": pl.Categorical,
        "number": pl.UInt32,
        "node": pl.Categorical,
        "entry": pl.UInt16,
        "egress": pl.UInt16,
        "entry_rate_bps": pl.Int64,
        "egress_rate_bps": pl.Int64,
    }
    return pl.DataFrame(rows, schema=kinds, orient="row")
