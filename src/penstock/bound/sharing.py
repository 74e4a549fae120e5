# SPDX-License-Identifier: Apache-2.0
"""Streams that share a scheduler."""

from __future__ import annotations

from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network


def sharing_at_talker(network: Network, stream: Stream) -> list[Stream]:
    """The other streams of the stream's talker that share its scheduler; none if it has one of its own.

    Those of other talkers come to the first bridge by other ports, and so to other schedulers.
    """
    if stream.ats is None or stream.ats.scheduler is None:
        return []
    others = [other for other in network.streams_from[stream.talker] if other.name != stream.name]
    return [other for other in others if other.ats is not None and other.ats.scheduler == stream.ats.scheduler]
