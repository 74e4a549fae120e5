# SPDX-License-Identifier: Apache-2.0
"""Which streams a fault may delay."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.scenario.checked_fault import Fault
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network


def touched(network: Network) -> dict[str, str]:
    """The streams that outages may delay, each with why.

    What waits for a link, or for a node, comes in a burst when it is back: to all that have a port in common with it,
    and with these, port by port. What passes a bridge where they are may find its store full. Others pass as if nothing
    were down, but in a network of tiles, whose nodes lead frames around what is dead.
    """
    known: dict[str, str] | None = network.memo.get("touched")
    if known is None:
        known = network.memo["touched"] = _touched(network)
    return known


def _touched(network: Network) -> dict[str, str]:
    outages = [fault for fault in network.faults if fault.is_outage]
    if not outages:
        return {}
    if network.tilings:
        why = f"{outages[0].said} (faults), and nodes lead frames around it"
        return dict.fromkeys(network.streams, why)
    found = {}
    for stream in network.streams.values():
        fault = next((fault for fault in outages if _is_hit(network, stream, fault)), None)
        if fault is not None:
            found[stream.name] = f"{fault.said} (faults), and what waits meanwhile comes at once"
    ports = {stream.name: set(_ports(stream)) for stream in network.streams.values()}
    reached = set().union(*(ports[name] for name in found))
    while more := [
        name
        for name, of in ports.items()
        if name not in found and (of & reached or network.streams[name].source.response_to in found)
    ]:
        for name in more:
            found[name] = f"it meets streams that wait while {outages[0].said} (faults)"
            reached |= ports[name]
    nodes = {node for node, _ in reached if node in network.bridges}
    for stream in network.streams.values():
        if stream.name not in found and any(hop.bridge in nodes for hop in stream.tree):
            found[stream.name] = f"it has a bridge in common with streams that wait while {outages[0].said} (faults)"
    return found


def _ports(stream: Stream) -> Iterator[tuple[str, int]]:
    yield stream.talker, 0
    for hop in stream.tree:
        yield from ((hop.bridge, port) for port in hop.egress)


def _is_hit(network: Network, stream: Stream, fault: Fault) -> bool:
    if isinstance(fault.place, int):
        name = network.links[fault.place].name
        return any(network.link_at[port].name == name for port in _ports(stream))
    nodes = {stream.talker, *stream.listeners, *(hop.bridge for hop in stream.tree)}
    return fault.place in nodes
