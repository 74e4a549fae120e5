# SPDX-License-Identifier: Apache-2.0
"""What the switch is told before the first frame."""

from __future__ import annotations

from penstock.hardware.configure import (
    CLASSES,
    IPV4_FIELDS,
    RESERVED_ADDRESSES,
    TRANSIT_CELLS_PER_PORT,
    SwitchConfig,
    Translation,
    fdb_set,
)
from penstock.hardware.differential.draw.addresses import all_addresses
from penstock.hardware.differential.draw.drawing import Drawing
from penstock.hardware.differential.draw.flows import draw_flows
from penstock.hardware.traffic import MAX_FRAME_BYTES, as_number

LONGEST_FRAME_BYTES = 2000
STORE_CELLS = 1024


def draw_config(drawing: Drawing) -> None:
    """The configuration, and the streams in it."""
    rng = drawing.rng
    config = SwitchConfig(
        ports=drawing.ports,
        host=drawing.host,
        reserved_to_host=reserved_to_host(drawing) if drawing.host else set(),
        port_vlan_id=drawing.port_vlan_id,
        class_of_pcp=class_of_pcp(drawing),
        class_of_untagged=rng.randrange(CLASSES),
        ats_classes=ats_classes(drawing),
        max_frame_bytes=rng.choice((MAX_FRAME_BYTES, MAX_FRAME_BYTES, LONGEST_FRAME_BYTES, max_frame(drawing))),
        overhead_bytes=rng.choice((20, 20, 20, rng.randrange(256))),
        processing_delay_max_ns=rng.choice((None, None, None, 0, drawing.log(1, 5_000), drawing.log(1, 100_000))),
        learning=rng.random() < 0.85,
        aging_period_ms=1 if drawing.ages and rng.random() < 0.6 else 100_000,
        vlans=drawing.vlans,
        ipv4_fields={name for name in IPV4_FIELDS if rng.random() < 0.8},
        max_residence_ns={(p, k): residence_ns(drawing) for p in range(drawing.ports) for k in range(CLASSES)},
        queue_limit_cells=_limits(drawing, 256),
        class_limit_cells=_limits(drawing, 640),
        enabled_ports=None if rng.random() < 0.85 else drawing.some(0.8) or {0},
    )
    if rng.random() < 0.4:
        queue, reception, shared = _shares(drawing, 12, 48, STORE_CELLS)
        config.queue_guarantee_cells, config.reception_guarantee_cells = queue, reception
        config.shared_limit_cells = shared
    config.static_addresses = _static_addresses(drawing, config)
    drawing.flows = draw_flows(drawing, config)
    drawing.flows_of_port = [
        [flow for flow in drawing.flows if flow.entry.port == port] for port in range(drawing.ports)
    ]
    config.streams = [flow.entry for flow in drawing.flows]
    drawing.config = config
    _draw_tagging(drawing, config)
    if rng.random() < 0.5:
        drawing.r_tag_share = rng.choice((0.0, 0.2, 0.6))
        config.r_tag_removal_ports = drawing.some(rng.choice((0.0, 0.3, 0.6)))
    if rng.random() < 0.5:
        drawing.ptp_share = rng.choice((0.05, 0.3, 0.8))
        config.ptp_correction_ports = drawing.some(rng.choice((0.3, 0.6, 1.0)))


def _draw_tagging(drawing: Drawing, config: SwitchConfig) -> None:
    """Which ports tag, and what without."""
    rng = drawing.rng
    if rng.random() < 0.4:
        return
    config.tagging_ports = drawing.some(rng.choice((0.3, 0.8, 1.0)))
    share = rng.choice((0.2, 0.5, 0.8))
    config.untagged = {vlan: drawing.some(share) for vlan in drawing.vlans}
    config.pcp_of_untagged = rng.randrange(8)
    config.translating_ports = drawing.some(rng.choice((0.0, 0.5, 1.0)))
    config.translations = {vlan: translation(drawing) for vlan in drawing.vlans if rng.random() < 0.5}


def translation(drawing: Drawing) -> Translation:
    """To a VLAN of the switch or any other, with a priority code point or without."""
    rng = drawing.rng
    vlan = rng.choice((None, *drawing.vlans, rng.randrange(1, 4095)))
    return Translation(vlan, rng.choice((None, rng.randrange(8))))


def class_of_pcp(drawing: Drawing) -> list[int]:
    """The recommended classes, or any of the upper few."""
    rng = drawing.rng
    if rng.random() < 0.4:
        return [1, 0, 6, 7, 2, 3, 4, 5]
    few = rng.randint(1, CLASSES)
    return [rng.randrange(CLASSES - few, CLASSES) for _ in range(8)]


def ats_classes(drawing: Drawing) -> set[int]:
    """The classes that are shaped."""
    rng = drawing.rng
    share = rng.choice((0.0, 0.3, 0.6, 1.0))
    return {6, 7} if rng.random() < 0.4 else {k for k in range(CLASSES) if rng.random() < share}


def reserved_to_host(drawing: Drawing) -> set[int]:
    """The reserved addresses that are the host's business."""
    share = drawing.rng.choice((0.0, 0.5, 1.0))
    return {n for n in range(RESERVED_ADDRESSES) if drawing.rng.random() < share}


def max_frame(drawing: Drawing) -> int:
    """The longest frame, often one that many frames exceed."""
    return drawing.rng.choice((drawing.rng.randint(64, 2000), drawing.rng.randint(1000, 2000)))


def residence_ns(drawing: Drawing) -> int:
    """How long a scheduler group may hold a frame."""
    # A frame that is held keeps time from leaping, so long ones are rare.
    return drawing.log(1_000, 1_500_000) if drawing.rng.random() < 0.05 else drawing.log(500, 300_000)


def _limits(drawing: Drawing, most: int) -> dict[int, int]:
    if drawing.rng.random() < 0.6:
        return {}
    return {k: drawing.log(1, most) for k in range(CLASSES) if drawing.rng.random() < 0.5}


def _shares(drawing: Drawing, queue_most: int, reception_most: int, shared_most: int) -> tuple[int, int, int]:
    """Guarantees and what all share, within the store."""
    rng = drawing.rng
    room = STORE_CELLS // drawing.ports - TRANSIT_CELLS_PER_PORT
    queue = rng.randint(0, min(queue_most, room // CLASSES))
    reception = rng.randint(0, min(reception_most, room - CLASSES * queue))
    left = min(shared_most, drawing.ports * (room - CLASSES * queue - reception))
    return queue, reception, rng.choice((left, rng.randint(0, left), min(left, rng.randint(0, 60))))


def _static_addresses(drawing: Drawing, config: SwitchConfig) -> list[tuple[int, int, set[int]]]:
    rng = drawing.rng
    share = rng.choice((0.0, 0.1, 0.5, 0.9))
    entries: list[tuple[int, int, set[int]]] = []
    taken: dict[int, int] = {}
    for address in dict.fromkeys(all_addresses(drawing)):
        for vlan in drawing.vlans:
            where = fdb_set(as_number(address), vlan, config.size.fdb_sets)
            if rng.random() < share and taken.get(where, 0) < 2:
                taken[where] = taken.get(where, 0) + 1
                home = {address[4]} if address[:4] == b"\x02\0\0\0" and rng.random() < 0.9 else drawing.some(0.5)
                entries.append((as_number(address), vlan, home))
    return entries
