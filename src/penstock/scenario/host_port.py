# SPDX-License-Identifier: Apache-2.0
"""A port that is an interface of a Linux host, checked and in base units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from penstock.scenario.chain import Chain
from penstock.scenario.checked_stream import Stream
from penstock.scenario.egress import CreditShaper, GateList
from penstock.scenario.limits import START_TIME_NS

GateMode = Literal["software", "txtime-assist", "offload"]
# Header and FCS are counted by Linux without the FCS, and nothing around the frame: preamble, delimiter, FCS and gap.
LINUX_OVERHEAD_BYTES = 24


@dataclass(frozen=True)
class LaunchTimes:
    """The `etf` qdiscs of a port."""

    delta_ns: int
    classes: tuple[int, ...]
    offload: bool
    deadline_mode: bool
    skip_sock_check: bool


@dataclass(frozen=True)
class HostPort:
    """An egress port of a station or bridge, and the interface that it is."""

    node: str
    port: int
    interface: str
    rate_bps: int
    chain: Chain
    streams: tuple[Stream, ...]  # that leave by it
    max_frame_bytes: int  # of any frame that may leave by it
    start_ns: int  # time 0 of the scenario, by the clock of the gates
    gates: GateList | None = None
    mode: GateMode | None = None  # how gates are done; None without gates
    clock: str | None = None  # None: the device's own
    credit: Mapping[int, CreditShaper] = field(default_factory=dict)  # by traffic class
    credit_offload: bool = False
    max_sdu_bytes: Mapping[int, int] = field(default_factory=dict)  # by traffic class
    launch_times: LaunchTimes | None = None
    txtime_delay_ns: int = 0
    vlan_interfaces: Mapping[int, str] = field(default_factory=dict)  # by VLAN
    ptp_priority: int = 0
    class_names: Mapping[int, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """For people."""
        return f"{self.node}.{self.port}" if self.port else self.node

    @property
    def base_time_ns(self) -> int:
        """When the first cycle begins, by the clock of the gates; 0 without gates."""
        return 0 if self.gates is None else self.start_ns + self.gates.base_time_ns - START_TIME_NS

    def class_name(self, traffic_class: int) -> str:
        """For people."""
        name = self.class_names.get(traffic_class)
        return f"class {traffic_class}" if name is None else f"class {traffic_class} ({name})"
