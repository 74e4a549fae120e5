# SPDX-License-Identifier: Apache-2.0
"""The ways of all streams to their listeners as a table: bridge by bridge, with the ports of reception and egress."""

from __future__ import annotations

import polars as pl

from penstock.scenario.network import Network

_KINDS = {
    "stream": pl.Categorical,
    "listener": pl.Categorical,
    "number": pl.UInt32,
    "node": pl.Categorical,
    "entry": pl.UInt16,
    "egress": pl.UInt16,
    "entry_rate_bps": pl.Int64,
}


def path_table(network: Network) -> pl.DataFrame:
    """A row per stream, listener and bridge, `number` counting from the talker."""
    known: pl.DataFrame | None = network.memo.get("path_table")
    if known is None:
        rows = [
            (
                stream.name,
                listener,
                number,
                step.bridge,
                step.entry,
                step.egress,
                _rate(network, step.bridge, step.entry),
            )
            for stream in network.streams.values()
            for listener in stream.listeners
            for number, step in enumerate(network.way(stream, listener))
        ]
        known = pl.DataFrame(rows, schema=_KINDS, orient="row")
        network.memo["path_table"] = known
    return known


def _rate(network: Network, bridge: str, port: int) -> int:
    return network.link_at[bridge, port].rate_bps
