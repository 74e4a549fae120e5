# SPDX-License-Identifier: Apache-2.0
"""The destinations of streams."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.scenario import model
from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.network import Bridge, Station
from penstock.scenario.positions import KeyPath


def destination_of(
    draft: Draft, path: KeyPath, number: int, stream: model.Stream, stations: Mapping[str, Station]
) -> int:
    """The destination of a stream's frames: the given one, its only listener, or a group of its own."""
    if stream.destination is not None:
        if 0x0180C2000000 <= stream.destination <= 0x0180C200000F:
            draft.report.refuse((*path, "destination"), "is never forwarded by a bridge", "another address")
        return stream.destination
    if len(stream.to) == 1:
        return stations[stream.to[0]].mac
    return _group_address(number)


def told_apart(draft: Draft, streams: dict[str, Stream], bridges: Mapping[str, Bridge]) -> dict[str, Stream]:
    """Shaped streams that a bridge would take for others at one port get destinations of their own."""
    first: dict[tuple[str, int, int, int], str] = {}  # that comes to a bridge by a port, a VLAN and a destination
    meeting: set[str] = set()
    ats_pcps = {name: bridge.ats_pcps for name, bridge in bridges.items()}
    anywhere = frozenset[int | None]().union(*ats_pcps.values())
    for name, stream in streams.items():
        pcp = None if stream.vlan is None else stream.pcp
        if pcp not in anywhere:
            continue
        for hop in stream.tree:
            if pcp in ats_pcps[hop.bridge]:
                bridge = bridges[hop.bridge]
                vlan = stream.vlan if stream.vlan else bridge.port_vlan_id[hop.entry]
                other = first.setdefault((hop.bridge, hop.entry, vlan, stream.destination_mac), name)
                if other != name:
                    meeting.add(other)
                    meeting.add(name)
    numbers = {name: number for number, name in enumerate(draft.scenario.streams)}
    result = dict(streams)
    for name in meeting:
        described = draft.scenario.streams[name]
        chosen = described.destination or described.identify or described.source.capture
        if described.has_scheduler and chosen is None:
            result[name] = Stream(**vars(streams[name]) | {"destination_mac": _group_address(numbers[name])})
    return result


def _group_address(number: int) -> int:
    """A stream's own, from the range that IEEE 1722 keeps for local use; beyond it any locally administered one."""
    return 0x91E0F000FE00 + number if number < 256 else 0x030000000000 + number
