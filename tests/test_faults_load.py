# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in the traffic, the settings and the time of the running switch."""

from __future__ import annotations

from collections import Counter

import pytest

from fault_bench import FaultBench, after, assert_delivered
from penstock.hardware.configure import GateControl, StreamEntry, SwitchConfig, Table, gate_list_writes
from penstock.hardware.ptp import PtpClock
from penstock.hardware.traffic import as_number, station_address
from switch_bench import PORTS, Fate, frame

PCP_OF_CLASS = (1, 0, 4, 5, 6, 7, 2, 3)
EVERYBODY = set(range(PORTS))
OPEN = 0xFF


def to(port: int, source: int, traffic_class: int, size: int, *, station: int = 0, seed: int = 0) -> bytes:
    return frame(
        station_address(port, station), station_address(source, 0), size,
        vlan=1, pcp=PCP_OF_CLASS[traffic_class], seed=seed,
    )  # fmt: skip


# ---- addresses


@pytest.mark.parametrize("static", [True, False], ids=["static", "learnt"])
def test_storm_of_new_source_addresses(static: bool) -> None:
    stations = [(as_number(station_address(port, 0)), 1, {port}) for port in range(PORTS)] if static else []
    bench = FaultBench(SwitchConfig(vlans={1: EVERYBODY}, static_addresses=stations), seed=1)
    storm, others = [], []
    for n in range(3_000):  # three times what the forwarding database holds
        source = bytes([0x02, 0xEE, 0, 0]) + n.to_bytes(2, "big")
        # To the port's own station if that is known for good, so that nothing of it leaves.
        data = frame(station_address(3 if static else 0, 0), source, vlan=1, pcp=n % 8)
        storm.append(bench.send(3, data, gap=12 if static else 100))
    for n in range(400):
        for port in (0, 1, 2):
            size = bench.rng.choice((64, 128, 512, 900))
            data = to(after(port), port, bench.rng.randrange(8), size, seed=n)
            # Learnt addresses are driven out and frames flooded: half a line is kept free for that.
            others.append(bench.send(port, data, gap=12 if static else 32 + size))
    bench.run_out()
    if static:
        assert_delivered(others)
        assert {fate.fate for fate in storm} == {"no_destination"}
    else:
        assert all(after(fate.port) in fate.left for fate in (*storm, *others))
        assert any(len(fate.left) > 1 for fate in others)
    # The storm has gone through: its last address is known.
    last = bench.send(1, frame(source, station_address(1, 0), vlan=1))
    bench.run_out()
    assert last.fate == frozenset({3})
    bench.introduce(vlan=1)
    bench.recover()


def test_aging_clears_what_a_storm_left() -> None:
    bench = FaultBench(SwitchConfig(vlans={1: EVERYBODY}, aging_period_ms=1), seed=2)
    addresses = [bytes([0x02, 0xEE, 0, 0]) + n.to_bytes(2, "big") for n in range(1500)]
    for address in addresses:
        bench.send(3, frame(station_address(0, 0), address, vlan=1))
    bench.run_out()
    bench.rest(4 * 125_000)
    for n, address in enumerate(addresses[::50]):
        bench.send(1, frame(address, station_address(1, 0), 64 + n, vlan=1))
    bench.run_out()
    assert {fate.fate for fate in bench.on_wire[1][-len(addresses[::50]) :]} == {frozenset({0, 2, 3})}
    bench.introduce(vlan=1)
    bench.recover()


# ---- babbling

VICTIM_EVERY_CYCLES = 20_000  # 160 us
VICTIM_BYTES = 1000


def stream(port: int, station: int, rate_bps: int) -> StreamEntry:
    return StreamEntry(port, "destination", rate_bps, 2 * 1542, mac=as_number(station_address(2, station)), vlan=1)


# A port at line rate in class 7: shaped as it has reserved, held by credit, or let go.
BABBLERS = {
    "shaped": SwitchConfig(
        vlans={1: EVERYBODY}, streams=[stream(0, 1, 60_000_000), stream(1, 2, 100_000_000)],
        max_residence_ns={(1, 7): 1_000_000, (0, 6): 10_000_000},
    ),
    "held by credit": SwitchConfig(
        vlans={1: EVERYBODY}, streams=[stream(0, 1, 60_000_000)], ats_classes={6}, idle_slope_bps={(2, 7): 750_000_000},
        max_residence_ns={(0, 6): 10_000_000},
    ),
    "let go": SwitchConfig(
        vlans={1: EVERYBODY}, streams=[stream(0, 1, 60_000_000)], ats_classes={6},
        max_residence_ns={(0, 6): 10_000_000},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BABBLERS)
def test_a_port_babbles_in_the_highest_class_against_a_shaped_stream(kind: str) -> None:
    bench = FaultBench(BABBLERS[kind], seed=3)
    for station in (1, 2):
        bench.send(2, frame(b"\xff" * 6, station_address(2, station), vlan=1))
    bench.run_out()
    start = bench.now + 1000
    victim = [
        bench.send(0, to(2, 0, 6, VICTIM_BYTES, station=1, seed=n), at=start + n * VICTIM_EVERY_CYCLES)
        for n in range(30)
    ]
    babble = [bench.send(1, to(2, 1, 7, 1522, station=2, seed=n), at=start) for n in range(200)]
    below = [bench.send(3, to(2, 3, 0, 1522, seed=n), at=start) for n in range(200)]
    babbling = range(start, start + 200 * 1542)
    bench.run_out()

    # The stream loses nothing. It waits for one frame on the wire and a burst of the class above, unless nothing holds
    # that class; then it waits until the babbling is over.
    assert all(fate.shaped and fate.fate == frozenset({2}) for fate in victim)
    worst = max(fate.latency(2) for fate in victim)
    if kind == "let go":
        assert not any(fate.left[2] in babbling for fate in victim[1:])
        assert worst > 200_000
    else:
        assert worst < 5 * 1542
    assert max(fate.latency(2) for fate in victim if fate.entered > babbling.stop + 100_000) < 2 * 1542
    # What the babbler sends beyond its share is dropped under one reason.
    dropped = Counter(fate.reason or next(iter(fate.refused.values()), None) for fate in babble)
    excess = {"shaped": {"residence"}, "held by credit": {"store_full"}, "let go": set()}[kind]
    assert dropped.keys() - {None} == excess
    assert all(fate.reason is None for fate in below)
    bench.recover()


# ---- queues


def test_every_queue_full() -> None:
    # All gates are closed until each queue of each port has refused a frame.
    bench = FaultBench(seed=4)
    room = 20
    for k in range(8):
        bench.write(f"queue_limit[{k}]", cells=room)
    for port in range(PORTS):
        bench.write(f"admin_gate_states[{port}]", mask=0)
    bench.write("gate_enable", mask=0b1111)
    bench.rest()
    sent: list[Fate] = []
    for n in range(8):
        for k in range(8):
            for source in range(PORTS):
                for away in (1, 2, 3):
                    size = bench.rng.choice((64, 100, 300))
                    sent.append(bench.send(source, to((source + away) % PORTS, source, k, size, seed=n)))
    while any(fate.judged < 0 for fate in sent):
        bench.run(10_000)
    held = Counter((e, fate.traffic_class) for fate in sent for e in fate.queued for _ in range(-(-fate.size // 128)))
    refused = Counter((e, fate.traffic_class, why) for fate in sent for e, why in fate.refused.items())
    every = {(e, k) for e in range(PORTS) for k in range(8)}
    assert set(held) == every
    assert all(room - 2 <= cells <= room for cells in held.values())
    assert {key[:2] for key in refused} == every
    assert {key[2] for key in refused} == {"queue_full"}
    assert not any(fate.left for fate in sent)
    bench.write("gate_enable", mask=0)
    for k in range(8):
        bench.write(f"queue_limit[{k}]", cells=256)
    bench.recover()


# ---- settings


def test_storm_of_commits_to_gates_credit_and_clock() -> None:
    # Gates that are always open, credit that is never short, a clock that is set: nothing of it may cost a frame.
    bench = FaultBench(seed=6)
    clock = PtpClock(bench.switch)
    sent = bench.ring(700)
    bench.write("gate_enable", mask=0b1110)
    commits: Counter[str] = Counter()
    while bench.switch.waiting:
        port, k = bench.rng.randrange(1, PORTS), bench.rng.randrange(8)
        # The next list waits until the one before has been worked out, which takes 0.6 ms at most.
        kind = bench.rng.choices(("gates", "credit", "sdu", "clock", "enable"), weights=(1, 8, 8, 8, 8))[0]
        commits[kind] += 1
        if kind == "gates":
            entries = [(OPEN, bench.rng.randrange(100, 5000)) for _ in range(bench.rng.randint(1, 8))]
            gates = GateControl(entries, sum(interval for _, interval in entries), bench.rng.randrange(10**6))
            for address, value in gate_list_writes(bench.registers, port, gates):
                bench.switch.write(address, value)
        elif kind == "credit":
            bench.commit(Table.CREDIT, port << 3 | 5, bench.rng.getrandbits(1) << 96 | 1 << 27)
        elif kind == "sdu":
            bench.commit(Table.MAX_SDU, port << 3 | k, bench.rng.randrange(1522, 2048))
        elif kind == "clock":
            clock.step(bench.rng.randrange(0, 10**6))
        else:
            bench.write("gate_enable", mask=bench.rng.getrandbits(3) << 1)
        bench.run(bench.rng.randrange(200))
    assert commits["gates"] > 3
    assert min(commits[kind] for kind in ("credit", "sdu", "clock", "enable")) > 20, commits
    bench.run_out()
    assert_delivered(sent)
    bench.write("gate_enable", mask=0)
    for port in range(1, PORTS):
        bench.commit(Table.CREDIT, port << 3 | 5, 0)
    bench.recover()


# ---- time


def timed(gates_from_ns: int = 0) -> FaultBench:
    """Shaped streams and gates on the ring, so that all that looks at a clock is in use."""
    streams = [
        StreamEntry(port, "destination", 1_000_000_000, 100_000, mac=as_number(station_address(after(port), 0)), vlan=1)
        for port in range(PORTS)
    ]
    gates = {port: GateControl([(OPEN, 30_000), (OPEN, 20_000)], 50_000, gates_from_ns) for port in range(1, PORTS)}
    return FaultBench(
        SwitchConfig(
            vlans={1: EVERYBODY}, streams=streams, gates=gates,
            max_residence_ns={(port, k): 10_000_000 for port in range(PORTS) for k in (6, 7)},
        ),
        seed=7,
    )  # fmt: skip


# In cycles: the 28 bits of the queues, the low half of the time in ns, the 36 bits of the gates' time.
@pytest.mark.parametrize("exponent", [28, 29, 33])
def test_line_rate_across_the_wrap_of_a_counter(exponent: int) -> None:
    wrap = 1 << exponent
    bench = timed(gates_from_ns=8 * (wrap - 35_000))
    bench.switch.run(wrap - 30_000)
    bench.introduce(vlan=1)
    sent = bench.ring(120)
    bench.run_out()
    assert_delivered(sent)
    assert any(fate.entered < wrap - 1000 for fate in sent)
    assert any(fate.entered > wrap + 1000 for fate in sent)
    assert all(fate.shaped == (fate.traffic_class in (6, 7)) for fate in sent)
    bench.recover()


@pytest.mark.parametrize("seconds", [0xFFFF_FFFF, (1 << 63) // 10**9 - 1], ids=["32 bits of seconds", "63 bits of ns"])
def test_line_rate_across_the_wrap_of_the_ptp_clock(seconds: int) -> None:
    bench = timed()
    clock = PtpClock(bench.switch)
    end_ns = min((seconds + 1) * 10**9, (1 << 63) - 1000)
    clock.set(end_ns - 150_000)
    bench.introduce(vlan=1)
    clock.set(end_ns - 150_000)
    sent = bench.ring(120)
    bench.run_out()
    assert clock.time_ns() > end_ns
    assert_delivered(sent)
    clock.set(10**9)
    bench.recover()
