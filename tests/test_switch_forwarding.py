# SPDX-License-Identifier: Apache-2.0
"""Forwarding, VLANs and traffic classes of the whole switch, frame by frame."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from penstock.hardware.configure import SwitchConfig, fdb_set
from penstock.hardware.traffic import BROADCAST, as_number, station_address
from switch_bench import PORTS, Bench, frame

ALL = frozenset(range(PORTS))
MS = 125_000  # cycles
TABLE_1 = (1, 0, 6, 7, 2, 3, 4, 5)
A, B, C = (bytes([2, 0, 0, 0, 9, n]) for n in range(3))


class Walk:
    """Sends one frame after the other and says where each came out."""

    def __init__(self, config: SwitchConfig | None = None) -> None:
        self.bench = Bench(config)

    def __call__(
        self, port: int, destination: bytes, source: bytes, *, vlan: int | None = None, pcp: int = 0
    ) -> str | frozenset[int]:
        sent = self.bench.send(port, frame(destination, source, vlan=vlan, pcp=pcp), at=self.bench.now + 20)
        self.bench.run(500)
        return sent.fate

    def pass_time(self, cycles: int) -> None:
        self.bench.switch.run(self.bench.now + cycles)


def config(**changes: object) -> SwitchConfig:
    vlans = {1: set(ALL), 10: {0, 1, 2}, 20: {0, 3}}
    return SwitchConfig(**({"vlans": vlans} | changes))  # type: ignore[arg-type]


def ports(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


def test_learning_and_flooding() -> None:
    send = Walk()
    assert send(0, B, A) == ports(1, 2, 3)  # B has not spoken
    assert send(2, A, B) == ports(0)  # A has
    assert send(0, B, A) == ports(2)
    assert send(3, BROADCAST, C) == ports(0, 1, 2)
    assert send(1, C, station_address(1, 0)) == ports(3)
    assert send(1, bytes([3, 0, 0, 0, 0, 1]), A) == ports(0, 2, 3)  # a group address is not looked for
    send.bench.finish()


def test_a_station_that_moves() -> None:
    send = Walk()
    for port in (0, 3, 1, 2, 0):
        assert send(port, BROADCAST, A) == ALL - {port}
        for other in ALL - {port}:
            assert send(other, A, station_address(other, 1)) == ports(port)
    send.bench.finish()


def test_never_out_of_the_port_it_came_by() -> None:
    send = Walk()
    send(1, BROADCAST, A)
    assert send(1, A, B) == "no_destination"
    assert send(1, A, A) == "no_destination"
    send.bench.finish()
    assert send.bench.counters(1)["dropped[10]"] == 2


def test_group_addresses_as_source_are_not_learnt() -> None:
    send = Walk()
    group = bytes([1, 0, 0x5E, 1, 2, 3])
    assert send(0, BROADCAST, group) == ports(1, 2, 3)
    assert send(1, group, A) == ports(0, 2, 3)
    send.bench.finish()


def test_learning_is_per_vlan() -> None:
    send = Walk(config())
    assert send(0, BROADCAST, A, vlan=10) == ports(1, 2)
    assert send(3, A, B, vlan=1) == ports(0, 1, 2)
    assert send(1, A, C, vlan=10) == ports(0)
    assert send(0, BROADCAST, A, vlan=1) == ports(1, 2, 3)
    assert send(3, A, B, vlan=1) == ports(0)
    send.bench.finish()


def test_learning_can_be_switched_off() -> None:
    send = Walk(config(learning=False))
    send(2, BROADCAST, A)
    assert send(0, A, B) == ports(1, 2, 3)
    send.bench.write("learning", enable=1)
    send(2, BROADCAST, A)
    assert send(0, A, C) == ports(2)
    send.bench.finish()


def test_nothing_is_learnt_from_damaged_frames_or_where_the_vlan_is_not() -> None:
    send = Walk(config())
    bench = send.bench
    damaged = bytearray(frame(BROADCAST, A, 100))
    damaged[60] ^= 4
    bench.send(2, bytes(damaged))
    bench.run(500)
    assert send(0, A, B) == ports(1, 2, 3)
    assert send(3, BROADCAST, A, vlan=10) == "vlan"
    assert send(0, A, B, vlan=10) == ports(1, 2)
    bench.finish()


@pytest.mark.parametrize("period_ms", [1, 10, 400])
def test_aging(period_ms: int) -> None:
    send = Walk(config(aging_period_ms=period_ms))
    send.pass_time(period_ms * MS // 3)
    send(2, BROADCAST, A)
    send.pass_time(2 * period_ms * MS - 40_000)
    assert send(0, A, B) == ports(2)  # known for two periods at least
    send.pass_time(period_ms * MS + 40_000)
    assert send(0, A, B) == ports(1, 2, 3)  # and forgotten after three
    send(2, BROADCAST, A)
    for _ in range(8):  # a station that speaks stays known
        send.pass_time(period_ms * MS)
        assert send(0, A, B) == ports(2)
        send(2, B, A)
    send.bench.finish()


def test_static_entries_do_not_age_move_or_get_lost() -> None:
    group = bytes([1, 0, 0x5E, 0, 0, 7])
    send = Walk(
        config(
            aging_period_ms=1,
            static_addresses=[
                (as_number(A), 1, {3}),
                (as_number(group), 1, {1, 2}),
                (as_number(B), 10, {0, 1, 3}),
                (as_number(C), 1, set()),
            ],
        )
    )
    for _ in range(2):
        assert send(0, A, station_address(0, 1)) == ports(3)
        assert send(1, BROADCAST, A) == ports(0, 2, 3)  # A speaks elsewhere
        assert send(0, A, station_address(0, 1)) == ports(3)
        assert send(0, group, station_address(0, 1)) == ports(1, 2)
        assert send(1, group, station_address(1, 1)) == ports(2)
        assert send(3, A, station_address(3, 1)) == "no_destination"
        # Only to members of the VLAN, whatever the entry says.
        assert send(0, B, station_address(0, 1), vlan=10) == ports(1)
        assert send(0, C, station_address(0, 1)) == "no_destination"
        send.pass_time(20 * MS)
    send.bench.finish()


def test_more_stations_than_a_set_of_the_database_holds() -> None:
    sets = Bench().read("fdb_sets")
    crowd = [m for m in range(0x020000100000, 0x020000110000) if fdb_set(m, 1, sets) == 5][:4]
    send = Walk(config(static_addresses=[(crowd[0], 1, {1})]))
    first, *others = (m.to_bytes(6, "big") for m in crowd)
    for other in others:
        send(2, BROADCAST, other)
    assert send(0, first, A) == ports(1)  # the static one stands
    assert send(0, others[-1], A) == ports(2)  # and the last that spoke
    assert send(0, others[0], A) == ports(1, 2, 3)  # another one made room
    send.bench.finish()


@pytest.mark.parametrize("last", [*range(16)])
def test_reserved_addresses_are_never_forwarded(last: int) -> None:
    address = bytes([1, 0x80, 0xC2, 0, 0, last])
    send = Walk(config(static_addresses=[(as_number(address), 1, {1, 2, 3})]))
    for vlan in (None, 0, 1):
        assert send(0, address, A, vlan=vlan) == "reserved_address"
    send.bench.finish()
    assert send.bench.counters(0) == {"dropped[8]": 3}


def test_neighbours_of_the_reserved_addresses_are_forwarded() -> None:
    send = Walk()
    for text in ("0180c2000010", "0180c20000ff", "0180c1000000", "0180c2000100", "0080c2000000"):
        assert send(0, bytes.fromhex(text), A) == ports(1, 2, 3)
    send.bench.finish()


def test_vlan_membership() -> None:
    send = Walk(config())
    assert send(0, BROADCAST, A, vlan=10) == ports(1, 2)
    assert send(3, BROADCAST, B, vlan=10) == "vlan"
    assert send(0, BROADCAST, A, vlan=20) == ports(3)
    assert send(1, BROADCAST, C, vlan=20) == "vlan"
    for vlan in (2, 99, 4094):  # exists nowhere
        assert send(0, BROADCAST, A, vlan=vlan) == "vlan"
    assert send(0, BROADCAST, A, vlan=4095) == "vlan"  # reserved
    send.bench.finish()


def test_every_port_combination_of_a_vlan() -> None:
    vlans = {100 + mask: {p for p in range(PORTS) if mask >> p & 1} for mask in range(16)}
    send = Walk(config(vlans=vlans))
    for vlan, members in vlans.items():
        for port in range(PORTS):
            out = frozenset(members - {port})
            expected = "vlan" if port not in members else out or "no_destination"
            assert send(port, BROADCAST, A, vlan=vlan) == expected, (vlan, port)
    send.bench.finish()


def test_untagged_and_priority_tagged_frames_take_the_vlan_of_the_port() -> None:
    send = Walk(config(port_vlan_id=[1, 10, 10, 20]))
    assert send(1, BROADCAST, A) == send(1, BROADCAST, A, vlan=0, pcp=5) == ports(0, 2)
    assert send(3, BROADCAST, B) == send(3, BROADCAST, B, vlan=0) == ports(0)
    assert send(0, BROADCAST, C) == ports(1, 2, 3)
    assert send(0, A, C, vlan=10) == ports(1)  # learnt in the port's VLAN
    assert send(0, A, C) == ports(1, 2, 3)
    send.bench.write("port_vlan[0]", vlan=10)
    assert send(0, A, C) == ports(1)
    send.bench.finish()


def classes(bench: Bench, tags: Iterable[tuple[int | None, int]]) -> list[int]:
    sent = [bench.send(0, frame(BROADCAST, A, vlan=vlan, pcp=pcp)) for vlan, pcp in tags]
    bench.run_out()
    return [fate.traffic_class for fate in sent]


def test_traffic_classes_by_default_and_by_register() -> None:
    bench = Bench()
    every = [(vlan, pcp) for vlan in (0, 1) for pcp in range(8)]
    assert classes(bench, every) == [*TABLE_1, *TABLE_1]
    assert classes(bench, [(None, 0)]) == [5]
    for shift in range(8):
        mapped = [(3 * pcp + shift) % 8 for pcp in range(8)]
        bench.write("class_of_pcp", **{f"pcp{pcp}": k for pcp, k in enumerate(mapped)})
        bench.write("class_of_untagged", value=shift)
        bench.rest()
        assert classes(bench, every) == [*mapped, *mapped]
        assert classes(bench, [(None, 0)]) == [shift]
    bench.finish()


def test_disabled_ports_neither_receive_nor_send() -> None:
    send = Walk(config(enabled_ports={0, 1, 3}))
    assert send(2, BROADCAST, A) == "port_disabled"
    assert send(0, BROADCAST, B) == ports(1, 3)
    assert send(0, A, B) == ports(1, 3)  # nothing was learnt at port 2
    send.bench.write("port_enable", mask=0b0100)
    assert send(0, BROADCAST, B) == "port_disabled"
    send.bench.write("port_enable", mask=0b1111)
    assert send(2, BROADCAST, A) == ports(0, 1, 3)
    send.bench.finish()
