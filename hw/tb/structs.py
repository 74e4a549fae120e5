# SPDX-License-Identifier: Apache-2.0
"""The packed structs of the packages as Python values: packed to, and unpacked from, the vectors that cocotb sees."""

# Fields from the most significant bit down, as declared; an array has a count.
STRUCTS: dict[str, list[tuple[str, int] | tuple[str, int, int]]] = {
    "rx_beat": [("last", 1), ("short_gap", 1), ("reason", 3), ("data", 8)],
    "table_write": [("valid", 1), ("which", 4), ("index", 16), ("data", 128)],
    "store_write": [
        ("valid", 1),
        ("cell_index", 12),
        ("word", 4),
        ("data", 64),
        ("link_valid", 1),
        ("link_from", 12),
        ("link_to", 12),
    ],
    "store_read": [("valid", 1), ("cell_index", 12), ("word", 4)],
    "store_data": [("valid", 1), ("port", 3), ("data", 64), ("next_cell", 12), ("label_of", 90)],
    "credit_sample": [("valid", 1), ("kind", 2), ("traffic_class", 3), ("bits", 24)],
    "edit": [("r_tag", 2), ("tag", 2)],
    "correction": [("is_due", 1), ("is_carried", 1), ("cycles", 30)],
    "label": [
        ("stamped", 1),
        ("correction", 32),
        ("translate", 8),
        ("has_tag", 1),
        ("sequence_number", 16),
        ("is_priority_tagged", 1),
        ("pcp", 3),
        ("dei", 1),
        ("vlan_id", 12),
        ("egress_pcp", 3),
        ("egress_vlan_id", 12),
    ],
    "vlan_entry": [("sets_pcp", 1), ("egress_pcp", 3), ("egress_vlan_id", 12), ("untagged", 8), ("members", 8)],
    "label_write": [("valid", 1), ("frame", 12), ("value", 90)],
    "header": [
        ("position", 5),
        ("last_two", 16),
        ("destination_address", 48),
        ("source_address", 48),
        ("has_tag", 1),
        ("has_r_tag", 1),
        ("sequence_number", 16),
        ("is_known", 1),
        ("type_valid", 1),
        ("ipv4_complete", 1),
        ("ipv4", 1),
        ("has_ports", 1),
        ("ipv4_fields", 104),
    ],
    "classified": [
        ("valid", 1),
        ("reason", 5),
        ("short_gap", 1),
        ("has_cells", 1),
        ("port", 3),
        ("destination", 8),
        ("edit", 4, 8),
        ("traffic_class", 3),
        ("frame", 12),
        ("length", 11),
        ("visible", 28),
        ("is_stream", 1),
        ("stream", 12),
        ("shaped", 1),
    ],
    "enqueue": [
        ("destination", 8),
        ("pool", 2, 8),
        ("edit", 4, 8),
        ("traffic_class", 3),
        ("port", 3),
        ("frame", 12),
        ("length", 11),
        ("slot", 11, 8),
        ("visible", 28),
        ("shaped", 1),
    ],
    "release": [("valid", 1), ("pool", 2), ("traffic_class", 3), ("port", 3), ("frame", 12), ("length", 11)],
    "reclaim": [("valid", 1), ("frame", 12), ("cells", 5)],
    "verdict": [
        ("valid", 1),
        ("reason", 5),
        ("short_gap", 1),
        ("port", 3),
        ("destination", 8),
        ("refused", 8),
        ("refused_reason", 5, 8),
        ("traffic_class", 3),
        ("frame", 12),
        ("length", 11),
        ("visible", 28),
        ("is_stream", 1),
        ("stream", 12),
        ("shaped", 1),
    ],
    "egress_event": [("sent", 1), ("expired", 1), ("reason", 5), ("traffic_class", 3), ("frame", 12)],
    "config_word": [("kind", 3), ("address", 16), ("data", 32)],
    "config_access": [("stage", 1), ("write", 1), ("read", 1), ("address", 16), ("data", 32)],
    "ingress_port_config": [
        ("port_enable", 1),
        ("max_frame_bytes", 11),
        ("port_vlan_id", 12),
        ("class_of_pcp", 3, 8),
        ("class_of_untagged", 3),
        ("pcp_of_untagged", 3),
        ("learning_enable", 1),
        ("identify_enable", 3),
    ],
    "ingress_config": [
        ("port_enable", 8),
        ("vlan_tagging", 8),
        ("vlan_translation", 8),
        ("r_tag_removal", 8),
        ("ptp_correction", 8),
        ("ats_classes", 8),
        ("ats_overhead_bytes", 8),
        ("processing_delay_max_ns", 32),
        ("aging_period_ms", 32),
        ("aging_period_is_new", 1),
        ("reserved_to_host", 16),
        ("identify_ipv4", 1),
        ("identify_ipv4_mask", 104),
    ],
    "buffer_config": [
        ("queue_limit_cells", 12, 8),
        ("class_limit_cells", 12, 8),
        ("queue_guarantee_cells", 12),
        ("reception_guarantee_cells", 12),
        ("shared_limit_cells", 12),
        ("gate_enable", 8),
    ],
    "egress_port_config": [("gate_enable", 1), ("gate_states", 8), ("cbs_count_gap", 1), ("round_robin", 8)],
}


def pack(struct: str, **values: int | list[int]) -> int:
    """The vector of a struct; fields that are not named are zero."""
    unknown = set(values) - {field[0] for field in STRUCTS[struct]}
    assert not unknown, f"{struct} has no {unknown}"
    vector = 0
    for name, width, *count in STRUCTS[struct]:
        value = values.get(name, 0)
        items = list(value) if count and isinstance(value, (list, tuple)) else [value]
        if count:
            items += [0] * (count[0] - len(items))
        for item in reversed(items):  # element 0 in the lowest bits
            assert 0 <= item < 1 << width, f"{struct}.{name}: {item} does not fit {width} bits"
            vector = vector << width | item
    return vector


def unpack(struct: str, vector: int) -> dict[str, int | list[int]]:
    values: dict[str, int | list[int]] = {}
    for name, width, *count in reversed(STRUCTS[struct]):
        items = []
        for _ in range(count[0] if count else 1):
            items.append(vector & ((1 << width) - 1))
            vector >>= width
        values[name] = items if count else items[0]
    return values


def width(struct: str) -> int:
    return sum(width * (count[0] if count else 1) for _, width, *count in STRUCTS[struct])
