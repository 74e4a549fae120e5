# SPDX-License-Identifier: Apache-2.0
"""Streams that share a scheduler."""

from __future__ import annotations

from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network


def sharing(network: Network, stream: Stream) -> list[str]:
    """The other streams of the stream's scheduler, in quotes; none if it has one of its own."""
    if stream.ats is None or stream.ats.scheduler is None:
        return []
    known: dict[str, list[str]] | None = network.memo.get("sharing")
    if known is None:
        known = network.memo["sharing"] = {}
        for each in network.streams.values():
            if each.ats is not None and each.ats.scheduler is not None:
                known.setdefault(each.ats.scheduler, []).append(each.name)
    return [f'"{name}"' for name in known[stream.ats.scheduler] if name != stream.name]
