# SPDX-License-Identifier: Apache-2.0
"""Streams whose frames get an R-TAG, the sequence number of IEEE 802.1CB: whether their first bridge can do that."""

from __future__ import annotations

from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.network import REAL, Network
from penstock.scenario.positions import KeyPath
from penstock.scenario.tagging import gets_r_tag


def check_numbering(draft: Draft, network: Network) -> None:
    """What is numbered has to be known from all else, and leaves as its talker sent it where bridges come behind."""
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
    for port in hop.egress:
        peer = network.peer(hop.bridge, port)
        if peer is not None and peer[0] in network.bridges and gets_r_tag(network, stream, (hop.bridge, port)):
            without = f'r_tag_removal at port {port} of "{hop.bridge}"'
            draft.report.refuse(
                path,
                f'its frames would leave for bridge "{peer[0]}" with an R-TAG that their talker does not set',
                f"{without}; between bridges frames leave as their talkers send them",
            )
    other = _same(network, stream)
    if other is not None:
        draft.report.refuse(
            path, f'"{hop.bridge}" cannot tell its frames from those of "{other}"', "identify another way"
        )


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
