# SPDX-License-Identifier: Apache-2.0
"""The keys of streams and of their schedulers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from penstock.scenario.key_types import IpPort, Ipv4Address, MacAddress, VlanId
from penstock.scenario.keys import Priority, Short, Switch, Table, refuse, said
from penstock.scenario.limits import (
    AtsRate,
    Burst,
    Deadline,
)
from penstock.scenario.source_keys import Source


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
    numbered: Switch = Field(
        default=False,
        description="Whether the bridge of its talker gives its frames an R-TAG, the sequence number of IEEE 802.1CB.",
    )
    deadline: Deadline | None = Field(
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
