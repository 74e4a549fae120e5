# SPDX-License-Identifier: Apache-2.0
"""The keys of `scenario.toml`, as they are written. What they mean together is decided in `load.py`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from penstock.errors import did_you_mean
from penstock.scenario.units import BitsPerSecond, Bytes, Picoseconds

Nodes = Literal["model", "rtl", "linux"]

_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}")
_PLACE = re.compile(r"([^.\s]+)\.(\d+)")


def refuse(what: str, allowed: str, key: str | None = None) -> PydanticCustomError:
    """An error about the value at hand, or about one key inside it."""
    context: dict[str, Any] = {"what": what, "allowed": allowed}
    if key is not None:
        context["key"] = key
    return PydanticCustomError("refused", "{what}; allowed: {allowed}", context)


class Table(BaseModel):
    """A TOML table whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            raise refuse(f"{values!r} is not a table", f"a table with {', '.join(cls.keys())}")
        known = cls.keys()
        for key in values:
            if key not in known:
                raise refuse(f'unknown key "{key}"{did_you_mean(key, known)}', ", ".join(known), key)
        return values

    @classmethod
    def keys(cls) -> list[str]:
        """The keys as a user writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]


def _mac(value: Any) -> int:
    if not isinstance(value, str) or not _MAC.fullmatch(value):
        raise refuse(f"{value!r} is not a MAC address", 'six bytes such as "02:00:00:00:00:01"')
    return int(re.sub("[:-]", "", value), 16)


def _ipv4(value: Any) -> int:
    parts = value.split(".") if isinstance(value, str) else []
    if len(parts) != 4 or not all(p.isdigit() and int(p) < 256 for p in parts):
        raise refuse(f"{value!r} is not an IPv4 address", 'four numbers such as "10.0.0.1"')
    return sum(int(p) << 8 * (3 - i) for i, p in enumerate(parts))


def _number(low: int, high: int) -> BeforeValidator:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise refuse(f"{value!r} is not a whole number from {low} to {high}", f"{low} to {high}")
        return value

    return BeforeValidator(check)


def _place(value: Any) -> str:
    if not isinstance(value, str) or not _PLACE.fullmatch(value):
        raise refuse(f"{value!r} is not a port of a bridge", 'BRIDGE.PORT, such as "sw.0"')
    return value


MacAddress = Annotated[int, BeforeValidator(_mac)]
Ipv4Address = Annotated[int, BeforeValidator(_ipv4)]
Place = Annotated[str, BeforeValidator(_place)]
VlanId = Annotated[int, _number(1, 4094)]
Priority = Annotated[int, _number(0, 7)]
IpPort = Annotated[int, _number(0, 65535)]
Seed = Annotated[int, _number(0, 2**63 - 1)]
Count = Annotated[int, _number(1, 10**9)]


class Links(Table):
    """What every link is."""

    rate: BitsPerSecond = 10**9
    delay: Picoseconds = 50_000


class ClassOfTraffic(Table):
    """A traffic class of a bridge."""

    selection: Literal["ats", "strict"]
    max_residence: Picoseconds | None = None


class Port(Table):
    """What one port of a bridge does otherwise than the bridge."""

    vlan: VlanId | None = None
    max_residence: dict[str, Picoseconds] = Field(default_factory=dict)


class Bridge(Table):
    """A switch."""

    ports: Annotated[int, _number(2, 8)]
    nodes: Nodes | None = None
    classes: dict[str, ClassOfTraffic] = Field(default_factory=dict)
    port: dict[str, Port] = Field(default_factory=dict)
    vlans: dict[str, list[str]] = Field(default_factory=dict)
    class_of_priority: tuple[Priority, ...] = (1, 0, 6, 7, 2, 3, 4, 5)
    class_of_untagged: Priority = 5
    processing_delay_max: Picoseconds | None = None
    max_frame: Bytes = 1522
    overhead: Bytes = 20
    forwarding: Literal["static", "learned"] = "static"


class Station(Table):
    """An end station at a port of a bridge."""

    at: Place
    nodes: Nodes | None = None
    mac: MacAddress | None = None


class NormalGap(Table):
    """Gaps of a normal distribution, cut off at the line rate."""

    mean: Picoseconds
    deviation: Picoseconds


class Jitter(Table):
    """By how much a frame of a periodic source leaves its grid."""

    normal: Picoseconds | None = None
    uniform: Picoseconds | None = None

    @model_validator(mode="after")
    def _one(self) -> Jitter:
        if (self.normal is None) == (self.uniform is None):
            raise refuse("a jitter has one distribution", 'normal = "2us" or uniform = "2us"')
        return self


class Source(Table):
    """Where the frames of a stream come from, and when."""

    capture: str | None = None
    frames: Bytes | None = None
    every: Picoseconds | None = None
    jitter: Jitter | None = None
    back_to_back: Literal[True] | None = None
    burst: Count | None = None
    poisson: Picoseconds | None = None
    normal: NormalGap | None = None
    seed: Seed | None = None
    count: Count | None = None
    start: Picoseconds = 0

    @model_validator(mode="after")
    def _one_kind(self) -> Source:
        timings = [k for k in ("every", "back_to_back", "poisson", "normal") if getattr(self, k) is not None]
        kinds = 'capture = "FILE", or frames = "LENGTH" with one of every, back_to_back, poisson, normal'
        if self.capture is not None:
            others = [k for k in self.model_fields_set if k not in ("capture", "start", "count")]
            if others:
                raise refuse(f'a capture brings its own times, so "{others[0]}" says nothing', kinds, others[0])
        elif self.frames is None:
            raise refuse("the source has neither a capture nor frames", kinds)
        elif len(timings) != 1:
            raise refuse(
                f"the source has {len(timings) or 'no'} timings{': ' if timings else ''}{', '.join(timings)}", kinds
            )
        elif self.burst is not None and (self.every is None or self.jitter is not None):
            raise refuse("a burst comes once in a period", 'burst = 10 with every = "1ms" and no jitter', "burst")
        elif self.jitter is not None and self.every is None:
            raise refuse("only a periodic source has jitter", 'jitter together with every = "1ms"', "jitter")
        for key in ("every", "poisson"):
            if getattr(self, key) == 0:
                raise refuse("the period is zero", "a time above 0", key)
        return self


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


class Scenario(Table):
    """A whole `scenario.toml`."""

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    title: str | None = None
    nodes: Nodes = "rtl"
    duration: Picoseconds
    links: Links = Links()
    bridges: dict[str, Bridge] = Field(min_length=1)
    stations: dict[str, Station] = Field(min_length=1)
    streams: dict[str, Stream] = Field(min_length=1)
