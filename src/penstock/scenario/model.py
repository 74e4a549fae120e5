# SPDX-License-Identifier: Apache-2.0
"""The keys of `scenario.toml`, as they are written. What they mean together is decided by what `load.py` calls.

What a key means stands in its description, from which `penstock schema` makes the schema for editors; units and limits
are those of its type.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from penstock.scenario.bridge_keys import Bridge, Port, Topology
from penstock.scenario.class_keys import SHAPER_KEYS, ClassAtPort, ClassAtStation, ClassOfTraffic
from penstock.scenario.clock_keys import Clock, SyncError
from penstock.scenario.fault_keys import Fault
from penstock.scenario.gate_keys import GateEntry, Gates, Slots
from penstock.scenario.key_types import Nodes
from penstock.scenario.keys import Switch, Table
from penstock.scenario.limits import Duration
from penstock.scenario.link_keys import Link, Links
from penstock.scenario.station_keys import Station
from penstock.scenario.stream_keys import Ats, Stream

__all__ = [
    "SHAPER_KEYS",
    "Ats",
    "Bridge",
    "ClassAtPort",
    "ClassAtStation",
    "ClassOfTraffic",
    "Clock",
    "GateEntry",
    "Gates",
    "Link",
    "Links",
    "Port",
    "Scenario",
    "Slots",
    "Station",
    "Stream",
    "SyncError",
    "Table",
    "Topology",
    "Trace",
]

Event = Literal[
    "created", "received", "queued", "eligible", "sent", "delivered", "dropped", "missed", "fault_begin", "fault_end",
    "spoiled", "cut",
]  # fmt: skip


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
