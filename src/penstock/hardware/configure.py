# SPDX-License-Identifier: Apache-2.0
"""Turns what a switch should do into the register writes that make it so."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Literal

from penstock import _engine

from .registers import RegisterMap

CLASSES = 8
MAX_PORTS = 8
MODEL_MAX_PORTS = 64
CELL_BYTES = 128
# Of each port: a frame of 16 cells being received, one sent and still to be reclaimed, the first cells of the next
TRANSIT_CELLS_PER_PORT = 36
LINE_RATE_BPS = 1_000_000_000
MODEL_MAX_RATE_BPS = 100 * LINE_RATE_BPS
SHORTEST_INTERVAL_NS = 64  # of an entry of a gate control list
MAX_RESIDENCE_NS = 1_000_000_000
# With the residence time below 2^27 cycles of 8 ns: times further ahead than that would be taken for past ones.
MAX_PROCESSING_DELAY_NS = 50_000_000

Write = tuple[int, int]
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


class Table(IntEnum):
    """What a commit writes to; `table_e` of the hardware, and the mask of the IPv4 identification."""

    STREAM_KEY = 0
    STREAM_RATE = 1
    GROUP = 2
    VLAN = 3
    FDB = 4
    IDENTIFY_MASK = 5
    GATE_ENTRY = 6
    CREDIT = 7
    MAX_SDU = 8


@dataclass(frozen=True)
class StreamEntry:
    """A stream that is identified at its reception port and shaped by ATS.

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


@dataclass
class SwitchConfig:
    """What one switch should do. None leaves the value that the hardware has after reset."""

    ports: int = 4
    port_vlan_id: Sequence[int] | None = None
    class_of_pcp: Sequence[int] = (1, 0, 6, 7, 2, 3, 4, 5)
    class_of_untagged: int = 5
    ats_classes: set[int] = field(default_factory=lambda: {6, 7})
    max_frame_bytes: int = 1522
    overhead_bytes: int = 20
    processing_delay_max_ns: int | None = None
    learning: bool = True
    aging_period_ms: int = 100_000
    vlans: Mapping[int, set[int]] = field(default_factory=dict)
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
    max_class_frame_bytes: Mapping[tuple[int, int], int] = field(default_factory=dict)  # (egress port, class)
    enabled_ports: set[int] | None = None  # None: all
    size: HardwareSize = HardwareSize()


def rate_entry(rate_bps: int, burst_bytes: int) -> int:
    """The table entry of a rate and burst; the integers are those of the engine's ATS scheduler."""
    ns_per_byte, empty_to_full = _engine.ats_rate(rate_bps, burst_bytes)
    return empty_to_full << 44 | ns_per_byte


def stream_key(entry: StreamEntry, ipv4_mask: int) -> int:
    """The 109 bits by which a stream is found."""
    if entry.identify == "ipv4":
        fields = sum(int(getattr(entry, name)) << low for name, (low, _) in IPV4_FIELDS.items()) & ipv4_mask
    else:
        fields = entry.vlan << 48 | entry.mac
    return IDENTIFY.index(entry.identify) << 107 | entry.port << 104 | fields


def slots_of_key(key: int, slots: int) -> tuple[int, int]:
    """The slot of a key in each of the two tables."""
    crc = zlib.crc32(key.to_bytes(14, "little"))
    return crc % slots, (crc >> 16) % slots


def place(keys: Sequence[int], slots: int) -> list[tuple[int, int] | None]:
    """Gives each key a (table, slot) of its own; None for a key for which there is no place however the others move.

    A key that finds both its slots taken moves one of their owners to its other slot, and so on: an augmenting path,
    so a key is refused only if no placement of it and those before it exists.
    """
    owner: dict[tuple[int, int], int] = {}
    choices = [tuple(enumerate(slots_of_key(key, slots))) for key in keys]
    placed: list[tuple[int, int] | None] = [None] * len(keys)
    for index in range(len(keys)):
        came_from: dict[tuple[int, int], tuple[int, int] | None] = dict.fromkeys(choices[index])
        queue = list(came_from)
        free = None
        for slot in queue:  # grows while it is walked
            if slot not in owner:
                free = slot
                break
            for other in choices[owner[slot]]:
                if other not in came_from:
                    came_from[other] = slot
                    queue.append(other)
        while free is not None:  # back along the path: each owner moves one slot further
            before = came_from[free]
            moved = index if before is None else owner[before]
            owner[free] = moved
            placed[moved] = free
            free = before
    return placed


def table_writes(registers: RegisterMap, table: Table, index: int, data: int) -> list[Write]:
    """Stages and commits one table entry."""
    words = [registers.write(f"table_data[{w}]", value=data >> 32 * w & 0xFFFF_FFFF) for w in range(4)]
    return [*words, registers.write("table_index", value=index), registers.write("table_commit", which=table)]


def _check(value: int, low: int, high: int, what: str, where: str) -> None:
    if not isinstance(value, int) or not low <= value <= high:
        raise ConfigurationError(f"{what} is {value}", where, f"allowed are {low} to {high}")


def _mask(members: Iterable[int], count: int, what: str, where: str) -> int:
    mask = 0
    for member in members:
        _check(member, 0, count - 1, what, where)
        mask |= 1 << member
    return mask


def configure(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """The writes that bring a switch from reset to this configuration, in order.

    The ports are disabled first and enabled last, so no frame meets half a configuration.
    """
    _check(config.ports, 2, MAX_PORTS, "number of ports", "ports")
    enabled = set(range(config.ports)) if config.enabled_ports is None else config.enabled_ports
    mask = _mask(enabled, config.ports, "port", "enabled_ports")
    return [
        registers.write("port_enable", mask=0),
        *_settings(config, registers),
        *_limits(config, registers),
        *_vlans(config, registers),
        *_static_addresses(config, registers),
        *_groups(config, registers),
        *_streams(config, registers),
        *_class_frames(config, registers),
        *_gates(config, registers),
        *_credit(config, registers),
        registers.write("port_enable", mask=mask),
    ]


def _settings(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    _check(config.max_frame_bytes, 64, 2000, "longest frame in bytes", "max_frame_bytes")
    _check(config.class_of_untagged, 0, CLASSES - 1, "traffic class", "class_of_untagged")
    _check(config.overhead_bytes, 0, 255, "overhead in bytes", "overhead_bytes")
    _check(config.aging_period_ms, 1, 2**32 - 1, "aging period in milliseconds", "aging_period_ms")
    if len(config.class_of_pcp) != 8:
        raise ConfigurationError(
            f"{len(config.class_of_pcp)} classes", "class_of_pcp", "needed is one per code point: 8"
        )
    for pcp, traffic_class in enumerate(config.class_of_pcp):
        _check(traffic_class, 0, CLASSES - 1, "traffic class", f"class_of_pcp[{pcp}]")
    unknown = sorted(config.ipv4_fields - IPV4_FIELDS.keys())
    if unknown:
        raise ConfigurationError(f"unknown field {unknown[0]}", "ipv4_fields", f"allowed are {', '.join(IPV4_FIELDS)}")
    ats = _mask(config.ats_classes, CLASSES, "traffic class", "ats_classes")
    writes = [
        registers.write("max_frame", bytes=config.max_frame_bytes),
        registers.write("class_of_pcp", **{f"pcp{pcp}": k for pcp, k in enumerate(config.class_of_pcp)}),
        registers.write("class_of_untagged", value=config.class_of_untagged),
        registers.write("ats_classes", mask=ats),
        registers.write("ats_overhead", bytes=config.overhead_bytes),
        registers.write("learning", enable=int(config.learning)),
        registers.write("aging_period", ms=config.aging_period_ms),
    ]
    if config.processing_delay_max_ns is not None:
        delay = config.processing_delay_max_ns
        _check(delay, 0, MAX_PROCESSING_DELAY_NS, "delay in nanoseconds", "processing_delay_max_ns")
        writes.append(registers.write("processing_delay_max", ns=config.processing_delay_max_ns))
    if config.port_vlan_id is not None:
        if len(config.port_vlan_id) != config.ports:
            raise ConfigurationError(
                f"{len(config.port_vlan_id)} VLAN ids", "port_vlan_id", f"needed is one per port: {config.ports}"
            )
        for port, vlan in enumerate(config.port_vlan_id):
            _check(vlan, 1, 4094, "VLAN id", f"port_vlan_id[{port}]")
            writes.append(registers.write(f"port_vlan[{port}]", vlan=vlan))
    return writes


def _limits(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    cells = config.size.cells
    writes = []
    for name, limits in (("queue_limit", config.queue_limit_cells), ("class_limit", config.class_limit_cells)):
        for traffic_class, limit in limits.items():
            where = f"{name}_cells[{traffic_class}]"
            _check(traffic_class, 0, CLASSES - 1, "traffic class", where)
            _check(limit, 1, min(cells, 4095), "limit in cells", where)
            writes.append(registers.write(f"{name}[{traffic_class}]", cells=limit))
    shares = {
        "queue_guarantee": config.queue_guarantee_cells,
        "reception_guarantee": config.reception_guarantee_cells,
        "shared_limit": config.shared_limit_cells,
    }
    queue, reception, shared = shares.values()
    if queue is None and reception is None and shared is None:
        return writes
    if queue is None or reception is None or shared is None:
        missing = next(f"{name}_cells" for name, value in shares.items() if value is None)
        raise ConfigurationError("the store is divided in part only", missing, "the three shares go together")
    for name, value in (("queue_guarantee", queue), ("reception_guarantee", reception), ("shared_limit", shared)):
        _check(value, 0, min(cells, 4095), "share in cells", f"{name}_cells")
        writes.append(registers.write(name, cells=value))
    taken = config.ports * (CLASSES * queue + reception + TRANSIT_CELLS_PER_PORT) + shared
    if taken > cells:
        raise ConfigurationError(
            f"the shares take {taken} cells, with {TRANSIT_CELLS_PER_PORT} per port for frames on their way in and out",
            "shared_limit_cells",
            f"the store has {cells}",
        )
    return writes


def _vlans(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    writes = []
    for vlan, members in config.vlans.items():
        _check(vlan, 1, 4094, "VLAN id", "vlans")
        mask = _mask(members, config.ports, "port", f"vlans[{vlan}]")
        writes += table_writes(registers, Table.VLAN, vlan, mask)
    return writes


def fdb_set(address: int, vlan: int, sets: int) -> int:
    """The set of the forwarding database in which an address of a VLAN is looked for."""
    return zlib.crc32((vlan << 48 | address).to_bytes(8, "little")) % sets


def _static_addresses(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    writes: list[Write] = []
    ways: dict[int, list[tuple[int, int]]] = {}
    for address, vlan, ports in config.static_addresses:
        where = f"static_addresses: {_address(address)} VLAN {vlan}"
        _check(address, 0, 2**48 - 1, "address", where)
        _check(vlan, 1, 4094, "VLAN id", where)
        mask = _mask(ports, config.ports, "port", where)
        taken = ways.setdefault(fdb_set(address, vlan, config.size.fdb_sets), [])
        if (address, vlan) in taken:
            raise ConfigurationError("the address is given twice", where, "an address stands once per VLAN")
        if len(taken) == 2:
            others = " and ".join(f"{_address(a)} VLAN {v}" for a, v in taken)
            raise ConfigurationError("no room", where, f"{others} share its hash, and two entries may; leave one out")
        data = 1 << 71 | 1 << 70 | 3 << 68 | mask << 60 | vlan << 48 | address
        index = len(taken) << 15 | fdb_set(address, vlan, config.size.fdb_sets)
        taken.append((address, vlan))
        writes += table_writes(registers, Table.FDB, index, data)
    return writes


def _address(address: int) -> str:
    return ":".join(f"{address >> shift & 0xFF:02x}" for shift in range(40, -8, -8))


def _groups(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    writes = []
    for (port, traffic_class), ns in config.max_residence_ns.items():
        where = f"max_residence_ns[{port}, {traffic_class}]"
        _check(port, 0, config.ports - 1, "port", where)
        _check(traffic_class, 0, CLASSES - 1, "traffic class", where)
        _check(ns, 1, MAX_RESIDENCE_NS, "residence time in nanoseconds", where)
        writes += table_writes(registers, Table.GROUP, port << 3 | traffic_class, ns)
    return writes


def _streams(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    named = (replace(entry, name=entry.name or str(index)) for index, entry in enumerate(config.streams))
    entries = [entry for entry in named if entry.ats]
    limit = config.size.streams
    if len(entries) > limit:
        raise ConfigurationError(f"{len(entries)} shaped streams", "streams", f"the switch has {limit} schedulers")
    mask = _ipv4_mask(config)
    names: dict[int, str] = {}
    keys = []
    for entry in entries:
        _check_stream(entry, config.ports)
        key = stream_key(entry, mask)
        if key in names:
            raise ConfigurationError(
                f"cannot be told from stream {names[key]!r} by its {entry.identify} fields",
                f"streams.{entry.name}",
                "the fields that count must differ, or the reception port",
            )
        names[key] = entry.name
        keys.append(key)

    writes = table_writes(registers, Table.IDENTIFY_MASK, 0, mask)
    for stream, (entry, key, where) in enumerate(zip(entries, keys, place(keys, 2 * limit), strict=True)):
        if where is None:
            crowd = _crowd(keys, stream, 2 * limit)
            raise ConfigurationError(
                "no free slot, the hash of its fields collides with "
                + ", ".join(repr(entries[other].name) for other in crowd),
                f"streams.{entry.name}",
                "change one of the fields that count, or take more STREAMS in the hardware",
            )
        writes += table_writes(registers, Table.STREAM_RATE, stream, rate_entry(entry.rate_bps, entry.burst_bytes))
        writes += table_writes(
            registers, Table.STREAM_KEY, where[0] << 15 | where[1], 1 << 121 | stream << 109 | key
        )  # last, so the stream is found only once its rate stands
    used = {entry.identify for entry in entries}
    writes.append(registers.write("identify", **{name: int(name in used) for name in IDENTIFY}))
    return writes


def _crowd(keys: Sequence[int], index: int, slots: int) -> list[int]:
    """The keys before this one that share slots with it, directly or through others."""
    reached = set(enumerate(slots_of_key(keys[index], slots)))
    crowd: list[int] = []
    grows = True
    while grows:
        grows = False
        for other in range(index):
            choices = set(enumerate(slots_of_key(keys[other], slots)))
            if other not in crowd and choices & reached:
                crowd.append(other)
                reached |= choices
                grows = True
    return sorted(crowd)


def _check_stream(entry: StreamEntry, ports: int) -> None:
    where = f"streams.{entry.name}"
    if entry.identify not in IDENTIFY:
        raise ConfigurationError(f"identification {entry.identify!r}", where, f"allowed are {', '.join(IDENTIFY)}")
    _check(entry.port, 0, ports - 1, "reception port", where)
    _check(entry.rate_bps, 10_000, LINE_RATE_BPS, "rate in bits per second", where)
    _check(entry.burst_bytes, 64, 1 << 24, "burst in bytes", where)
    try:
        rate_entry(entry.rate_bps, entry.burst_bytes)
    except ValueError as error:
        raise ConfigurationError(str(error), where, "a smaller burst or a higher rate") from None
    if entry.identify == "ipv4":
        for name, (_, width) in IPV4_FIELDS.items():
            _check(getattr(entry, name), 0, (1 << width) - 1, name.replace("_", " "), where)
    else:
        _check(entry.mac, 0, 2**48 - 1, "address", where)
        _check(entry.vlan, 1, 4094, "VLAN id", where)


def _class_frames(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    writes = []
    for (port, traffic_class), limit in config.max_class_frame_bytes.items():
        where = _check_place(config, port, traffic_class, "max_class_frame_bytes")
        _check(limit, 64, 2000, "longest frame in bytes", where)
        writes += table_writes(registers, Table.MAX_SDU, port << 3 | traffic_class, limit)
    return writes


def _credit(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    _check_slopes(config, LINE_RATE_BPS)
    if not config.idle_slope_bps:
        return []
    writes = [registers.write("cbs_count_gap", enable=int(config.count_gap))]
    for (port, traffic_class), slope in config.idle_slope_bps.items():
        units = _engine.idle_slope(slope)
        writes += table_writes(registers, Table.CREDIT, port << 3 | traffic_class, 1 << 96 | units)
    return writes


def _check_slopes(config: SwitchConfig, most_bps: int) -> None:
    for (port, traffic_class), slope in config.idle_slope_bps.items():
        where = _check_place(config, port, traffic_class, "idle_slope_bps")
        if traffic_class in config.ats_classes:
            raise ConfigurationError(f"class {traffic_class} is ATS", where, "a class is served by ATS or by credit")
        _check(slope, 8, most_bps, "idle slope in bits per second", where)


def _check_place(config: SwitchConfig, port: int, traffic_class: int, what: str) -> str:
    where = f"{what}[{port}, {traffic_class}]"
    _check(port, 0, config.ports - 1, "port", where)
    _check(traffic_class, 0, CLASSES - 1, "traffic class", where)
    return where


def _check_gates(config: SwitchConfig) -> None:
    for port, gates in config.gates.items():
        where = f"gates[{port}]"
        _check(port, 0, config.ports - 1, "port", where)
        _check(len(gates.entries), 1, config.size.gate_entries, "number of gate entries", where)
        _check(gates.cycle_time_ns, SHORTEST_INTERVAL_NS, 2**32 - 1, "cycle time in nanoseconds", where)
        _check(gates.cycle_time_extension_ns, 0, 2**32 - 1, "cycle time extension in nanoseconds", where)
        _check(gates.base_time_ns, 0, 2**63 - 1, "base time in nanoseconds", where)
        _check(gates.initial_states, 0, 0xFF, "initial gate states", where)
        for index, (states, interval_ns) in enumerate(gates.entries):
            _check(states, 0, 0xFF, "gate states", f"{where}.entries[{index}]")
            _check(interval_ns, SHORTEST_INTERVAL_NS, 2**32 - 1, "interval in nanoseconds", f"{where}.entries[{index}]")


def _gates(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    _check_gates(config)
    if not config.gates:
        return []
    writes = [
        registers.write(f"admin_gate_states[{port}]", mask=gates.initial_states) for port, gates in config.gates.items()
    ]
    # Before the credit, whose idle slopes may only be more than a port's rate together where there are gates.
    writes.append(registers.write("gate_enable", mask=sum(1 << port for port in config.gates)))
    for port, gates in config.gates.items():
        writes += gate_list_writes(registers, port, gates)
    return writes


def gate_list_writes(registers: RegisterMap, port: int, gates: GateControl) -> list[Write]:
    """Stages a list and has a port take it over at its time."""
    writes: list[Write] = []
    for index, (states, interval_ns) in enumerate(gates.entries):
        writes += table_writes(registers, Table.GATE_ENTRY, index, states << 32 | interval_ns)
    seconds, nanoseconds = divmod(gates.base_time_ns, 10**9)
    return [
        *writes,
        registers.write("admin_base_time_seconds_low", value=seconds & 0xFFFF_FFFF),
        registers.write("admin_base_time_seconds_high", value=seconds >> 32),
        registers.write("admin_base_time_nanoseconds", ns=nanoseconds),
        registers.write("admin_cycle_time", ns=gates.cycle_time_ns),
        registers.write("admin_cycle_time_extension", ns=gates.cycle_time_extension_ns),
        registers.write("admin_control_list_length", entries=len(gates.entries)),
        registers.write("gate_commit", port=port),
    ]


def model_shapers(
    gates: Mapping[int, GateControl],
    idle_slope_bps: Mapping[tuple[int, int], int],
    count_gap: bool,
    max_class_frame_bytes: Mapping[tuple[int, int], int],
) -> dict[str, Any]:
    """What egress ports do beside strict priority and ATS, as the model takes it; keys are ports, or port and class."""
    shapers: dict[str, Any] = {
        "gates": [
            {
                "port": port,
                "entries": [list(entry) for entry in control.entries],
                "cycle_time_ns": control.cycle_time_ns,
                "base_time_ns": control.base_time_ns,
                "cycle_time_extension_ns": control.cycle_time_extension_ns,
                "initial_states": control.initial_states,
            }
            for port, control in gates.items()
        ],
        "credit": [{"port": port, "class": k, "idle_slope_bps": slope} for (port, k), slope in idle_slope_bps.items()],
        "max_class_frame_bytes": [[port, k, limit] for (port, k), limit in max_class_frame_bytes.items()],
    }
    shapers = {name: value for name, value in shapers.items() if value}
    return shapers | ({"count_gap": count_gap} if idle_slope_bps else {})


def model_config(config: SwitchConfig) -> dict[str, Any]:
    """The same configuration for the engine's model of a bridge; its JSON is described in docs/model.md.

    Entries stand where `configure` puts them. Addresses and streams for which the hardware has no room are given
    without a place: the model finds them all the same.
    """
    _check(config.ports, 2, MODEL_MAX_PORTS, "number of ports", "ports")
    everyone = range(config.ports)
    enabled = set(everyone) if config.enabled_ports is None else config.enabled_ports
    ipv4_mask = _ipv4_mask(config)
    placed, overflow = _model_addresses(config)
    model: dict[str, Any] = {
        "port_enable": _mask(enabled, config.ports, "port", "enabled_ports"),
        "learning_enable": config.learning,
        "class_of_pcp": list(config.class_of_pcp),
        "class_of_untagged": config.class_of_untagged,
        "ats_classes": sorted(config.ats_classes),
        "max_frame_bytes": config.max_frame_bytes,
        "overhead_bytes": config.overhead_bytes,
        "vlans": [[vlan, _mask(ports, config.ports, "port", f"vlans[{vlan}]")] for vlan, ports in config.vlans.items()],
        "fdb_sets": config.size.fdb_sets,
        "fdb": placed,
        "static_addresses": overflow,
        "aging_period_ms": config.aging_period_ms,
        "identify": {name: any(s.ats and s.identify == name for s in config.streams) for name in IDENTIFY},
        "ipv4_mask": f"{ipv4_mask:026x}",
        "streams": _model_streams(config, ipv4_mask),
        "max_residence_ns": [[port, k, ns] for (port, k), ns in config.max_residence_ns.items()],
        "queue_limit": [config.queue_limit_cells.get(k, 256) for k in range(CLASSES)],
        "class_limit": [config.class_limit_cells.get(k, 640) for k in range(CLASSES)],
        "cells": config.size.cells,
    }
    _check_gates(config)
    _check_slopes(config, MODEL_MAX_RATE_BPS)
    model |= model_shapers(config.gates, config.idle_slope_bps, config.count_gap, config.max_class_frame_bytes)
    optional = {
        "processing_delay_max_ns": config.processing_delay_max_ns,
        "port_vlan_id": None if config.port_vlan_id is None else list(config.port_vlan_id),
        "queue_guarantee": config.queue_guarantee_cells,
        "reception_guarantee": config.reception_guarantee_cells,
        "shared_limit": config.shared_limit_cells,
    }
    return model | {name: value for name, value in optional.items() if value is not None}


def _ipv4_mask(config: SwitchConfig) -> int:
    return sum((1 << width) - 1 << low for name, (low, width) in IPV4_FIELDS.items() if name in config.ipv4_fields)


def _model_addresses(config: SwitchConfig) -> tuple[list[list[int]], list[list[int]]]:
    """The static addresses as (way, set, address, VLAN, ports), and as (address, VLAN, ports) those without room."""
    placed, overflow = [], []
    taken: Counter[int] = Counter()
    for address, vlan, ports in config.static_addresses:
        mask = _mask(ports, config.ports, "port", f"static_addresses: {_address(address)} VLAN {vlan}")
        where = fdb_set(address, vlan, config.size.fdb_sets)
        if taken[where] < 2:
            placed.append([taken[where], where, address, vlan, mask])
            taken[where] += 1
        else:
            overflow.append([address, vlan, mask])
    return placed, overflow


def _model_streams(config: SwitchConfig, ipv4_mask: int) -> list[dict[str, Any]]:
    entries = [entry for entry in config.streams if entry.ats]
    streams = []
    fits = len(entries) <= config.size.streams and config.ports <= MAX_PORTS
    keys = [stream_key(entry, ipv4_mask) for entry in entries] if fits else []
    slots = place(keys, 2 * config.size.streams) if fits else [None] * len(entries)
    for stream, (entry, slot) in enumerate(zip(entries, slots, strict=True)):
        ns_per_byte, empty_to_full = _engine.ats_rate(entry.rate_bps, entry.burst_bytes)
        if entry.identify == "ipv4":
            fields = {name.removeprefix("ipv4_"): getattr(entry, name) for name in IPV4_FIELDS}
        else:
            fields = {"mac": entry.mac, "vlan": entry.vlan}
        streams.append(
            {
                "stream": stream,
                "port": entry.port,
                "key": {"identify": entry.identify, **fields},
                "slot": slot,
                "ns_per_byte": ns_per_byte,
                "empty_to_full": empty_to_full,
            }
        )
    return streams
