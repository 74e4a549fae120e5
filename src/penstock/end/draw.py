# SPDX-License-Identifier: Apache-2.0
"""When streams that follow no fixed period create their frames: as a run of the scenario's model has it.

The engine alone knows how sources draw; whoever asks with the same scenario gets the same times.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from penstock.run import observe
from penstock.scenario.network import Network


def drawn(network: Network) -> dict[str, dict[str, Any]]:
    """By stream: its frames as one long period, times to the ns below. Streams without frames are left out."""
    _, view = observe(network)
    created = view.trace.filter(pl.col("event") == "created").sort("time_ps", "frame_id")
    found = {}
    for (name,), frames in created.group_by("stream", maintain_order=True):
        times = (frames["time_ps"] // 1000).to_list()
        lengths = frames["bytes"].to_list()
        found[str(name)] = {
            "bytes": max(lengths),
            "period_ns": max(network.duration_ps // 1000, times[-1] + 1),
            "frames": list(zip(times, lengths, strict=True)),
        }
    return found
