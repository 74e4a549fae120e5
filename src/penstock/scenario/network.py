# SPDX-License-Identifier: Apache-2.0
"""A checked scenario in base units: what every later step works on. Nothing here can be wrong any more."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from penstock.captures import Capture
from penstock.scenario.model import Source

WIRE_OVERHEAD_BYTES = 20  # preamble, delimiter and gap


@dataclass(frozen=True)
class TrafficClass:
    """How a bridge serves one traffic class."""

    ats: bool
    max_residence_ns: int | None


@dataclass(frozen=True)
class Bridge:
    """A switch."""

    name: str
    ports: int
    classes: dict[int, TrafficClass]
    class_of_pcp: tuple[int, ...]
    class_of_untagged: int
    port_vlan_id: tuple[int, ...]
    vlans: dict[int, frozenset[int]]
    max_residence_ns: dict[tuple[int, int], int]  # (reception port, class)
    processing_delay_max_ps: int | None  # None: what the hardware states
    max_frame_bytes: int
    overhead_bytes: int
    static_forwarding: bool

    def is_ats(self, traffic_class: int) -> bool:
        """Whether frames of the class pass an ATS scheduler; classes 6 and 7 do unless the scenario says otherwise."""
        known = self.classes.get(traffic_class)
        return known.ats if known is not None else traffic_class >= 6


@dataclass(frozen=True)
class Station:
    """An end station."""

    name: str
    bridge: str
    port: int
    mac: int
    link_rate_bps: int
    link_delay_ps: int


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
    """Committed rate and burst, counted on the wire."""

    rate_bps: int
    burst_bytes: int


@dataclass(frozen=True)
class Stream:
    """Frames from one station to others."""

    name: str
    talker: str
    listeners: tuple[str, ...]
    vlan: int | None  # None: untagged
    pcp: int
    traffic_class: int
    source: Source
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


@dataclass(frozen=True)
class Network:
    """Everything that a run needs to know."""

    name: str
    title: str
    file: Path
    nodes: str
    duration_ps: int
    bridges: dict[str, Bridge]
    stations: dict[str, Station]
    streams: dict[str, Stream]
    warnings: list[str] = field(default_factory=list)

    def listening_ports(self) -> list[Station]:
        """The stations that at least one stream is for."""
        heard = {name for stream in self.streams.values() for name in stream.listeners}
        return [station for name, station in self.stations.items() if name in heard]
