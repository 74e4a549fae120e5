# SPDX-License-Identifier: Apache-2.0
"""With which tag frames leave a bridge (802.1Q 6.9, 8.8.10): what is said of ports, and what it means for streams."""

from __future__ import annotations

from typing import Literal

from penstock.ethernet import MIN_FRAME_BYTES, TAG_BYTES
from penstock.scenario import model
from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.network import REAL, Bridge, Network, NodeKind
from penstock.scenario.positions import KeyPath

Edit = Literal["keep", "remove", "insert", "rewrite"]


def check_port_tags(draft: Draft, path: KeyPath, port: model.Port, kind: NodeKind, settings: model.Bridge) -> None:
    """Whether the bridge can do what is said of the tags at a port of it."""
    if port.untagged and not port.tagging:
        draft.report.refuse((*path, "untagged"), "the port sends frames as they came", "tagging = true beside it")
    if not port.tagging:
        return
    if draft.nodes in REAL or kind == "own":
        draft.report.refuse((*path, "tagging"), "only models and hardware tag frames", 'nodes = "model" or "rtl"')
    if settings.switching == "cut_through":
        what = "a frame that is sent on before it is whole leaves as it came"
        draft.report.refuse((*path, "tagging"), what, 'switching = "store_and_forward"')


def edit_of(network: Network, stream: Stream, bridge: Bridge, entry: int, egress: int) -> Edit:
    """What a bridge does to the tag of a stream's frames at an egress port."""
    if egress not in bridge.tagging_ports:
        return "keep"
    without = egress in bridge.untagged.get(network.vlan_at(stream, bridge.name, entry), ())
    if stream.vlan is None:
        return "keep" if without else "insert"
    if without:
        return "remove"
    return "rewrite" if stream.vlan == 0 else "keep"


def sent_bytes(network: Network, stream: Stream, place: tuple[str, int], frame_bytes: int) -> int:
    """Length from destination address to FCS with which a frame of the stream leaves a node by a port."""
    node, port = place
    if node not in network.bridges or port not in network.bridges[node].tagging_ports:
        return frame_bytes
    entry = next(hop.entry for hop in stream.tree if hop.bridge == node)
    match edit_of(network, stream, network.bridges[node], entry, port):
        case "insert":
            return frame_bytes + TAG_BYTES
        case "remove":
            return max(MIN_FRAME_BYTES, frame_bytes - TAG_BYTES)
    return frame_bytes


def inserts(network: Network, place: tuple[str, int]) -> bool:
    """Whether frames of some stream get a tag at an egress port, and leave longer than they came."""
    node, port = place
    if node not in network.bridges or port not in network.bridges[node].tagging_ports:
        return False
    return any(sent_bytes(network, stream, place, 0) > 0 for stream in network.streams_at[place] if stream.vlan is None)


def check_tagging(draft: Draft, network: Network) -> None:
    """Between bridges frames keep their tags: what a stream is at each bridge follows from what its talker sends."""
    for stream in network.streams.values():
        for hop in stream.tree:
            bridge = network.bridges[hop.bridge]
            for port in sorted(bridge.tagging_ports & set(hop.egress)):
                edit, peer = edit_of(network, stream, bridge, hop.entry, port), network.peer(hop.bridge, port)
                if edit == "keep" or peer is None or peer[0] not in network.bridges:
                    continue
                vlan = network.vlan_at(stream, hop.bridge, hop.entry)
                how = (
                    "without its tag" if edit == "remove" else f"with a tag of VLAN {vlan} that its talker does not set"
                )
                draft.once(
                    (*draft.origin[hop.bridge], "port", str(port), "tagging"),
                    f'stream "{stream.name}" would leave for bridge "{peer[0]}" {how}',
                    "edits at ports to stations; between bridges frames leave as their talkers send them",
                )
