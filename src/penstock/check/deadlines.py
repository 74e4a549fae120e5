# SPDX-License-Identifier: Apache-2.0
"""Deadlines that no bound can meet: a frame that waits for nothing takes longer. And deadlines that no bound proves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.bound.terms import PS, ceil_div
from penstock.bound.timing import preamble_ps
from penstock.check.streams import CheckedStream
from penstock.scenario.checked_stream import Stream
from penstock.scenario.findings import Finding, Places
from penstock.scenario.lengths import came_to
from penstock.scenario.network import Network, hardware_visible_ps
from penstock.scenario.units import show_time


def least_ps(network: Network, stream: Stream, listener: str) -> int:
    """What the shortest frame takes through idle bridges, from the delimiter at the talker to that at the listener."""
    total = network.stations[listener].link_delay_ps
    for step in network.way(stream, listener):
        bridge = network.bridges[step.bridge]
        entry = network.link_at[step.bridge, step.entry]
        # Where it cuts through, a frame goes on behind its header.
        shortest, _ = came_to(network, stream, step.bridge)
        stored = min(shortest, bridge.cut_through_bytes or shortest)
        visible = hardware_visible_ps(bridge.ports) if bridge.hardware_timing else bridge.processing_delay_ps
        total += entry.delay_ps + stored * 8 * PS // entry.rate_bps + visible
        total += preamble_ps(network.link_at[step.bridge, step.egress].rate_bps)
    clocks = [bridge.clock for bridge in network.bridges.values()]
    clocks += [station.clock for station in network.stations.values()]
    most = max(abs(clock.drift_ppb) for clock in clocks)
    return total - ceil_div(total * most, 10**9)


def impossible(network: Network, places: Places) -> Iterator[Finding]:
    """Of each stream whose deadline is below that, to one of its listeners."""
    for stream in network.streams.values():
        if stream.deadline_ps is None or any(bridge.nodes == "own" for bridge in network.bridges.values()):
            continue
        longest = max(stream.listeners, key=lambda listener: least_ps(network, stream, listener))
        least = least_ps(network, stream, longest)
        if stream.deadline_ps < least:
            said = (
                f"no bound can be within {show_time(stream.deadline_ps)}: a frame that waits for nothing takes "
                f'{show_time(least)} to "{longest}"'
            )
            yield places.finding(("streams", stream.name, "deadline"), said)


def unproven(streams: Sequence[CheckedStream], places: Places) -> Iterator[Finding]:
    """Of each stream whose bound is above its deadline: a run may meet it, and nothing says that every run does."""
    for each in streams:
        deadline_ps = each.stream.deadline_ps
        bounds = [(way.bound_ps, way.listener) for way in each.ways if way.bound_ps is not None]
        if deadline_ps is not None and bounds and max(bounds)[0] > deadline_ps:
            bound_ps, listener = max(bounds)
            said = f'{show_time(deadline_ps)} is not proven: the bound to "{listener}" is {show_time(bound_ps)}'
            yield places.finding(("streams", each.stream.name, "deadline"), said)
