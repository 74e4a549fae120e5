# SPDX-License-Identifier: Apache-2.0
"""The keys of end stations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from penstock.scenario.class_keys import ClassAtStation
from penstock.scenario.clock_keys import Clock
from penstock.scenario.gate_keys import Gates
from penstock.scenario.key_types import (
    AnyPlace,
    ByClass,
    MacAddress,
    Nodes,
)
from penstock.scenario.keys import Switch, Table, Whole
from penstock.scenario.limits import (
    Delay,
    LinkRate,
    MemoryLatency,
    Overhead,
)
from penstock.scenario.linux_keys import LinuxPort
from penstock.scenario.priorities import ClassOfPriority


class Card(Table):
    """A network card with a queue for each traffic class."""

    queues: Annotated[int, Whole(1, 8)] = Field(default=4, description="Queue k sends the frames of class k.")
    memory_latency: MemoryLatency = Field(
        default=256_000, description="Until the memory of its host answers; in hardware alone."
    )


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
    card: Card | None = Field(default=None, description="The network card that it sends through.")
    linux: LinuxPort | None = Field(default=None, description="Its interface, if it is a Linux host.")
