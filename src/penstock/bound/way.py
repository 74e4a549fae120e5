# SPDX-License-Identifier: Apache-2.0
"""The bound of a stream, hop by hop on the way to each of its listeners."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.bound.conditions import NO_RATE, why_not
from penstock.bound.ports import port_at
from penstock.bound.terms import PS, Bound, Contention, HopBound, WayBound, ceil_div
from penstock.bound.timing import drift, grid, preamble_ps, processing, processing_delay_max_ps
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network, Step

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
    equations = "; ".join(hop.contention.equation for hop in worst.hops)
    return Bound(worst.total_ps, None, worst.terms(), equations)


def ways_of(network: Network, name: str, measured_ps: Measured | None = None) -> tuple[WayBound, ...]:
    """The bound of a stream to each of its listeners, in their order; `measured_ps` as of `bound`."""
    stream = network.streams[name]
    if stream.ats is None:
        return tuple(WayBound(name, listener, reason=NO_RATE) for listener in stream.listeners)
    return tuple(_to(network, stream, listener, measured_ps or 0) for listener in stream.listeners)


def _to(network: Network, stream: Stream, listener: str, measured_ps: Measured) -> WayBound:
    way = network.way(stream, listener)
    hops: list[HopBound] = []
    before: Step | None = None
    for step in way:
        reason = why_not(network, stream, step, before)
        if reason is not None:
            return WayBound(stream.name, listener, reason=reason, refused_at=step.bridge)
        hops.append(_hop(network, stream, step, before, step is way[-1], measured_ps))
        before = step
    last_cable_ps = network.stations[listener].link_delay_ps
    ideal_ps = sum(hop.total_ps for hop in hops) + last_cable_ps
    return WayBound(stream.name, listener, tuple(hops), last_cable_ps, drift(network, way, ideal_ps))


def _hop(
    network: Network, stream: Stream, step: Step, before: Step | None, last: bool, measured_ps: Measured
) -> HopBound:
    bridge = network.bridges[step.bridge]
    entry = network.link_at[step.bridge, step.entry]
    rate = network.link_at[step.bridge, step.egress].rate_bps
    traffic_class = network.class_at(stream, step.bridge)
    port = port_at(network, step, traffic_class)
    # The next bridge may hold a frame for one before it, and that one may have waited for as long as any of the class.
    l_min = stream.min_frame_bytes + WIRE_OVERHEAD_BYTES if last else port.shortest_bytes
    measured = measured_ps if isinstance(measured_ps, int) else measured_ps.get(step.bridge, 0)
    processing_ps, processing_said = processing(bridge, rate, measured)
    grid_ps, grid_said = grid(bridge, port, rate)
    return HopBound(
        bridge=step.bridge,
        entry=step.entry,
        egress=step.egress,
        traffic_class=traffic_class,
        arrives_from=stream.talker if before is None else before.bridge,
        max_frame_bytes=stream.max_frame_bytes,
        cable_ps=entry.delay_ps,
        frame_ps=ceil_div(stream.max_frame_bytes * 8 * PS, entry.rate_bps),
        processing_ps=processing_ps,
        processing_said=processing_said,
        processing_delay_max_ps=processing_delay_max_ps(bridge),
        preamble_ps=preamble_ps(rate),
        contention=Contention(
            committed=port.committed,
            sum_of_bursts_bytes=port.burst_bytes,
            l_min_bytes=l_min,
            l_lp_bytes=port.blocking_bytes,
            l_lp_stream=port.blocking_stream,
            link_rate_bps=rate,
            higher_rates_bps=port.higher_fastest_bps,
        ),
        clock_grid_ps=grid_ps,
        clock_grid_said=grid_said,
    )
