# SPDX-License-Identifier: Apache-2.0
"""The bound of a stream, hop by hop on the way to each of its listeners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.bound.conditions import why_not
from penstock.bound.describe import goes_with_schedulers
from penstock.bound.ports import port_at
from penstock.bound.solution import Solution, solve
from penstock.bound.terms import PS, Bound, Contention, HopBound, WayBound, ceil_div
from penstock.bound.timing import (
    TOLERANCE_PS,
    drift,
    grid_said,
    grid_step_ps,
    preamble_ps,
    processing,
    processing_delay_max_ps,
)
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Stream
from penstock.scenario.lengths import lengths_at
from penstock.scenario.network import SELECTION_WORDS, Network, Step
from penstock.scenario.units import show_time

Measured = int | Mapping[str, int]


def bound(network: Network, name: str, measured_ps: Measured | None = None) -> Bound:
    """The largest latency of a stream, from the delimiter at its talker to the delimiter at any listener.

    `measured_ps` is what bridges were seen to take when idle; it counts where it is more than what is promised.
    """
    ways = ways_of(network, name, measured_ps)
    without = next((way for way in ways if way.reason is not None), None)
    if without is not None:
        one = without.refused_at is None or len(network.way(network.streams[name], without.listener)) == 1
        return Bound(None, without.reason if one else f'{without.reason} (at "{without.refused_at}")')
    worst = max(ways, key=lambda way: way.total_ps or 0)
    return Bound(worst.total_ps, None, worst.terms(), "; ".join(hop.waits_for for hop in worst.hops), ways)


def ways_of(network: Network, name: str, measured_ps: Measured | None = None) -> tuple[WayBound, ...]:
    """The bound of a stream to each of its listeners, in their order; `measured_ps` as of `bound`."""
    stream = network.streams[name]
    solution = solve(network)
    return tuple(_to(network, solution, stream, listener, measured_ps or 0) for listener in stream.listeners)


def _to(network: Network, solution: Solution, stream: Stream, listener: str, measured_ps: Measured) -> WayBound:
    way = network.way(stream, listener)
    shaped = [_is_shaped(network, stream, step) for step in way]
    hops: list[HopBound] = []
    for number, step in enumerate(way):
        reason = why_not(network, solution, stream, way, number, shaped)
        if reason is not None:
            return WayBound(stream.name, listener, reason=reason, refused_at=step.bridge)
        hop = _hop(network, solution, stream, way, number, shaped, measured_ps)
        hops.append(replace(hop, held_ps=_held_ps(hops, shaped)) if shaped[number] else hop)
    last_cable_ps = network.stations[listener].link_delay_ps
    ideal_ps = sum(hop.total_ps for hop in hops) + last_cable_ps
    return WayBound(stream.name, listener, tuple(hops), last_cable_ps, drift(network, way, ideal_ps, shaped))


def _held_ps(before: Sequence[HopBound], shaped: Sequence[bool]) -> int:
    """What frames of a group may differ in since their last scheduler, or since they were sent."""
    last = max((number for number in range(len(before)) if shaped[number]), default=0)
    return sum(hop.total_ps - hop.cable_ps for hop in before[last:])


def _is_shaped(network: Network, stream: Stream, step: Step) -> bool:
    return stream.ats is not None and network.bridges[step.bridge].is_ats(_class(network, stream, step))


def _class(network: Network, stream: Stream, step: Step) -> int:
    return network.class_at(stream, step.bridge)


def _hop(
    network: Network, solution: Solution, stream: Stream, way: Sequence[Step], number: int, shaped: Sequence[bool],
    measured_ps: Measured,
) -> HopBound:  # fmt: skip
    step = way[number]
    bridge = network.bridges[step.bridge]
    entry = network.link_at[step.bridge, step.entry]
    rate = network.link_at[step.bridge, step.egress].rate_bps
    traffic_class = _class(network, stream, step)
    lengths = lengths_at(network, stream, (step.bridge, step.egress))
    # A scheduler ahead may hold a frame for one before it, which may have waited for as long as any of the class.
    for_any = any(shaped[number + 1 :])
    wait_ps = solution.wait_ps(stream.name, (step.bridge, step.egress), traffic_class, for_any)
    assert wait_ps is not None, "why_not tells where there is none"
    measured = measured_ps if isinstance(measured_ps, int) else measured_ps.get(step.bridge, 0)
    processing_ps, processing_said = processing(bridge, rate, measured, lengths.late_ps)
    contention = _equation(network, step, traffic_class, None if for_any else lengths.counted[0])
    in_turn = wait_ps if contention is None else min(wait_ps, contention.ps)
    grid_ps = 2 * grid_step_ps(bridge) + wait_ps - in_turn
    if number == 0 and (shaped[0] or goes_with_schedulers(network, stream)):
        grid_ps += TOLERANCE_PS
    return HopBound(
        bridge=step.bridge,
        entry=step.entry,
        egress=step.egress,
        traffic_class=traffic_class,
        arrives_from=stream.talker if number == 0 else way[number - 1].bridge,
        max_frame_bytes=lengths.came[1],
        cable_ps=entry.delay_ps,
        frame_ps=ceil_div(lengths.came[1] * 8 * PS, entry.rate_bps),
        processing_ps=processing_ps,
        processing_said=processing_said,
        processing_delay_max_ps=processing_delay_max_ps(bridge),
        preamble_ps=preamble_ps(rate),
        wait_ps=in_turn,
        waits_for=_waits_for(network, step, traffic_class, contention, in_turn),
        contention=contention,
        clock_grid_ps=grid_ps,
        clock_grid_said=grid_said(bridge),
    )


def _equation(network: Network, step: Step, traffic_class: int, shortest_bytes: int | None) -> Contention | None:
    """Equation (1) with its numbers, where it is about this port; of any frame of the class without a shortest one."""
    bridge = network.bridges[step.bridge]
    port = port_at(network, step, traffic_class)
    rate = network.link_at[step.bridge, step.egress].rate_bps
    plain = step.egress not in bridge.gates and (step.egress, traffic_class) not in bridge.credit
    turns = bridge.round_robin.get(step.egress, frozenset())
    if (
        not plain
        or (turns and max(turns) >= traffic_class)
        or port.unshaped is not None
        or port.higher_fastest_bps >= rate
    ):
        return None
    return Contention(
        committed=port.committed,
        sum_of_bursts_bytes=port.burst_bytes,
        l_min_bytes=port.shortest_bytes if shortest_bytes is None else shortest_bytes + WIRE_OVERHEAD_BYTES,
        l_lp_bytes=port.blocking_bytes,
        l_lp_stream=port.blocking_stream,
        link_rate_bps=rate,
        higher_rates_bps=port.higher_fastest_bps,
    )


def _waits_for(network: Network, step: Step, traffic_class: int, contention: Contention | None, wait_ps: int) -> str:
    """In words, or as equation (1)."""
    if contention is not None:
        less = "" if wait_ps == contention.ps else ", and less since they come one after the other by a link"
        return contention.equation + less
    bridge = network.bridges[step.bridge]
    selection = bridge.selection(traffic_class)
    if selection != "ats" or (step.egress, traffic_class) in bridge.credit:
        selection = bridge.selection_at(step.egress, traffic_class)
    said = f"class {traffic_class}, {SELECTION_WORDS[selection]}"
    shaper = bridge.credit.get((step.egress, traffic_class))
    if shaper is not None:
        said += f" at {shaper.idle_slope_bps / 10**6:g} Mb/s"
    gates = bridge.gates.get(step.egress)
    if gates is not None:
        said += f", behind gates of a cycle of {show_time(gates.cycle_time_ns * 1000)}"
    return f"{said}: the others of its class, those above, a lower frame"
