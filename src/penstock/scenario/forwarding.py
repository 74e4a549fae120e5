# SPDX-License-Identifier: Apache-2.0
"""Whether the bridges can tell the streams apart, and lead each to its listeners only."""

from __future__ import annotations

from collections import defaultdict

from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.network import Network


def check_identities(draft: Draft, network: Network) -> None:
    """At each port every stream of an ATS class must find its own scheduler, or none."""
    from penstock.plan import identities

    told: set[str] = set()
    tagged: dict[str, dict[str, tuple[object, ...]]] = {}  # the same at each bridge

    def keys_of(stream: Stream, bridge: str, entry: int) -> dict[str, tuple[object, ...]]:
        known = tagged.get(stream.name)
        if known is None:
            known = identities(network, stream, bridge, entry)
            if stream.vlan:
                tagged[stream.name] = known
        return known

    if _all_differ(network):
        return
    for name, passing in network.passing.items():
        ats = network.bridges[name].ats_pcps
        shaped = [
            (stream, hop.entry, keys_of(stream, name, hop.entry))
            for stream, hop in passing
            if (None if stream.vlan is None else stream.pcp) in ats
        ]
        known: dict[tuple[object, ...], str] = {}
        clashing: list[tuple[Stream, str]] = []
        for stream, entry, keys in shaped:
            if stream.ats is not None:
                key = (entry, *keys[stream.identify])
                if key in known:
                    clashing.append((stream, known[key]))
                known.setdefault(key, stream.name)
        for stream, entry, keys in shaped:
            # The hardware looks by IPv4 first, then by destination, then by source.
            for key in keys.values():
                owner = known.get((entry, *key))
                if owner == stream.name:
                    break
                if owner is not None:
                    clashing.append((stream, owner))
                    break
        for stream, owner in clashing:
            if stream.name not in told:
                told.add(stream.name)
                by = network.streams[owner].identify
                draft.report.add(
                    ("streams", stream.name),
                    f'a bridge cannot tell it from "{owner}": same {by} at the same port ("{name}")',
                    'another address, VLAN or "identify"',
                )


def _all_differ(network: Network) -> bool:
    """Whether no two streams of ATS classes come to a bridge by one port, one VLAN and to one destination.

    False as well where that is not all by which a bridge knows them.
    """
    anywhere = frozenset[int | None]().union(*(bridge.ats_pcps for bridge in network.bridges.values()))
    seen: set[tuple[str, int, int, int]] = set()
    count = 0
    for stream in network.streams.values():
        if (None if stream.vlan is None else stream.pcp) not in anywhere:
            continue
        if not stream.vlan or stream.udp is not None or stream.identify != "destination":
            return False
        mac, vlan = stream.destination_mac, stream.vlan
        seen.update([(hop.bridge, hop.entry, mac, vlan) for hop in stream.tree])
        count += len(stream.tree)
    return len(seen) == count


def check_forwarding(draft: Draft, network: Network) -> None:
    """What all streams put into a bridge's tables must lead each of them to its listeners and nowhere else."""
    leading: defaultdict[str, defaultdict[tuple[int, ...], set[tuple[int, int]]]]
    leading = defaultdict(lambda: defaultdict(set))
    for hop, streams in network.by_hop:
        own = network.bridges[hop.bridge].port_vlan_id[hop.entry]
        leading[hop.bridge][hop.egress].update([(stream.destination_mac, stream.vlan or own) for stream in streams])
    for name, bridge in network.bridges.items():
        if not bridge.static_forwarding:
            continue
        of_ports = leading[name].values()
        if len(set().union(*of_ports)) == sum(map(len, of_ports)):
            continue  # each key leads by one way only
        entries: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        for stream, hop in network.passing[name]:
            entries[stream.destination_mac, stream.vlan or bridge.port_vlan_id[hop.entry]].update(hop.egress)
        passing = [
            (stream, hop, (stream.destination_mac, stream.vlan or bridge.port_vlan_id[hop.entry]))
            for stream, hop in network.passing[name]
        ]
        for stream, hop, key in passing:
            if len(entries[key]) == len(hop.egress):
                continue
            extra = entries[key] - {hop.entry} - set(hop.egress)
            if extra:
                other = next(first.name for first, way, its in passing if its == key and min(extra) in way.egress)
                what = f'at "{name}" its frames would also go the way of "{other}": same destination and VLAN'
                draft.report.add(
                    ("streams", stream.name), what, "another destination or VLAN, or the same route and listeners"
                )
    _check_learning(draft, network)


def _check_learning(draft: Draft, network: Network) -> None:
    learning = [name for name, bridge in network.bridges.items() if not bridge.static_forwarding]
    if not learning:
        return
    group = {name: name for name in network.bridges}

    def root(name: str) -> str:
        while group[name] != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    looped: set[str] = set()
    for link in network.links:
        if link.a[0] in group and link.b[0] in group:
            a, b = root(link.a[0]), root(link.b[0])
            if a == b:
                looped.add(a)
            group[a] = b
    within = {root(name) for name in looped}
    for name in learning:
        if root(name) in within:
            what = "the links form a loop, in which flooded frames would go round for ever"
            draft.report.add((*draft.origin[name], "forwarding"), what, '"static"')
