# SPDX-License-Identifier: Apache-2.0
"""The members of VLANs: those that the scenario lists, or else the ports by which streams pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.network import Bridge, Station
from penstock.scenario.port_keys import is_number


def with_vlans(
    draft: Draft, bridges: dict[str, Bridge], stations: dict[str, Station], streams: dict[str, Stream]
) -> dict[str, Bridge]:
    """Members: those the scenario lists, or else the ports by which streams pass."""
    listed = {name: _listed(draft, name, stations) for name in bridges}
    needed: dict[str, dict[int, set[int]]] = {name: {} for name in bridges}
    told: set[tuple[str, int, int]] = set()
    seen: defaultdict[int | None, set[int]] = defaultdict(set)  # by VLAN: many streams share their hops
    for stream in streams.values():
        known = seen[stream.vlan]
        if known.issuperset(map(id, stream.tree)):
            continue
        known.update(map(id, stream.tree))
        for hop in stream.tree:
            vlan = stream.vlan if stream.vlan else bridges[hop.bridge].port_vlan_id[hop.entry]
            members = listed[hop.bridge].get(vlan)
            for port in (hop.entry, *hop.egress):
                if members is not None and port not in members and (hop.bridge, vlan, port) not in told:
                    told.add((hop.bridge, vlan, port))
                    peer = draft.taken[hop.bridge, port]
                    draft.report.add(
                        (*draft.origin[hop.bridge], "vlans", str(vlan)),
                        f'{peer} at port {port} is not a member, but stream "{stream.name}" needs it',
                        f"{_at_port(draft, hop.bridge, port, stations)} in the list",
                    )
            needed[hop.bridge].setdefault(vlan, set()).update((hop.entry, *hop.egress))
    return {
        name: replace(bridge, vlans={vlan: frozenset(ports) for vlan, ports in needed[name].items()} | listed[name])
        for name, bridge in bridges.items()
    }


def _listed(draft: Draft, name: str, stations: Mapping[str, Station]) -> dict[int, frozenset[int]]:
    """What the scenario says of a bridge's VLANs."""
    found: dict[int, frozenset[int]] = {}
    path = (*draft.origin[name], "vlans")
    near = {draft.routes.names[n]: own for n, (own, _) in draft.routes.ports[draft.routes.number[name]].items()}
    for key, members in draft.settings[name].vlans.items():
        with draft.report.part():
            if not is_number(key) or not 1 <= int(key) <= 4094:
                draft.report.refuse((*path, key), f'there is no VLAN "{key}"', "1 to 4094")
            ports = set()
            for index, member in enumerate(members):
                if member in near:
                    ports.add(near[member])
                    continue
                station = draft.station_named((*path, key, index), member, stations)
                if station.bridge != name:
                    what = f'"{member}" is at "{station.bridge}"'
                    draft.report.refuse((*path, key, index), what, "stations at this bridge, and bridges beside it")
                ports.add(station.port)
            found[int(key)] = frozenset(ports)
    return found


def _at_port(draft: Draft, bridge: str, port: int, stations: Mapping[str, Station]) -> str:
    number = draft.routes.number[bridge]
    for other, (own, _) in draft.routes.ports[number].items():
        if own == port:
            return f'"{draft.routes.names[other]}"'
    return next((f'"{s.name}"' for s in stations.values() if (s.bridge, s.port) == (bridge, port)), "it")
