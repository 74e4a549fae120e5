# SPDX-License-Identifier: Apache-2.0
"""How long a stream's frames are from port to port: bridges give them tags, and take them away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.ethernet import MIN_FRAME_BYTES, R_TAG_BYTES, TAG_BYTES
from penstock.scenario.checked_stream import Hop, Stream
from penstock.scenario.network import Bridge, Network
from penstock.scenario.tagging import edit_of

Ends = tuple[int, int]  # the shortest frame and the longest, from destination address to FCS
_VLAN_TAG, _R_TAG = b"\x81\x00", b"\xf1\xc1\0\0"  # how they begin
_MOST_FAST_PORTS = 4  # of hardware that reads a frame faster than it sends it
_BYTE_PS = 8000  # of hardware


@dataclass(frozen=True)
class Lengths:
    """Of a stream's frames at an egress port."""

    came: Ends
    sent: Ends
    counted: Ends  # for so long each has the port
    late_ps: int = 0  # so much later than others one begins, once it is selected
    has_number: bool = False  # a bridge gave it one, and it still has it


def edits(network: Network) -> bool:
    """Whether some bridge may make some frame longer or shorter."""
    known: bool | None = network.memo.get("edits lengths")
    if known is None:
        known = network.memo["edits lengths"] = any(
            bridge.tagging_ports or bridge.r_tag_removal_ports for bridge in network.bridges.values()
        ) or any(stream.numbered for stream in network.streams.values())
    return known


def lengths_at(network: Network, stream: Stream, place: tuple[str, int]) -> Lengths:
    """At an egress port on the way of a stream, of its talker or of a bridge."""
    released = stream.min_frame_bytes, stream.max_frame_bytes
    if place[0] not in network.bridges or not edits(network):
        return Lengths(released, released, released)
    return lengths_of(network, stream)[place]


def lengths_of(network: Network, stream: Stream) -> Mapping[tuple[str, int], Lengths]:
    """At each egress port of the bridges on the way of a stream."""
    key = "lengths", stream.name
    known: dict[tuple[str, int], Lengths] | None = network.memo.get(key)
    if known is None:
        known = network.memo[key] = {}
        for hop in stream.tree:
            before = network.peer(hop.bridge, hop.entry)
            released = stream.min_frame_bytes, stream.max_frame_bytes
            at_talker = Lengths(released, released, released)
            last = at_talker if before is None else known.get(before, at_talker)
            for port in hop.egress:
                known[hop.bridge, port] = _passed(network, stream, hop, port, last)
    return known


def came_to(network: Network, stream: Stream, node: str) -> Ends:
    """As the frames of a stream come to a bridge, or are released by its talker."""
    if node not in network.bridges or not edits(network):
        return stream.min_frame_bytes, stream.max_frame_bytes
    hop = next(hop for hop in stream.tree if hop.bridge == node)
    return lengths_at(network, stream, (node, hop.egress[0])).came


def has_r_tags(network: Network, stream: Stream) -> bool:
    """Whether some of its frames come from their talker with an R-TAG."""
    if stream.capture is None:
        return False
    key = "R-TAGs", stream.name
    known: bool | None = network.memo.get(key)
    if known is None:
        known = network.memo[key] = any(_has_r_tag(frame.data) for frame in stream.capture.frames)
    return known


def _has_r_tag(data: bytes) -> bool:
    at = 12 + TAG_BYTES * (data[12:14] == _VLAN_TAG)
    return data[at : at + 4] == _R_TAG


def _passed(network: Network, stream: Stream, hop: Hop, port: int, before: Lengths) -> Lengths:
    bridge = network.bridges[hop.bridge]
    change = {"insert": TAG_BYTES, "remove": -TAG_BYTES}.get(edit_of(network, stream, bridge, hop.entry, port), 0)
    is_first = hop is stream.tree[0]
    has_number = (stream.numbered if is_first else before.has_number) and port not in bridge.r_tag_removal_ports
    change += R_TAG_BYTES * (has_number - before.has_number)
    came = before.sent
    shortest, longest = (max(min(MIN_FRAME_BYTES, size), size + change) for size in came)
    late = max(0, -change) if _is_slow(bridge) else 0
    counted = shortest + late, longest + late
    if _is_slow(bridge) and port in bridge.r_tag_removal_ports and has_r_tags(network, stream):
        # Frames that come with one are counted as if they kept it; the shortest are padded, and late all the same.
        late = max(late, R_TAG_BYTES + max(0, -change))
        counted = max(counted[0], MIN_FRAME_BYTES + late), max(counted[1], MIN_FRAME_BYTES + late)
    return Lengths(came, (shortest, longest), counted, late * _BYTE_PS, has_number)


def _is_slow(bridge: Bridge) -> bool:
    """It sends a frame later by what that loses, and has its port for as long as if all of it were sent."""
    return bridge.hardware_timing and bridge.ports > _MOST_FAST_PORTS
