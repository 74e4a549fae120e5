# SPDX-License-Identifier: Apache-2.0
"""Stations that send through a network card: whether the card can do what is said of them."""

from __future__ import annotations

from penstock.scenario import model
from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.gate_lists import check_guard_band
from penstock.scenario.limits import LINE_RATE_BPS
from penstock.scenario.network import REAL, Card, Network, Station
from penstock.scenario.positions import KeyPath
from penstock.scenario.units import show_rate, show_time

_MOST_FRAME_BYTES = 1522
_LONGEST_CYCLE_NS = 100_000_000
_CYCLE_PS = 8000
_HORIZON_PS = (2**32 - 1) * 1000  # of launch times


def card_of(draft: Draft, path: KeyPath, station: model.Station) -> Card | None:
    """The card of a station, if it has one."""
    kind = station.nodes or draft.nodes
    if station.nodes not in (None, "model", "rtl") or (station.nodes == "rtl" and station.card is None):
        allowed = '"model"' if station.card is None else '"model" or "rtl"'
        draft.report.add((*path, "nodes"), f'"{station.nodes}" is not part of this version', allowed)
    if station.card is None:
        return None
    latency = station.card.memory_latency
    cycles, rest = divmod(latency, _CYCLE_PS)
    if rest:
        what = f"{show_time(latency)} is no whole number of the card's cycles"
        draft.report.add((*path, "card", "memory_latency"), what, "multiples of 8ns")
    return Card(station.card.queues, kind == "rtl", cycles)


def check_cards(draft: Draft, network: Network) -> None:
    """Whether each card has the queues that its streams need, and can do what its port is set to."""
    for name, station in network.stations.items():
        if station.card is None or network.nodes in REAL:
            continue
        path: KeyPath = ("stations", name)
        for stream in network.streams_from.get(name, ()):
            number = network.class_at_talker(stream)
            if number >= station.card.queues:
                what = f'"{stream.name}" is of class {number}; the card of "{name}" has {station.card.queues} queues'
                draft.report.add(
                    ("streams", stream.name), what, f"classes 0 to {station.card.queues - 1}, or more queues"
                )
        if station.card.is_hardware:
            _check_hardware(draft, network, station, path)


def _check_hardware(draft: Draft, network: Network, station: Station, path: KeyPath) -> None:
    remedy = 'nodes = "model"'
    said = draft.scenario.stations[station.name]
    if station.link_rate_bps != LINE_RATE_BPS:
        what = f'the card of "{station.name}" is hardware and does not run at {show_rate(station.link_rate_bps)}'
        draft.once(draft.rate_origin[station.name], what, f'"1Gb/s", or {remedy} for "{station.name}"')
    if said.clock != model.Clock():
        draft.report.add((*path, "clock"), "the clock of a card in hardware is the network's", f"no clock, or {remedy}")
    _check_ats(draft, network, station, path)
    for _, number in station.max_sdu_bytes:
        draft.report.add((*path, "classes", str(number), "max_sdu"), "the card has no such limit", f"none, or {remedy}")
    for number, limit in station.queue_limits.items():
        if limit.drop_oldest:
            where = (*path, "classes", str(number), "queue_limit", "drop")
            draft.report.add(where, "the card drops the frame that comes", f'"newest", or {remedy}')
    check_guard_band(draft, path, said, "the card", f'{remedy} for "{station.name}"')
    for gates in station.gates.values():
        if gates.cycle_time_ns > _LONGEST_CYCLE_NS:
            what = f"a cycle of {show_time(gates.cycle_time_ns * 1000)}, which is simulated before the run begins"
            draft.report.add((*path, "gates"), what, f"up to {show_time(_LONGEST_CYCLE_NS * 1000)}, or {remedy}")
    for stream in network.streams_from.get(station.name, ()):
        _check_launch(draft, station, stream, remedy)
    passing = (s for s in network.streams.values() if station.name in (s.talker, *s.listeners))
    for stream in passing:
        if stream.max_frame_bytes > _MOST_FRAME_BYTES:
            takes = f'the card of "{station.name}" takes {_MOST_FRAME_BYTES} B at most'
            what = f"frames of {stream.max_frame_bytes} B; {takes}"
            draft.report.add(("streams", stream.name), what, f"shorter ones, or {remedy} for it")


def _check_ats(draft: Draft, network: Network, station: Station, path: KeyPath) -> None:
    """A queue has one scheduler, and all of its frames pass it."""
    remedy = f'nodes = "model" for "{station.name}"'
    if station.ats_classes and station.overhead_bytes < 0:
        what = f'the card of "{station.name}" cannot count {station.overhead_bytes} B beside a frame'
        draft.report.add((*path, "overhead"), what, f"0B or more, or {remedy}")
    for number in sorted(station.ats_classes):
        passing = [s for s in network.streams_from.get(station.name, ()) if network.class_at_talker(s) == number]
        held = [stream for stream in passing if stream.ats is not None]
        where = (*path, "classes", str(number), "selection")
        for stream in passing:
            if held and stream.ats is None:
                what = f'"{stream.name}" has no ats; the queue of class {number} has the scheduler of "{held[0].name}"'
                draft.report.add(where, what, f"another class for it, or {remedy}")
            if held and stream.handover is not None and stream.handover.launch is not None:
                what = f'the card sends "{stream.name}" at its launch times, and no scheduler holds it'
                draft.report.add(where, what, f"no launch, another class, or {remedy}")
        if len(held) > 1 and any(s.ats is None or s.ats.scheduler is None or s.ats != held[0].ats for s in held):
            names = " and ".join(f'"{stream.name}"' for stream in held[:2])
            what = f"{names} have schedulers of their own; the queue of class {number} has one"
            draft.report.add(where, what, f"one of [schedulers] for all of them, another class, or {remedy}")


def _check_launch(draft: Draft, station: Station, stream: Stream, remedy: str) -> None:
    launch = None if stream.handover is None else stream.handover.launch
    if launch is None:
        return
    path: KeyPath = ("streams", stream.name, "source", "launch")
    if launch.offset_ps > _HORIZON_PS:
        what = f'the card of "{station.name}" keeps no frame for {show_time(launch.offset_ps)}'
        draft.report.add(path, what, f"up to {show_time(_HORIZON_PS)}, or {remedy} for it")
    if launch.error is not None:
        what = f'the card of "{station.name}" is hardware, whose error is its own'
        draft.report.add((*path, "error"), what, f"no error, or {remedy} for it")
