# SPDX-License-Identifier: Apache-2.0
"""Talkers that release more than their link or their ATS schedulers take: queues grow, and frames are dropped."""

from __future__ import annotations

from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.limits import LONGEST_RESIDENCE_NS
from penstock.scenario.network import Network
from penstock.scenario.positions import KeyPath
from penstock.scenario.units import show_rate, show_time

_PS = 10**12


def check_demand(draft: Draft, network: Network) -> None:
    """Warns of each stream that is faster than its link, or else of the talker whose streams are so together."""
    demands = ((stream, wire_rate_bps(stream)) for stream in network.streams.values())
    sums: dict[str, float] = {}
    alone: set[str] = set()
    for stream, demand in demands:
        if not demand:
            continue
        station = network.stations[stream.talker]
        sums[station.name] = sums.get(station.name, 0) + demand
        _check_held(draft, network, stream)
        if demand > station.link_rate_bps:
            alone.add(station.name)
            what = f"releases {show_rate(demand)} on the wire"
            draft.report.warn(_key(stream), f"{what}, {_what_follows(station.name, station.link_rate_bps)}")
    for name, demand in sums.items():
        rate = network.stations[name].link_rate_bps
        # Sums of rounded rates may be off by less than this.
        if name not in alone and demand > rate * (1 + 1e-9):
            what = f"its streams release {show_rate(demand)} on the wire together"
            draft.report.warn(("stations", name), f"{what}, {_what_follows(name, rate)}")


def _check_held(draft: Draft, network: Network, stream: Stream) -> None:
    """What an ATS scheduler of the talker lets pass, where the stream has it for itself."""
    if stream.ats is None or stream.ats.scheduler is not None or not network.is_held_by_talker(stream):
        return
    talker = network.stations[stream.talker]
    rate, demand = stream.ats.at_node(talker.name).rate_bps, wire_rate_bps(stream, talker.overhead_bytes)
    if demand > rate * (1 + 1e-9):
        limit = talker.max_residence_ns.get(network.class_at_talker(stream), LONGEST_RESIDENCE_NS)
        what = f'releases {show_rate(demand)}, and its scheduler at "{talker.name}" lets {show_rate(rate)} pass'
        dropped = f"what would wait for more than {show_time(limit * 1000)} is dropped (residence)"
        draft.report.warn(_key(stream), f"{what}: {dropped}")


def wire_rate_bps(stream: Stream, around_bytes: int = WIRE_OVERHEAD_BYTES) -> float:
    """The mean rate of a source as it runs, preamble and gap counted; 0 where it follows the link or another stream."""
    source, pattern = stream.source, stream.pattern
    if pattern is not None:
        lengths = [length for frames in pattern.sizes for length in frames]
        wire_bytes = sum(lengths) + len(lengths) * around_bytes
        return wire_bytes * 8 * _PS / (pattern.period_ps * len(pattern.sizes))
    period = source.every or source.poisson or (source.normal.mean if source.normal is not None else None)
    if period is None or source.frames is None:
        return 0
    return (source.frames + around_bytes) * (source.burst or 1) * 8 * _PS / period


def _what_follows(talker: str, rate_bps: int) -> str:
    queue = f'the queue of "{talker}" grows, and drops what is beyond its queue_limit (queue_full)'
    return f"and the link has {show_rate(rate_bps)}: {queue}"


def _key(stream: Stream) -> KeyPath:
    source, path = stream.source, ("streams", stream.name, "source")
    if source.program is not None:
        return (*path, "rate")
    timings = ("every", "poisson", "normal", "audio", "video")
    return (*path, next(key for key in timings if getattr(source, key) is not None))
