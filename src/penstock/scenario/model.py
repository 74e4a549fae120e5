# SPDX-License-Identifier: Apache-2.0
"""The keys of `scenario.toml`, as they are written. What they mean together is decided by what `load.py` calls."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from penstock.errors import did_you_mean
from penstock.scenario.keys import GateStates, Priority, number
from penstock.scenario.keys import Table as Table
from penstock.scenario.keys import refuse as refuse
from penstock.scenario.linux_keys import LinuxPort
from penstock.scenario.programs import Program, Protocol, check_program, with_pattern
from penstock.scenario.units import (
    BitsPerSecond,
    Bytes,
    Millihertz,
    PartsPerBillion,
    Picoseconds,
    SignedBitsPerSecond,
    SignedPicoseconds,
)

Nodes = Literal["model", "rtl", "linux"]
Event = Literal["created", "received", "queued", "eligible", "sent", "delivered", "dropped", "missed"]

_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}")
_PLACE = re.compile(r"([^.\s]+)\.(\d{1,5})")
_ANY_PLACE = re.compile(r"([^.\s]+)\.(\d{1,5}|\*)")


def _mac(value: Any) -> int:
    if not isinstance(value, str) or not _MAC.fullmatch(value):
        raise refuse(f"{value!r} is not a MAC address", 'six bytes such as "02:00:00:00:00:01"')
    return int(re.sub("[:-]", "", value), 16)


def _ipv4(value: Any) -> int:
    parts = value.split(".") if isinstance(value, str) else []
    if len(parts) != 4 or not all(p.isdigit() and int(p) < 256 for p in parts):
        raise refuse(f"{value!r} is not an IPv4 address", 'four numbers such as "10.0.0.1"')
    return sum(int(p) << 8 * (3 - i) for i, p in enumerate(parts))


def _place(value: Any) -> str:
    if not isinstance(value, str) or not _PLACE.fullmatch(value):
        raise refuse(f"{value!r} is not a port of a bridge", 'BRIDGE.PORT, such as "sw.0"')
    return value


def _any_place(value: Any) -> str:
    if not isinstance(value, str) or not _ANY_PLACE.fullmatch(value):
        raise refuse(f"{value!r} is not a port of a bridge", 'BRIDGE.PORT, such as "sw.0", or "sw.*" for a free port')
    return value


def _pair(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, list | tuple) or len(value) != 2 or type(value[0]) not in (int, float):
        raise refuse(f"{value!r} is no quantile", 'a part of all and a time, [0.5, "2us"]')
    return value[0], value[1]


MacAddress = Annotated[int, BeforeValidator(_mac)]
Ipv4Address = Annotated[int, BeforeValidator(_ipv4)]
Place = Annotated[str, BeforeValidator(_place)]
AnyPlace = Annotated[str, BeforeValidator(_any_place)]
VlanId = Annotated[int, number(1, 4094)]
IpPort = Annotated[int, number(0, 65535)]
Quantile = Annotated[tuple[float, SignedPicoseconds], BeforeValidator(_pair)]
Seed = Annotated[int, number(0, 2**63 - 1)]
Count = Annotated[int, number(1, 10**9)]


class Link(Table):
    """A link between two bridges."""

    between: Annotated[list[Place], Field(min_length=2, max_length=2)]
    rate: BitsPerSecond | None = None
    delay: Picoseconds | None = None


class Links(Table):
    """What every link is, and, by name, the links between bridges."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Link]

    rate: BitsPerSecond = 10**9
    delay: Picoseconds = 50_000

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

    error: Picoseconds


def _sync(value: Any) -> Any:
    if value not in ("ideal", "none") and not isinstance(value, dict):
        raise refuse(f"{value!r} is not known", '"ideal", "none", or { error = "100ns" }')
    return value


class Clock(Table):
    """How a node's clock differs from the network's time, and whether its gates follow that time all the same."""

    offset: SignedPicoseconds = 0
    drift: PartsPerBillion = 0
    sync: Annotated[Literal["ideal", "none"] | SyncError, BeforeValidator(_sync)] = "ideal"


class GateEntry(Table):
    """A line of a gate control list."""

    open: GateStates
    interval: Picoseconds


class Gates(Table):
    """The gate control list of a port, with the names of IEEE 802.1Q."""

    entries: list[GateEntry]
    cycle_time: Picoseconds | None = None
    base_time: Picoseconds = 0
    cycle_time_extension: Picoseconds = 0
    initial: GateStates = tuple(range(8))


SHAPER_KEYS = ("idle_slope", "send_slope", "scaled")


class _ClassKeys(Table):
    """What every egress port can be told of a traffic class."""

    idle_slope: BitsPerSecond | None = None
    send_slope: SignedBitsPerSecond | None = None
    scaled: bool | None = None
    max_sdu: Bytes | None = None


class ClassAtPort(_ClassKeys):
    """How one port of a bridge serves a traffic class."""

    selection: Literal["strict", "cbs"] | None = None


class ClassAtStation(ClassAtPort):
    """How a station serves a traffic class."""

    name: str | None = None


class ClassOfTraffic(_ClassKeys):
    """A traffic class of a bridge."""

    selection: Literal["ats", "strict", "cbs"] | None = None
    name: str | None = None
    max_residence: Picoseconds | None = None


class Port(Table):
    """What one port of a bridge does otherwise than the bridge."""

    vlan: VlanId | None = None
    max_residence: dict[str, Picoseconds] = Field(default_factory=dict)
    classes: dict[str, ClassAtPort] = Field(default_factory=dict)
    gates: Gates | None = None
    linux: LinuxPort | None = None


class Bridge(Table):
    """A switch. `settings.py` asks for `ports` where no topology gives them."""

    ports: Annotated[int | None, number(2, 64)] = None
    nodes: Nodes | None = None
    clock: Clock = Clock()
    processing_delay: Picoseconds | None = None
    switching: Literal["store_and_forward", "cut_through"] | None = None
    classes: dict[str, ClassOfTraffic] = Field(default_factory=dict)
    port: dict[str, Port] = Field(default_factory=dict)
    vlans: dict[str, list[str]] = Field(default_factory=dict)
    class_of_priority: tuple[Priority, ...] = (1, 0, 6, 7, 2, 3, 4, 5)
    class_of_untagged: Priority = 5
    processing_delay_max: Picoseconds | None = None
    max_frame: Bytes = 1522
    overhead: Bytes = 20
    gates: Gates | None = None
    count_gap: bool = True
    forwarding: Literal["static", "learned"] = "static"


class Topology(Table):
    """Bridges and the links between them, made by a rule."""

    kind: Literal["line", "ring", "star", "tree", "mesh", "grid"]
    bridges: Annotated[int, number(1, 10_000)]
    children: Annotated[int | None, number(1, 63)] = None
    columns: Annotated[int | None, number(1, 10_000)] = None
    rate: BitsPerSecond | None = None
    delay: Picoseconds | None = None
    bridge: Bridge = Bridge()

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Topology:
        for key, kind in (("children", "tree"), ("columns", "grid")):
            if getattr(self, key) is not None and self.kind != kind:
                raise refuse(f"says nothing about a {self.kind}", f'only with kind = "{kind}"', key)
        if self.kind == "grid" and self.columns is None:
            raise refuse("a grid has columns", 'columns = 4 beside kind = "grid"')
        if self.kind == "ring" and self.bridges < 3:
            raise refuse(f"{self.bridges} bridges are no ring", "3 or more", "bridges")
        return self


class Station(Table):
    """An end station at a port of a bridge."""

    at: AnyPlace
    nodes: Nodes | None = None
    mac: MacAddress | None = None
    rate: BitsPerSecond | None = None
    delay: Picoseconds | None = None
    clock: Clock = Clock()
    classes: dict[str, ClassAtStation] = Field(default_factory=dict)
    class_of_priority: tuple[Priority, ...] | None = None
    gates: Gates | None = None
    count_gap: bool = True
    linux: LinuxPort | None = None


class NormalGap(Table):
    """Gaps of a normal distribution, cut off at the line rate."""

    mean: Picoseconds
    deviation: Picoseconds


class Jitter(Table):
    """By how much a frame is released later than its source says, or about it: one distribution."""

    normal: Picoseconds | None = None
    uniform: Picoseconds | None = None
    exponential: Picoseconds | None = None
    values: Annotated[list[SignedPicoseconds] | None, Field(min_length=1)] = None
    quantiles: list[Quantile] | None = None
    file: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Jitter:
        if len(self.model_fields_set) != 1:
            raise refuse(
                "a jitter has one distribution",
                f'one of {", ".join(self.keys())}, as in normal = "2us"',
            )
        points = self.quantiles
        if points is not None:
            rises = all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(points))
            if not points or points[0][0] != 0 or points[-1][0] != 1 or not rises:
                allowed = '[[0, "1us"], [0.5, "2us"], [1, "9us"]]: parts that rise from 0 to 1, times that do not fall'
                raise refuse("these are no quantiles", allowed, "quantiles")
        return self


class Software(Table):
    """What a host's software takes from a frame's construction to the controller."""

    delay: Jitter

    @model_validator(mode="after")
    def _not_before(self) -> Software:
        delay = self.delay
        least = min(delay.values or [time for _, time in delay.quantiles or ()], default=0)
        if delay.normal is not None or least < 0:
            what = "the controller does not have a frame before it is constructed"
            raise refuse(what, "a distribution without values below zero: any but normal", "delay")
        return self


class Launch(Table):
    """When the controller sends a frame: so long after its nominal time, off by so much."""

    offset: Picoseconds
    error: Jitter | None = None


def _launch(value: Any) -> Any:
    return value if isinstance(value, dict) else {"offset": value}


class Audio(Table):
    """Samples in packets of equal time."""

    sample_rate: Millihertz
    channels: Annotated[int, number(1, 64)] = 2
    bits: Literal[16, 24, 32] = 24
    packet: Picoseconds = 125_000_000

    @model_validator(mode="after")
    def _not_zero(self) -> Audio:
        for key in ("sample_rate", "packet"):
            if getattr(self, key) == 0:
                raise refuse("is zero", "a value above 0", key)
        return self


class Video(Table):
    """Pictures, each cut into packets."""

    pictures: Millihertz
    rate: BitsPerSecond | None = None
    i_picture: Bytes | None = None
    p_picture: Bytes | None = None
    group: Annotated[int | None, number(1, 1000)] = None
    packet: Bytes = 1400
    spacing: Picoseconds = 0

    @model_validator(mode="after")
    def _one_size(self) -> Video:
        sizes = self.i_picture, self.p_picture, self.group
        if self.pictures == 0:
            raise refuse("is zero", "a value above 0", "pictures")
        if self.packet == 0:
            raise refuse("is zero", "a value above 0", "packet")
        if (self.rate is None) == (sizes == (None, None, None)):
            raise refuse("the size of a picture is not clear", "rate, or i_picture with p_picture and group")
        if self.rate is None and (self.i_picture is None or (self.p_picture is None) != (self.group is None)):
            raise refuse("the size of a picture is not clear", "i_picture, alone or with p_picture and group")
        for key in ("rate", "i_picture", "p_picture"):
            if getattr(self, key) == 0:
                raise refuse("is zero", "a value above 0", key)
        return self


class Source(Table):
    """Where the frames of a stream come from, and when."""

    capture: str | None = None
    frames: Bytes | None = None
    every: Picoseconds | None = None
    back_to_back: Literal[True] | None = None
    burst: Count | None = None
    poisson: Picoseconds | None = None
    normal: NormalGap | None = None
    audio: Audio | None = None
    video: Video | None = None
    response_to: str | None = None
    after: Picoseconds | None = None
    program: Program | None = None
    protocol: Protocol | None = None
    rate: BitsPerSecond | None = None
    jitter: Jitter | None = None
    software: Software | None = None
    launch: Annotated[Launch | None, BeforeValidator(_launch)] = None
    seed: Seed | None = None
    count: Count | None = None
    start: Picoseconds = 0

    @model_validator(mode="before")
    @classmethod
    def _of_program(cls, value: Any) -> Any:
        return with_pattern(value)

    @model_validator(mode="after")
    def _one_kind(self) -> Source:
        check_program(self)
        timings = [k for k in TIMINGS if getattr(self, k) is not None]
        kinds = f'capture = "FILE", audio, video or program, or frames = "LENGTH" with one of {", ".join(TIMINGS)}'
        whole = next((k for k in ("capture", "audio", "video") if getattr(self, k) is not None), None)
        if whole is not None:
            common = (whole, "start", "count", "jitter", "software", "launch", "seed")
            others = [k for k in type(self).model_fields if k in self.model_fields_set and k not in common]
            if others:
                owner = "a capture" if whole == "capture" else whole
                raise refuse(f'{owner} brings its own times, so "{others[0]}" says nothing', kinds, others[0])
        elif self.frames is None:
            raise refuse("the source has neither a capture nor frames", kinds)
        elif len(timings) != 1:
            raise refuse(
                f"the source has {len(timings) or 'no'} timings{': ' if timings else ''}{', '.join(timings)}", kinds
            )
        elif self.burst is not None and self.every is None:
            raise refuse("a burst comes once in a period", 'burst = 10 with every = "1ms"', "burst")
        elif self.after is not None and self.response_to is None:
            raise refuse("only a response comes after something", 'after together with response_to = "STREAM"', "after")
        elif self.start and self.response_to is not None:
            raise refuse("a response starts with what it answers", 'no "start"', "start")
        elif self.jitter is not None and self.back_to_back:
            raise refuse("frames back to back have no time to leave", "jitter with another timing", "jitter")
        for key in ("every", "poisson"):
            if getattr(self, key) == 0:
                raise refuse("the period is zero", "a time above 0", key)
        for key in ("software", "launch"):
            if getattr(self, key) is not None and (self.back_to_back or self.response_to is not None):
                raise refuse("the source has no times of its own", f"{key} with another timing", key)
        return self


TIMINGS = ("every", "back_to_back", "poisson", "normal", "response_to")


class Ats(Table):
    """The committed rate and burst of an ATS scheduler; both count the length on the wire."""

    rate: BitsPerSecond
    burst: Bytes


class Identify(Table):
    """How a bridge knows the frames of a stream."""

    by: Literal["destination", "source", "ipv4"]


class Udp(Table):
    """Addresses of generated IPv4/UDP frames."""

    source: Ipv4Address
    destination: Ipv4Address
    source_port: IpPort = 5000
    destination_port: IpPort = 5000


def _identify(value: Any) -> Any:
    return {"by": value} if isinstance(value, str) else value


def _route(value: Any) -> Any:
    ways = [value] if isinstance(value, list) else value.values() if isinstance(value, dict) else [None]
    if not all(isinstance(w, list) and w and all(isinstance(b, str) for b in w) for w in ways):
        raise refuse(f"{value!r} is not a route", 'bridges in order, ["s1", "s2"], or such a list for each listener')
    return value


class Stream(Table):
    """Frames from one station to others."""

    talker: str = Field(alias="from")
    to: list[str] = Field(min_length=1)
    source: Source
    vlan: VlanId | None = None
    pcp: Priority | None = None
    destination: MacAddress | None = None
    udp: Udp | None = None
    ats: Ats | None = None
    identify: Annotated[Identify | None, BeforeValidator(_identify)] = None
    deadline: Picoseconds | None = None
    route: Annotated[list[str] | dict[str, list[str]] | None, BeforeValidator(_route)] = None


class Trace(Table):
    """Which events are written down; all of all nodes if it says nothing."""

    enabled: bool = True
    events: list[Event] | None = None
    nodes: list[str] | None = None


class Scenario(Table):
    """A whole `scenario.toml`."""

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    title: str | None = None
    nodes: Nodes = "rtl"
    duration: Picoseconds
    links: Links = Field(default_factory=lambda: Links.model_validate({}))
    topology: dict[str, Topology] = Field(default_factory=dict)
    bridges: dict[str, Bridge] = Field(default_factory=dict)
    stations: dict[str, Station] = Field(default_factory=dict)
    streams: dict[str, Stream] = Field(default_factory=dict)
    trace: Trace = Trace()
