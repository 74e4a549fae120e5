# SPDX-License-Identifier: Apache-2.0
"""Every kind of damage on the wire is counted under its own reason, and hurts no other frame."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from penstock.hardware.traffic import station_address
from switch_bench import Bench, Fate, frame

GOOD = frozenset({1})  # from port 0, known at port 1


@dataclass(frozen=True)
class Damage:
    """A carrier event as the wire brings it, and the reason that it has to be counted under."""

    reason: str
    data: bytes
    preamble: int = 7
    delimiter: bool = True
    rx_er_at: int | None = None
    at_least_gap: int = 12


def good(size: int, seed: int, source_port: int = 0) -> bytes:
    destination = station_address((source_port + 1) % 4, 0)
    return frame(destination, station_address(source_port, 0), size, vlan=1, pcp=seed % 8, seed=seed)


def flipped(data: bytes, bit: int) -> bytes:
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


def runts() -> list[Damage]:
    whole = [frame(station_address(1, 0), station_address(0, 0), size, seed=size) for size in range(18, 64)]
    return [Damage("runt", good(64, size)[:size]) for size in range(64)] + [Damage("runt", data) for data in whole]


def giants() -> list[Damage]:
    return [Damage("giant", good(size, size)) for size in (1523, 1524, 1536, 1600, 2000, 2001, 2049, 4000, 9000)]


def bad_fcs() -> list[Damage]:
    found = []
    for size in (64, 65, 129, 1522):
        data = good(size, size)
        bits = (0, 47, 8 * 12, 8 * (size // 2) + 3, 8 * (size - 4), 8 * size - 1)
        found += [Damage("fcs", flipped(data, bit)) for bit in bits]
        found.append(Damage("fcs", data[:-4] + bytes(4)))
    return found


def errors_in_mid_frame() -> list[Damage]:
    found = []
    for size in (64, 71, 128, 1000, 1522):
        found += [Damage("rx_er", good(size, size), rx_er_at=at) for at in (0, 1, 13, size // 2, size - 2, size - 1)]
    # The error of the PHY comes before all else that is wrong.
    found.append(Damage("rx_er", good(64, 0)[:30], rx_er_at=29))
    found.append(Damage("rx_er", good(1600, 0), rx_er_at=100))
    found.append(Damage("rx_er", flipped(good(100, 0), 400), rx_er_at=50))
    return found


def cut_off() -> list[Damage]:
    data = good(1522, 3)
    return [
        Damage("runt" if size < 64 else "fcs", data[:size]) for size in (1, 12, 63, 64, 65, 127, 128, 129, 256, 1521)
    ]


def no_delimiter() -> list[Damage]:
    found = [Damage("preamble", b"", preamble=length, delimiter=False) for length in (1, 2, 7, 8, 64)]
    found += [Damage("preamble", b"\x55" * size, delimiter=False) for size in (1, 57, 64, 500, 3000)]
    found.append(Damage("preamble", bytes(range(0xD5)) * 3, delimiter=False))
    return found


KINDS = {
    "runts": runts,
    "giants": giants,
    "bad FCS": bad_fcs,
    "rx_er": errors_in_mid_frame,
    "cut off": cut_off,
    "no delimiter": no_delimiter,
}


def send_damage(bench: Bench, damage: Damage, gap: int = 12) -> Fate:
    return bench.send(
        0, damage.data, gap=gap, preamble=damage.preamble, delimiter=damage.delimiter, rx_er_at=damage.rx_er_at
    )


@pytest.mark.parametrize("kind", KINDS)
def test_damage_has_its_reason_and_its_neighbours_pass(kind: str) -> None:
    bench = Bench()
    bench.introduce()
    rng = random.Random(kind)
    expected: list[tuple[Fate, str | frozenset[int]]] = []
    for n, damage in enumerate(KINDS[kind]()):
        expected.append((bench.send(0, good(rng.choice((64, 65, 127, 128, 129, 300)), n)), GOOD))
        expected += [(send_damage(bench, damage), damage.reason) for _ in range(rng.randint(1, 3))]
    for n in range(100):  # and the other ports are busy all the while
        for port in (1, 2, 3):
            size = rng.randint(64, 600)
            expected.append((bench.send(port, good(size, n, port)), frozenset({(port + 1) % 4})))
    bench.finish()
    assert [fate.fate for fate, _ in expected] == [wanted for _, wanted in expected]


def test_all_kinds_of_damage_on_all_ports_at_once_at_line_rate() -> None:
    bench = Bench()
    bench.introduce()
    rng = random.Random(7)
    everything = [damage for kind in KINDS.values() for damage in kind() if len(damage.data) < 2001]
    expected: list[tuple[Fate, str | frozenset[int]]] = []
    for port in range(4):
        for n in range(300):
            if rng.random() < 0.5:
                damage = rng.choice(everything)
                sent = bench.send(
                    port, damage.data, preamble=damage.preamble, delimiter=damage.delimiter, rx_er_at=damage.rx_er_at
                )
                expected.append((sent, damage.reason))
            else:
                expected.append((bench.send(port, good(rng.randint(64, 400), n, port)), frozenset({(port + 1) % 4})))
    bench.finish()
    assert [fate.fate for fate, _ in expected] == [wanted for _, wanted in expected]


def test_short_gaps_are_counted_and_cost_no_frame() -> None:
    bench = Bench()
    bench.introduce()
    expected = []
    bench.send(0, good(64, 0))
    for gap in (*range(1, 14), 11, 1, 1, 1, 12, 12):
        expected += [(bench.send(0, good(size, gap), gap=gap), gap < 12) for size in (64, 65, 200)]
    bench.finish()
    assert [(fate.fate, fate.short_gap) for fate, _ in expected] == [(GOOD, short) for _, short in expected]


def test_short_gaps_between_damaged_frames() -> None:
    bench = Bench()
    bench.introduce()
    rng = random.Random(3)
    everything = [damage for kind in KINDS.values() for damage in kind()]
    expected: list[tuple[Fate, str | frozenset[int]]] = []
    for n, damage in enumerate(everything):
        expected.append((send_damage(bench, damage, gap=rng.randint(1, 12)), damage.reason))
        expected.append((bench.send(0, good(rng.randint(64, 300), n), gap=rng.randint(1, 12)), GOOD))
    bench.finish()
    assert [fate.fate for fate, _ in expected] == [wanted for _, wanted in expected]


def test_a_preamble_may_have_any_length() -> None:
    bench = Bench()
    bench.introduce()
    sent = [bench.send(0, good(64 + n, n), preamble=n) for n in (0, 1, 2, 6, 7, 8, 15, 40)]
    bench.finish()
    assert [fate.fate for fate in sent] == [GOOD] * len(sent)


@pytest.mark.parametrize(
    ("register", "limit"), [(n, n) for n in (64, 65, 128, 1518, 1522, 1536, 1999, 2000)] + [(2047, 2000)]
)
def test_longest_frame_by_register(register: int, limit: int) -> None:
    bench = Bench()
    bench.introduce()
    bench.write("max_frame", bytes=register)
    bench.rest()
    fit = [bench.send(0, good(size, size)) for size in sorted({64, max(64, limit - 1), limit}) for _ in range(3)]
    giants = [bench.send(0, good(limit + more, more)) for more in (1, 2, 8, 128, 700) for _ in range(2)]
    fit += [bench.send(0, good(limit, n)) for n in range(3)]
    bench.finish()
    assert {fate.fate for fate in fit} == {GOOD}
    assert {fate.fate for fate in giants} == {"giant"}


def test_longest_frames_at_line_rate_from_all_ports() -> None:
    bench = Bench()
    bench.introduce()
    bench.write("max_frame", bytes=2000)
    bench.rest()
    for n in range(40):
        for port in range(4):
            bench.send(port, good(2000 - n % 17, n, port))
    bench.finish()
    assert all(fate.reason is None and not fate.refused for fate in bench.fates.values())
    for port in range(4):
        bench.check_selection(port)


@pytest.mark.parametrize("kind", ["fcs", "rx_er", "giant"])
def test_damaged_frames_give_all_their_cells_back(kind: str) -> None:
    bench = Bench()
    bench.introduce()
    bench.write("max_frame", bytes=300)
    bench.rest()
    count = 1500  # more than there are cells
    for n in range(count):
        if kind == "fcs":
            bench.send(n % 4, flipped(good(290, n), 1000))
        elif kind == "rx_er":
            bench.send(n % 4, good(200 + n % 80, n), rx_er_at=199)
        else:
            bench.send(n % 4, good(301 + n % 3, n))
    bench.run_out()
    sent = [bench.send(0, good(300, n)) for n in range(20)]
    bench.finish()
    assert Counter(fate.reason for fate in bench.fates.values())[kind] == count
    assert {fate.fate for fate in sent} == {GOOD}
