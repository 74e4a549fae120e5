# SPDX-License-Identifier: Apache-2.0
"""Whether sources can keep to their rate and burst, as far as their patterns say so before a run.

A source keeps its contract if no scheduler of its own would ever hold a frame, as a run judges it by what comes to the
first bridge. Of all frames from i to j, the closest that displacement, other frames of the talker and its clock can
bring them, the time that their bytes take at the committed rate must be no more than that of the burst and the time
from i to j. Where that is not shown and nothing is by chance, the talker alone is run in the engine, which is exact.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import ceil, floor, lcm
from typing import Any, Literal, NamedTuple

from penstock import _engine
from penstock.bound.releases import Releases, releases_of
from penstock.bound.sharing import sharing_at_talker
from penstock.bound.sources import UNITS_PER_PS, Conformance, committed, talker_groups
from penstock.bound.terms import PS, ceil_div
from penstock.errors import EngineError
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.plan import talker_json
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network, Station
from penstock.scenario.report import names
from penstock.scenario.units import show_rate, show_time
from penstock.words import count

State = Literal["kept", "broken", "not kept", "assumed"]

# A run forgives 16 ns, of which arrivals that are rounded up to the clock of the bridge may take 9.
_PROVED_PS = 7_000
_MOST_FRAMES_AT_ONCE = 200_000
_MOST_FRAMES_OF_TALKER = 1_000_000


@dataclass(frozen=True)
class Contract:
    """What is known of a stream's rate and burst before the run.

    `kept`: proved. `broken`: by a frame that is named. `not kept`: displaced frames can come too close together.
    `assumed`: it is by chance, and the run judges.
    """

    stream: str
    state: State
    said: str
    first_late: int | None = None  # frame, from 1
    first_late_ps: int | None = None  # when it is released
    held_ps: int = 0  # for how long the scheduler may hold a frame
    needed_burst_bytes: int | None = None
    needed_rate_bps: int | None = None  # of sources that are above their rate for as long as they last

    @property
    def holds(self) -> bool:
        """Whether nothing is known to be against it."""
        return self.state in ("kept", "assumed")

    @property
    def remedy(self) -> str:
        """What would make it hold."""
        if self.needed_rate_bps is not None:
            return f'rate = "{self.needed_rate_bps}b/s" or more, or fewer frames'
        return f'burst = "{self.needed_burst_bytes}B" or more at this rate, or frames further apart'

    def as_json(self) -> dict[str, Any]:
        """Times in ns."""
        return {
            "state": self.state,
            "said": self.said,
            "first_late": self.first_late,
            "first_late_ns": None if self.first_late_ps is None else self.first_late_ps / 1000,
            "held_ns": max(self.held_ps, 0) / 1000,
            "needed_burst_bytes": self.needed_burst_bytes,
            "needed_rate_bps": self.needed_rate_bps,
        }


def contract_of(network: Network, name: str) -> Contract | None:
    """Of a stream; None if it has no committed rate and burst."""
    key = ("contract", name)
    if key not in network.memo:
        network.memo[key] = _judge(network, network.streams[name])
    found: Contract | None = network.memo[key]
    return found


def against(network: Network, name: str) -> str | None:
    """Why a bound says nothing of the stream, as its source or one of the same scheduler group is; None if it does."""
    stream = network.streams[name]
    own = contract_of(network, name)
    if own is not None and not own.holds:
        return f"the source does not keep rate and burst: {own.said}"
    for other in talker_groups(network)[stream.talker, stream.traffic_class]:
        found = contract_of(network, other)
        if found is not None and not found.holds:
            return f'"{other}" of the same scheduler group does not keep rate and burst'
    return None


def _judge(network: Network, stream: Stream) -> Contract | None:
    if stream.ats is None:
        return None
    releases = releases_of(network, stream)
    if isinstance(releases, str):
        return Contract(stream.name, "assumed", releases)
    if not releases.frames:
        return Contract(stream.name, "kept", "the source creates no frame")
    others = [f'"{other.name}"' for other in sharing_at_talker(network, stream)]
    if others:
        seen = _alone(network, stream.talker)
        if seen is not None:
            return _as_seen(network, stream, releases, seen[stream.name])
        said = f'what it brings together with {names(others)}, by the scheduler "{stream.ats.scheduler}", is not known'
        return Contract(stream.name, "assumed", f"{said} before the run")
    wait_ps = _wait_ps(network, stream)
    held_ps = None if wait_ps is None else _held_ps(network, stream, releases, wait_ps)
    if held_ps is not None and held_ps <= _PROVED_PS:
        return Contract(stream.name, "kept", "no frame comes before its time")
    seen = _alone(network, stream.talker)
    if seen is not None:
        return _as_seen(network, stream, releases, seen[stream.name])
    if wait_ps is None:
        return Contract(stream.name, "assumed", f'when its frames leave "{stream.talker}" is not known before the run')
    if held_ps is None:
        return Contract(stream.name, "assumed", "its frames that may come together are too many to be looked at")
    return _too_close(network, stream, releases, held_ps, wait_ps)


def _as_seen(network: Network, stream: Stream, releases: Releases, seen: Conformance) -> Contract:
    if seen.first_late is None:
        return Contract(stream.name, "kept", f"of {count(seen.frames, 'frame')} none comes before its time")
    at_ps = stream.source.start + releases.time_of(seen.first_late) - network.stations[stream.talker].clock.offset_ps
    said = f"frame {seen.first_late:,}, released at {show_time(at_ps)}, comes too early"
    return _with_remedy(network, stream, releases, seen.worst_ps, "broken", said, seen.first_late, at_ps)


def _too_close(network: Network, stream: Stream, releases: Releases, held_ps: int, wait_ps: int) -> Contract:
    undisplaced_ps = _held_ps(network, stream, releases._replace(early_ps=0, late_ps=0), 0)
    causes = []
    if undisplaced_ps is not None and undisplaced_ps <= _PROVED_PS:
        if releases.slack_ps:
            causes.append(f"{show_time(releases.slack_ps)} by which they may be displaced")
        if wait_ps:
            causes.append(f'{show_time(wait_ps)} for which they may wait at "{stream.talker}"')
    said = f"its frames {'may come' if causes else 'come'} too close together"
    said += f", by the {' and the '.join(causes)}" if causes else ""
    return _with_remedy(network, stream, releases, held_ps, "not kept", said)


def _with_remedy(
    network: Network, stream: Stream, releases: Releases, held_ps: int, state: State, said: str,
    first_late: int | None = None, first_late_ps: int | None = None,
) -> Contract:  # fmt: skip
    assert stream.ats is not None
    first = network.bridges[stream.tree[0].bridge]
    ats, overhead = stream.ats.at_node(first.name), first.overhead_bytes
    rate, burst = ats.rate_bps, ats.burst_bytes
    # What a scheduler of the talker lets go is not what the source releases.
    released = not network.is_held_by_talker(stream)
    if released and releases.cycle_ps is not None and releases.frames > len(releases.times_ps):
        bits = sum(size + overhead for size in releases.frame_bytes) * 8
        mean = ceil_div(bits * PS, releases.cycle_ps)
        if mean > rate:
            said += f"; the source needs {show_rate(mean)} for as long as it lasts, and ats.rate is {show_rate(rate)}"
            return Contract(stream.name, state, said, first_late, first_late_ps, held_ps, None, mean)
    needed = burst + ceil_div(held_ps * rate, 8 * PS)
    said += f"; at {show_rate(rate)} the source needs a burst of {needed:,} B, and ats.burst is {burst:,} B"
    limit_ns = network.bridges[stream.tree[0].bridge].max_residence_ns.get((stream.tree[0].entry, stream.traffic_class))
    if limit_ns is not None and held_ps > limit_ns * 1000:
        said += f"; what would be held for more than {show_time(limit_ns * 1000)} is dropped (max_residence)"
    return Contract(stream.name, state, said, first_late, first_late_ps, held_ps, needed)


def _held_ps(network: Network, stream: Stream, releases: Releases, wait_ps: int) -> int | None:
    """For how long a scheduler may hold a frame, not above 0 if it never does; None if that is too much to look at."""
    assert stream.ats is not None
    first = network.bridges[stream.tree[0].bridge]
    ats, overhead = stream.ats.at_node(first.name), first.overhead_bytes
    cost, burst = committed(ats.rate_bps, ats.burst_bytes)
    slack_ps = releases.slack_ps + wait_ps
    talker = network.stations[stream.talker]
    fastest = talker.link_rate_bps * (10**9 + max(talker.clock.drift_ppb, 0))
    wire = 8 * PS * 10**9 * UNITS_PER_PS // fastest  # of a byte
    frames = [
        # A frame has come with its last bit.
        Spaced(time * UNITS_PER_PS + size * wire, cost(size + overhead), (size + WIRE_OVERHEAD_BYTES) * wire, group)
        for time, size, group in islice(releases.unrolled(slack_ps), _MOST_FRAMES_AT_ONCE + 1)
    ]
    if len(frames) > _MOST_FRAMES_AT_ONCE:
        return None
    worst = _worst(frames, wait_ps * UNITS_PER_PS, slack_ps * UNITS_PER_PS)
    if releases.cycle_ps is not None:
        of_cycle = sum(cost(size + overhead) for size in releases.frame_bytes)
        turns = releases.frames // len(releases.times_ps)
        worst += max(0, of_cycle - releases.cycle_ps * UNITS_PER_PS) * turns
    return ceil_div(worst - burst, UNITS_PER_PS)


class Spaced(NamedTuple):
    """When a frame comes, in any unit of time."""

    time: int
    cost: int  # of its bytes at a rate
    wire: int  # the least time after the one before
    group: int


def _worst(frames: Sequence[Spaced], within_slack: int, slack: int) -> int:
    """The most that the cost of frames i to j is above the time from i to j.

    That may be shorter than it should be: by `slack`, or by `within_slack` where all are of one group.
    """
    return max(_worst_of(frames, within_slack, False), _worst_of(frames, slack, True))


def _worst_of(frames: Sequence[Spaced], slack: int, across_groups: bool) -> int:
    worst = max((frame.cost for frame in frames), default=0)
    costs, wires = [0], [0]  # of all before a frame
    near = 0  # the first that may come together with j
    far = 0  # the first that is not yet among those that may not
    best: int | None = None
    group_start = 0
    for j, frame in enumerate(frames):
        costs.append(costs[-1] + frame.cost)
        wires.append(wires[-1] + frame.wire)
        if j and frame.group != frames[j - 1].group:
            group_start = j
        last = group_start - 1 if across_groups else j
        while near <= last and frames[near].time < frame.time - slack:
            near += 1
        while far < near:
            begun = frames[far].time - costs[far]
            best = begun if best is None else max(best, begun)
            far += 1
        if near <= last:
            # However close, one comes after the other over the talker's link.
            worst = max(worst, costs[j + 1] - costs[near] - (wires[j + 1] - wires[near + 1]))
        if best is not None:
            worst = max(worst, best + costs[j + 1] - frame.time + slack)
    return worst


def _wait_ps(network: Network, stream: Stream) -> int | None:
    """For how long a frame may wait for those of other streams at its talker; None if that is not known."""
    talker = network.stations[stream.talker]
    if talker.gates or talker.credit or talker.ats_classes:
        return None
    if stream.source.back_to_back:
        return 0  # it leaves at the rate of the link, and nothing is faster
    before = _before(network, talker, network.class_at_talker(stream))
    if before.unknown - {stream.name}:
        return None
    ahead, left = before.blocking + before.at_once, before.left
    own = Fraction(0)
    itself = brought(network, stream, talker.link_rate_bps)
    if itself is not None:  # nobody waits for itself
        ahead, own = ahead - itself[0], itself[1]
    first = stream.tree[0].bridge
    if before.over > own or stream.ats is None or stream.ats.at_node(first).rate_bps > before.slowest_bps:
        return None
    # What is ahead, by the part of the link that is left, as long as the talker's clock makes it.
    time = ahead.numerator * left.denominator * 10**9
    return ceil_div(time, ahead.denominator * left.numerator * (10**9 + min(talker.clock.drift_ppb, 0)))


class _Level(NamedTuple):
    """Of streams of a talker: those that always have a frame go after the others of their class."""

    traffic_class: int
    endless: bool


@dataclass
class _Brought:
    """What streams of a level bring together, and the longest of their frames."""

    at_once: Fraction = Fraction(0)
    share: Fraction = Fraction(0)
    longest_bytes: int = 0  # on the wire
    unknown: set[str] = field(default_factory=set)


@dataclass
class _Before(_Brought):
    """What may be before a frame of a class at its talker, its own class too."""

    blocking: Fraction = Fraction(0)  # in ps, of what may have begun
    left: Fraction = Fraction(1)  # of the link, by what goes first
    slowest_bps: int = 0  # that what is left comes to, rounded down
    over: Fraction = Fraction(0)  # by how much all of it is more than the link carries; below zero if it is less


def _before(network: Network, talker: Station, own: int) -> _Before:
    known: _Before | None = network.memo.get(("before at talker", talker.name, own))
    if known is not None:
        return known
    found = network.memo["before at talker", talker.name, own] = _Before()
    taken: list[_Brought] = []
    higher: list[Fraction] = []
    for other, of in _by_level(network, talker).items():
        if other.traffic_class < own or (other.endless and other.traffic_class == own):
            found.longest_bytes = max(found.longest_bytes, of.longest_bytes)
            continue
        found.unknown |= of.unknown
        taken.append(of)
        if other.traffic_class > own:
            higher.append(of.share)
    found.at_once, found.share = _sum([of.at_once for of in taken]), _sum([of.share for of in taken])
    found.left, found.over = 1 - _sum(higher), found.share - 1
    found.slowest_bps = floor(talker.link_rate_bps * found.left)
    found.blocking = Fraction(found.longest_bytes * 8 * PS, talker.link_rate_bps)
    return found


def _by_level(network: Network, talker: Station) -> dict[_Level, _Brought]:
    known: dict[_Level, _Brought] | None = network.memo.get(("brought by level", talker.name))
    if known is None:
        known = network.memo["brought by level", talker.name] = {}
        parts: defaultdict[_Level, list[tuple[Fraction, Fraction]]] = defaultdict(list)
        for stream in network.streams_from[talker.name]:
            level = _Level(network.class_at_talker(stream), bool(stream.source.back_to_back))
            of, found = known.setdefault(level, _Brought()), brought(network, stream, talker.link_rate_bps)
            of.longest_bytes = max(of.longest_bytes, stream.max_frame_bytes + WIRE_OVERHEAD_BYTES)
            if found is None:
                of.unknown.add(stream.name)
            else:
                parts[level].append(found)
        for level, each in parts.items():
            of = known[level]
            of.at_once, of.share = _sum([at_once for at_once, _ in each]), _sum([share for _, share in each])
    return known


def _sum(fractions: Sequence[Fraction]) -> Fraction:
    """By one denominator, which takes less time than one after the other."""
    whole = lcm(*[each.denominator for each in fractions])
    return Fraction(sum([each.numerator * (whole // each.denominator) for each in fractions]), whole)


def brought(network: Network, stream: Stream, rate_bps: int) -> tuple[Fraction, Fraction] | None:
    """What a stream brings to a link: in ps at once, and what part of it as long as it lasts; None if by chance."""
    key = ("brought", stream.name, rate_bps)
    if key not in network.memo:
        network.memo[key] = _brought(network, stream, rate_bps)
    found: tuple[Fraction, Fraction] | None = network.memo[key]
    return found


def _brought(network: Network, stream: Stream, rate_bps: int) -> tuple[Fraction, Fraction] | None:
    releases = releases_of(network, stream)
    if isinstance(releases, str):
        return None

    size, cycle_ps = releases.frame_bytes[0], releases.cycle_ps
    if len(releases.times_ps) == 1 < releases.frames and not releases.slack_ps and cycle_ps is not None:
        bits = (size + WIRE_OVERHEAD_BYTES) * 8 * PS
        if bits <= cycle_ps * rate_bps:  # as often as its period says, and no sooner
            return Fraction(bits, rate_bps), Fraction(bits, cycle_ps * rate_bps)

    def wire_ps(*sizes: int) -> Fraction:
        return Fraction((sum(sizes) + len(sizes) * WIRE_OVERHEAD_BYTES) * 8 * PS, rate_bps)

    whole = wire_ps(*releases.frame_bytes)
    if releases.frames <= len(releases.times_ps):
        span = releases.times_ps[-1] + wire_ps(releases.frame_bytes[-1])
        if whole >= span:
            return whole, Fraction(0)
    else:
        assert releases.cycle_ps is not None
        span = Fraction(releases.cycle_ps)
    share = whole / span
    slack = releases.slack_ps
    frames = [
        Spaced(time, ceil(wire_ps(size) / share), 0, group)
        for time, size, group in islice(releases.unrolled(slack), _MOST_FRAMES_AT_ONCE + 1)
    ]
    return None if len(frames) > _MOST_FRAMES_AT_ONCE else (_worst(frames, 0, slack) * share, share)


def _alone(network: Network, talker: str) -> dict[str, Conformance] | None:
    """What the engine sees of a talker's streams, if nothing of them is by chance; None if something is."""
    key = ("talker alone", talker)
    if key not in network.memo:
        network.memo[key] = _run_alone(network, talker)
    found: dict[str, Conformance] | None = network.memo[key]
    return found


def _run_alone(network: Network, talker: str) -> dict[str, Conformance] | None:
    streams = network.streams_from[talker]
    if not _is_certain(releases_of(network, stream) for stream in streams):
        return None
    described = json.dumps(talker_json(network, talker))
    try:
        result = _engine.run(described)
    except _engine.InputError as error:
        raise EngineError(f'"{talker}" alone: {error}') from error
    seen = {stream.name: result["statistics"][stream.name]["conformance"] for stream in streams}
    return {name: Conformance.from_engine(of) for name, of in seen.items() if of is not None}


def _is_certain(found: Iterable[Releases | str]) -> bool:
    frames = 0
    for releases in found:
        if isinstance(releases, str) or releases.slack_ps:
            return False
        frames += releases.frames
    return frames <= _MOST_FRAMES_OF_TALKER
