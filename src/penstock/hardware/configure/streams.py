# SPDX-License-Identifier: Apache-2.0
"""Streams that are shaped by ATS or numbered, and their scheduler groups."""

from collections.abc import Sequence
from dataclasses import replace

from penstock.hardware.configure.check import check
from penstock.hardware.configure.config import (
    CLASSES,
    IDENTIFY,
    IPV4_FIELDS,
    LINE_RATE_BPS,
    MAX_RESIDENCE_NS,
    ConfigurationError,
    StreamEntry,
    SwitchConfig,
)
from penstock.hardware.configure.hashing import crowd_of, ipv4_mask_of, place, stream_key
from penstock.hardware.configure.tables import Table, Write, rate_entry, rate_of, registers_of, table_writes
from penstock.hardware.registers import RegisterMap


def groups_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """MaxResidenceTime of each scheduler group."""
    writes = []
    for (port, traffic_class), ns in config.max_residence_ns.items():
        where = f"max_residence_ns[{port}, {traffic_class}]"
        check(port, 0, config.ports - 1, "port", where)
        check(traffic_class, 0, CLASSES - 1, "traffic class", where)
        check(ns, 1, MAX_RESIDENCE_NS, "residence time in nanoseconds", where)
        writes += table_writes(registers, Table.GROUP, port << 3 | traffic_class, ns)
    return writes


def streams_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """How each stream is identified, its rate and burst, and whether its frames are numbered."""
    named = (replace(entry, name=entry.name or str(index)) for index, entry in enumerate(config.streams))
    entries = [entry for entry in named if entry.ats]
    limit = config.size.streams
    if len(entries) > limit:
        raise ConfigurationError(f"{len(entries)} shaped streams", "streams", f"the switch has {limit} schedulers")
    mask = ipv4_mask_of(config)
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
    slots = place(keys, 2 * limit)
    for number, (entry, stream, key, where) in enumerate(zip(entries, handles(entries), keys, slots, strict=True)):
        if where is None:
            crowd = crowd_of(keys, number, 2 * limit)
            raise ConfigurationError(
                "no free slot, the hash of its fields collides with "
                + ", ".join(repr(entries[other].name) for other in crowd),
                f"streams.{entry.name}",
                "change one of the fields that count, or take more STREAMS in the hardware",
            )
        writes += table_writes(registers, Table.STREAM_RATE, stream, registers_of(*rate_of(entry)))
        if entry.numbered:
            writes += table_writes(registers, Table.NUMBERING, stream, 1)
        writes += table_writes(
            registers, Table.STREAM_KEY, where[0] << 15 | where[1], 1 << 121 | stream << 109 | key
        )  # last, so the stream is found only once all else stands
    used = {entry.identify for entry in entries}
    writes.append(registers.write("identify", **{name: int(name in used) for name in IDENTIFY}))
    return writes


def handles(entries: Sequence[StreamEntry]) -> list[int]:
    """The number of each stream's scheduler: its own, or that of the first stream that it shares one with."""
    known: dict[tuple[int, str], int] = {}
    return [
        known.setdefault((entry.port, entry.scheduler), number) if entry.scheduler else number
        for number, entry in enumerate(entries)
    ]


def _check_stream(entry: StreamEntry, ports: int) -> None:
    where = f"streams.{entry.name}"
    if entry.numbered and entry.scheduler:
        raise ConfigurationError("numbered, and shares its scheduler", where, "a numbered stream has one of its own")
    if entry.identify not in IDENTIFY:
        raise ConfigurationError(f"identification {entry.identify!r}", where, f"allowed are {', '.join(IDENTIFY)}")
    check(entry.port, 0, ports - 1, "reception port", where)
    check(entry.rate_bps, 10_000, LINE_RATE_BPS, "rate in bits per second", where)
    check(entry.burst_bytes, 64, 1 << 24, "burst in bytes", where)
    try:
        rate_entry(entry.rate_bps, entry.burst_bytes)
    except ValueError as error:
        raise ConfigurationError(str(error), where, "a smaller burst or a higher rate") from None
    if entry.identify == "ipv4":
        for name, (_, width) in IPV4_FIELDS.items():
            check(getattr(entry, name), 0, (1 << width) - 1, name.replace("_", " "), where)
    else:
        check(entry.mac, 0, 2**48 - 1, "address", where)
        check(entry.vlan, 1, 4094, "VLAN id", where)
