# SPDX-License-Identifier: Apache-2.0
"""The keys of traffic classes, at bridges, single ports and stations."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from penstock.scenario.keys import Switch, Table, refuse
from penstock.scenario.limits import (
    QueueBytes,
    Residence,
    SendSlope,
    ServiceDataUnit,
    TrafficRate,
)
from penstock.scenario.source_keys import Count

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
