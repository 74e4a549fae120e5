# SPDX-License-Identifier: Apache-2.0
"""The same configuration for the model of a bridge."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from penstock.hardware.configure.check import check, check_gates, check_slopes, mask_of
from penstock.hardware.configure.config import (
    CLASSES,
    IDENTIFY,
    IPV4_FIELDS,
    MAX_PORTS,
    MODEL_MAX_PORTS,
    MODEL_MAX_RATE_BPS,
    RESERVED_ADDRESSES,
    GateControl,
    SwitchConfig,
)
from penstock.hardware.configure.forwarding import address_text
from penstock.hardware.configure.hashing import fdb_set, ipv4_mask_of, place, stream_key
from penstock.hardware.configure.streams import handles
from penstock.hardware.configure.tables import rate_of


def model_shapers(
    gates: Mapping[int, GateControl],
    idle_slope_bps: Mapping[tuple[int, int], int],
    count_gap: bool,
    max_class_frame_bytes: Mapping[tuple[int, int], int],
    round_robin: Mapping[int, set[int]],
    window_without_gap: bool,
    credit_frozen_in_guard_band: bool,
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
        "round_robin": [
            [port, mask_of(level, CLASSES, "class", f"round_robin[{port}]")] for port, level in round_robin.items()
        ],
    }
    shapers |= {
        "window_without_gap": window_without_gap,
        "credit_frozen_in_guard_band": credit_frozen_in_guard_band,
    }
    shapers = {name: value for name, value in shapers.items() if value}
    return shapers | ({"count_gap": count_gap} if idle_slope_bps else {})


def model_config(config: SwitchConfig) -> dict[str, Any]:
    """The same configuration for the engine's model of a bridge; its JSON is described in docs/model.md.

    Entries stand where `configure` puts them. Addresses and streams for which the hardware has no room are given
    without a place: the model finds them all the same.
    """
    check(config.ports, 2, MODEL_MAX_PORTS, "number of ports", "ports")
    everyone = range(config.ports)
    enabled = set(everyone) if config.enabled_ports is None else config.enabled_ports
    ipv4_mask = ipv4_mask_of(config)
    placed, overflow = _model_addresses(config)
    model: dict[str, Any] = {
        "port_enable": mask_of(enabled, config.ports, "port", "enabled_ports"),
        "learning_enable": config.learning,
        "class_of_pcp": list(config.class_of_pcp),
        "class_of_untagged": config.class_of_untagged,
        "pcp_of_untagged": config.pcp_of_untagged,
        "vlan_tagging": mask_of(config.tagging_ports, config.ports, "port", "tagging_ports"),
        "vlan_translation": mask_of(config.translating_ports, config.ports, "port", "translating_ports"),
        "r_tag_removal": mask_of(config.r_tag_removal_ports, config.ports, "port", "r_tag_removal_ports"),
        "ptp_correction": mask_of(config.ptp_correction_ports, config.ports, "port", "ptp_correction_ports"),
        "ats_classes": sorted(config.ats_classes),
        "max_frame_bytes": config.max_frame_bytes,
        "overhead_bytes": config.overhead_bytes,
        "vlans": [
            [vlan, mask_of(ports, config.ports, "port", f"vlans[{vlan}]")] for vlan, ports in config.vlans.items()
        ],
        "untagged": [
            [vlan, mask_of(ports, config.ports, "port", f"untagged[{vlan}]")] for vlan, ports in config.untagged.items()
        ],
        "translations": [[vlan, {"vlan": to.vlan or 0, "pcp": to.pcp}] for vlan, to in config.translations.items()],
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
    check_gates(config)
    check_slopes(config, MODEL_MAX_RATE_BPS)
    model |= model_shapers(
        config.gates,
        config.idle_slope_bps,
        config.count_gap,
        config.max_class_frame_bytes,
        config.round_robin,
        config.window_without_gap,
        config.credit_frozen_in_guard_band,
    )
    optional = {
        "processing_delay_max_ns": config.processing_delay_max_ns,
        "host": config.host or None,
        "reserved_to_host": mask_of(config.reserved_to_host, RESERVED_ADDRESSES, "address", "reserved_to_host") or None,
        "port_vlan_id": None if config.port_vlan_id is None else list(config.port_vlan_id),
        "queue_guarantee": config.queue_guarantee_cells,
        "reception_guarantee": config.reception_guarantee_cells,
        "shared_limit": config.shared_limit_cells,
    }
    return model | {name: value for name, value in optional.items() if value is not None}


def _model_addresses(config: SwitchConfig) -> tuple[list[list[int]], list[list[int]]]:
    """The static addresses as (way, set, address, VLAN, ports), and as (address, VLAN, ports) those without room."""
    placed, overflow = [], []
    taken: Counter[int] = Counter()
    for address, vlan, ports in config.static_addresses:
        mask = mask_of(ports, config.ports, "port", f"static_addresses: {address_text(address)} VLAN {vlan}")
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
    for entry, stream, slot in zip(entries, handles(entries), slots, strict=True):
        ns_per_byte, empty_to_full = rate_of(entry)
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
                "numbered": entry.numbered,
            }
        )
    return streams
