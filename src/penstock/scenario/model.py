# SPDX-License-Identifier: Apache-2.0
"""The keys of `scenario.toml`, as they are written. What they mean together is decided by what `load.py` calls.

What a key means stands in its description, from which `penstock schema` makes the schema for editors; units and limits
are those of its type.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema, model_validator

from penstock.errors import did_you_mean
from penstock.scenario.fault_keys import Fault
from penstock.scenario.keys import GateStates, Priority, Short, Switch, Whole, said
from penstock.scenario.keys import Table as Table
from penstock.scenario.keys import refuse as refuse
from penstock.scenario.limits import (
    AtsRate,
    BaseTime,
    Burst,
    ClockDrift,
    ClockOffset,
    CycleTime,
    Delay,
    Duration,
    Extension,
    FrameBytes,
    HeaderBytes,
    Interval,
    LinkRate,
    Overhead,
    QueueBytes,
    Residence,
    SendSlope,
    ServiceDataUnit,
    StatedDelay,
    StoreBytes,
    SyncErrorTime,
    TrafficRate,
)
from penstock.scenario.linux_keys import LinuxPort
from penstock.scenario.priorities import STREAM_RESERVATION, ClassOfPriority
from penstock.scenario.source_keys import Count, Source
from penstock.scenario.tile_keys import KINDS as TILED
from penstock.scenario.tile_keys import Tiles

Nodes = Literal["model", "rtl", "linux", "plane"]
Event = Literal[
    "created", "received", "queued", "eligible", "sent", "delivered", "dropped", "missed", "fault_begin", "fault_end",
    "spoiled", "cut",
]  # fmt: skip

_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}")
_PLACE = re.compile(r"([^.\s]+)\.([0-9]{1,5})")
_ANY_PLACE = re.compile(r"([^.\s]+)\.([0-9]{1,5}|\*)")


def _mac(value: Any) -> int:
    # By hand: ipaddress knows no MAC addresses.
    if not isinstance(value, str) or not _MAC.fullmatch(value):
        raise refuse(f"{said(value)} is not a MAC address", 'six bytes such as "02:00:00:00:00:01"')
    return int(re.sub("[:-]", "", value), 16)


def _ipv4(value: Any) -> int:
    try:
        if isinstance(value, str):
            return int(ipaddress.IPv4Address(value))
    except ipaddress.AddressValueError:
        pass
    raise refuse(f"{said(value)} is not an IPv4 address", 'four numbers such as "10.0.0.1"')


def _place(value: Any) -> str:
    if not isinstance(value, str) or not _PLACE.fullmatch(value):
        raise refuse(f"{said(value)} is not a port of a bridge", 'BRIDGE.PORT, such as "sw.0"')
    return value


def _any_place(value: Any) -> str:
    if not isinstance(value, str) or not _ANY_PLACE.fullmatch(value):
        raise refuse(
            f"{said(value)} is not a port of a bridge", 'BRIDGE.PORT, such as "sw.0", or "sw.*" for a free port'
        )
    return value


def _text(pattern: re.Pattern[str], title: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "title": title, "pattern": f"^{pattern.pattern}$", "examples": [example]})


_IPV4_SCHEMA = {"type": "string", "title": "IPv4 address", "format": "ipv4", "examples": ["10.0.0.1"]}

MacAddress = Annotated[int, BeforeValidator(_mac), _text(_MAC, "MAC address", "02:00:00:00:00:01")]
Ipv4Address = Annotated[int, BeforeValidator(_ipv4), WithJsonSchema(_IPV4_SCHEMA)]
Place = Annotated[str, BeforeValidator(_place), _text(_PLACE, "port of a bridge", "sw.0")]
AnyPlace = Annotated[str, BeforeValidator(_any_place), _text(_ANY_PLACE, "port of a bridge", "sw.*")]
VlanId = Annotated[int, Whole(1, 4094)]
IpPort = Annotated[int, Whole(0, 65535)]


T = TypeVar("T")
ByClass = Annotated[dict[str, T], Field(json_schema_extra={"propertyNames": {"pattern": "^[0-7]$"}})]
ByNumber = Annotated[dict[str, T], Field(json_schema_extra={"propertyNames": {"pattern": "^[0-9]+$"}})]


class Link(Table):
    """A link between two bridges."""

    between: Annotated[list[Place], Field(min_length=2, max_length=2)] = Field(
        description="The two ports that it joins."
    )
    rate: LinkRate | None = Field(default=None, description="In both directions.")
    delay: Delay | None = Field(default=None, description="Of its cable.")


class Links(Table):
    """What every link is, and, by name, the links between bridges."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Link]

    rate: LinkRate = Field(default=10**9, description="Of every link that does not say otherwise.")
    delay: Delay = Field(default=50_000, description="Of every cable that does not say otherwise.")

    @model_validator(mode="before")
    @classmethod
    def _links_are_tables(cls, values: Any) -> Any:
        for key, value in values.items() if isinstance(values, dict) else ():
            if key not in cls.model_fields and not isinstance(value, dict):
                hint = did_you_mean(key, cls.model_fields)
                raise refuse(f'unknown key "{key}"{hint}', "rate, delay, and a table for each link", key)
        return values

    def named(self) -> dict[str, Link]:
        """The links between bridges."""
        return self.__pydantic_extra__


class SyncError(Table):
    """A clock that is synchronized, but not exactly."""

    error: SyncErrorTime = Field(
        description="By how much the clock may be off; how much it is follows from the node's name."
    )


def _sync(value: Any) -> Any:
    if not isinstance(value, dict | SyncError) and value not in ("ideal", "none"):
        raise refuse(f"{said(value)} is not known", '"ideal", "none", or { error = "100ns" }')
    return value


Sync = Annotated[
    Annotated[Literal["ideal", "none"], Tag("a word")] | Annotated[SyncError, Tag("a table")],
    Discriminator(lambda value: "a word" if isinstance(value, str) else "a table"),
    BeforeValidator(_sync),
]


class Clock(Table):
    """How a node's clock differs from the network's time, and whether its gates follow that time all the same."""

    offset: ClockOffset = Field(default=0, description="How much more the clock shows at the start.")
    drift: ClockDrift = Field(default=0, description="By how much it is fast.")
    sync: Sync = Field(
        default="ideal",
        description='Whether gates follow the network\'s time ("ideal"), nearly so, or the node\'s own clock ("none").',
    )


class GateEntry(Table):
    """A line of a gate control list."""

    open: GateStates = Field(description="The classes whose gates are open.")
    interval: Interval = Field(description="For how long; of two entries at one instant the later one acts.")


class Slots(Table):
    """The schedule of a network card with time slots: its registers TQCR and SCR."""

    times: ByClass[Interval] = Field(description="How long the slot of each class is (TQCR), its guard included.")
    order: list[Priority] = Field(
        description="The class of each slot of a cycle (SCR); others have what is left of it."
    )
    guard: Interval = Field(
        default=0, description="For so long no gate is open at the end of each slot, beyond the guard band of 802.1Q."
    )


class Gates(Table):
    """The gate control list of a port, with the names of IEEE 802.1Q."""

    entries: list[GateEntry] = Field(
        default_factory=list, description="The gate control list: which gates are open, and for how long."
    )
    slots: Slots | None = Field(default=None, description="Instead of entries: a slot of the cycle for single classes.")
    cycle_time: CycleTime | None = Field(
        default=None, description="After so long the list begins again; the sum of the intervals if not given."
    )
    base_time: BaseTime = Field(default=0, description="When the first cycle begins; 0 is the begin of the run.")
    cycle_time_extension: Extension = Field(
        default=0, description="By how much the last cycle before a new list may be longer."
    )
    initial: GateStates = Field(default=tuple(range(8)), description="Open gates before the first cycle.")

    @model_validator(mode="after")
    def _one_list(self) -> Gates:
        if ("entries" in self.model_fields_set) == (self.slots is not None):
            raise refuse("is entries or slots", "entries = [...], or slots = { times = ..., order = ... }")
        return self


SHAPER_KEYS = ("idle_slope", "send_slope", "scaled")


class _ClassKeys(Table):
    """What every egress port can be told of a traffic class."""

    idle_slope: TrafficRate | None = Field(
        default=None, description="Of CBS: the rate that the class earns, wire length counted."
    )
    send_slope: SendSlope | None = Field(
        default=None, description="Of CBS: idleSlope less the port's rate, which is all that 802.1Q allows."
    )
    scaled: Switch | None = Field(
        default=None, description="Of CBS: whether idle_slope is of the whole cycle and earned while the gate is open."
    )
    max_sdu: ServiceDataUnit | None = Field(
        default=None, description="queueMaxSDU: the longest data of a frame, a tag counted."
    )


class QueueLimit(Table):
    """What the queue of a traffic class holds at most."""

    frames: Count | None = Field(default=None, description="So many frames.")
    bytes: QueueBytes | None = Field(default=None, description="So many bytes, from destination address to FCS.")
    drop: Literal["newest", "oldest"] = Field(
        default="newest",
        description="Which frame is dropped when it is full: the one that comes, or those that are first.",
    )

    @model_validator(mode="after")
    def _one(self) -> QueueLimit:
        if (self.frames is None) == (self.bytes is None):
            raise refuse("is frames or bytes", 'frames = 64, or bytes = "32kB"')
        return self


class ClassAtPort(_ClassKeys):
    """How one port of a bridge serves a traffic class."""

    selection: Literal["strict", "cbs", "round_robin"] | None = Field(
        default=None, description="How frames of the class are selected."
    )


class ClassAtStation(_ClassKeys):
    """How a station serves a traffic class."""

    selection: Literal["ats", "strict", "cbs", "round_robin"] | None = Field(
        default=None, description="How frames of the class are selected; of ATS, also when they may be."
    )
    max_residence: Residence | None = Field(
        default=None, description="Of ATS: how long a frame may wait for its scheduler."
    )
    queue_limit: QueueLimit | None = Field(default=None, description="What its queue holds at most: frames or bytes.")

    name: str | None = Field(default=None, description="What gate lists may call the class.")


class ClassOfTraffic(_ClassKeys):
    """A traffic class of a bridge."""

    selection: Literal["ats", "strict", "cbs", "round_robin"] | None = Field(
        default=None, description="How frames of the class are selected."
    )
    name: str | None = Field(default=None, description="What gate lists may call the class.")
    queue_limit: QueueLimit | None = Field(
        default=None, description="What the queue of each port holds at most: frames or bytes."
    )
    max_residence: Residence | None = Field(
        default=None, description="Of ATS: how long a frame may wait for its scheduler."
    )


class Port(Table):
    """What one port of a bridge does otherwise than the bridge."""

    vlan: VlanId | None = Field(default=None, description="Of untagged frames that come in here.")
    max_residence: ByClass[Residence] = Field(
        default_factory=dict, description="As of the bridge's ATS classes, by class."
    )
    classes: ByClass[ClassAtPort] = Field(
        default_factory=dict, description="How the port serves classes otherwise than its bridge."
    )
    gates: Gates | None = Field(default=None, description="The port's own gate control list.")
    linux: LinuxPort | None = Field(default=None, description="The interface that the port is on a Linux host.")


class Bridge(Table):
    """A switch."""

    # `settings.py` asks for it where no topology gives it.
    ports: Annotated[int | None, Whole(2, 64)] = Field(
        default=None, description="How many ports it has; in hardware up to 8."
    )
    nodes: Nodes | None = Field(
        default=None, description='What this bridge is: "rtl" or "model"; or of real hosts "linux" or "plane".'
    )
    clock: Clock = Field(default=Clock(), description="How its clock differs from the network's time.")
    processing_delay: Delay | None = Field(
        default=None,
        description="From a frame's last bit to its selection, of an idle bridge that is not like the hardware.",
    )
    switching: Literal["store_and_forward", "cut_through"] | None = Field(
        default=None, description="Whether a frame has to be whole before it is sent on."
    )
    cut_through_header: HeaderBytes | None = Field(
        default=None,
        description="Of cut-through: so much of a frame, from the destination address on, is read before it is sent on;"
        " 64 B if not given.",
    )
    classes: ByClass[ClassOfTraffic] = Field(
        default_factory=dict, description="Traffic classes by number; 7 is served first."
    )
    port: ByNumber[Port] = Field(default_factory=dict, description="What single ports do otherwise, by number.")
    vlans: dict[str, list[str]] = Field(
        default_factory=dict, description="Members of VLANs by identifier: stations here, and bridges beside."
    )
    class_of_priority: ClassOfPriority = Field(
        default=STREAM_RESERVATION,
        description="Eight traffic classes, for priority code points 0 to 7, or a map's name.",
    )
    class_of_untagged: Priority = Field(default=5, description="Traffic class of untagged frames.")
    processing_delay_max: StatedDelay | None = Field(default=None, description="Added to eligibility times of ATS.")
    max_frame: FrameBytes = Field(default=1522, description="Its longest frame, destination address to FCS.")
    overhead: Overhead = Field(
        default=20, description="What ATS counts beside the frame; below zero, in models, what it leaves out of it."
    )
    store: StoreBytes | None = Field(
        default=None, description="What the bridge has to store frames in, in models; whole cells of 128 B count."
    )
    gates: Gates | None = Field(default=None, description="The gate control list of all ports.")
    count_gap: Switch = Field(default=True, description="Whether the gap after a frame spends credit of CBS.")
    guard_band_gap: Switch = Field(
        default=True, description="Whether the gap after a frame, too, has to fit before its gate closes."
    )
    guard_band_credit: Literal["rises", "frozen"] = Field(
        default="rises", description="Credit of a class whose first frame does not fit before its gate closes."
    )
    forwarding: Literal["static", "learned"] = Field(
        default="static", description="Entries for each stream's destination, or learning and flooding."
    )


class Topology(Tiles):
    """Bridges and the links between them, made by a rule."""

    kind: Literal["line", "ring", "star", "tree", "mesh", "grid", "torus", "mesh2d"] = Field(
        description="The rule by which bridges are joined."
    )
    bridges: Annotated[int | None, Whole(1, 10_000)] = Field(default=None, description="How many, but of tiles.")
    children: Annotated[int | None, Whole(1, 63)] = Field(default=None, description="Of each bridge of a tree.")
    columns: Annotated[int | None, Whole(1, 10_000)] = Field(default=None, description="Of a grid.")
    rate: LinkRate | None = Field(default=None, description="Of its links.")
    delay: Delay | None = Field(default=None, description="Of its cables.")
    bridge: Bridge = Field(default=Bridge(), description="What each of its bridges is.")

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Topology:
        of_tiles = ((key, TILED) for key in Tiles.model_fields)
        for key, kinds in (("children", ("tree",)), ("columns", ("grid",)), *of_tiles):
            if getattr(self, key) and self.kind not in kinds:
                raise refuse(f"says nothing about a {self.kind}", f'only with kind = "{kinds[0]}"', key)
        if self.kind in TILED:
            if self.bridges is not None:
                raise refuse(f"a {self.kind} has as many as its tiles have", "the key is left out", "bridges")
            self.check_tiles()
        elif self.bridges is None:
            raise refuse("the key is missing", 'every topology has "bridges"', "bridges")
        if self.kind == "grid" and self.columns is None:
            raise refuse("a grid has columns", 'columns = 4 beside kind = "grid"')
        if self.kind == "ring" and self.count < 3:
            raise refuse(f"{self.count} bridges are no ring", "3 or more", "bridges")
        return self

    @property
    def count(self) -> int:
        """How many bridges it has."""
        return len(self.grid.nodes) if self.bridges is None else self.bridges


class Station(Table):
    """An end station at a port of a bridge."""

    at: AnyPlace = Field(description='The port of a bridge, or "BRIDGE.*" for the lowest one that is free.')
    nodes: Nodes | None = Field(default=None, description="What this station is.")
    mac: MacAddress | None = Field(default=None, description="Its individual address.")
    rate: LinkRate | None = Field(default=None, description="Of its link.")
    delay: Delay | None = Field(default=None, description="Of its cable.")
    clock: Clock = Field(default=Clock(), description="How its clock differs from the network's time.")
    classes: ByClass[ClassAtStation] = Field(
        default_factory=dict, description="Traffic classes by number; 7 is sent first."
    )
    class_of_priority: ClassOfPriority | None = Field(
        default=None, description="Eight traffic classes, for priority code points 0 to 7, or a map's name."
    )
    gates: Gates | None = Field(default=None, description="The gate control list of its port.")
    count_gap: Switch = Field(default=True, description="Whether the gap after a frame spends credit of CBS.")
    guard_band_gap: Switch = Field(
        default=True, description="Whether the gap after a frame, too, has to fit before its gate closes."
    )
    guard_band_credit: Literal["rises", "frozen"] = Field(
        default="rises", description="Credit of a class whose first frame does not fit before its gate closes."
    )
    overhead: Overhead = Field(
        default=20, description="What ATS counts beside the frame; below zero, what it leaves out of it."
    )
    linux: LinuxPort | None = Field(default=None, description="Its interface, if it is a Linux host.")


class Committed(Table):
    """A committed rate and burst; both count the length on the wire."""

    rate: AtsRate = Field(description="CommittedInformationRate, wire length counted.")
    burst: Burst = Field(description="CommittedBurstSize, wire length counted.")


class Ats(Committed):
    """The committed rate and burst of ATS schedulers, the same at all bridges or not."""

    at: dict[str, Committed] = Field(
        default_factory=dict, description="At single bridges or at the talker, by name, another rate."
    )


class Identify(Table):
    """How a bridge knows the frames of a stream."""

    by: Literal["destination", "source", "ipv4"] = Field(
        description="An address with the VLAN, or IPv4 addresses, protocol and ports."
    )


class Udp(Table):
    """Addresses of generated IPv4/UDP frames."""

    source: Ipv4Address = Field(description="Of the talker.")
    destination: Ipv4Address = Field(description="Of the listener.")
    source_port: IpPort = Field(default=5000, description="Of the talker.")
    destination_port: IpPort = Field(default=5000, description="Of the listener.")


_IdentifyOrWord = Annotated[
    Identify | None,
    Short(Literal["destination", "source", "ipv4"], lambda value: {"by": value} if isinstance(value, str) else value),
]


def _route(value: Any) -> Any:
    ways = [value] if isinstance(value, list) else value.values() if isinstance(value, dict) else [None]
    if not all(isinstance(w, list) and w and all(isinstance(b, str) for b in w) for w in ways):
        raise refuse(
            f"{said(value)} is not a route", 'bridges in order, ["s1", "s2"], or such a list for each listener'
        )
    return value


class Stream(Table):
    """Frames from one station to others."""

    talker: str = Field(alias="from", description="The station that sends it.")
    to: list[str] = Field(min_length=1, description="The stations that listen to it.")
    source: Source = Field(description="Where the frames come from, and when.")
    vlan: VlanId | None = Field(default=None, description="Of the frames' tag; untagged if not given.")
    pcp: Priority | None = Field(default=None, description="The priority code point of the tag.")
    destination: MacAddress | None = Field(
        default=None, description="The destination address; the listener's, or a group's, if not given."
    )
    udp: Udp | None = Field(default=None, description="IPv4 and UDP in made frames.")
    ats: Ats | None = Field(default=None, description="Committed rate and burst: the stream is shaped by ATS.")
    scheduler: str | None = Field(
        default=None, description="Instead of ats: the scheduler that it shares with all streams that name it."
    )
    identify: _IdentifyOrWord = Field(default=None, description="How bridges know the stream.")
    deadline: Duration | None = Field(
        default=None, description="The largest latency allowed; a dropped frame misses it too."
    )
    route: Annotated[list[str] | dict[str, list[str]] | None, BeforeValidator(_route)] = Field(
        default=None, description="Bridges in order, or such a list for each listener; the shortest way if not given."
    )

    @model_validator(mode="after")
    def _one_scheduler(self) -> Stream:
        if self.ats is not None and self.scheduler is not None:
            raise refuse("the stream has a scheduler of its own (ats)", "ats or scheduler", "scheduler")
        return self

    @property
    def has_scheduler(self) -> bool:
        """Whether the stream is to be shaped, by a scheduler of its own or a shared one."""
        return self.ats is not None or self.scheduler is not None


class Trace(Table):
    """Which events are written down; all of all nodes if it says nothing."""

    enabled: Switch = Field(default=True, description="Whether a trace is written.")
    events: list[Event] | None = Field(default=None, description="Those that are written; all if not given.")
    nodes: list[str] | None = Field(
        default=None, description="The bridges and stations whose events are written; all if not given."
    )


class Scenario(Table):
    """A whole `scenario.toml`."""

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="Results go to out/NAME.")
    title: str | None = Field(default=None, description="For people.")
    nodes: Nodes = Field(
        default="rtl",
        description="What the bridges are: hardware under Verilator, models, real Linux hosts, or data planes.",
    )
    duration: Duration = Field(description="For how long sources create frames; then what is on its way may arrive.")
    links: Links = Field(
        default_factory=lambda: Links.model_validate({}),
        description="What every link is, and the links between bridges by name.",
    )
    topology: dict[str, Topology] = Field(
        default_factory=dict, description="Bridges and links made by a rule, by name."
    )
    bridges: dict[str, Bridge] = Field(default_factory=dict, description="The bridges by name.")
    stations: dict[str, Station] = Field(default_factory=dict, description="The end stations by name.")
    schedulers: dict[str, Ats] = Field(
        default_factory=dict, description="ATS schedulers that several streams share, by name."
    )
    streams: dict[str, Stream] = Field(default_factory=dict, description="The streams by name.")
    faults: list[Fault] = Field(default_factory=list, description="What breaks, and when.")
    trace: Trace = Field(default=Trace(), description="Which events are written down.")
