# SPDX-License-Identifier: Apache-2.0
"""When answers are released: as the frames that they answer, displaced by as much as the bound of those."""

from __future__ import annotations

from penstock.bound.releases import Releases, learn, limits_of, releases_of
from penstock.bound.way import bound
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network


def learn_answers(network: Network) -> None:
    """Finds it for all streams that answer; the bounds of what they answer take nothing from that."""
    if network.memo.setdefault("answers are learned", False):
        return
    network.memo["answers are learned"] = True
    for stream in network.streams.values():
        if stream.source.response_to is not None:
            _learned(network, stream)


def _learned(network: Network, stream: Stream) -> Releases | str:
    asked = network.streams[stream.source.response_to or ""]
    known = _learned(network, asked) if asked.source.response_to is not None else releases_of(network, asked)
    found = _of(network, stream, asked, known)
    learn(network, stream, found)
    return found


def _of(network: Network, stream: Stream, asked: Stream, known: Releases | str) -> Releases | str:
    if isinstance(known, str):
        return f'it answers "{asked.name}": {known}'
    latency = bound(network, asked.name).total_ps
    if latency is None:
        return f'it answers "{asked.name}", which has no bound'
    limits = (0, 0) if stream.jitter is None else limits_of(stream.jitter)
    if limits is None:
        return "its jitter is by a distribution without a limit"
    assert stream.source.frames is not None
    most = stream.source.count
    return known._replace(
        frame_bytes=(stream.source.frames,) * len(known.times_ps),
        groups=tuple(range(len(known.times_ps))),
        frames=known.frames if most is None else min(known.frames, most),
        late_ps=known.late_ps + latency + max(limits[1], 0),
    )
