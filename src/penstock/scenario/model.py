# SPDX-License-Identifier: Apache-2.0
"""The keys of `scenario.toml`, as they are written. What they mean together is decided by what `load.py` calls."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from penstock.errors import did_you_mean
from penstock.scenario.keys import GateStates, Priority, number
from penstock.scenario.keys import Table as Table
from penstock.scenario.keys import refuse as refuse
from penstock.scenario.linux_keys import LinuxPort
from penstock.scenario.priorities import STREAM_RESERVATION, ClassOfPriority
from penstock.scenario.source_keys import Source
from penstock.scenario.units import (
    BitsPerSecond,
    Bytes,
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


MacAddress = Annotated[int, BeforeValidator(_mac)]
Ipv4Address = Annotated[int, BeforeValidator(_ipv4)]
Place = Annotated[str, BeforeValidator(_place)]
AnyPlace = Annotated[str, BeforeValidator(_any_place)]
VlanId = Annotated[int, number(1, 4094)]
IpPort = Annotated[int, number(0, 65535)]


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
    class_of_priority: ClassOfPriority = STREAM_RESERVATION
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
    class_of_priority: ClassOfPriority | None = None
    gates: Gates | None = None
    count_gap: bool = True
    linux: LinuxPort | None = None


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
