# SPDX-License-Identifier: Apache-2.0
"""What the streams of an egress port come to, from the view of one class."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.bound.sources import on_wire
from penstock.bound.terms import Committed
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Stream
from penstock.scenario.lengths import Lengths, lengths_at
from penstock.scenario.network import SELECTION_WORDS, Bridge, Network, Step


@dataclass(frozen=True)
class Port:
    """All lengths and rates are on the wire."""

    committed: tuple[Committed, ...]  # of the higher classes and, after them, the same
    burst_bytes: int  # of all these
    higher_bps: int
    higher_fastest_bps: int  # the same, as their schedulers have it
    same_bps: int
    shortest_bytes: int  # of the same class
    blocking_bytes: int  # longest of the lower classes, whatever serves them: a frame that has begun is not cut short
    blocking_stream: str | None
    unshaped: str | None  # why a stream of a higher or the same class has no rate and burst that hold here

    @property
    def committed_bps(self) -> int:
        """The rates of the higher classes and the same."""
        return self.higher_bps + self.same_bps


def port_at(network: Network, step: Step, traffic_class: int) -> Port:
    """Worked out once for all streams of the class."""
    key = ("port", step.bridge, step.egress, traffic_class)
    known: Port | None = network.memo.get(key)
    if known is None:
        known = network.memo[key] = _port(network, step, traffic_class)
    return known


def _port(network: Network, step: Step, traffic_class: int) -> Port:
    bridge = network.bridges[step.bridge]
    higher: list[Committed] = []
    same: list[Committed] = []
    shortest, blocking = 0, 0
    blocking_stream: str | None = None
    unshaped: dict[bool, str] = {}
    shared: dict[tuple[int, int, str], Committed] = {}  # by class, reception port and name
    for stream in network.streams_at[step.bridge, step.egress]:
        of = network.class_at(stream, step.bridge)
        lengths = lengths_at(network, stream, (step.bridge, step.egress))
        longest = lengths.counted[1] + WIRE_OVERHEAD_BYTES
        if of < traffic_class:
            if longest > blocking:
                blocking, blocking_stream = longest, stream.name
        elif stream.ats is None or not bridge.is_ats(of):
            unshaped.setdefault(of > traffic_class, _why_unshaped(bridge, stream, of, traffic_class))
        else:
            committed = _on_the_wire(bridge, stream, of, lengths)
            if stream.ats.scheduler is not None:
                entry = next(hop.entry for hop in stream.tree if hop.bridge == bridge.name)
                key = (of, entry, stream.ats.scheduler)
                shared[key] = max(shared.get(key, committed), committed, key=lambda each: each.rate_bps)
            else:
                (higher if of > traffic_class else same).append(committed)
            if of > traffic_class:
                continue
            least = lengths.counted[0] + WIRE_OVERHEAD_BYTES
            shortest = min(shortest or least, least)
    for (of, _, _), committed in shared.items():  # once, whoever shares it
        (higher if of > traffic_class else same).append(committed)
    return Port(
        (*higher, *same),
        sum(each.burst_bytes for each in (*higher, *same)),
        sum(each.rate_bps for each in higher),
        sum(each.fastest_bps for each in higher),
        sum(each.rate_bps for each in same),
        shortest,
        blocking,
        blocking_stream,
        unshaped.get(True, unshaped.get(False)),
    )


def _why_unshaped(bridge: Bridge, stream: Stream, of: int, traffic_class: int) -> str:
    which = "higher" if of > traffic_class else "same"
    selection = bridge.selection(of)
    if stream.ats is None:
        more = ", only credit" if selection == "cbs" else ""
        return f'"{stream.name}" in the {which} class has no committed rate and burst{more}'
    return f'"{stream.name}" in the {which} class is not shaped: class {of} is {SELECTION_WORDS[selection]}'


def _on_the_wire(bridge: Bridge, stream: Stream, traffic_class: int, lengths: Lengths) -> Committed:
    """A scheduler that counts less than leaves on the wire lets the more pass, the shorter the frames are."""
    assert stream.ats is not None
    ats = stream.ats.at_node(bridge.name)
    rate, fastest, burst = on_wire(ats, bridge.overhead_bytes, lengths.came, lengths.counted)
    return Committed(stream.name, traffic_class, rate, burst, fastest)
