# SPDX-License-Identifier: Apache-2.0
"""All pictures of a run, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from penstock.journeys import View
from penstock.report import latency, queues, shapers, topology
from penstock.report.page import Picture
from penstock.report.style import MOST_LOOKS, Look, plain
from penstock.scenario.network import Network
from penstock.table import most_urgent


def shown(summary: Mapping[str, Any]) -> list[str]:
    """The streams of the pictures."""
    return most_urgent(dict(summary), MOST_LOOKS)


def all_figures(
    network: Network, view: View | None, summary: dict[str, Any], looks: Mapping[str, Look]
) -> list[Picture]:
    """Without a trace, those of what needs none."""
    names = list(looks)
    found = []
    network_picture = topology.picture(network, names, {name: look.color for name, look in looks.items()})
    if network_picture is not None:
        plain(network_picture)
        found.append(
            Picture(
                "Network", "Squares are bridges, circles stations, coloured lines the ways of streams.", network_picture
            )
        )
    if view is None:
        return found
    arrived = latency.delivered(view, summary)
    of_stream = {name: arrived.filter(pl.col("stream") == pl.lit(name, dtype=pl.Categorical)) for name in names}
    return [
        *found,
        latency.over_time(arrived, of_stream, summary, looks),
        *[
            Picture(*each)
            for each in shapers.figures(network, view, {name: look.color for name, look in looks.items()})
        ],
        latency.distribution(of_stream, summary, looks),
        latency.intervals(of_stream, looks),
        queues.depth(view.hops),
        *queues.drops(network, view.journeys),
    ]
