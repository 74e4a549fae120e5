# SPDX-License-Identifier: Apache-2.0
"""A checked scenario in base units: what every later step works on. Nothing here can be wrong any more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from penstock.scenario.checked_fault import Fault
from penstock.scenario.checked_stream import Ats, Hop, Stream
from penstock.scenario.egress import Egress
from penstock.scenario.findings import Finding
from penstock.scenario.limits import LONGEST_PS
from penstock.scenario.positions import KeyPath

if TYPE_CHECKING:
    from penstock.scenario.host_port import HostPort
    from penstock.scenario.tilings import Tiling

_HARDWARE_CYCLE_PS = 8000

NodeKind = Literal["model", "rtl", "own", "plane"]  # own: an object of the caller's; plane: a program on real frames
REAL = frozenset({"linux", "plane"})  # what `nodes` says of networks of real hosts
Selection = Literal["ats", "strict", "cbs", "round_robin"]
SELECTION_WORDS: dict[Selection, str] = {
    "ats": "ATS",
    "strict": "strict priority",
    "cbs": "served by credit",
    "round_robin": "served in turns",
}


def hardware_visible_ps(ports: int) -> int:
    """What the hardware takes from a frame's last bit to the cycle from which it may be selected.

    Four cycles of reception, then `VISIBLE_CYCLES` of `pen_switch`.
    """
    return (4 + 2 * ports + 19) * _HARDWARE_CYCLE_PS


@dataclass(frozen=True)
class Clock:
    """How a node's clock differs from the network's time."""

    offset_ps: int = 0  # what it shows at the start
    drift_ppb: int = 0  # by how much it runs faster
    sync_error_ns: int | None = 0  # of the PTP clock of gates against the network's time; None: it is not synchronized
    sync_error_most_ns: int = 0  # that it may be off by, either way


@dataclass(frozen=True)
class Link:
    """A cable, full duplex, between two ports."""

    name: str
    a: tuple[str, int]  # node and port; a station has port 0 only
    b: tuple[str, int]
    rate_bps: int
    delay_ps: int


@dataclass(frozen=True)
class Step:
    """How a stream passes a bridge on its way to one listener."""

    bridge: str
    entry: int
    egress: int


@dataclass(frozen=True)
class TrafficClass:
    """How a bridge serves one traffic class."""

    selection: Selection
    max_residence_ns: int | None


@dataclass(frozen=True)
class Translation:
    """What the tag of a VLAN's frames becomes at ports that translate; None: as it is in the bridge."""

    vlan: int | None
    pcp: int | None


@dataclass(frozen=True)
class Bridge(Egress):
    """A switch."""

    name: str
    ports: int
    nodes: NodeKind
    clock: Clock
    # As the hardware does it, to the cycle. Else a bridge of another maker, that waits for nothing but what is stated.
    hardware_timing: bool
    processing_delay_ps: int  # of an idle bridge with other timing, from the last bit in to its selection
    cut_through_bytes: int | None  # of its header, behind which a frame may be sent on; None: it has to be whole
    classes: dict[int, TrafficClass]
    class_of_pcp: tuple[int, ...]
    class_of_untagged: int
    port_vlan_id: tuple[int, ...]
    vlans: dict[int, frozenset[int]]
    max_residence_ns: dict[tuple[int, int], int]  # (reception port, class)
    processing_delay_max_ps: int | None  # None: what the hardware states
    max_frame_bytes: int
    overhead_bytes: int
    store_bytes: int | None  # None: as much as the hardware has, or more where it has more ports
    static_forwarding: bool
    tagging_ports: frozenset[int] = frozenset()  # from which frames leave by their VLAN; from others as they came
    untagged: Mapping[int, frozenset[int]] = field(default_factory=dict)  # VLAN: of these, those without a tag
    translating_ports: frozenset[int] = frozenset()  # of these, those that write what VLANs are translated to
    translations: Mapping[int, Translation] = field(default_factory=dict)  # by VLAN
    pcp_of_untagged: int = 0  # with which an untagged frame gets a tag
    r_tag_removal_ports: frozenset[int] = frozenset()  # from which frames leave without an R-TAG
    ptp_correction_ports: frozenset[int] = frozenset()  # whose PTP event messages get the time that they are inside
    has_host: bool = False  # the last port is a host port

    @property
    def has_hardware(self) -> bool:
        """Whether it is hardware under simulation."""
        return self.nodes == "rtl"

    def selection(self, traffic_class: int) -> Selection:
        """How the class is served; 6 and 7 by ATS unless the scenario says otherwise."""
        known = self.classes.get(traffic_class)
        return known.selection if known is not None else "ats" if traffic_class >= 6 else "strict"

    @cached_property
    def ats_classes(self) -> frozenset[int]:
        """The classes whose frames pass an ATS scheduler."""
        return frozenset(number for number in range(8) if self.selection(number) == "ats")

    @cached_property
    def ats_pcps(self) -> frozenset[int | None]:
        """The priority code points of these classes; None stands for frames without a tag."""
        by_pcp: list[tuple[int | None, int]] = [*enumerate(self.class_of_pcp), (None, self.class_of_untagged)]
        return frozenset(pcp for pcp, number in by_pcp if number in self.ats_classes)

    def is_ats(self, traffic_class: int) -> bool:
        """Whether frames of the class pass an ATS scheduler."""
        return traffic_class in self.ats_classes


@dataclass(frozen=True)
class Card:
    """The network card of a station; queue k sends the frames of class k."""

    queues: int
    is_hardware: bool  # else the station's model is the card's, but for the way from the host's memory
    memory_latency_cycles: int  # of 8 ns, until the host's memory answers


@dataclass(frozen=True)
class Station(Egress):
    """An end station."""

    name: str
    bridge: str
    port: int
    mac: int
    link_rate_bps: int
    link_delay_ps: int
    clock: Clock
    class_of_pcp: tuple[int, ...]
    ats_classes: frozenset[int] = frozenset()  # whose frames pass ATS schedulers before they are queued
    max_residence_ns: Mapping[int, int] = field(default_factory=dict)  # by class
    overhead_bytes: int = 20
    card: Card | None = None

    @property
    def has_hardware(self) -> bool:
        """Whether it sends through a card in hardware."""
        return self.card is not None and self.card.is_hardware


@dataclass(frozen=True)
class TraceFilter:
    """What is written down; None: all."""

    enabled: bool = True
    events: tuple[str, ...] | None = None
    nodes: tuple[str, ...] | None = None


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
    links: tuple[Link, ...]
    trace: TraceFilter = TraceFilter()
    warnings: list[Finding] = field(default_factory=list)
    faults: tuple[Fault, ...] = ()
    # The topologies of tiles; node i of NAME is bridge NAMEi.
    tilings: dict[str, Tiling] = field(default_factory=dict)
    # What it was read from: the text of a file, or values.
    written: str | Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    # The interfaces of Linux hosts, by node and port; filled when all else is checked.
    linux: dict[str, dict[int, HostPort]] = field(default_factory=dict)

    @property
    def is_real(self) -> bool:
        """Whether its nodes are real hosts, with real frames and real time."""
        return self.nodes in REAL

    @cached_property
    def counted(self) -> dict[KeyPath, int]:
        """All times that are counted from the run's begin or from release to release, by their keys."""
        times: dict[KeyPath, int | None] = {("duration",): self.duration_ps}
        for name, stream in self.streams.items():
            source = stream.source
            path: KeyPath = ("streams", name, "source")
            times |= {
                (*path, "start"): source.start,
                (*path, "every"): source.every,
                (*path, "poisson"): source.poisson,
            }
            if source.normal is not None:
                times |= {
                    (*path, "normal", "mean"): source.normal.mean,
                    (*path, "normal", "deviation"): source.normal.deviation,
                }
        for number, fault in enumerate(self.faults):
            times |= {("faults", number, "at"): fault.at_ps, ("faults", number, "until"): fault.until_ps}
        return {path: time for path, time in times.items() if time is not None}

    @cached_property
    def counts_years(self) -> bool:
        """Whether some of them take more than 64 bit."""
        return any(time > LONGEST_PS for time in self.counted.values())

    @cached_property
    def memo(self) -> dict[Hashable, Any]:
        """Room for what is worked out once for many streams."""
        return {}

    @cached_property
    def link_at(self) -> dict[tuple[str, int], Link]:
        """The link of each port that has one."""
        return {end: link for link in self.links for end in (link.a, link.b)}

    @cached_property
    def passing(self) -> dict[str, list[tuple[Stream, Hop]]]:
        """The streams that pass each bridge, and how."""
        found: dict[str, list[tuple[Stream, Hop]]] = {name: [] for name in self.bridges}
        for stream in self.streams.values():
            for hop in stream.tree:
                found[hop.bridge].append((stream, hop))
        return found

    @cached_property
    def by_hop(self) -> list[tuple[Hop, list[Stream]]]:
        """The streams by the hops that they have in common; the same hop may be there more than once."""
        found: dict[int, tuple[Hop, list[Stream]]] = {}
        for stream in self.streams.values():
            for hop in stream.tree:
                try:
                    found[id(hop)][1].append(stream)
                except KeyError:
                    found[id(hop)] = hop, [stream]
        return list(found.values())

    @cached_property
    def streams_at(self) -> dict[tuple[str, int], list[Stream]]:
        """The streams that leave a bridge by a port."""
        found: defaultdict[tuple[str, int], list[Stream]] = defaultdict(list)
        for stream in self.streams.values():
            for hop in stream.tree:
                for port in hop.egress:
                    found[hop.bridge, port].append(stream)
        return found

    @cached_property
    def streams_from(self) -> dict[str, list[Stream]]:
        """The streams of each talker."""
        found: defaultdict[str, list[Stream]] = defaultdict(list)
        for stream in self.streams.values():
            found[stream.talker].append(stream)
        return found

    def peer(self, node: str, port: int) -> tuple[str, int] | None:
        """The port at the other end of the cable."""
        link = self.link_at.get((node, port))
        return None if link is None else link.b if link.a == (node, port) else link.a

    def way(self, stream: Stream, listener: str) -> tuple[Step, ...]:
        """The bridges from the talker to one of the stream's listeners."""
        entries = {hop.bridge: hop.entry for hop in stream.tree}
        station = self.stations[listener]
        bridge, egress = station.bridge, station.port
        steps = [Step(bridge, entries[bridge], egress)]
        while bridge != self.stations[stream.talker].bridge:
            before = self.peer(bridge, entries[bridge])
            assert before is not None, "a tree leads back to its talker"
            bridge, egress = before
            steps.append(Step(bridge, entries[bridge], egress))
        return tuple(reversed(steps))

    def class_at(self, stream: Stream, bridge: str) -> int:
        """The traffic class that a bridge puts the stream's frames into."""
        there = self.bridges[bridge]
        return there.class_of_untagged if stream.vlan is None else there.class_of_pcp[stream.pcp]

    def class_at_talker(self, stream: Stream) -> int:
        """The traffic class that the talker puts the stream's frames into; those without a tag count as priority 0."""
        return self.stations[stream.talker].class_of_pcp[0 if stream.vlan is None else stream.pcp]

    def launch_queues(self, station: str) -> set[int]:
        """The classes of a talker whose frames have launch times, of some streams at least."""
        streams = self.streams_from.get(station, ())
        timed = (stream for stream in streams if stream.handover is not None and stream.handover.launch is not None)
        return {self.class_at_talker(stream) for stream in timed}

    def is_held_by_talker(self, stream: Stream) -> bool:
        """Whether the talker has an ATS scheduler for the stream."""
        talker = self.stations[stream.talker]
        return stream.ats is not None and self.class_at_talker(stream) in talker.ats_classes

    def schedulers_of_queues(self, station: Station) -> dict[int, Ats]:
        """Of a talker with a card in hardware: the scheduler of each queue, which its streams share."""
        return {
            self.class_at_talker(stream): stream.ats.at_node(station.name)
            for stream in self.streams_from.get(station.name, ())
            if stream.ats is not None and self.is_held_by_talker(stream)
        }

    def vlan_at(self, stream: Stream, bridge: str, port: int) -> int:
        """The VLAN that a bridge puts the stream's frames into, received at a port."""
        return stream.vlan if stream.vlan else self.bridges[bridge].port_vlan_id[port]

    def listening_ports(self) -> list[Station]:
        """The stations that at least one stream is for."""
        heard = {name for stream in self.streams.values() for name in stream.listeners}
        return [station for name, station in self.stations.items() if name in heard]
