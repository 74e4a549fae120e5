# SPDX-License-Identifier: Apache-2.0
"""Where equation (1) holds."""

from __future__ import annotations

from penstock.bound.ports import classes_before, port_at
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network, Step
from penstock.scenario.units import show_rate

NO_RATE = "the stream has no committed rate and burst (ats)"


def why_not(network: Network, stream: Stream, step: Step, before: Step | None) -> str | None:
    """Why equation (1) says nothing about the stream at a bridge; None where it holds.

    `before` is the step at the bridge before, None at the first.
    """
    bridge = network.bridges[step.bridge]
    traffic_class = network.class_at(stream, step.bridge)
    if not bridge.is_ats(traffic_class):
        how = "served by credit" if bridge.selection(traffic_class) == "cbs" else "strict priority"
        return f"class {traffic_class} is {how}: the stream is not shaped"
    if step.egress in bridge.gates:
        return "the port has gates, and equation (1) is about a link that is always there"
    if bridge.cut_through:
        return "the bridge forwards by cut-through, and equation (1) is about whole frames"
    if not bridge.static_forwarding:
        return "the bridge learns its addresses, and may flood other streams to the same port"
    port = port_at(network, step, traffic_class)
    if port.unshaped is not None:
        return port.unshaped
    link = network.link_at[step.bridge, step.egress]
    # A class whose rate is all that the higher ones leave still has a bound: the queue that bursts make never grows.
    if port.committed_bps > link.rate_bps or port.higher_bps >= link.rate_bps:
        peer = network.peer(step.bridge, step.egress)
        where = f'the {show_rate(link.rate_bps)} of the link to "{peer[0] if peer else "nothing"}"'
        return f"the committed rates add up to {port.committed_bps / 1e6:g} Mb/s on the wire, above {where}"
    if before is None:
        return _why_not_as_released(network, stream, step, traffic_class)
    return _why_not_shaped_again(network, step, before, traffic_class)


def _why_not_as_released(network: Network, stream: Stream, step: Step, traffic_class: int) -> str | None:
    """Why frames may come to the first bridge closer together than their sources release them.

    The scheduler group counts as one: what the talker holds of one of its streams, the others may wait for.
    """
    talker = network.stations[stream.talker]
    if talker.gates:
        return f'the port of "{talker.name}" has gates, behind which frames wait that then come faster than released'
    for other in network.streams_from[talker.name]:
        number = network.class_at_talker(other)
        if network.class_at(other, step.bridge) == traffic_class and (0, number) in talker.credit:
            return (
                f'{talker.class_name(number)} of "{talker.name}" is served by credit, for which frames wait that then '
                "come faster than released"
            )
    return None


def _why_not_shaped_again(network: Network, step: Step, before: Step, traffic_class: int) -> str | None:
    """Why the scheduler could hold a frame for longer than the queue before it did."""
    if len(classes_before(network, step, before, traffic_class)) > 1:
        return "streams of its scheduler group were of different classes at the bridge before"
    here, there = (network.bridges[each.bridge].overhead_bytes for each in (step, before))
    if here > there:
        return f"ATS counts {here} B around a frame, but {there} B at the bridge before, which lets more pass"
    return None
