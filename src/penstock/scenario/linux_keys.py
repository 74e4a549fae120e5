# SPDX-License-Identifier: Apache-2.0
"""The keys of a port that is an interface of a Linux host: `[stations.NAME.linux]`, `[bridges.NAME.port.P.linux]`."""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from penstock.scenario.keys import GateStates, Short, Switch, Table, Whole, refuse, said
from penstock.scenario.limits import EtfDelta, TxtimeDelay

# What the kernel takes as a name (dev_valid_name), without what a shell or tc reads otherwise.
_INTERFACE = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")
_MOST_QUEUES = 16  # TC_QOPT_MAX_QUEUE

Mode = Literal["software", "txtime-assist", "offload"]
HostClock = Literal["TAI", "REALTIME", "MONOTONIC", "BOOTTIME"]


def _interface(value: Any) -> str:
    if not isinstance(value, str) or not _INTERFACE.fullmatch(value):
        raise refuse(f"{said(value)} is not an interface", 'up to 15 letters, digits, _ . and -, such as "enp2s0"')
    return value


def _instant(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and not 1970 < value.year < 2262:
        raise refuse(f"{value.isoformat()} is no time that the kernel can hold", "a time from 1971 to 2261")
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        raise refuse(f"{value.isoformat()} says no time zone", "a time with its zone, such as 2026-11-21T12:00:00Z")
    if not isinstance(value, datetime.datetime) and (isinstance(value, bool) or not isinstance(value, int)):
        raise refuse(f"{said(value)} is not an instant", "ns of TAI, or a time with its zone, 2026-11-21T12:00:00Z")
    if isinstance(value, int) and not 0 <= value < 2**63:
        raise refuse(f"{value} is no time that the kernel can hold", f"0 to {2**63 - 1}")
    return value


def _vlans(value: Any) -> Any:
    if value != "none" and not isinstance(value, dict):
        raise refuse(f"{said(value)} is not known", '"none", or names by VLAN, { 10 = "enp2s0.10" }')
    return value


Interface = Annotated[
    str,
    BeforeValidator(_interface),
    WithJsonSchema({"type": "string", "title": "interface", "maxLength": 15, "examples": ["enp2s0"]}),
]
_INSTANT_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "format": "date-time"}]}
Instant = Annotated[int | datetime.datetime, BeforeValidator(_instant), WithJsonSchema(_INSTANT_SCHEMA)]
Vlans = Annotated[
    Annotated[Literal["none"], Tag("a word")] | Annotated[dict[str, Interface], Tag("a table")],
    Discriminator(lambda value: "a word" if isinstance(value, str) else "a table"),
    BeforeValidator(_vlans),
]


class Queue(Table):
    """Transmit queues, one after the other, and the classes whose frames they hold."""

    classes: GateStates = Field(description="The classes whose frames they hold.")
    count: Annotated[int, Whole(1, _MOST_QUEUES)] = Field(default=1, description="How many queues.")


_QueueOrClasses = Annotated[
    Queue, Short(GateStates, lambda value: {"classes": value} if isinstance(value, list | str) else value)
]


class Etf(Table):
    """The qdisc that sends each frame at its launch time."""

    delta: EtfDelta = Field(description="How long before its launch time a frame goes to the device.")
    classes: GateStates | None = Field(default=None, description="The classes whose frames have launch times.")
    offload: Switch = Field(default=False, description="Whether the device keeps the launch times.")
    deadline_mode: Switch = Field(
        default=False, description="Whether a frame's time is the latest one, not the only one."
    )
    skip_sock_check: Switch | None = Field(default=None, description="Whether frames need no socket with launch times.")


class LinuxPort(Table):
    """What a port is on a Linux host."""

    interface: Interface = Field(description="Its name on the host.")
    gates: Mode | None = Field(
        default=None, description="What keeps the gate control list: taprio, launch times, the device."
    )
    clock: HostClock | None = Field(default=None, description="That drives the gates.")
    start: Instant = Field(default=0, description="When the run begins: ns of TAI, or a time with its zone.")
    queues: Annotated[list[_QueueOrClasses], Field(min_length=1, max_length=_MOST_QUEUES)] | None = Field(
        default=None, description="Transmit queues and the classes whose frames they hold, in order."
    )
    etf: Etf | None = Field(default=None, description="Launch times by the etf qdisc.")
    txtime_delay: TxtimeDelay | None = Field(
        default=None, description="How long a frame may take from taprio to the device."
    )
    credit: Literal["software", "offload"] | None = Field(
        default=None, description="What does the credit: qdisc or device."
    )
    vlans: Vlans | None = Field(default=None, description="Names of VLAN interfaces by VLAN, or none.")
    ptp_priority: Annotated[int, Whole(0, 15)] = Field(
        default=0, description="SO_PRIORITY of a PTP program's messages."
    )
