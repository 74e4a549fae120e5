# SPDX-License-Identifier: Apache-2.0
"""A stream of a checked network, in base units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from penstock.captures import Capture
from penstock.scenario.source_keys import Source


@dataclass(frozen=True)
class Hop:
    """How a stream passes a bridge."""

    bridge: str
    entry: int  # reception port
    egress: tuple[int, ...]


@dataclass(frozen=True)
class Udp:
    """Addresses of generated frames, and what a bridge may know a stream by."""

    source: int
    destination: int
    source_port: int
    destination_port: int
    protocol: int = 17


@dataclass(frozen=True)
class Ats:
    """Committed rate and burst of a stream's schedulers, counted on the wire."""

    rate_bps: int
    burst_bytes: int
    # Shared by the streams that name it: one scheduler at each reception port of a bridge. None: the stream's own.
    scheduler: str | None = None
    at: Mapping[str, Ats] = field(default_factory=dict)  # by bridge or talker, where it is not the same

    def at_node(self, name: str) -> Ats:
        """Rate and burst as a bridge has them, or the talker."""
        return self.at.get(name, self)


@dataclass(frozen=True)
class Pattern:
    """In each period the next of the lists of frames, and after the last the first again."""

    period_ps: int
    sizes: tuple[tuple[int, ...], ...]  # bytes from destination address to FCS
    payloads: tuple[tuple[int, ...], ...]  # of these, those behind the header of AVTP or RTP
    spacing_ps: int  # between the frames of a list


@dataclass(frozen=True)
class Jitter:
    """By how much releases leave their time."""

    kind: Literal["normal", "uniform", "exponential", "values", "quantiles"]
    ps: int = 0
    values_ps: tuple[int, ...] = ()
    quantiles_ps: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True)
class Launch:
    """When a controller sends a frame: after its nominal time, off by an error."""

    offset_ps: int
    error: Jitter | None


@dataclass(frozen=True)
class Handover:
    """What is between a frame's construction by a program and its talker's port."""

    delay: Jitter | None
    launch: Launch | None


@dataclass(frozen=True)
class Stream:
    """Frames from one station to others."""

    name: str
    talker: str
    listeners: tuple[str, ...]
    vlan: int | None  # None: untagged
    pcp: int
    traffic_class: int  # at the first bridge
    source: Source
    pattern: Pattern | None  # of audio and video
    jitter: Jitter | None
    handover: Handover | None
    ethertype: int  # of frames without IPv4
    capture: Capture | None
    capture_path: Path | None
    destination_mac: int
    source_mac: int
    udp: Udp | None
    identify: Literal["destination", "source", "ipv4"]
    ats: Ats | None
    shaped: bool  # has ATS parameters and its class passes the schedulers
    deadline_ps: int | None
    min_frame_bytes: int
    max_frame_bytes: int
    numbered: bool  # its frames get an R-TAG at the first bridge
    tree: tuple[Hop, ...]  # from the talker on, each bridge before those behind it
