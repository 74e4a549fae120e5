# SPDX-License-Identifier: Apache-2.0
"""Why a stream has no bound at a bridge, in words, with what would mend it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil

from penstock.bound.describe import Place, held_ps_of
from penstock.bound.faults import touched
from penstock.bound.releases import releases_of
from penstock.bound.solution import Solution
from penstock.bound.sources import on_wire
from penstock.bound.terms import MOST
from penstock.scenario.checked_stream import Stream
from penstock.scenario.lengths import came_to, lengths_at
from penstock.scenario.network import Network, Step
from penstock.scenario.units import show_rate


def why_not(
    network: Network, solution: Solution, stream: Stream, way: Sequence[Step], number: int, shaped: Sequence[bool]
) -> str | None:
    """Why there is no bound at a step of a way; None where there is one. `shaped`: where an ATS scheduler is."""
    step = way[number]
    broken = _broken(network, stream)
    if broken is not None:
        return broken
    bridge = network.bridges[step.bridge]
    if bridge.nodes == "own":
        return (
            "the bridge is a node of one's own, of which no more is known; a model or hardware in its place has a bound"
        )
    if bridge.has_host:
        return "the bridge has a host port, whose program says by which ports and in which class its frames leave"
    traffic_class = network.class_at(stream, step.bridge)
    if not bridge.static_forwarding:
        return (
            "the bridge learns its addresses, and may flood other streams to the same port; static forwarding mends it"
        )
    found = _of_queue(network, solution, (step.bridge, step.egress), traffic_class)
    if found is not None:
        return found
    if shaped[number]:
        return _once(network, "again", step, traffic_class, lambda: _why_held(network, step, traffic_class))
    return None


def _of_queue(network: Network, solution: Solution, place: Place, traffic_class: int) -> str | None:
    """Why a class has no bound at a port."""
    why = solution.queues[place, traffic_class]["why"]
    if why is None:
        return None
    bridge = network.bridges[place[0]]
    if isinstance(why, dict) and "above" in why:
        above = why["above"]["class"]
        return f"class {above} goes first: {_of_queue(network, solution, place, above) or 'it has no limit'}"
    if isinstance(why, dict):
        name = list(network.streams)[why["no_contract"]["stream"]]
        return f'"{name}" brings what it will: {_no_contract(network, network.streams[name])}'
    rate = network.link_at[place].rate_bps
    peer = network.peer(*place)
    link = f'the {show_rate(rate)} of the link to "{peer[0] if peer else "nothing"}"'
    match why:
        case "no_window":
            window = f"no window of class {traffic_class} is as long as its longest frame and a lower one before"
            return f"{window}; a longer one, or shorter frames, have a bound"
        case "credit":
            credit = f"the credit of class {traffic_class} has no limit: classes above it take what it earns"
            return f"{credit}; less of these, or a lower idleSlope, limit it"
        case "growing":
            return "waits go on growing around a circle of streams; ATS at its bridges breaks it"
        case "unknown_port" if held_ps_of(network, bridge, rate) > MOST:
            return (
                "the clocks of schedulers drift apart by more than the analysis counts, 18 minutes, while this lasts; "
                "a shorter duration, or clocks that drift less, have a bound"
            )
        case "unknown_port":
            return (
                "its gates begin to act during the run, and are not all open before; "
                "sources that start after their base_time have a bound"
            )
    for stream in network.streams_at[place]:
        shaped = stream.ats is not None and bridge.is_ats(network.class_at(stream, place[0]))
        if network.class_at(stream, place[0]) >= traffic_class and not shaped and _is_by_chance(network, stream):
            return f'"{stream.name}" brings what its link carries: {_no_contract(network, stream)}'
    offered = _offered_bps(network, place, traffic_class)
    if offered > rate:
        return (
            f"the committed rates add up to {offered / 1e6:g} Mb/s on the wire, above {link}; lower rates have a bound"
        )
    shaper = bridge.credit.get((place[1], traffic_class))
    served = f", idleSlope {show_rate(shaper.idle_slope_bps)}" if shaper is not None else ""
    gated = ", behind its gate" if place[1] in bridge.gates else ""
    more = "idleSlope" if shaper is not None else "time that its gate is open" if gated else "rate of the link"
    come = f"more may come than class {traffic_class} is served with{served}{gated}, as long as it lasts"
    return f"{come}; less of it and of the classes above, or more {more}, have a bound"


def _offered_bps(network: Network, place: Place, traffic_class: int) -> int:
    bridge, found = network.bridges[place[0]], 0
    for stream in network.streams_at[place]:
        of = network.class_at(stream, place[0])
        if of >= traffic_class and stream.ats is not None and bridge.is_ats(of):
            lengths = lengths_at(network, stream, place)
            found += on_wire(stream.ats.at_node(bridge.name), bridge.overhead_bytes, lengths.came, lengths.counted)[1]
    return found


def _is_by_chance(network: Network, stream: Stream) -> bool:
    return bool(stream.source.back_to_back) or isinstance(releases_of(network, stream), str)


def _no_contract(network: Network, stream: Stream) -> str:
    releases = releases_of(network, stream) if stream.source.response_to is None else "it answers other frames"
    if stream.source.back_to_back:
        return "it takes all that its link carries; ats or a source with a period has a contract"
    if isinstance(releases, str):
        return f"{releases}; ats gives it a contract"
    return "of what it waits for at its talker nothing is known; a bound there gives it a contract"


def _broken(network: Network, stream: Stream) -> str | None:
    """Why faults or detours leave no bound."""
    for name, tiling in network.tilings.items():
        if tiling.congestion_frames is not None:
            around = (
                f"nodes of {name} lead frames around congestion (congestion_detour), to ports of which no way tells"
            )
            return f"{around}; without it there is a bound"
    if not network.faults:
        return None
    hit = touched(network).get(stream.name)
    if hit is not None:
        return f"{hit}; without it there may be a bound"
    ports = [(stream.talker, 0), *((hop.bridge, egress) for hop in stream.tree for egress in hop.egress)]
    passed = {network.link_at[port].name for port in ports}
    for fault in network.faults:
        if isinstance(fault.place, int) and network.links[fault.place].name in passed:
            return f"{fault.said} (faults), and frames that are hit are dropped; without it there may be a bound"
    return None


def _once(network: Network, question: str, step: Step, traffic_class: int, ask: Callable[[], str | None]) -> str | None:
    """An answer that is the same for all streams of a scheduler group."""
    key = (question, step.bridge, step.entry, traffic_class)
    if key not in network.memo:
        network.memo[key] = ask()
    found: str | None = network.memo[key]
    return found


def _come_together(network: Network, group: Sequence[Stream], bridge: str) -> str | None:
    """That streams of one scheduler had several at the bridge before: together they may be above its rate and burst."""
    entries: dict[str, set[int]] = {}
    names = {other.name: other for other in group}
    for other, hop in network.passing[bridge]:
        if other.name in names and other.ats is not None and other.ats.scheduler is not None:
            entries.setdefault(other.ats.scheduler, set()).add(hop.entry)
    for scheduler, of in entries.items():
        if len(of) > 1:
            return (
                f'streams of the scheduler "{scheduler}" came to "{bridge}" by several links, each with its rate and '
                "burst; a scheduler for each of these links has a bound"
            )
    return None


def _why_held(network: Network, step: Step, traffic_class: int) -> str | None:
    """Why a scheduler of the group may hold a frame for longer than the queue before it did.

    An interleaved regulator adds nothing only behind what is first in, first out for all of its streams, since they
    were last held to the same contracts, or since they entered the network (Le Boudec, 2018).
    """
    group = [
        stream
        for stream, hop in network.passing[step.bridge]
        if hop.entry == step.entry and stream.ats is not None and network.class_at(stream, step.bridge) == traffic_class
    ]
    overhead = network.bridges[step.bridge].overhead_bytes
    node, entry = step.bridge, step.entry
    while True:
        before = network.peer(node, entry)
        assert before is not None, "a stream comes by a link"
        if before[0] in network.stations:
            return _why_not_as_released(network, group, before[0])
        bridge = network.bridges[before[0]]
        classes = {network.class_at(other, bridge.name) for other in group}
        if len(classes) > 1:
            return (
                "streams of its scheduler group were of different classes at the bridge before; one class has a bound"
            )
        if bridge.is_ats(classes.pop()):
            break
        entries = {hop.entry for other, hop in network.passing[bridge.name] if other in group}
        if len(entries) > 1:
            return (
                f'streams of its scheduler group came together at "{bridge.name}" without being shaped there; '
                "ATS at that bridge has a bound"
            )
        node, entry = bridge.name, entries.pop()
    together = _come_together(network, group, bridge.name)
    if together is not None:
        return together
    if overhead > bridge.overhead_bytes:
        there = bridge.overhead_bytes
        counted = f"ATS counts {overhead} B around a frame, but {there} B at the bridge before, which lets more pass"
        return f"{counted}; the same overhead at both has a bound"
    for other in group:
        assert other.ats is not None
        now, then = other.ats.at_node(step.bridge), other.ats.at_node(bridge.name)
        longer = _grown(network, other, step.bridge, bridge.name)
        if now.rate_bps < then.rate_bps * longer or now.burst_bytes < then.burst_bytes * longer:
            if longer > 1:
                rate, burst = ceil(then.rate_bps * longer), ceil(then.burst_bytes * longer)
                held = f'frames of "{other.name}" come here longer than to the scheduler before, and may be held'
                return f'{held}; rate = "{rate}b/s" and burst = "{burst}B" or more here (ats.at) has a bound'
            less = f'rate or burst of "{other.name}" is less than at the bridge before, and its frames may be held here'
            return f"{less}; no less than there has a bound"
    return None


def _grown(network: Network, stream: Stream, bridge: str, before: str) -> Fraction:
    """By how much more a scheduler counts of a stream than one before it, which counts no less around a frame."""
    around = network.bridges[before].overhead_bytes
    then, now = (came_to(network, stream, name) for name in (before, bridge))
    return max(Fraction(new + around, old + around) for old, new in zip(then, now, strict=True))


def _why_not_as_released(network: Network, group: Sequence[Stream], talker: str) -> str | None:
    """Why frames may come from a talker in another order than they were released."""
    station = network.stations[talker]
    other = "strict priority there has a bound"
    for name in dict.fromkeys(stream.name for stream in group):
        stream = network.streams[name]
        number = network.class_at_talker(stream)
        if station.gates:
            gated = f'the port of "{talker}" has gates, behind which frames wait that then come faster than released'
            return f"{gated}; {other}"
        level = station.round_robin.get(0, frozenset())
        if level and number <= max(level):
            return (
                f'the port of "{talker}" has classes that take turns, for which frames wait that then come faster '
                f"than released; {other}"
            )
        if (0, number) in station.credit:
            return (
                f'{station.class_name(number)} of "{talker}" is served by credit, for which frames wait that then '
                f"come faster than released; {other}"
            )
    return None
