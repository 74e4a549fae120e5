# SPDX-License-Identifier: Apache-2.0
"""Asynchronous Traffic Shaping on the wire, held against an independent reference, the engine's twin and numbers.

The reference follows 802.1Q-2022, 8.6.11.3, in integers of 2^-16 ns, and shares no code with the engine.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from penstock import _engine
from penstock.hardware.configure import StreamEntry, SwitchConfig, Table, table_writes
from penstock.hardware.traffic import as_number, station_address
from switch_bench import CYCLE_NS, PORTS, Bench, Fate, arrival_to_visible, frame

TICKS = 1 << 16  # of a nanosecond
OVERHEAD = 20
VLAN = 10
PCP_OF_CLASS = {7: 3, 6: 2, 5: 7}
EARLIEST = arrival_to_visible()
DELAY_MAX_NS = EARLIEST * CYCLE_NS  # ProcessingDelayMax after reset


class Reference:
    """The schedulers of 802.1Q: streams by handle, groups by reception port and class."""

    def __init__(self) -> None:
        self.rate: dict[int, tuple[int, int]] = {}
        self.bucket_empty: dict[int, int] = {}
        self.group: dict[tuple[int, int], int] = {}
        self.max_residence_ns: dict[tuple[int, int], int] = {}

    def set_rate(self, stream: int, rate_bps: int, burst_bytes: int) -> None:
        per_byte = 8 * 10**9 * 2**24 // rate_bps
        self.rate[stream] = (per_byte, -(-burst_bytes * per_byte // 256))
        self.bucket_empty[stream] = -(1 << 90)

    def frame(self, port: int, traffic_class: int, stream: int, arrival_ns: int, wire_bytes: int) -> int | None:
        per_byte, empty_to_full = self.rate[stream]
        arrival = arrival_ns * TICKS
        recovery = wire_bytes * per_byte // 256
        scheduler_eligibility = self.bucket_empty[stream] + recovery
        bucket_full = self.bucket_empty[stream] + empty_to_full
        eligibility = max(arrival, self.group.get((port, traffic_class), -(1 << 90)), scheduler_eligibility)
        if eligibility > arrival + self.max_residence_ns.get((port, traffic_class), 10**9) * TICKS:
            return None
        self.group[port, traffic_class] = eligibility
        self.bucket_empty[stream] = scheduler_eligibility + max(0, eligibility - bucket_full)
        return eligibility


@dataclass(frozen=True)
class Flow:
    """A shaped stream: from the first station of a port to one of the stations of another, by destination address."""

    port: int
    to: int
    station: int  # behind `to`; tells the streams of a port apart
    traffic_class: int
    rate_bps: int
    burst_bytes: int

    def entry(self) -> StreamEntry:
        mac = as_number(station_address(self.to, self.station))
        return StreamEntry(self.port, "destination", self.rate_bps, self.burst_bytes, mac=mac, vlan=VLAN)

    def frame(self, size: int, seed: int = 0) -> bytes:
        return frame(
            station_address(self.to, self.station),
            station_address(self.port, 0),
            size,
            vlan=VLAN,
            pcp=PCP_OF_CLASS[self.traffic_class],
            seed=seed,
        )


@dataclass
class Shaped:
    """A bench whose streams are these flows, and what was sent of which."""

    flows: Sequence[Flow]
    max_residence_ns: dict[tuple[int, int], int] = field(default_factory=dict)
    delay_max_ns: int | None = None

    def __post_init__(self) -> None:
        stations = {(flow.to, flow.station) for flow in self.flows} | {(port, 0) for port in range(PORTS)}
        self.bench = Bench(
            SwitchConfig(
                vlans={VLAN: set(range(PORTS)), 1: set(range(PORTS))},
                static_addresses=[(as_number(station_address(p, n)), VLAN, {p}) for p, n in sorted(stations)],
                streams=[flow.entry() for flow in self.flows],
                max_residence_ns=self.max_residence_ns,
                processing_delay_max_ns=self.delay_max_ns,
            )
        )
        self.reference = Reference()
        self.twin = _engine.Ats(ports=PORTS)
        for stream, flow in enumerate(self.flows):
            self.reference.set_rate(stream, flow.rate_bps, flow.burst_bytes)
            self.twin.set_rate(stream, *_engine.ats_rate(flow.rate_bps, flow.burst_bytes))
        for group, ns in self.max_residence_ns.items():
            self.reference.max_residence_ns[group] = ns
            self.twin.set_group(*group, ns)
        self.sent: list[tuple[int, Fate]] = []

    def send(self, stream: int, size: int, *, at: int = 0, gap: int = 12) -> Fate:
        flow = self.flows[stream]
        fate = self.bench.send(flow.port, flow.frame(size, len(self.sent)), at=at, gap=gap)
        self.sent.append((stream, fate))
        return fate

    def check(self) -> list[tuple[Fate, int | None]]:
        """Every frame so far against reference and twin; gives the eligibility times in ticks, None for discarded."""
        delay_ns = DELAY_MAX_NS if self.delay_max_ns is None else self.delay_max_ns
        found: list[tuple[Fate, int | None]] = []
        for stream, fate in sorted(self.sent, key=lambda s: s[1].judged):
            flow = self.flows[stream]
            asked = (flow.port, flow.traffic_class, stream, fate.arrival_ns, fate.size + OVERHEAD)
            eligibility = self.reference.frame(*asked)
            assert self.twin.frame(*asked) == eligibility
            assert fate.stream == stream
            assert fate.traffic_class == flow.traffic_class
            if eligibility is None:
                assert fate.reason == "residence", fate
            else:
                assert fate.reason is None, fate
                assert fate.shaped
                assert eligibility >= fate.arrival_ns * TICKS
                assigned = -(-(eligibility + delay_ns * TICKS) // (CYCLE_NS * TICKS))
                assert fate.visible == max(fate.arrival + EARLIEST, assigned), fate
                assert fate.visible == max(fate.arrival + EARLIEST, _engine.ats_visible_cycle(eligibility, delay_ns))
            found.append((fate, eligibility))
        self.sent.clear()
        return found

    def finish(self) -> list[tuple[Fate, int | None]]:
        self.bench.finish()
        for port in range(PORTS):
            self.bench.check_selection(port)
        return self.check()


def eligible_after(found: Iterable[tuple[Fate, int | None]]) -> list[Fraction | None]:
    """Nanoseconds from arrival to eligibility."""
    return [None if e is None else Fraction(e, TICKS) - fate.arrival_ns for fate, e in found]


# ---- by hand


def test_a_table_computed_by_hand() -> None:
    # 100 Mb/s is 80 ns a byte. 1000 bytes on the wire earn in 80 us; a bucket of 3000 holds three of them.
    shaped = Shaped([Flow(0, 1, 0, 7, 100_000_000, 3000)])
    start = shaped.bench.now + 1000
    for _ in range(6):  # back to back: 8 us apart
        shaped.send(0, 980, at=start)
    shaped.send(0, 980, at=start + 1_000_000)  # 8 ms later the bucket is full again
    found = shaped.finish()
    # Frame n is paid for 80 us · (n - 2) after the first was sent, and comes 8 us · n after it.
    assert eligible_after(found) == [0, 0, 0, 80_000 - 24_000, 160_000 - 32_000, 240_000 - 40_000, 0]


def test_a_table_computed_by_hand_for_two_streams_of_a_group() -> None:
    # Both are of one reception port and class: the second stream waits for the group, though it has its own bucket.
    shaped = Shaped([Flow(0, 1, 0, 7, 10_000_000, 1000), Flow(0, 2, 0, 7, 1_000_000_000, 100_000)])
    start = shaped.bench.now + 1000
    for stream in (0, 0, 1, 1):  # 1000 bytes at 10 Mb/s: 800 us
        shaped.send(stream, 980, at=start)
    found = shaped.finish()
    assert eligible_after(found) == [0, 800_000 - 8_000, 800_000 - 16_000, 800_000 - 24_000]


def test_a_table_computed_by_hand_for_groups_of_their_own() -> None:
    # Another class and another reception port are other groups: nobody waits for the slow stream.
    shaped = Shaped(
        [
            Flow(0, 1, 0, 7, 10_000_000, 1000),
            Flow(0, 1, 1, 6, 1_000_000_000, 100_000),
            Flow(2, 1, 2, 7, 1_000_000_000, 100_000),
        ]
    )
    start = shaped.bench.now + 1000
    slow = [shaped.send(0, 980, at=start) for _ in range(2)]
    other_class = shaped.send(1, 980, at=start)
    other_port = shaped.send(2, 980, at=start)
    found = shaped.finish()
    waits = {id(fate): wait for (fate, _), wait in zip(found, eligible_after(found), strict=True)}
    assert [waits[id(fate)] for fate in (*slow, other_class, other_port)] == [0, 792_000, 0, 0]
    # They pass the one that waits.
    assert max(other_class.left[1], other_port.left[1]) < slow[1].left[1]


def test_residence_by_hand() -> None:
    # 1000 bytes at 100 Mb/s, one in the bucket: 80 us each. The second may wait 72 us, and does just so.
    shaped = Shaped([Flow(0, 1, 0, 7, 100_000_000, 1000)], max_residence_ns={(0, 7): 72_000})
    start = shaped.bench.now + 1000
    for _ in range(4):
        shaped.send(0, 980, at=start)
    found = shaped.finish()
    # The third would be eligible 160 us after the first and wait 144 us: discarded, and so is the fourth (136 us).
    assert eligible_after(found) == [0, 72_000, None, None]
    assert shaped.bench.counters(0)["dropped[11]"] == 2
    # They left no trace: the bucket is as if only two had come, so 160 us after the first the next one passes at once.
    first = found[0][0]
    late = shaped.send(0, 980, at=first.entered + 20_000 - 8)
    early = shaped.finish()
    assert eligible_after(early) == [0]
    assert late.reason is None


def test_residence_limit_is_exact() -> None:
    # 1 ns less than the wait is too little; exactly the wait passes.
    for limit, passes in ((71_999, False), (72_000, True), (72_001, True)):
        shaped = Shaped([Flow(1, 3, 0, 6, 100_000_000, 1000)], max_residence_ns={(1, 6): limit})
        start = shaped.bench.now + 1000
        shaped.send(0, 980, at=start)
        second = shaped.send(0, 980, at=start)
        shaped.finish()
        assert (second.reason is None) == passes


# ---- at random


@pytest.mark.parametrize("seed", range(4))
def test_random_streams_against_the_reference(seed: int) -> None:
    rng = random.Random(seed)
    flows = [
        Flow(
            port,
            rng.choice([p for p in range(PORTS) if p != port]),
            n,
            rng.choice((6, 7)),
            round(10 ** rng.uniform(6.5, 9)),
            rng.choice((100, 1542, 3084, 20_000)),
        )
        for port in range(PORTS)
        for n in range(4 * port, 4 * port + 4)
    ]
    residence = {(port, k): rng.choice((50_000, 200_000, 1_000_000)) for port in range(PORTS) for k in (6, 7)}
    shaped = Shaped(flows, residence, rng.choice((None, 0, 1, 191, 193, 1000, 12_345)))
    for _ in range(1500):
        stream = rng.randrange(len(flows))
        gap = rng.choice((12, 12, 12, 500, 5000, rng.randint(1, 11)))
        shaped.send(stream, rng.choice((64, 64, 65, 128, rng.randint(64, 1522), 1522)), gap=gap)
    found = shaped.finish()
    waits = list(eligible_after(found))
    assert waits.count(None) > 20
    assert waits.count(Fraction(0)) > 20
    assert sum(wait is not None and wait > 0 for wait in waits) > 100


RATES = [
    (1_000_000_000, 999_999_000, 700_000_003, 333_333_333),
    (100_000_000, 99_999_999, 50_000_000, 33_333_333),
]


@pytest.mark.parametrize("rates", RATES)
def test_rate_over_many_frames(rates: Sequence[int]) -> None:
    # Each port carries one greedy stream for 10 ms; the eligibility times tell its rate, to the tick.
    size = 1522
    shaped = Shaped([Flow(p, (p + 1) % PORTS, 0, 7, rate, size + OVERHEAD) for p, rate in enumerate(rates)])
    for port, rate in enumerate(rates):
        wire_time = -(-(size + OVERHEAD) * 8 * 10**9 // rate) // CYCLE_NS  # cycles of a frame at the rate
        for _ in range(max(30, 1_250_000 // wire_time)):
            # A little faster than the rate, so that there is always a frame that waits, but never too many.
            shaped.send(port, size, gap=max(11, wire_time - 4 - size - 8 - 4))
    found = shaped.finish()
    for port, rate in enumerate(rates):
        eligible = [e for fate, e in found if fate.port == port and e is not None]
        waiting = [e for fate, e in found if fate.port == port and e is not None and e > fate.arrival_ns * TICKS]
        assert len(eligible) == sum(fate.port == port for fate, _ in found)
        assert len(waiting) > 20
        measured = Fraction((len(waiting) - 1) * (size + OVERHEAD) * 8 * 10**9 * TICKS, waiting[-1] - waiting[0])
        # Never slower than the stream.
        assert 0 <= measured / rate - 1 <= Fraction(1, 10**6)
        # And on the wire of the output: what left was spaced by the rate.
        out = [f.left[(port + 1) % PORTS] for f in shaped.bench.departures((port + 1) % PORTS)]
        on_the_wire = Fraction((len(out) - 4) * (size + OVERHEAD) * 8 * 10**9, (out[-1] - out[3]) * CYCLE_NS)
        assert abs(on_the_wire / rate - 1) <= Fraction(1, 10**6) + Fraction(2 * CYCLE_NS, 8_000_000)


@pytest.mark.parametrize("rate", [10_000, 10_007, 64_000, 1_000_000, 1_544_000])
def test_slow_rate_over_many_frames(rate: int) -> None:
    # Frames that wait for up to a second: they are judged when they come, and the test does not wait with them.
    size = 64
    shaped = Shaped([Flow(2, 3, 0, 7, rate, 84)])
    wire_time_ns = Fraction((size + OVERHEAD) * 8 * 10**9, rate)
    count = min(250, int(10**9 / wire_time_ns))
    start = shaped.bench.now + 100
    for _ in range(count + 3):
        shaped.send(0, size, at=start)
    shaped.bench.run(200 * count)
    found = shaped.check()
    eligible = [e for _, e in found if e is not None]
    assert len(eligible) == count + 1 if count < 250 else count + 3
    span = Fraction(eligible[-1] - eligible[0], TICKS)
    assert 0 <= 1 - span / (wire_time_ns * (len(eligible) - 1)) <= Fraction(1, 10**6)
    assert found[-1][0].reason == (None if count == 250 else "residence")
    first, last = found[0][0], found[len(eligible) - 1][0]
    exact = Fraction(first.arrival_ns + DELAY_MAX_NS) + wire_time_ns * (len(eligible) - 1)
    assert -exact / 10**6 <= last.visible * CYCLE_NS - exact < 2 * CYCLE_NS


# ---- order and latency


def test_order_by_eligibility_among_reception_ports() -> None:
    # Three ports to one: each has frames that wait, and they interleave by their times, not by their ports.
    rng = random.Random(5)
    flows = [Flow(port, 3, port, 7, rate, 1542) for port, rate in enumerate((97_000_000, 53_000_000, 71_000_000))]
    shaped = Shaped(flows)
    for stream in range(3):
        for _ in range(40):
            shaped.send(stream, rng.randint(64, 250))
    found = shaped.finish()
    times = {id(fate): e for fate, e in found}
    order = shaped.bench.departures(3)
    assert len(order) == 120
    visible = [fate.visible for fate in order]
    eligible = [times[id(fate)] or 0 for fate in order]
    # Nothing lets the output fall behind, so that the order is that of the times, to the cycle.
    assert visible == sorted(visible)
    assert all(b - a > -CYCLE_NS * TICKS for a, b in itertools.pairwise(eligible))
    changes = sum(a.port != b.port for a, b in itertools.pairwise(order))
    assert changes > 40


def test_unshaped_and_shaped_frames_take_the_same_time_whatever_their_size() -> None:
    # Every size from 64 to 1522: from port 0 to 1 shaped, with a bucket that is never empty; from 2 to 3 by priority.
    shaped = Shaped([Flow(0, 1, 0, 7, 1_000_000_000, 16_000)])
    bench = shaped.bench
    rng = random.Random(11)
    for size in range(64, 1523):
        shaped.send(0, size, gap=12 + rng.randrange(8))
        plain = frame(station_address(3, 0), station_address(2, 0), size, vlan=VLAN, pcp=rng.randrange(8))
        bench.send(2, plain, gap=12 + rng.randrange(8))
    shaped.finish()
    assert (EARLIEST + 12) * CYCLE_NS <= 400
    for reception, out in ((0, 1), (2, 3)):
        assert {f.latency(out) for f in bench.fates.values() if f.port == reception} == {EARLIEST + 12}


@pytest.mark.parametrize("reception", range(PORTS))
def test_latency_is_constant_for_every_port_and_phase(reception: int) -> None:
    shaped = Shaped([Flow(reception, (reception + 1) % PORTS, 0, 7, 1_000_000_000, 16_000)])
    bench = shaped.bench
    out = (reception + 1) % PORTS
    for n in range(160):
        size = 64 + n * 97 % 1459
        if n % 2:
            shaped.send(0, size, gap=2000 + n % 9)
        else:
            data = frame(station_address(out, 0), station_address(reception, 0), size, vlan=VLAN, pcp=n % 8)
            bench.send(reception, data, gap=2000 + n % 9)
    shaped.finish()
    assert {fate.latency(out) for fate in bench.fates.values()} == {EARLIEST + 12}


# ---- classes and identification


def test_any_class_can_be_shaped_or_strict() -> None:
    flows = [Flow(0, 1, 0, 5, 10_000_000, 1000), Flow(0, 1, 1, 7, 10_000_000, 1000)]
    shaped = Shaped(flows)
    shaped.bench.write("ats_classes", mask=1 << 5)
    shaped.bench.rest()
    start = shaped.bench.now + 100
    for stream in (0, 0, 1, 1):
        shaped.send(stream, 980, at=start)
    sent = [fate for _, fate in shaped.sent]
    strict = shaped.sent[2:]
    del shaped.sent[2:]
    waits = eligible_after(shaped.finish())
    assert waits == [0, 792_000]
    assert [fate.shaped for fate in sent] == [True, True, False, False]
    for _, fate in strict:
        assert fate.visible == fate.arrival + EARLIEST


def test_overhead_by_register() -> None:
    for overhead in (0, 4, 38, 255):
        shaped = Shaped([Flow(0, 1, 0, 7, 100_000_000, 1400)])
        shaped.bench.write("ats_overhead", bytes=overhead)
        shaped.bench.rest()
        start = shaped.bench.now + 100
        sent = [shaped.send(0, 980, at=start) for _ in range(3)]
        shaped.sent.clear()
        shaped.bench.finish()
        # 1400 in the bucket, 80 ns a byte: from the second frame on what is missing of a frame is waited for.
        for n, fate in enumerate(sent):
            due_ns = sent[0].arrival_ns + max(0, 80 * ((n + 1) * (980 + overhead) - 1400)) + DELAY_MAX_NS
            assert fate.visible == max(fate.arrival + EARLIEST, -(-due_ns // CYCLE_NS))


@pytest.mark.parametrize("delay_ns", [0, 1, 191, 192, 193, 199, 200, 1_000, 50_000, 1_000_000])
def test_processing_delay_max(delay_ns: int) -> None:
    shaped = Shaped([Flow(0, 1, 0, 7, 100_000_000, 1000)], delay_max_ns=delay_ns)
    start = shaped.bench.now + 1000
    for _ in range(3):
        shaped.send(0, 980, at=start)
    found = shaped.finish()
    for (fate, _), wait_ns in zip(found, (0, 72_000, 144_000), strict=True):
        due = fate.arrival_ns + wait_ns + delay_ns
        assert fate.visible == max(fate.arrival + EARLIEST, -(-due // CYCLE_NS))


def test_rates_rewritten_in_flight() -> None:
    # A new rate acts from one frame to the next, whole: each frame is as the old or as the new one has it.
    flow = Flow(0, 1, 0, 7, 50_000_000, 1542)
    shaped = Shaped([flow, Flow(1, 2, 0, 7, 500_000_000, 1542)])
    bench = shaped.bench
    rng = random.Random(2)
    for _ in range(300):
        shaped.send(0, rng.randint(64, 300), gap=rng.randint(12, 40))
        shaped.send(1, rng.randint(64, 300))
    commits: list[tuple[int, int, int, int]] = []  # from cycle, to cycle, rate, burst
    while bench.switch.waiting:
        bench.run(rng.randint(300, 3000))
        rate, burst = round(10 ** rng.uniform(7.7, 9)), rng.choice((1542, 400, 5000))
        per_byte, full = _engine.ats_rate(rate, burst)
        *staging, commit = table_writes(bench.registers, Table.STREAM_RATE, 0, full << 44 | per_byte)
        for address, value in staging:
            bench.switch.write(address, value)
        begun = bench.now
        bench.switch.write(*commit)
        commits.append((begun, bench.now, rate, burst))
    assert len(commits) > 10
    bench.finish()
    # A frame that was looked at while a commit was under way may have met either rate: both ways are followed.
    ways = [(shaped.reference, 0)]  # and commits done
    for stream, fate in sorted(shaped.sent, key=lambda s: s[1].judged):
        assert fate.reason is None
        possible: list[tuple[Reference, int]] = []
        for way, done in ways:
            for count in range(done, len(commits) + 1):
                if (count > done and commits[count - 1][0] >= fate.judged) or (stream == 1 and count > done):
                    break
                if stream == 0 and count < len(commits) and commits[count][1] + 25 < fate.judged:
                    continue
                reference = deepcopy(way)
                if count > done:
                    reference.set_rate(0, *commits[count - 1][2:])
                eligibility = reference.frame(fate.port, 7, stream, fate.arrival_ns, fate.size + OVERHEAD)
                assert eligibility is not None
                assigned = -(-(eligibility + DELAY_MAX_NS * TICKS) // (CYCLE_NS * TICKS))
                if fate.visible == max(fate.arrival + EARLIEST, assigned):
                    possible.append((reference, count))
        assert possible, fate
        # Ways that come to the same are one.
        ways = list({(way.bucket_empty[0], done): (way, done) for way, done in possible}.values())
    assert len(ways) < 100


# ---- the clock's wrap


@pytest.mark.parametrize("exponent", [28, 29])
def test_shaped_frames_around_the_wrap_of_the_cycle_counter(exponent: int) -> None:
    flows = [
        Flow(0, 3, 0, 7, 40_000_000, 1542),
        Flow(1, 3, 1, 7, 30_000_000, 1542),
        Flow(2, 3, 2, 6, 20_000_000, 3084),
    ]
    shaped = Shaped(flows)
    bench = shaped.bench
    wrap = 1 << exponent
    rng = random.Random(exponent)
    bench.switch.run(wrap - 60_000)
    assert bench.switch.cycles_jumped > wrap - 100_000
    assert bench.read("time_low") // CYCLE_NS in range((bench.now - 40) % 2**29, (bench.now + 1) % 2**29)
    for stream in range(3):
        for _ in range(60):
            shaped.send(stream, rng.randint(64, 1522), at=wrap - 58_000, gap=rng.choice((12, 700, 3000)))
    for _ in range(150):
        data = frame(station_address(3, 0), station_address(1, 1), rng.randint(64, 600), vlan=VLAN, pcp=0)
        bench.send(1, data, gap=rng.choice((12, 900)))
    # And one that becomes eligible in the cycle of the wrap itself, give or take.
    found = shaped.finish()
    assert any(fate.entered < wrap and fate.visible > wrap + 10_000 for fate, _ in found)
    assert any(fate.visible < wrap for fate, _ in found)
    assert all(fate.reason is None for fate, _ in found)


@pytest.mark.parametrize("exponent", [27, 28, 29])
def test_frames_that_become_visible_at_the_wrap_and_next_to_it(exponent: int) -> None:
    # A frame alone, in each cycle around the wrap: nothing else than its own time decides.
    wrap = 1 << exponent
    for offset in (-2, -1, 0, 1, 2):
        shaped = Shaped([Flow(0, 1, 0, 7, 100_000_000, 1000)])
        bench = shaped.bench
        bench.switch.run(wrap - 100_000)
        # 1000 bytes wait 72 us: the second frame is visible 9000 cycles after its arrival, and the delay.
        start = wrap + offset - EARLIEST - 9_000 - 8 - 980 - 1000
        fates = [shaped.send(0, 980, at=start), shaped.send(0, 980, at=start)]
        shaped.finish()
        assert fates[1].visible == wrap + offset
        assert fates[1].selected(1) == wrap + offset


def test_time_registers_after_jumps() -> None:
    bench = Bench()
    for jump in (1_000, 10_000_000, (1 << 28) - 12_345, 1 << 29, 3 << 30, 5):
        bench.switch.run(bench.now + jump)
        before = bench.now
        low = bench.read("time_low")
        high = bench.read("time_high")
        time = high << 32 | low
        assert time % CYCLE_NS == 0
        assert before <= time // CYCLE_NS <= bench.now
    assert bench.now > 1 << 31
