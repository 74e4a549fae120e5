# SPDX-License-Identifier: Apache-2.0
import random
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.hardware.configure import (
    ConfigurationError,
    GateControl,
    HardwareSize,
    StreamEntry,
    SwitchConfig,
    Table,
    configure,
    fdb_set,
    place,
    rate_entry,
    slots_of_key,
    stream_key,
)
from penstock.hardware.registers import registers

REGISTERS = registers()
ALL_BITS = (1 << 104) - 1


def commits(config: SwitchConfig) -> Iterator[tuple[Table, int, int]]:
    """Plays the writes into a model of the staging registers."""
    state: dict[int, int] = {}
    for address, value in configure(config, REGISTERS):
        assert 0 <= value < 1 << 32
        assert address % 4 == 0
        state[address] = value
        if address == REGISTERS.address("table_commit"):
            data = sum(state[REGISTERS.address(f"table_data[{w}]")] << 32 * w for w in range(4))
            yield Table(value), state[REGISTERS.address("table_index")], data


def entry(number: int, **changes: Any) -> StreamEntry:
    values = {"name": f"s{number}", "port": number % 4, "identify": "ipv4", "rate_bps": 10_000_000, "burst_bytes": 1542,
              "ipv4_source": 0x0A000001, "ipv4_destination": 0x0A000002, "protocol": 17, "source_port": 5000,
              "destination_port": number, "mac": 0x020000000000 + number, "vlan": 10}  # fmt: skip
    return StreamEntry(**{**values, **changes})


def test_ports_are_enabled_last_and_once() -> None:
    writes = configure(SwitchConfig(ports=4), REGISTERS)
    assert writes[0] == (REGISTERS.address("port_enable"), 0)
    assert writes[-1] == (REGISTERS.address("port_enable"), 0xF)
    assert [address for address, _ in writes].count(REGISTERS.address("port_enable")) == 2


def test_default_equals_reset() -> None:
    for address, value in configure(SwitchConfig(ports=8), REGISTERS):
        register = next(r for r in REGISTERS.values() if address in r.words)
        if register.name not in ("port_enable", "table_commit", "table_index") and "table_data" not in register.name:
            assert value == register.pack(), register.name


def test_rate_is_exact_to_one_part_in_a_million() -> None:
    for rate in (10_000, 10_001, 64_000, 999_983, 20_000_000, 123_456_789, 1_000_000_000):
        byte_time = (rate_entry(rate, 1542) & (1 << 44) - 1) / 2**24
        assert 0 <= 1 - byte_time * rate / 8e9 < 1e-6
    assert rate_entry(1_000_000_000, 1000) == (8000 << 16) << 44 | 8 << 24


def test_stream_key_layout() -> None:
    key = stream_key(
        entry(0, port=3, ipv4_source=0xC0A80001, ipv4_destination=0xC0A80002, protocol=6, source_port=80), ALL_BITS
    )
    assert key == 3 << 104 | 0xC0A80001 << 72 | 0xC0A80002 << 40 | 6 << 32 | 80 << 16
    assert stream_key(entry(0, identify="source", mac=0x0123456789AB, vlan=0xABC), 0) == 2 << 107 | 0xABC0123456789AB
    assert slots_of_key(key, 512) == (
        zlib.crc32(key.to_bytes(14, "little")) & 511,
        zlib.crc32(key.to_bytes(14, "little")) >> 16 & 511,
    )


def test_every_stream_is_found_where_the_hardware_looks() -> None:
    streams = [entry(n, identify=("ipv4", "destination", "source")[n % 3]) for n in range(256)]
    rates, found = {}, {}
    for table, index, data in commits(SwitchConfig(streams=streams)):
        if table is Table.STREAM_RATE:
            rates[index] = data
        if table is Table.STREAM_KEY:
            assert index not in found, "two streams in one slot"
            found[index] = data
    for number, stream in enumerate(streams):
        key = stream_key(stream, ALL_BITS)
        first, second = slots_of_key(key, 512)
        candidates = [found.get(first), found.get(1 << 15 | second)]
        assert candidates.count(1 << 121 | number << 109 | key) == 1
        assert rates[number] == rate_entry(10_000_000, 1542)


def test_placement_moves_others_and_refuses_only_what_cannot_be() -> None:
    rng = random.Random(1)
    refused = moved = 0
    for _ in range(300):
        keys = [rng.getrandbits(100) for _ in range(12)]
        placed = place(keys, 8)
        taken = [slot for slot in placed if slot]
        assert len(set(taken)) == len(taken)
        for key, slot in zip(keys, placed, strict=True):
            assert slot is None or slots_of_key(key, 8)[slot[0]] == slot[1]
        first_come: set[tuple[int, int]] = set()
        for key in keys:
            free = [s for s in enumerate(slots_of_key(key, 8)) if s not in first_come]
            first_come.update(free[:1])
        refused += placed.count(None)
        moved += len(taken) > len(first_come)
    assert moved
    assert refused


def test_collision_that_cannot_be_placed_is_named() -> None:
    keys: dict[tuple[int, int], list[int]] = {}
    for number in range(200):
        slots = slots_of_key(stream_key(entry(number), ALL_BITS), 8)
        keys.setdefault(slots, []).append(number)
    three = next(numbers[:3] for numbers in keys.values() if len(numbers) > 2)
    with pytest.raises(ConfigurationError, match=f"streams.s{three[2]}: no free slot.*'s{three[0]}', 's{three[1]}'"):
        configure(SwitchConfig(streams=[entry(n) for n in three], size=HardwareSize(streams=4)), REGISTERS)


def test_fields_that_do_not_count_are_masked() -> None:
    streams = [entry(1), entry(5)]  # differ in the destination port only
    with pytest.raises(ConfigurationError, match="cannot be told from stream 's1'"):
        configure(SwitchConfig(streams=streams, ipv4_fields={"ipv4_source", "ipv4_destination"}), REGISTERS)
    masks = [data for table, _, data in commits(SwitchConfig(streams=streams[:1], ipv4_fields={"ipv4_source"}))
             if table is Table.IDENTIFY_MASK]  # fmt: skip
    assert masks == [0xFFFFFFFF << 72]


def test_identification_functions_in_use() -> None:
    def identify(*streams: StreamEntry) -> int:
        return dict(configure(SwitchConfig(streams=streams), REGISTERS))[REGISTERS.address("identify")]

    assert identify() == 0
    assert identify(entry(1), entry(2, identify="source")) == 0b101
    assert identify(entry(1, ats=False)) == 0


def test_static_addresses_take_two_ways() -> None:
    same = [a for a in range(20000) if fdb_set(a, 5, 512) == fdb_set(0, 5, 512)][:3]
    written = [c for c in commits(SwitchConfig(static_addresses=[(a, 5, {1, 2}) for a in same[:2]]))
               if c[0] is Table.FDB]  # fmt: skip
    assert [index >> 15 for _, index, _ in written] == [0, 1]
    assert written[1][2] == 0b11 << 70 | 3 << 68 | 0b110 << 60 | 5 << 48 | same[1]
    with pytest.raises(ConfigurationError, match="share its hash"):
        configure(SwitchConfig(static_addresses=[(a, 5, {1}) for a in same]), REGISTERS)


def test_groups_and_vlans() -> None:
    written = list(commits(SwitchConfig(max_residence_ns={(2, 7): 500_000}, vlans={10: {0, 3}})))
    assert (Table.GROUP, 2 << 3 | 7, 500_000) in written
    assert (Table.VLAN, 10, 0b1001) in written


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (SwitchConfig(ports=9), "ports: number of ports is 9; allowed are 2 to 8"),
        (SwitchConfig(vlans={10: {4}}), r"vlans\[10\]: port is 4; allowed are 0 to 3"),
        (SwitchConfig(vlans={4095: {1}}), "VLAN id is 4095"),
        (SwitchConfig(class_of_pcp=[0] * 7), "needed is one per code point"),
        (SwitchConfig(class_of_pcp=[8] * 8), r"class_of_pcp\[0\]: traffic class is 8"),
        (SwitchConfig(max_frame_bytes=2001), "allowed are 64 to 2000"),
        (SwitchConfig(port_vlan_id=[1]), "needed is one per port: 4"),
        (SwitchConfig(streams=[entry(1, rate_bps=1_000_000_001)]), "streams.s1: rate in bits per second"),
        (SwitchConfig(streams=[entry(1, rate_bps=9_999)]), "allowed are 10000 to 1000000000"),
        (SwitchConfig(streams=[entry(1, rate_bps=10_000, burst_bytes=100_000)]), "bytes are allowed at this rate"),
        (SwitchConfig(streams=[entry(1, port=4)]), "reception port is 4"),
        (SwitchConfig(streams=[entry(n) for n in range(257)]), "the switch has 256 schedulers"),
        (SwitchConfig(max_residence_ns={(0, 7): 2_000_000_000}), "residence time"),
        (SwitchConfig(processing_delay_max_ns=50_000_001), "delay in nanoseconds is 50000001"),
        (SwitchConfig(queue_guarantee_cells=20), "the three shares go together"),
        (
            SwitchConfig(queue_guarantee_cells=20, reception_guarantee_cells=24, shared_limit_cells=300),
            "the shares take 1180 cells",
        ),
        (SwitchConfig(ipv4_fields={"ttl"}), "unknown field ttl"),
    ],
)
def test_what_cannot_be_is_said(config: SwitchConfig, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        configure(config, REGISTERS)


def gated(**changes: Any) -> SwitchConfig:
    gates = GateControl([(0x81, 50_000), (0x7E, 200_000)], 250_000, 3 * 10**9 + 7, 1_000, 0x0F)
    values = {"ports": 4, "gates": {2: gates}, "idle_slope_bps": {(2, 5): 100_000_000, (1, 0): 1_000_000_000}}
    return SwitchConfig(**{**values, "count_gap": True, "max_class_frame_bytes": {(3, 1): 1518}, **changes})


def test_gates_and_credit_are_written() -> None:
    """Of 100 Mb/s 13421772.8 units of 2^-24 bit in 8 ns, rounded down; index {port, class}."""
    found = list(commits(gated()))
    assert [(i, d) for t, i, d in found if t is Table.GATE_ENTRY] == [
        (0, 0x81 << 32 | 50_000),
        (1, 0x7E << 32 | 200_000),
    ]
    assert [(i, d) for t, i, d in found if t is Table.CREDIT] == [
        (2 << 3 | 5, 1 << 96 | 13_421_772),
        (8, 1 << 96 | 1 << 27),
    ]
    assert [(i, d) for t, i, d in found if t is Table.MAX_SDU] == [(3 << 3 | 1, 1518)]
    written = dict(configure(gated(), REGISTERS))
    names = ["admin_base_time_seconds_low", "admin_base_time_nanoseconds", "admin_cycle_time",
             "admin_cycle_time_extension", "admin_control_list_length", "admin_gate_states[2]",
             "gate_enable", "gate_commit", "cbs_count_gap"]  # fmt: skip
    assert [written[REGISTERS.address(name)] for name in names] == [3, 7, 250_000, 1_000, 2, 0x0F, 0b100, 2, 1]


def test_each_list_is_committed_after_its_entries() -> None:
    """One list is staged for all ports."""
    lists = {p: GateControl([(1 << p, 100 + p)], 100 + p) for p in (3, 0)}
    order = []
    for address, value in configure(SwitchConfig(ports=4, gates=lists), REGISTERS):
        if address == REGISTERS.address("gate_commit"):
            order.append(("commit", value))
        if address == REGISTERS.address("table_commit") and value == Table.GATE_ENTRY:
            order.append(("entry", 0))
    assert order == [("entry", 0), ("commit", 3), ("entry", 0), ("commit", 0)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gates": {0: GateControl([], 1_000)}}, r"gates\[0\]: number of gate entries is 0; allowed are 1 to 128"),
        ({"gates": {0: GateControl([(1, 99)] * 129, 1_000)}}, "number of gate entries is 129"),
        ({"gates": {0: GateControl([(1, 63)], 1_000)}}, r"entries\[0\]: interval in nanoseconds is 63; allowed are 64"),
        ({"gates": {0: GateControl([(256, 64)], 1_000)}}, "gate states is 256"),
        ({"gates": {0: GateControl([(1, 64)], 0)}}, "cycle time in nanoseconds is 0"),
        ({"gates": {0: GateControl([(1, 64)], 64, 2**63)}}, "base time in nanoseconds is 9223372036854775808"),
        ({"gates": {4: GateControl([(1, 64)], 64)}}, "port is 4; allowed are 0 to 3"),
        (
            {"idle_slope_bps": {(0, 5): 1_000_000_001}},
            r"idle_slope_bps\[0, 5\]: idle slope in bits per second is 10000",
        ),
        ({"idle_slope_bps": {(0, 5): 0}}, "idle slope in bits per second is 0"),
        ({"max_class_frame_bytes": {(0, 8): 100}}, "traffic class is 8"),
        ({"max_class_frame_bytes": {(0, 1): 63}}, "longest frame in bytes is 63"),
    ],
)
def test_gates_and_credit_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        configure(gated(**changes), REGISTERS)
