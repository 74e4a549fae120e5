# SPDX-License-Identifier: Apache-2.0
"""More than fits: what is refused is counted, and guarantees hold, order and gap too."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from penstock.hardware.configure import SwitchConfig
from penstock.hardware.traffic import BROADCAST, station_address
from switch_bench import PORTS, Bench, Fate, cells, frame

QUEUE_GUARANTEE, RECEPTION_GUARANTEE = 12, 24
PCP_OF_CLASS = [1, 0, 4, 5, 6, 7, 2, 3]


def to(port: int, source: int, traffic_class: int, size: int, seed: int = 0) -> bytes:
    destination = station_address(port, 0)
    return frame(destination, station_address(source, 0), size, vlan=1, pcp=PCP_OF_CLASS[traffic_class], seed=seed)


def flood(
    bench: Bench, sources: Sequence[int], out: int, count: int, kind: Callable[[int], int], size: Callable[[], int]
) -> list[Fate]:
    """Each source sends that many frames to one output, back to back; `kind` gives the class of the n-th."""
    return [bench.send(p, to(out, p, kind(n), size(), n)) for n in range(count) for p in sources]


def reasons(bench: Bench) -> Counter[str]:
    return Counter(reason for fate in bench.fates.values() for reason in fate.refused.values())


def check(bench: Bench, queue_limit: int = 256) -> Counter[str]:
    bench.finish()
    for port in range(PORTS):
        bench.check_selection(port)
    refused = reasons(bench)
    assert bench.check_guarantees(QUEUE_GUARANTEE, RECEPTION_GUARANTEE, queue_limit) == refused.total()
    assert all(fate.reason is None for fate in bench.fates.values())
    return refused


def test_all_ports_to_one_output_in_all_classes() -> None:
    rng = random.Random(1)
    bench = Bench()
    bench.introduce()
    flood(bench, (1, 2, 3), 0, 700, lambda n: rng.randrange(8), lambda: rng.choice((64, 127, 500, 1522)))
    refused = check(bench)
    assert refused["store_full"] > 100
    lost = Counter(fate.traffic_class for fate in bench.fates.values() if fate.refused)
    assert lost[0] > 2 * lost[7]


def test_all_ports_overloaded_at_once() -> None:
    # Everybody sends to port 0 and 1 and to everybody: overbooked in all places.
    rng = random.Random(2)
    bench = Bench()
    bench.introduce()
    for n in range(600):
        for port in range(PORTS):
            if rng.random() < 0.15:
                data = frame(BROADCAST, station_address(port, 0), rng.randint(64, 1522), vlan=1, pcp=rng.randrange(8))
                bench.send(port, data)
            else:
                out = rng.choice([p for p in (0, 0, 0, 1, 1, 2, 3) if p != port])
                bench.send(port, to(out, port, rng.randrange(8), rng.randint(64, 1522), n))
    refused = check(bench)
    assert refused["store_full"] > 50


def test_queue_full() -> None:
    bench = Bench()
    bench.introduce()
    flood(bench, (1, 2, 3), 0, 300, lambda n: 4, lambda: 300)
    refused = check(bench)
    assert set(refused) == {"queue_full"}
    assert bench.counters(0)["refused_queue"] == refused["queue_full"]


@pytest.mark.parametrize("limit", [1, 12, 50])
def test_queue_limit_is_exact(limit: int) -> None:
    bench = Bench()
    bench.introduce()
    bench.write("queue_limit[3]", cells=limit)
    bench.rest()
    blocker = bench.send(1, to(0, 1, 3, 1522)) if limit >= 12 else bench.send(1, to(0, 1, 4, 1522))
    late = bench.now + 1700
    sent = [bench.send(2 + n % 2, to(0, 2 + n % 2, 3, 64, n), at=late) for n in range(80)]
    bench.finish()
    before = [f for f in sent if f.judged < blocker.left[0] + 1522]  # while nothing has left
    assert [not f.refused for f in sorted(before, key=lambda f: f.judged)][: limit + 1].count(True) <= limit
    at_most = max(
        sum(cells(f.size) for f in sent if not f.refused and f.judged <= t.judged and f.left[0] > t.judged + 12)
        for t in sent
    )
    assert at_most == limit if limit < 20 else at_most <= limit
    assert set(reasons(bench)) <= {"queue_full"}


def test_class_full() -> None:
    bench = Bench(SwitchConfig(vlans={1: set(range(PORTS))}, class_limit_cells={2: 60}))
    bench.introduce()
    flood(bench, (1, 2, 3), 0, 150, lambda n: 2 if n % 3 else 5, lambda: 400)
    bench.finish()
    refused = reasons(bench)
    assert set(refused) == {"class_full"}
    assert {f.traffic_class for f in bench.fates.values() if f.refused} == {2}


def test_a_class_at_its_limit_does_not_take_the_guarantee_of_another_output() -> None:
    # Ports 1 and 2 fill class 2 with frames to port 0; what port 3 sends in that class to port 1 still has its share.
    bench = Bench(SwitchConfig(vlans={1: set(range(PORTS))}, class_limit_cells={2: 60}))
    bench.introduce()
    flood(bench, (1, 2), 0, 200, lambda n: 2, lambda: 400)
    victim = [bench.send(3, to(1, 3, 2, 1522, n), gap=2000) for n in range(20)]
    bench.finish()
    assert reasons(bench)["class_full"] > 20
    assert all(not fate.refused for fate in victim)


@pytest.mark.parametrize("babblers", [(1, 2), (2, 3), (1, 3)])
def test_babbling_ports_leave_every_other_its_share(babblers: tuple[int, int]) -> None:
    rng = random.Random(3)
    bench = Bench()
    bench.introduce()
    # The low classes fill up, and with them all that is shared.
    flood(bench, babblers, 0, 500, lambda n: n % 4, lambda: 1522)
    bench.run(150_000)  # and only then the others come
    assert reasons(bench)["store_full"] + reasons(bench)["queue_full"] > 0
    full = bench.now
    quiet = next(p for p in (1, 2, 3) if p not in babblers)
    kept = []
    for n in range(60):
        # To other outputs, in all classes; and into the output in trouble, in a class that is not.
        out = rng.choice([p for p in (1, 2, 3) if p != quiet])
        kept.append(bench.send(quiet, to(out, quiet, rng.randrange(8), rng.randint(64, 1522), n), gap=1600))
        kept.append(bench.send(quiet, to(0, quiet, 7, rng.randint(64, 1522), n), gap=1600))
    # A babbling port itself has its share at the queues that do not babble.
    bench.run_out()
    assert all(fate.judged > full and not fate.refused for fate in kept)
    assert sum(fate.judged > full and bool(fate.refused) for fate in bench.fates.values()) > 50
    check(bench)


def test_a_reception_port_has_its_share_in_a_starved_class() -> None:
    # Class 0 gets nothing while others babble above it; the first two frames of port 3 are taken all the same.
    bench = Bench()
    bench.introduce()
    flood(bench, (1, 2), 0, 500, lambda n: 1 + n % 5, lambda: 1522)
    bench.run(200_000)
    assert reasons(bench)["store_full"] > 0
    sent = [bench.send(3, to(0, 3, 1, 1522, n)) for n in range(8)]
    bench.run(20_000)
    taken = [not fate.refused for fate in sent]
    assert taken[:2] == [True, True]
    assert not all(taken)
    check(bench)


def test_broadcast_storm() -> None:
    rng = random.Random(4)
    bench = Bench()
    bench.introduce()
    for n in range(400):
        for port in range(PORTS):
            data = frame(
                BROADCAST, station_address(port, 0), rng.randint(64, 1522), vlan=1, pcp=rng.randrange(8), seed=n
            )
            bench.send(port, data)
    refused = check(bench)
    assert refused.total() > 100


def test_highest_class_first_with_all_classes_backlogged() -> None:
    bench = Bench()
    bench.introduce()
    # A long frame holds the output while a frame of every class from every port gathers, lowest class first.
    blocker = bench.send(1, to(0, 1, 5, 1522))
    at = bench.now + 1700
    sent = [bench.send(p, to(0, p, k, 64 + 3 * k, k), at=at) for k in range(8) for p in (2, 3)]
    bench.finish()
    bench.check_selection(0)
    out = bench.departures(0)[-17:]
    assert out[0] is blocker
    assert [fate.traffic_class for fate in out[1:]] == [k for k in range(7, -1, -1) for _ in range(2)]
    assert set(map(id, out[1:])) == set(map(id, sent))
    for before, after in itertools.pairwise(out):
        assert after.left[0] - before.left[0] == before.size + 12 + 8  # gap, preamble and delimiter


def test_line_rate_in_and_out_with_nothing_overbooked() -> None:
    rng = random.Random(6)
    bench = Bench()
    bench.introduce()
    for n in range(300):
        for port in range(PORTS):
            size = rng.choice((64, 65, 127, 512, 1522, rng.randint(64, 1522)))
            bench.send(port, to((port + 1) % PORTS, port, rng.randrange(8), size, n))
    assert check(bench).total() == 0
