# SPDX-License-Identifier: Apache-2.0
"""The keys of bridges, of their ports, and of bridges made by a rule."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from penstock.scenario.class_keys import ClassAtPort, ClassOfTraffic
from penstock.scenario.clock_keys import Clock
from penstock.scenario.gate_keys import Gates
from penstock.scenario.key_types import (
    ByClass,
    ByNumber,
    Nodes,
    VlanId,
)
from penstock.scenario.keys import Priority, Switch, Table, Whole, refuse
from penstock.scenario.limits import (
    Delay,
    FrameBytes,
    HeaderBytes,
    LinkRate,
    Overhead,
    Residence,
    StatedDelay,
    StoreBytes,
)
from penstock.scenario.linux_keys import LinuxPort
from penstock.scenario.priorities import STREAM_RESERVATION, ClassOfPriority
from penstock.scenario.tile_keys import KINDS as TILED
from penstock.scenario.tile_keys import Tiles


class Translation(Table):
    """What the tag of a VLAN's frames becomes at ports that translate."""

    vlan: VlanId | None = Field(default=None, description="VLAN of the tag; the VLAN itself if not given.")
    pcp: Priority | None = Field(default=None, description="Its priority code point; that of the frame if not given.")


class Port(Table):
    """What one port of a bridge does otherwise than the bridge."""

    vlan: VlanId | None = Field(default=None, description="Of untagged frames that come in here.")
    tagging: Switch = Field(
        default=False,
        description="Whether frames leave with the tag of their VLAN, or without a tag; else as they came.",
    )
    untagged: list[VlanId] = Field(
        default_factory=list, description="Of tagging: VLANs whose frames leave without a tag."
    )
    translation: Switch = Field(
        default=False, description="Of tagging: whether tags are those that the bridge's translations say."
    )
    r_tag_removal: Switch = Field(
        default=False, description="Whether frames leave without an R-TAG, the sequence number of IEEE 802.1CB."
    )
    ptp_correction: Switch = Field(
        default=False,
        description="Whether PTP event messages that come in here get the time that they are inside, in their "
        "correctionField: the bridge is an end-to-end transparent clock of IEEE 1588.",
    )
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
    host: Switch = Field(
        default=False,
        description="Whether its last port is a host port, and the station there its processor.",
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
    pcp_of_untagged: Priority = Field(default=0, description="Priority code point that untagged frames get with a tag.")
    translations: ByNumber[Translation] = Field(
        default_factory=dict, description="What tags become at ports with translation, by VLAN."
    )
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
