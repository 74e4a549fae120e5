# SPDX-License-Identifier: Apache-2.0
"""Where equation (1) holds."""

from __future__ import annotations

from collections.abc import Callable

from penstock.bound.ports import port_at
from penstock.bound.sharing import sharing
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import SELECTION_WORDS, Network, Step
from penstock.scenario.units import show_rate

NO_RATE = "the stream has no committed rate and burst (ats)"


def why_not(network: Network, stream: Stream, step: Step, before: Step | None) -> str | None:
    """Why equation (1) says nothing about the stream at a bridge; None where it holds.

    `before` is the step at the bridge before, None at the first.
    """
    broken = _broken(network, stream)
    if broken is not None:
        return broken
    bridge = network.bridges[step.bridge]
    if bridge.nodes == "own":
        return "the bridge is a node of one's own, of which no more is known"
    traffic_class = network.class_at(stream, step.bridge)
    if not bridge.is_ats(traffic_class):
        how = SELECTION_WORDS[bridge.selection(traffic_class)]
        return f"class {traffic_class} is {how}: the stream is not shaped"
    if step.egress in bridge.gates:
        return "the port has gates, and equation (1) is about a link that is always there"
    credited = [number for port, number in bridge.credit if port == step.egress and number >= traffic_class]
    held = next((number for number in sorted(credited, reverse=True) if bridge.is_ats(number)), None)
    if held is not None:
        return f"{bridge.class_name(held)} is ATS and held by credit too, of which equation (1) knows nothing"
    level = bridge.round_robin.get(step.egress, frozenset())
    if level and max(level) > traffic_class:
        turns = " and ".join(bridge.class_name(number) for number in sorted(level, reverse=True))
        return f"{turns} take turns before class {traffic_class}, for which no bound is known"
    if bridge.cut_through:
        return "the bridge forwards by cut-through, and equation (1) is about whole frames"
    if not bridge.static_forwarding:
        return "the bridge learns its addresses, and may flood other streams to the same port"
    shared = _once(network, "shared", step, traffic_class, lambda: _shared_in_group(network, step, traffic_class))
    if shared is not None:
        return shared
    port = port_at(network, step, traffic_class)
    if port.unshaped is not None:
        return port.unshaped
    link = network.link_at[step.bridge, step.egress]
    # A class whose rate is all that the higher ones leave still has a bound: the queue that bursts make never grows.
    if port.committed_bps > link.rate_bps or port.higher_fastest_bps >= link.rate_bps:
        peer = network.peer(step.bridge, step.egress)
        where = f'the {show_rate(link.rate_bps)} of the link to "{peer[0] if peer else "nothing"}"'
        return f"the committed rates add up to {port.committed_bps / 1e6:g} Mb/s on the wire, above {where}"
    if before is None:
        return _why_not_as_released(network, stream, step, traffic_class)
    return _once(
        network, "again", step, traffic_class, lambda: _why_not_shaped_again(network, step, before, traffic_class)
    )


def _broken(network: Network, stream: Stream) -> str | None:
    """Why faults leave no bound: what waits for a link comes in a burst, to streams of other ways too."""
    if not network.faults:
        return None
    outage = next((fault for fault in network.faults if fault.is_outage), None)
    if outage is not None:
        return f"{outage.said} (faults), and equation (1) is about a network that is whole"
    ports = [(stream.talker, 0), *((hop.bridge, egress) for hop in stream.tree for egress in hop.egress)]
    passed = {network.link_at[port].name for port in ports}
    for fault in network.faults:
        if isinstance(fault.place, int) and network.links[fault.place].name in passed:
            return f"{fault.said} (faults), and frames that are hit are dropped"
    return None


def _once(network: Network, question: str, step: Step, traffic_class: int, ask: Callable[[], str | None]) -> str | None:
    """An answer that is the same for all streams of a scheduler group."""
    key = (question, step.bridge, step.entry, traffic_class)
    if key not in network.memo:
        network.memo[key] = ask()
    found: str | None = network.memo[key]
    return found


def _shared_in_group(network: Network, step: Step, traffic_class: int) -> str | None:
    """That a scheduler of the stream's group is of several streams: of what these bring together nothing is known."""
    for stream, hop in network.passing[step.bridge]:
        if hop.entry == step.entry and sharing(network, stream):
            assert stream.ats is not None
            if network.class_at(stream, step.bridge) == traffic_class:
                shared = f'the scheduler "{stream.ats.scheduler}" of its group is shared'
                return f"{shared}, and equation (1) is about one for each stream"
    return None


def _why_not_as_released(network: Network, stream: Stream, step: Step, traffic_class: int) -> str | None:
    """Why frames may come to the first bridge closer together than their sources release them.

    The scheduler group counts as one: what the talker holds of one of its streams, the others may wait for.
    """
    talker = network.stations[stream.talker]
    if talker.gates:
        return f'the port of "{talker.name}" has gates, behind which frames wait that then come faster than released'
    for other in network.streams_from[talker.name]:
        number = network.class_at_talker(other)
        if network.class_at(other, step.bridge) != traffic_class:
            continue
        level = talker.round_robin.get(0, frozenset())
        if level and number <= max(level):
            return (
                f'the port of "{talker.name}" has classes that take turns, for which frames wait that then come faster '
                "than released"
            )
        if (0, number) in talker.credit:
            return (
                f'{talker.class_name(number)} of "{talker.name}" is served by credit, for which frames wait that then '
                "come faster than released"
            )
    return None


def _why_not_shaped_again(network: Network, step: Step, before: Step, traffic_class: int) -> str | None:
    """Why a scheduler of the group could hold a frame for longer than the queue before it did."""
    group = [
        other
        for other in network.streams_at[before.bridge, before.egress]
        if other.ats is not None and network.class_at(other, step.bridge) == traffic_class
    ]
    if len({network.class_at(other, before.bridge) for other in group}) > 1:
        return "streams of its scheduler group were of different classes at the bridge before"
    here, there = (network.bridges[each.bridge].overhead_bytes for each in (step, before))
    if here > there:
        return f"ATS counts {here} B around a frame, but {there} B at the bridge before, which lets more pass"
    for other in group:
        assert other.ats is not None
        now, then = other.ats.at_node(step.bridge), other.ats.at_node(before.bridge)
        if now.rate_bps < then.rate_bps or now.burst_bytes < then.burst_bytes:
            return f'rate or burst of "{other.name}" is less than at the bridge before, and its frames may be held here'
    return None
