# SPDX-License-Identifier: Apache-2.0
"""All pictures of a run, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from penstock.journeys import View
from penstock.report import latency, queues, topology
from penstock.report.page import Picture
from penstock.report.style import MOST_LOOKS, Look, plain
from penstock.scenario.network import Network
from penstock.table import most_urgent

_NETWORK = (
    "Squares are bridges with the numbers of their ports, circles stations, coloured lines the streams on each link."
)


def shown(summary: Mapping[str, Any]) -> list[str]:
    """The streams of the pictures."""
    return most_urgent(dict(summary), MOST_LOOKS)


def of_network(network: Network, looks: Mapping[str, Look]) -> list[Picture]:
    """The map; empty when the network is too large to be drawn."""
    figure = topology.picture(network, looks)
    if figure is None:
        return []
    plain(figure)
    return [Picture("Network", _NETWORK, figure)]


def of_frames(
    view: View, arrived: pl.DataFrame, summary: Mapping[str, Any], looks: Mapping[str, Look]
) -> list[Picture]:
    """Of a trace; `arrived` are the copies that were delivered."""
    of_stream = {name: arrived.filter(pl.col("stream") == pl.lit(name, dtype=pl.Categorical)) for name in looks}
    return [
        latency.over_time(arrived, of_stream, summary, looks),
        latency.distribution(of_stream, summary, looks),
        latency.intervals(of_stream, looks),
        queues.depth(view.hops, summary),
        *queues.drops(view.network, view.journeys, summary),
    ]
