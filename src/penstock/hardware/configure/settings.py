# SPDX-License-Identifier: Apache-2.0
"""Settings of the whole switch, and how its store is divided."""

from penstock.hardware.configure.check import check, mask_of
from penstock.hardware.configure.config import (
    CLASSES,
    IPV4_FIELDS,
    MAX_PROCESSING_DELAY_NS,
    RESERVED_ADDRESSES,
    TRANSIT_CELLS_PER_PORT,
    ConfigurationError,
    SwitchConfig,
)
from penstock.hardware.configure.tables import Write
from penstock.hardware.registers import RegisterMap


def settings_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """What holds for the whole switch and its ports."""
    check(config.max_frame_bytes, 64, 2000, "longest frame in bytes", "max_frame_bytes")
    check(config.class_of_untagged, 0, CLASSES - 1, "traffic class", "class_of_untagged")
    check(config.pcp_of_untagged, 0, 7, "priority code point", "pcp_of_untagged")
    tagging = mask_of(config.tagging_ports, config.ports, "port", "tagging_ports")
    translating = mask_of(config.translating_ports, config.ports, "port", "translating_ports")
    removal = mask_of(config.r_tag_removal_ports, config.ports, "port", "r_tag_removal_ports")
    corrected = mask_of(config.ptp_correction_ports, config.ports, "port", "ptp_correction_ports")
    check(config.overhead_bytes, 0, 255, "overhead in bytes", "overhead_bytes")
    check(config.aging_period_ms, 1, 2**32 - 1, "aging period in milliseconds", "aging_period_ms")
    if len(config.class_of_pcp) != 8:
        raise ConfigurationError(
            f"{len(config.class_of_pcp)} classes", "class_of_pcp", "needed is one per code point: 8"
        )
    for pcp, traffic_class in enumerate(config.class_of_pcp):
        check(traffic_class, 0, CLASSES - 1, "traffic class", f"class_of_pcp[{pcp}]")
    unknown = sorted(config.ipv4_fields - IPV4_FIELDS.keys())
    if unknown:
        raise ConfigurationError(f"unknown field {unknown[0]}", "ipv4_fields", f"allowed are {', '.join(IPV4_FIELDS)}")
    ats = mask_of(config.ats_classes, CLASSES, "traffic class", "ats_classes")
    writes = [
        registers.write("max_frame", bytes=config.max_frame_bytes),
        registers.write("class_of_pcp", **{f"pcp{pcp}": k for pcp, k in enumerate(config.class_of_pcp)}),
        registers.write("class_of_untagged", value=config.class_of_untagged),
        registers.write("pcp_of_untagged", value=config.pcp_of_untagged),
        registers.write("vlan_tagging", mask=tagging),
        registers.write("vlan_translation", mask=translating),
        registers.write("r_tag_removal", mask=removal),
        registers.write("ptp_correction", mask=corrected),
        registers.write("ats_classes", mask=ats),
        registers.write("ats_overhead", bytes=config.overhead_bytes),
        registers.write("learning", enable=int(config.learning)),
        registers.write("aging_period", ms=config.aging_period_ms),
    ]
    if config.reserved_to_host:
        if not config.host:
            raise ConfigurationError("a switch without a host port", "reserved_to_host", "with `host` it has one")
        mask = mask_of(config.reserved_to_host, RESERVED_ADDRESSES, "reserved address", "reserved_to_host")
        writes.append(registers.write("reserved_to_host", mask=mask))
    if config.processing_delay_max_ns is not None:
        delay = config.processing_delay_max_ns
        check(delay, 0, MAX_PROCESSING_DELAY_NS, "delay in nanoseconds", "processing_delay_max_ns")
        writes.append(registers.write("processing_delay_max", ns=config.processing_delay_max_ns))
    if config.port_vlan_id is not None:
        if len(config.port_vlan_id) != config.ports:
            raise ConfigurationError(
                f"{len(config.port_vlan_id)} VLAN ids", "port_vlan_id", f"needed is one per port: {config.ports}"
            )
        for port, vlan in enumerate(config.port_vlan_id):
            check(vlan, 1, 4094, "VLAN id", f"port_vlan_id[{port}]")
            writes.append(registers.write(f"port_vlan[{port}]", vlan=vlan))
    return writes


def limits_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """How many cells of the store each queue, class and reception port may have."""
    cells = config.size.cells
    writes = []
    for name, limits in (("queue_limit", config.queue_limit_cells), ("class_limit", config.class_limit_cells)):
        for traffic_class, limit in limits.items():
            where = f"{name}_cells[{traffic_class}]"
            check(traffic_class, 0, CLASSES - 1, "traffic class", where)
            check(limit, 1, min(cells, 4095), "limit in cells", where)
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
        check(value, 0, min(cells, 4095), "share in cells", f"{name}_cells")
        writes.append(registers.write(name, cells=value))
    taken = config.ports * (CLASSES * queue + reception + TRANSIT_CELLS_PER_PORT) + shared
    if taken > cells:
        raise ConfigurationError(
            f"the shares take {taken} cells, with {TRANSIT_CELLS_PER_PORT} per port for frames on their way in and out",
            "shared_limit_cells",
            f"the store has {cells}",
        )
    return writes
