# SPDX-License-Identifier: Apache-2.0
"""What is changed while frames are on their way."""

from __future__ import annotations

from collections.abc import Callable

from penstock.hardware.configure import (
    CLASSES,
    IPV4_FIELDS,
    Table,
    Write,
    fdb_set,
    place,
    rate_entry,
    stream_key,
    table_writes,
)
from penstock.hardware.differential.draw.addresses import all_addresses
from penstock.hardware.differential.draw.config import (
    ats_classes,
    class_of_pcp,
    max_frame,
    reserved_to_host,
    residence_ns,
)
from penstock.hardware.differential.draw.drawing import Drawing
from penstock.hardware.differential.draw.flows import rate_and_burst
from penstock.hardware.traffic import MAX_FRAME_BYTES, as_number


def _change_rate(drawing: Drawing) -> list[Write]:
    handle = drawing.rng.randrange(max(1, len(drawing.flows)))
    return _commit(drawing, Table.STREAM_RATE, handle, rate_entry(*rate_and_burst(drawing)))


def _change_key(drawing: Drawing) -> list[Write]:
    """A stream is taken out, or its place in the table is given to another handle of its port.

    One of another port would break what the hardware relies on: frames of a scheduler come one after the other.
    """
    rng = drawing.rng
    if not drawing.flows:
        return []
    config = drawing.config
    mask = sum((1 << width) - 1 << low for name, (low, width) in IPV4_FIELDS.items() if name in config.ipv4_fields)
    keys = [stream_key(flow.entry, mask) for flow in drawing.flows]
    number = rng.randrange(len(keys))
    where = place(keys, 2 * config.size.streams)[number]
    if where is None:
        return []
    index = where[0] << 15 | where[1]
    port = drawing.flows[number].entry.port
    handle = rng.choice([other for other, flow in enumerate(drawing.flows) if flow.entry.port == port])
    entry = 0 if rng.random() < 0.6 else 1 << 121 | handle << 109 | keys[number]
    return _commit(drawing, Table.STREAM_KEY, index, entry)


def _change_residence(drawing: Drawing) -> list[Write]:
    group = drawing.rng.randrange(drawing.ports) << 3 | drawing.rng.randrange(CLASSES)
    return _commit(drawing, Table.GROUP, group, residence_ns(drawing))


def _change_vlan(drawing: Drawing) -> list[Write]:
    members, untagged = (sum(1 << port for port in drawing.some(share)) for share in (0.7, 0.5))
    entry = drawing.rng.choice((0, drawing.rng.getrandbits(16))) << 16 | untagged << 8 | members
    return _commit(drawing, Table.VLAN, drawing.rng.choice([*drawing.vlans, 99]), entry)


def _change_vlan_tagging(drawing: Drawing) -> list[Write]:
    return [_write(drawing, "vlan_tagging", mask=sum(1 << port for port in drawing.some(0.5)))]


def _change_vlan_translation(drawing: Drawing) -> list[Write]:
    return [_write(drawing, "vlan_translation", mask=sum(1 << port for port in drawing.some(0.5)))]


def _change_r_tag_removal(drawing: Drawing) -> list[Write]:
    return [_write(drawing, "r_tag_removal", mask=sum(1 << port for port in drawing.some(0.5)))]


def _change_ptp_correction(drawing: Drawing) -> list[Write]:
    return [_write(drawing, "ptp_correction", mask=sum(1 << port for port in drawing.some(0.6)))]


def _change_numbering(drawing: Drawing) -> list[Write]:
    handle = drawing.rng.randrange(max(1, len(drawing.flows)))
    return _commit(drawing, Table.NUMBERING, handle, drawing.rng.randrange(2))


def _change_address(drawing: Drawing) -> list[Write]:
    rng = drawing.rng
    address, vlan = as_number(rng.choice(all_addresses(drawing))), rng.choice([*drawing.vlans])
    index = rng.randrange(2) << 15 | fdb_set(address, vlan, drawing.config.size.fdb_sets)
    ports = sum(1 << port for port in drawing.some(0.5))
    static = rng.randrange(2)
    entry = 1 << 71 | static << 70 | rng.randint(1, 3) << 68 | ports << 60 | vlan << 48 | address
    return _commit(drawing, Table.FDB, index, entry if rng.random() < 0.7 else 0)


def _change_identify(drawing: Drawing) -> list[Write]:
    return [
        _write(drawing, "identify", **{name: drawing.rng.randrange(2) for name in ("ipv4", "destination", "source")})
    ]


def _change_identify_mask(drawing: Drawing) -> list[Write]:
    mask = sum((1 << width) - 1 << low for low, width in IPV4_FIELDS.values() if drawing.rng.random() < 0.8)
    return _commit(drawing, Table.IDENTIFY_MASK, 0, mask)


def _change_class_of_pcp(drawing: Drawing) -> list[Write]:
    return [_write(drawing, "class_of_pcp", **{f"pcp{pcp}": k for pcp, k in enumerate(class_of_pcp(drawing))})]


def _change_port_vlan(drawing: Drawing) -> list[Write]:
    return [
        _write(drawing, f"port_vlan[{drawing.rng.randrange(drawing.ports)}]", vlan=drawing.rng.choice([*drawing.vlans]))
    ]


def _change_shares(drawing: Drawing) -> list[Write]:
    """Less than before of each, so that what is charged already and what is granted next fit the store together."""
    config = drawing.config
    if config.queue_guarantee_cells is None:
        return []
    assert config.reception_guarantee_cells is not None
    assert config.shared_limit_cells is not None
    most = (config.queue_guarantee_cells, config.reception_guarantee_cells, config.shared_limit_cells)
    shares = [drawing.rng.randint(0, cells) for cells in most]
    names = ("queue_guarantee", "reception_guarantee", "shared_limit")
    return [_write(drawing, name, cells=cells) for name, cells in zip(names, shares, strict=True)]


def _write(drawing: Drawing, name: str, **fields: int) -> Write:
    return drawing.registers.write(name, **fields)


def _commit(drawing: Drawing, table: Table, index: int, data: int) -> list[Write]:
    return table_writes(drawing.registers, table, index, data)


CHANGES: dict[str, Callable[[Drawing], list[Write]]] = {
    "stream_rate": _change_rate,
    "stream_key": _change_key,
    "residence": _change_residence,
    "vlan": _change_vlan,
    "static_address": _change_address,
    "identify": _change_identify,
    "identify_mask": _change_identify_mask,
    "class_of_pcp": _change_class_of_pcp,
    "port_vlan": _change_port_vlan,
    "shares": _change_shares,
    "class_of_untagged": lambda d: [_write(d, "class_of_untagged", value=d.rng.randrange(CLASSES))],
    "pcp_of_untagged": lambda d: [_write(d, "pcp_of_untagged", value=d.rng.randrange(8))],
    "vlan_tagging": _change_vlan_tagging,
    "vlan_translation": _change_vlan_translation,
    "r_tag_removal": _change_r_tag_removal,
    "ptp_correction": _change_ptp_correction,
    "numbering": _change_numbering,
    "ats_classes": lambda d: [_write(d, "ats_classes", mask=sum(1 << k for k in ats_classes(d)))],
    "ats_overhead": lambda d: [_write(d, "ats_overhead", bytes=d.rng.randrange(256))],
    "processing_delay_max": lambda d: [_write(d, "processing_delay_max", ns=d.log(1, 20_000))],
    "learning": lambda d: [_write(d, "learning", enable=d.rng.randrange(2))],
    "reserved_to_host": lambda d: [_write(d, "reserved_to_host", mask=sum(1 << n for n in reserved_to_host(d)))],
    "aging_period": lambda d: [_write(d, "aging_period", ms=d.rng.choice((1, 2, 3, 100_000)))],
    "max_frame": lambda d: [_write(d, "max_frame", bytes=d.rng.choice((MAX_FRAME_BYTES, max_frame(d))))],
    "port_enable": lambda d: [_write(d, "port_enable", mask=sum(1 << p for p in d.some(0.8)))],
    "queue_limit": lambda d: [_write(d, f"queue_limit[{d.rng.randrange(CLASSES)}]", cells=d.log(1, 256))],
    "class_limit": lambda d: [_write(d, f"class_limit[{d.rng.randrange(CLASSES)}]", cells=d.log(1, 640))],
}
