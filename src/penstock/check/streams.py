# SPDX-License-Identifier: Apache-2.0
"""How the network treats each stream: priority, class and selection, hop by hop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.bound.analysis import StreamBounds
from penstock.bound.contracts import Contract
from penstock.bound.tables import reason
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network, Selection


@dataclass(frozen=True)
class Treatment:
    """What a stream meets at an egress port of a bridge."""

    bridge: str
    entry: int
    egress: int
    traffic_class: int
    class_name: str | None
    selection: Selection
    gated: bool

    @property
    def said(self) -> str:
        """For people."""
        return f"{self.selection}, gated" if self.gated else self.selection

    def as_json(self) -> dict[str, Any]:
        """Its parts."""
        return {
            "bridge": self.bridge,
            "entry": self.entry,
            "egress": self.egress,
            "traffic_class": self.traffic_class,
            "class_name": self.class_name,
            "selection": self.selection,
            "gated": self.gated,
        }


@dataclass(frozen=True)
class CheckedWay:
    """How a stream comes to one of its listeners."""

    listener: str
    hops: tuple[Treatment, ...]
    bound_ps: int | None
    reason: str | None  # why there is no bound

    def as_json(self) -> dict[str, Any]:
        """Times in ns."""
        bound_ns = None if self.bound_ps is None else self.bound_ps / 1000
        return {"hops": [hop.as_json() for hop in self.hops], "bound_ns": bound_ns, "reason": self.reason}


@dataclass(frozen=True)
class CheckedStream:
    """A stream as it is checked."""

    stream: Stream
    ways: tuple[CheckedWay, ...]
    contract: Contract | None

    @property
    def bound_ps(self) -> int | None:
        """Of the slowest listener; None if one has none."""
        bounds = [way.bound_ps for way in self.ways if way.bound_ps is not None]
        return max(bounds) if len(bounds) == len(self.ways) else None

    def as_json(self) -> dict[str, Any]:
        """Times in ns, lengths in bytes, rates in b/s."""
        stream, contract = self.stream, self.contract
        return {
            "from": stream.talker,
            "vlan": stream.vlan,
            "pcp": None if stream.vlan is None else stream.pcp,
            "contract": None if contract is None else contract.as_json(),
            "bound_ns": None if self.bound_ps is None else self.bound_ps / 1000,
            "listeners": {way.listener: way.as_json() for way in self.ways},
        }


def treated(network: Network, bounds: StreamBounds) -> CheckedStream:
    """A stream with its ways and what is known of their bounds."""
    ways = tuple(
        CheckedWay(way.listener, tuple(_hops(network, bounds.stream, way.listener)), way.total_ps, reason(way))
        for way in bounds.ways
    )
    return CheckedStream(bounds.stream, ways, bounds.contract)


def _hops(network: Network, stream: Stream, listener: str) -> Iterator[Treatment]:
    for step in network.way(stream, listener):
        bridge, number = network.bridges[step.bridge], network.class_at(stream, step.bridge)
        selection = bridge.selection(number)
        if selection != "ats":
            selection = bridge.selection_at(step.egress, number)
        name, gated = bridge.class_names.get(number), step.egress in bridge.gates
        yield Treatment(step.bridge, step.entry, step.egress, number, name, selection, gated)
