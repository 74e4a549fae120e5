# SPDX-License-Identifier: Apache-2.0
"""Registers and tables are written without end while all ports are at line rate: not one frame is lost or damaged."""

from __future__ import annotations

import random

from penstock.hardware.configure import StreamEntry, SwitchConfig, Table, configure, fdb_set
from penstock.hardware.traffic import as_number, station_address
from switch_bench import PORTS, Bench, frame

VLAN = 10
SETTLE = 64  # cycles around a commit in which a frame may meet either entry


def line_rate(bench: Bench, rng: random.Random, count: int, to: bytes | None = None) -> None:
    """Every port to the next one, back to back, in all classes and sizes."""
    for n in range(count):
        for port in range(PORTS):
            size = rng.choice((64, 65, 128, 129, rng.randint(64, 1522)))
            destination = station_address((port + 1) % PORTS, 0) if to is None or port != 0 else to
            data = frame(destination, station_address(port, 0), size, vlan=VLAN, pcp=rng.randrange(8), seed=n)
            bench.send(port, data)


def test_a_storm_of_commits_costs_no_frame() -> None:
    rng = random.Random(1)
    everybody = set(range(PORTS))
    settings = SwitchConfig(
        vlans={1: everybody, VLAN: everybody},
        static_addresses=[(as_number(station_address(p, 0)), VLAN, {p}) for p in range(PORTS)],
        streams=[
            StreamEntry(
                p, "destination", 1_000_000_000, 100_000, mac=as_number(station_address((p + 1) % PORTS, 0)), vlan=VLAN
            )
            for p in range(PORTS)
        ],
        max_residence_ns={(p, k): 10_000_000 for p in range(PORTS) for k in (6, 7)},
    )
    bench = Bench(settings)
    line_rate(bench, rng, 250)
    # The whole configuration once more, each table and register as it is; but the ports stay on.
    again = [(a, v) for a, v in configure(settings, bench.registers) if a != bench.registers.address("port_enable")]
    writes = 0
    sets = bench.read("fdb_sets")
    while bench.switch.waiting:
        for address, value in again:
            bench.switch.write(address, value)
            writes += 1
        # And entries that no frame of ours meets.
        stranger = rng.getrandbits(46) << 2 | 0x020000000000
        way, index = rng.randrange(2), fdb_set(stranger, VLAN, sets)
        if all(fdb_set(as_number(station_address(p, 0)), VLAN, sets) != index for p in range(PORTS)):
            bench.commit(Table.FDB, way << 15 | index, rng.getrandbits(1) << 71 | 15 << 60 | VLAN << 48 | stranger)
        bench.commit(Table.VLAN, rng.randint(100, 4000), rng.getrandbits(8))
        bench.commit(Table.STREAM_RATE, 100 + rng.randrange(100), rng.getrandbits(96))
        bench.run(rng.randrange(50))
    assert writes > 3000
    bench.finish()
    assert all(fate.fate == frozenset({(fate.port + 1) % PORTS}) for fate in bench.fates.values())
    for fate in bench.fates.values():
        assert fate.shaped == (fate.traffic_class in (6, 7))
    for port in range(PORTS):
        bench.check_selection(port)


def test_an_entry_acts_whole_from_one_frame_to_the_next() -> None:
    # A group address leads to ports 1 and 2 or to port 3, in turns: no frame goes anywhere else.
    rng = random.Random(2)
    group = bytes([1, 0, 0x5E, 0, 0, 5])
    everybody = set(range(PORTS))
    bench = Bench(SwitchConfig(vlans={VLAN: everybody}, static_addresses=[(as_number(group), VLAN, {1, 2})]))
    bench.introduce(vlan=VLAN)
    for n in range(600):
        data = frame(group, station_address(0, 0), rng.randint(64, 200), vlan=VLAN, pcp=n % 8, seed=n)
        bench.send(0, data)
    sent = list(bench.fates.values())[PORTS:]
    index = fdb_set(as_number(group), VLAN, bench.read("fdb_sets"))
    turns = [(0, bench.now, 0b0110)]
    while bench.switch.waiting:
        bench.run(rng.randint(1, 800))
        members = rng.choice((0b0110, 0b1000))
        begun = bench.now
        bench.commit(Table.FDB, index, 1 << 71 | 1 << 70 | 3 << 68 | members << 60 | VLAN << 48 | as_number(group))
        turns.append((begun, bench.now, members))
    bench.finish()
    for fate in sent:
        allowed = {
            mask for (begun, _, mask), (_, ended, _) in zip(turns, [*turns[1:], (0, 1 << 60, 0)], strict=True)
            if begun < fate.judged and fate.judged < ended + SETTLE
        }  # fmt: skip
        assert sum(1 << port for port in fate.left) in allowed, fate
    assert len({fate.fate for fate in sent}) == 2


def test_vlan_members_change_under_load() -> None:
    rng = random.Random(3)
    everybody = set(range(PORTS))
    bench = Bench(SwitchConfig(vlans={VLAN: everybody, 20: everybody}))
    bench.introduce(vlan=VLAN)
    for port in range(PORTS):
        for n in range(300):
            vlan = 20 if port == 0 else VLAN
            destination = b"\xff" * 6 if port == 0 else station_address((port + 1) % PORTS, 0)
            size = rng.randint(64, 200) if port else rng.randint(400, 600)
            bench.send(port, frame(destination, station_address(port, 0), size, vlan=vlan, pcp=n % 8, seed=n))
    sent = list(bench.fates.values())[PORTS:]
    while bench.switch.waiting:
        bench.commit(Table.VLAN, 20, rng.choice((0b1111, 0b0011, 0b1110)))
        bench.run(rng.randrange(2000))
    bench.finish()
    for fate in sent:
        if fate.port == 0:
            assert fate.fate in ("vlan", frozenset({1}), frozenset({1, 2, 3}))
        else:
            assert fate.fate == frozenset({(fate.port + 1) % PORTS})
    assert len({fate.fate for fate in sent if fate.port == 0}) == 3


def test_counters_are_read_under_load() -> None:
    rng = random.Random(4)
    everybody = set(range(PORTS))
    bench = Bench(SwitchConfig(vlans={VLAN: everybody}))
    bench.introduce(vlan=VLAN)
    line_rate(bench, rng, 150)
    before = dict.fromkeys(range(PORTS), 0)
    while bench.switch.waiting:
        for port in range(PORTS):
            sent = bench.read(f"counters.port[{port}].sent_bytes")
            assert sent >= before[port]
            before[port] = sent
        bench.run(500)
    bench.finish()
    assert all(fate.reason is None and not fate.refused for fate in bench.fates.values())
