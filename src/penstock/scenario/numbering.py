# SPDX-License-Identifier: Apache-2.0
"""Streams whose frames get an R-TAG, the sequence number of IEEE 802.1CB: whether their bridges can do that."""

from __future__ import annotations

from penstock.scenario.checked_stream import Hop, Stream
from penstock.scenario.draft import Draft
from penstock.scenario.lengths import lengths_at
from penstock.scenario.network import REAL, Network
from penstock.scenario.positions import KeyPath


def check_numbering(draft: Draft, network: Network) -> None:
    """What is numbered has to be known from all else, at its first bridge and where it comes with its number."""
    for stream in network.streams.values():
        if stream.numbered:
            with draft.report.part():
                _check_stream(draft, network, stream)


def _check_stream(draft: Draft, network: Network, stream: Stream) -> None:
    path: KeyPath = ("streams", stream.name, "numbered")
    hop = stream.tree[0]
    bridge = network.bridges[hop.bridge]
    if draft.nodes in REAL or bridge.nodes not in ("model", "rtl"):
        draft.report.refuse(path, "only models and hardware number frames", 'nodes = "model" or "rtl"')
    if bridge.cut_through_bytes is not None:
        what = "a frame that is sent on before it is whole leaves as it came"
        draft.report.refuse(path, what, f'switching = "store_and_forward" of "{bridge.name}"')
    if stream.ats is not None and stream.ats.scheduler:
        draft.report.refuse(path, "it shares its scheduler, and numbers go by that", "ats of its own")
    for passed in stream.tree[1:]:
        _check_later(draft, path, network, stream, passed)
    other = _same(network, stream)
    if other is not None:
        draft.report.refuse(
            path, f'"{hop.bridge}" cannot tell its frames from those of "{other}"', "identify another way"
        )


def _check_later(draft: Draft, path: KeyPath, network: Network, stream: Stream, hop: Hop) -> None:
    """Whether a bridge behind the first one can do with frames that come with their number."""
    before = network.peer(hop.bridge, hop.entry)
    assert before is not None, "a tree leads from its talker on"
    found = lengths_at(network, stream, before)
    if not found.has_number:
        return
    bridge = network.bridges[hop.bridge]
    without = f'r_tag_removal = true at port {before[1]} of "{before[0]}"'
    if found.sent[1] > bridge.max_frame_bytes:
        what = f'with their number they come to "{bridge.name}" with {found.sent[1]} B, and its max_frame is less'
        draft.report.refuse(path, what, f'max_frame = "{found.sent[1]}B" there, or {without}')
    shaped = stream.ats is not None and bridge.is_ats(network.class_at(stream, bridge.name))
    if shaped and stream.identify == "ipv4":
        what = f'"{bridge.name}" shapes them, and does not know their IPv4 behind an R-TAG'
        draft.report.refuse(path, what, f'identify = "destination" or "source", or {without}')


def _same(network: Network, stream: Stream) -> str | None:
    """Another stream at the same port with frames that are identified as those of this one."""
    from penstock.plan import identities

    hop = stream.tree[0]
    key = identities(network, stream, hop.bridge, hop.entry)[stream.identify]
    for other, at in network.passing[hop.bridge]:
        if (
            other is not stream
            and at.entry == hop.entry
            and key in identities(network, other, hop.bridge, hop.entry).values()
        ):
            return other.name
    return None
