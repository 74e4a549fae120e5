# SPDX-License-Identifier: Apache-2.0
"""What one switch should do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

CLASSES = 8
MAX_PORTS = 8
MODEL_MAX_PORTS = 64
# Of each port: a frame of 16 cells being received, one sent and still to be reclaimed, the first cells of the next
TRANSIT_CELLS_PER_PORT = 36
LINE_RATE_BPS = 1_000_000_000
MODEL_MAX_RATE_BPS = 100 * LINE_RATE_BPS
SHORTEST_INTERVAL_NS = 64  # of an entry of a gate control list
MAX_RESIDENCE_NS = 1_000_000_000
RESERVED_ADDRESSES = 16  # 01-80-C2-00-00-00 to -0F
# With the residence time below 2^27 cycles of 8 ns: times further ahead than that would be taken for past ones.
MAX_PROCESSING_DELAY_NS = 50_000_000

Identify = Literal["ipv4", "destination", "source"]
IDENTIFY: tuple[Identify, ...] = ("ipv4", "destination", "source")
IPV4_FIELDS = {  # attribute of StreamEntry: lowest bit, width
    "ipv4_source": (72, 32),
    "ipv4_destination": (40, 32),
    "protocol": (32, 8),
    "source_port": (16, 16),
    "destination_port": (0, 16),
}


class ConfigurationError(ValueError):
    """The switch cannot do this: what is wrong, where, and what is allowed."""

    def __init__(self, what: str, where: str, allowed: str) -> None:
        super().__init__(f"{where}: {what}; {allowed}")
        self.what = what
        self.where = where
        self.allowed = allowed


@dataclass(frozen=True)
class StreamEntry:
    """A stream that is identified at its reception port, shaped by ATS if its class is, and numbered if that is said.

    `identify` says which fields count: for "ipv4" those of `SwitchConfig.ipv4_fields`, else `mac` and `vlan`.
    """

    port: int  # reception port
    identify: Identify
    rate_bps: int
    burst_bytes: int
    mac: int = 0  # the first octet on the wire in bits 47:40
    vlan: int = 0
    ipv4_source: int = 0  # addresses as numbers
    ipv4_destination: int = 0
    protocol: int = 0
    source_port: int = 0
    destination_port: int = 0
    ats: bool = True  # False: takes no entry and no scheduler
    holds: bool = True  # False: its scheduler lets all pass at once, as fast as it may come
    numbered: bool = False  # its frames get an R-TAG with their sequence number
    scheduler: str = ""  # that it shares with the others of the reception port that name it; "": one of its own
    name: str = ""  # for messages


@dataclass(frozen=True)
class GateControl:
    """The gate control list of an egress port. Bit k of states: the gate of class k is open."""

    entries: Sequence[tuple[int, int]]  # states, interval in ns
    cycle_time_ns: int
    base_time_ns: int = 0  # of the PTP clock
    cycle_time_extension_ns: int = 0
    initial_states: int = 0xFF


@dataclass(frozen=True)
class HardwareSize:
    """The parameters that the hardware was built with."""

    streams: int = 256
    cells: int = 1024
    fdb_sets: int = 512
    gate_entries: int = 128
    shortest_interval_ns: int = SHORTEST_INTERVAL_NS  # of gates


@dataclass(frozen=True)
class Translation:
    """What the tag of a VLAN's frames becomes where ports translate; none: as it is in the bridge."""

    vlan: int | None = None
    pcp: int | None = None


@dataclass
class SwitchConfig:
    """What one switch should do. None leaves the value that the hardware has after reset."""

    ports: int = 4
    host: bool = False  # the last port is the host's
    reserved_to_host: set[int] = field(default_factory=set)  # n: frames to 01-80-C2-00-00-0n go to it
    port_vlan_id: Sequence[int] | None = None
    class_of_pcp: Sequence[int] = (1, 0, 6, 7, 2, 3, 4, 5)
    class_of_untagged: int = 5
    pcp_of_untagged: int = 0  # with which a frame without a tag leaves where it gets one
    tagging_ports: set[int] = field(default_factory=set)  # that tag by the VLAN; from others frames leave as they came
    translating_ports: set[int] = field(default_factory=set)  # of these, those that write what VLANs are translated to
    r_tag_removal_ports: set[int] = field(default_factory=set)  # from which frames leave without an R-TAG
    ptp_correction_ports: set[int] = field(default_factory=set)  # whose PTP event messages get their time inside
    ats_classes: set[int] = field(default_factory=lambda: {6, 7})
    max_frame_bytes: int = 1522
    overhead_bytes: int = 20
    processing_delay_max_ns: int | None = None
    learning: bool = True
    aging_period_ms: int = 100_000
    vlans: Mapping[int, set[int]] = field(default_factory=dict)
    untagged: Mapping[int, set[int]] = field(default_factory=dict)  # VLAN: members among `tagging_ports` without a tag
    translations: Mapping[int, Translation] = field(default_factory=dict)  # by VLAN
    static_addresses: Sequence[tuple[int, int, set[int]]] = ()  # address, VLAN, ports
    streams: Sequence[StreamEntry] = ()
    ipv4_fields: set[str] = field(default_factory=lambda: set(IPV4_FIELDS))
    max_residence_ns: Mapping[tuple[int, int], int] = field(default_factory=dict)  # (reception port, class)
    queue_limit_cells: Mapping[int, int] = field(default_factory=dict)  # class: of one egress port
    class_limit_cells: Mapping[int, int] = field(default_factory=dict)  # class: of all egress ports
    queue_guarantee_cells: int | None = None
    reception_guarantee_cells: int | None = None
    shared_limit_cells: int | None = None
    gates: Mapping[int, GateControl] = field(default_factory=dict)  # by egress port; of others all gates are open
    idle_slope_bps: Mapping[tuple[int, int], int] = field(default_factory=dict)  # (egress port, class) of CBS
    count_gap: bool = False  # the gap after a frame spends credit too
    window_without_gap: bool = False  # of models: it need not fit before the gate closes
    credit_frozen_in_guard_band: bool = False  # of models: while the first frame waits for another window
    max_class_frame_bytes: Mapping[tuple[int, int], int] = field(default_factory=dict)  # (egress port, class)
    round_robin: Mapping[int, set[int]] = field(default_factory=dict)  # by egress port: classes that take turns
    enabled_ports: set[int] | None = None  # None: all
    size: HardwareSize = HardwareSize()
