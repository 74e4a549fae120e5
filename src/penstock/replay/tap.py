# SPDX-License-Identifier: Apache-2.0
"""Where in a network a recording can be made: at one egress port of one bridge, before anything is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from penstock.errors import InputError, did_you_mean
from penstock.ethernet import MIN_FRAME_BYTES
from penstock.replay.recording import (
    LINK_BPS,
    MAX_BURST_BYTES,
    MAX_FRAME_BYTES,
    MAX_PORTS,
    MIN_BURST_BYTES,
    MIN_RATE_BPS,
)
from penstock.scenario.checked_stream import Hop, Stream
from penstock.scenario.network import Bridge, Network
from penstock.scenario.units import show_rate

OPTION = "--record-at"


@dataclass(frozen=True)
class Tap:
    """An egress port at which a recording is made, and what leaves there."""

    network: Network
    bridge: Bridge
    port: int

    @property
    def name(self) -> str:
        return f"{self.bridge.name}.{self.port}"

    @property
    def streams(self) -> list[tuple[Stream, Hop]]:
        """Those that leave by the port, and how each of them came in."""
        return [(s, hop) for s, hop in self.network.passing[self.bridge.name] if self.port in hop.egress]

    def is_shaped(self, stream: Stream) -> bool:
        """Whether the bridge shapes the stream by ATS."""
        return stream.ats is not None and self.bridge.is_ats(self.network.class_at(stream, self.bridge.name))


def tap_at(network: Network, at: str | None) -> Tap:
    """The place asked for as `BRIDGE.PORT`, or the only one; raises `InputError` where `replay` has no words."""
    places = {f"{bridge}.{port}": (bridge, port) for bridge, port in network.streams_at}
    if at is None and len(places) != 1:
        what = f"frames leave by {len(places)} ports"
        raise InputError(what, allowed=f"{OPTION} {' or '.join(places)}", file=network.file, key="--record")
    name = next(iter(places)) if at is None else at
    if name not in places:
        what = f"no stream leaves a bridge there{did_you_mean(name, places)}"
        raise InputError(what, allowed=", ".join(places), file=f"{OPTION} {name}")
    bridge, port = places[name]
    tap = Tap(network, network.bridges[bridge], port)
    _check_port(tap)
    _check_groups(tap)
    for stream, _ in tap.streams:
        _check_stream(tap, stream)
    return tap


def _refuse(tap: Tap, what: str, allowed: str) -> NoReturn:
    raise InputError(f"{tap.name}: {what}", allowed=allowed, file=tap.network.file, key="--record")


def _check_port(tap: Tap) -> None:
    """What `replay` knows of ports: ATS and strict priority, at 1 Gb/s, of a bridge of 8."""
    bridge, entries = tap.bridge, {hop.entry for _, hop in tap.streams}
    last = max(tap.port, *entries)
    if last >= MAX_PORTS:
        _refuse(tap, f"a frame comes or goes by port {last}", f"ports 0 to {MAX_PORTS - 1}")
    for port in (tap.port, *sorted(entries)):
        rate = tap.network.link_at[bridge.name, port].rate_bps
        if rate != LINK_BPS:
            _refuse(tap, f"the link of port {port} has {show_rate(rate)}", show_rate(LINK_BPS))
    beside = {
        "a switch that cuts through": bridge.cut_through_bytes is not None,
        "gates": tap.port in bridge.gates,
        "a credit-based shaper": any(port == tap.port for port, _ in bridge.credit),
        "a longest unit": any(port == tap.port for port, _ in bridge.max_sdu_bytes),
        "an overhead below zero": bridge.overhead_bytes < 0,
    }
    for what, there in beside.items():
        if there:
            _refuse(tap, f"the port has {what}", "ATS and strict priority, frames stored whole")


def _check_groups(tap: Tap) -> None:
    """Streams of one scheduler group delay each other, so that all of them have to be in the recording."""
    network, bridge = tap.network, tap.bridge.name
    mine = {(hop.entry, network.class_at(s, bridge)): s.name for s, hop in tap.streams if tap.is_shaped(s)}
    for stream, hop in network.passing[bridge]:
        group = hop.entry, network.class_at(stream, bridge)
        if tap.port not in hop.egress and tap.is_shaped(stream) and group in mine:
            _refuse(
                tap, f"{stream.name} shares a scheduler group with {mine[group]} and leaves elsewhere", "whole groups"
            )


def _check_stream(tap: Tap, stream: Stream) -> None:
    if tap.is_shaped(stream) and stream.ats is not None and stream.ats.scheduler is not None:
        _refuse(tap, f'{stream.name} shares the scheduler "{stream.ats.scheduler}"', "a scheduler for each stream")
    for what, value, least, most in _limits(tap, stream):
        if not least <= value <= most:
            _refuse(tap, f"{what} of {stream.name} is {value:,}", f"{least:,} to {most:,}")


def _limits(tap: Tap, stream: Stream) -> Iterator[tuple[str, int, int, int]]:
    yield "the longest frame", stream.max_frame_bytes, MIN_FRAME_BYTES, MAX_FRAME_BYTES
    if tap.is_shaped(stream):
        assert stream.ats is not None
        ats = stream.ats.at_node(tap.bridge.name)
        yield "the rate in b/s", ats.rate_bps, MIN_RATE_BPS, LINK_BPS
        yield "the burst in bytes", ats.burst_bytes, MIN_BURST_BYTES, MAX_BURST_BYTES
