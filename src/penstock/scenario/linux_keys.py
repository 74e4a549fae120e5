# SPDX-License-Identifier: Apache-2.0
"""The keys of a port that is an interface of a Linux host: `[stations.NAME.linux]`, `[bridges.NAME.port.P.linux]`."""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from penstock.scenario.keys import GateStates, Table, number, refuse
from penstock.scenario.units import Picoseconds

# What the kernel takes as a name (dev_valid_name), without what a shell or tc reads otherwise.
_INTERFACE = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")
_MOST_QUEUES = 16  # TC_QOPT_MAX_QUEUE

Mode = Literal["software", "txtime-assist", "offload"]
HostClock = Literal["TAI", "REALTIME", "MONOTONIC", "BOOTTIME"]


def _interface(value: Any) -> str:
    if not isinstance(value, str) or not _INTERFACE.fullmatch(value):
        raise refuse(f"{value!r} is not an interface", 'up to 15 letters, digits, _ . and -, such as "enp2s0"')
    return value


def _instant(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        raise refuse(f"{value.isoformat()} says no time zone", "a time with its zone, such as 2026-11-21T12:00:00Z")
    if not isinstance(value, datetime.datetime) and (isinstance(value, bool) or not isinstance(value, int)):
        raise refuse(f"{value!r} is not an instant", "ns of TAI, or a time with its zone, 2026-11-21T12:00:00Z")
    if isinstance(value, int) and not 0 <= value < 2**63:
        raise refuse(f"{value} is no time that the kernel can hold", f"0 to {2**63 - 1}")
    return value


def _vlans(value: Any) -> Any:
    if value != "none" and not isinstance(value, dict):
        raise refuse(f"{value!r} is not known", '"none", or names by VLAN, { 10 = "enp2s0.10" }')
    return value


Interface = Annotated[str, BeforeValidator(_interface)]
Instant = Annotated[int | datetime.datetime, BeforeValidator(_instant)]


class Queue(Table):
    """Transmit queues, one after the other, and the classes whose frames they hold."""

    classes: GateStates
    count: Annotated[int, number(1, _MOST_QUEUES)] = 1


def _queue(value: Any) -> Any:
    return {"classes": value} if isinstance(value, list | str) else value


class Etf(Table):
    """The qdisc that sends each frame at its launch time."""

    delta: Picoseconds
    classes: GateStates | None = None
    offload: bool = False
    deadline_mode: bool = False
    skip_sock_check: bool | None = None


class LinuxPort(Table):
    """What a port is on a Linux host."""

    interface: Interface
    gates: Mode | None = None
    clock: HostClock | None = None
    start: Instant = 0
    queues: Annotated[
        list[Annotated[Queue, BeforeValidator(_queue)]] | None, Field(min_length=1, max_length=_MOST_QUEUES)
    ] = None
    etf: Etf | None = None
    txtime_delay: Picoseconds | None = None
    credit: Literal["software", "offload"] | None = None
    vlans: Annotated[Literal["none"] | dict[str, Interface] | None, BeforeValidator(_vlans)] = None
    ptp_priority: Annotated[int, number(0, 15)] = 0
