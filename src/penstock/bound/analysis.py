# SPDX-License-Identifier: Apache-2.0
"""What can be said of each stream before anything runs: its bounds, and whether that is what was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from penstock.bound.answers import learn_answers
from penstock.bound.contracts import Contract, against, contract_of
from penstock.bound.losses import loss_of
from penstock.bound.terms import WayBound
from penstock.bound.way import ways_of
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network
from penstock.scenario.units import show_time


@dataclass(frozen=True)
class StreamBounds:
    """A stream and its bound to each listener."""

    stream: Stream
    ways: tuple[WayBound, ...]
    required: bool  # it is an ATS stream; others have a bound where there is one
    contract: Contract | None  # whether its source keeps to rate and burst; None if it has none
    loss: str | None = None  # where its frames may be lost; None: nowhere

    @property
    def worst(self) -> WayBound | None:
        """The way with the largest bound; None if one of them has none."""
        if any(way.reason is not None for way in self.ways):
            return None
        return max(self.ways, key=lambda way: way.total_ps or 0)

    @property
    def ok(self) -> bool:
        """Whether there is a bound where one is asked for, and no deadline below it."""
        return not self.required or all(self.way_ok(way) for way in self.ways)

    def way_ok(self, way: WayBound) -> bool:
        """The same of a single way."""
        return way.total_ps is not None and not self.late(way)

    def late(self, way: WayBound) -> bool:
        """Whether there is a bound, but above the deadline: what is asked for cannot be promised."""
        deadline_ps = self.stream.deadline_ps
        return way.total_ps is not None and deadline_ps is not None and way.total_ps > deadline_ps


@dataclass(frozen=True)
class Analysis:
    """All streams of a network."""

    network: Network
    streams: tuple[StreamBounds, ...]
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every ATS stream has a bound, none above its deadline."""
        return all(each.ok for each in self.streams)


def analyse(network: Network) -> Analysis:
    """The bounds of all streams; there is none for those whose sources cannot keep to rate and burst."""
    learn_answers(network)
    streams = tuple(
        StreamBounds(
            stream,
            _ways(network, name),
            _is_ats_stream(network, stream),
            contract_of(network, name),
            loss_of(network, stream),
        )
        for name, stream in network.streams.items()
    )
    # Streams of a scheduler group have the same to say of it.
    dropping = dict.fromkeys(said for each in streams for way in each.ways for said in _may_drop(network, way))
    return Analysis(network, streams, (*network.warnings, *dropping))


def _ways(network: Network, name: str) -> tuple[WayBound, ...]:
    ways = ways_of(network, name)
    said = against(network, name)
    if said is None:
        return ways
    return tuple(way if way.reason is not None else WayBound(name, way.listener, reason=said) for way in ways)


def _is_ats_stream(network: Network, stream: Stream) -> bool:
    """It has rate and burst, or is without them in a class that is ATS at a bridge on its way."""
    passed = (network.bridges[hop.bridge] for hop in stream.tree)
    return stream.ats is not None or any(bridge.is_ats(network.class_at(stream, bridge.name)) for bridge in passed)


def _may_drop(network: Network, way: WayBound) -> list[str]:
    """Where MaxResidenceTime is shorter than a scheduler may hold back a frame of a conforming source.

    That is as long as another frame of the same queue may have waited at the bridge before.
    """
    found = []
    for before, hop in pairwise(way.hops):
        limit_ns = network.bridges[hop.bridge].max_residence_ns.get((hop.entry, hop.traffic_class))
        held_ps = before.wait_ps + before.clock_grid_ps
        if limit_ns is not None and limit_ns * 1000 < held_ps:
            found.append(
                f"{hop.bridge}: class {hop.traffic_class} drops what it would hold for more than"
                f" {show_time(limit_ns * 1000)} (max_residence), and conforming frames from {before.bridge} may be held"
                f" for {held_ps / 1e6:.3f} us"
            )
    return found
