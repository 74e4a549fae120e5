# SPDX-License-Identifier: Apache-2.0
"""Rates and bursts of ATS schedulers: a stream's own, or one that several streams share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from penstock.scenario import model
from penstock.scenario.checked_stream import Ats, Stream
from penstock.scenario.draft import Draft
from penstock.scenario.network import Bridge, Network, Station
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import AlreadyToldError, names


def committed_of(
    draft: Draft, path: KeyPath, stream: model.Stream, talker: Station, passed: Sequence[Bridge]
) -> Ats | None:
    """What a stream is held to at its talker and the bridges that it passes; None if it has no scheduler."""
    if stream.ats is not None:
        for name in stream.ats.at:
            at = [*([talker.name] if talker.ats_classes else []), *(bridge.name for bridge in passed)]
            if name == talker.name and not talker.ats_classes:
                what = f'no class of "{name}" is ATS'
                allowed = f'stations.{name}.classes.7 = {{ selection = "ats" }}'
                draft.report.refuse((*path, "ats", "at", name), what, allowed)
            if name not in at:
                draft.bridge_named((*path, "ats", "at", name), name)
                way = names(f'"{each}"' for each in at)
                draft.report.refuse((*path, "ats", "at", name), f'the stream does not pass "{name}"', way)
        return _checked(stream.ats, None)
    if stream.scheduler is None:
        return None
    known = draft.scenario.schedulers
    if stream.scheduler not in known:
        if draft.is_broken("schedulers", stream.scheduler):
            raise AlreadyToldError
        draft.report.unknown((*path, "scheduler"), "scheduler", stream.scheduler, known)
    return _checked(known[stream.scheduler], stream.scheduler)


def _checked(said: model.Ats, scheduler: str | None) -> Ats:
    at = {name: Ats(each.rate, each.burst) for name, each in said.at.items()}
    return Ats(said.rate, said.burst, scheduler, at)


def key_of(stream: Stream, node: str) -> KeyPath:
    """Where the scenario says rate and burst of a stream at a bridge, or at its talker."""
    assert stream.ats is not None
    shared = stream.ats.scheduler
    path: KeyPath = ("streams", stream.name, "ats") if shared is None else ("schedulers", shared)
    return (*path, "at", node) if node in stream.ats.at else path


def check_schedulers(draft: Draft, network: Network) -> None:
    """Whether the streams that share a scheduler are of one class where they meet, and what is said in vain."""
    sharing: defaultdict[str, list[Stream]] = defaultdict(list)
    for stream in network.streams.values():
        if stream.ats is not None and stream.ats.scheduler is not None:
            sharing[stream.ats.scheduler].append(stream)
    for name, said in draft.scenario.schedulers.items():
        passed = {hop.bridge for stream in sharing[name] for hop in stream.tree}
        talkers = {stream.talker for stream in sharing[name] if network.is_held_by_talker(stream)}
        if not sharing[name]:
            draft.report.warn(("schedulers", name), "no stream names it")
            continue
        for bridge in said.at.keys() - talkers:
            with draft.report.part():
                draft.bridge_named(("schedulers", name, "at", bridge), bridge)
                if bridge not in passed:
                    what = f'no stream of the scheduler passes "{bridge}"'
                    draft.report.add(("schedulers", name, "at", bridge), what, names(f'"{each}"' for each in passed))
        _check_classes(draft, network, name, sharing[name])


def _check_classes(draft: Draft, network: Network, name: str, streams: Sequence[Stream]) -> None:
    """A scheduler is of one scheduler group, 802.1Q 8.6.5.6: of one reception port, or talker, and class."""
    first: dict[tuple[str, int], tuple[Stream, int]] = {}
    for stream in streams:
        places = [(hop.bridge, hop.entry, network.class_at(stream, hop.bridge)) for hop in stream.tree]
        if network.is_held_by_talker(stream):
            places.insert(0, (stream.talker, 0, network.class_at_talker(stream)))
        for node, entry, number in places:
            other, of = first.setdefault((node, entry), (stream, number))
            if of != number:
                what = (
                    f'at "{node}" the stream is of class {number} and "{other.name}", which shares '
                    f'"{name}" there, of class {of}'
                )
                draft.report.add(("streams", stream.name, "scheduler"), what, "streams of one class")
                return
