# SPDX-License-Identifier: Apache-2.0
"""What goes wrong at a port of the running switch: its link, its bits, its clock, its reset."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from fault_bench import FaultBench, after, assert_delivered
from penstock.hardware.traffic import DELIMITER, PREAMBLE, PREAMBLE_BYTES, station_address
from switch_bench import GAP, PORTS, Fate, frame

VICTIM = 1
BEFORE = (VICTIM - 1) % PORTS  # its frames go to the victim
PPB_200 = 200_000  # 200 ppm


def run_into(bench: FaultBench, port: int, least: int = 20, left: int = 20) -> Fate:
    """Lets time pass until a whole frame is on the wire into a port, with so many bytes behind it and before it."""
    bench.run(bench.rng.randrange(1, 3000))
    for _ in range(100_000):
        fate = bench.under_way(port)
        if (
            fate is not None
            and fate.judged < 0
            and bench.now - fate.entered >= least
            and fate.arrival - bench.now >= left
        ):
            return fate
        bench.run(7)
    raise AssertionError(f"no frame on its way into port {port}")


def reasons(fates: list[Fate]) -> Counter[str]:
    return Counter(fate.reason for fate in fates if fate.reason is not None)


@pytest.mark.parametrize("clock", [True, False], ids=["clock runs", "clock stops"])
def test_link_down_and_up_under_load(clock: bool) -> None:
    bench = FaultBench(seed=1 + clock)
    sent = bench.ring(400)
    cut = []
    for _ in range(8):
        fate = run_into(bench, VICTIM)
        assert bench.unplug(VICTIM, clock=clock) is fate
        cut.append(fate)
        bench.run(bench.rng.randrange(2000))  # until software has seen it, frames go out into nothing
        bench.write("port_enable", mask=0b1111 & ~(1 << VICTIM))
        bench.run(bench.rng.randrange(5000))
        bench.write("port_enable", mask=0b1111)
        bench.plug(VICTIM)
    bench.run_out()
    # Of the victim's own frames one is cut each time, and those that wait for the link come later.
    assert all(fate.reason == ("runt" if fate.size < 64 else "fcs") for fate in cut)
    own = [fate for fate in sent if fate.port == VICTIM]
    assert [fate for fate in own if fate.reason is not None] == cut
    assert_delivered(fate for fate in own if fate.reason is None)
    assert_delivered(fate for fate in sent if fate.port not in (VICTIM, BEFORE))
    assert set(reasons([fate for fate in sent if fate.port == BEFORE])) == {"no_destination"}
    bench.recover()


def test_a_frame_that_its_clock_has_left_holds_nobody_up() -> None:
    bench = FaultBench(seed=3)
    sent = bench.ring(200)
    fate = run_into(bench, VICTIM)
    bench.unplug(VICTIM, clock=False)
    while any(bench.on_wire[port][-1].entered < 0 for port in range(PORTS) if port != VICTIM):
        bench.run(1000)
    bench.run(200_000)
    assert fate.judged < 0
    assert_delivered(other for other in sent if other.port != VICTIM)
    # The reset of the port ends it without a receive clock.
    bench.reset_port(VICTIM)
    bench.run(100)
    assert fate.reason == "port_disabled"
    bench.reset_port()
    bench.switch.link(VICTIM, up=False)  # its clock runs again
    bench.run(50)
    bench.plug(VICTIM)
    bench.run_out()
    assert_delivered(other for other in sent if other is not fate)
    bench.recover()


def test_reset_in_mid_frame() -> None:
    bench = FaultBench(seed=4)
    sent = bench.ring(500)
    hit = []
    for _ in range(12):
        hit.append(run_into(bench, VICTIM, left=200))
        bench.reset_port(VICTIM)
        bench.run(bench.rng.randrange(60))
        bench.reset_port()
    bench.run_out()
    assert [fate for fate in sent if fate.reason is not None] == hit
    assert {fate.reason for fate in hit} == {"port_disabled"}
    assert_delivered(fate for fate in sent if fate.port != BEFORE and fate not in hit)
    # Towards the port one frame is cut at most, and what was selected in the reset is dropped.
    towards = [fate for fate in sent if fate.port == BEFORE]
    gone = [fate for fate in towards if fate.dropped]
    assert_delivered(fate for fate in towards if not fate.dropped)
    assert 6 <= len(gone) <= 24
    assert any(fate.cut for fate in gone)
    bench.recover()


def test_reset_for_a_long_time_gives_up_what_comes_for_the_port() -> None:
    bench = FaultBench(seed=5)
    sent = bench.ring(200)
    fate = run_into(bench, VICTIM, left=100)
    bench.reset_port(VICTIM)
    bench.unplug(VICTIM)
    bench.run(30_000)
    before = bench.counters(VICTIM)["dropped_queued"]
    bench.run(30_000)
    gone = [other for other in sent if other.dropped]
    assert bench.counters(VICTIM)["dropped_queued"] > before > 10
    assert all(other.port == BEFORE for other in gone)
    assert sum(bool(other.cut) for other in gone) <= 1
    bench.reset_port()
    bench.run(20)  # a frame that begins before the receiver listens is not seen
    bench.plug(VICTIM)
    bench.run_out()
    assert_delivered(other for other in sent if not other.dropped and other is not fate and other.reason is None)
    bench.recover()


@pytest.mark.parametrize("step", range(3))
def test_reset_of_the_transmitter_in_every_cycle(step: int) -> None:
    # A frame alone on its way out; the reset begins a cycle later each time, from its selection to the gap behind it.
    bench = FaultBench(seed=6)
    seen: Counter[str] = Counter()
    for offset in range(step, 130, 3):
        start = bench.now + 200
        fate = bench.send(BEFORE, frame(station_address(VICTIM, 0), station_address(BEFORE, 0), vlan=1), at=start)
        bench.run(start + 72 + 20 + offset - bench.now)
        bench.reset_port(VICTIM)
        bench.run(5)
        bench.reset_port()
        bench.run(400)
        assert (VICTIM in fate.left) != (VICTIM in fate.dropped), fate
        seen["left" if fate.left else "cut" if fate.cut else "dropped"] += 1
    assert seen["left"]
    assert seen["cut"] > 20
    bench.recover(20)


def test_reset_of_all_ports_at_once() -> None:
    bench = FaultBench(seed=7)
    sent = bench.ring(200, sizes=(1522,))
    for _ in range(5):
        run_into(bench, VICTIM, least=100, left=1000)
        bench.reset_port(*range(PORTS))
        bench.run(20)
        bench.reset_port()
    bench.run_out()
    hit = [fate for fate in sent if fate.reason is not None]
    assert {fate.reason for fate in hit} == {"port_disabled"}
    assert len(hit) == 5 * PORTS
    assert_delivered(fate for fate in sent if fate.reason is None and not fate.dropped)
    bench.recover()


# ---- bits


def send_flipped(bench: FaultBench, port: int, data: bytes, bit: int) -> tuple[Fate, str]:
    """A frame with a wrong bit, counted from the first of the preamble; and what it has to be counted as."""
    wire = bytearray(PREAMBLE * PREAMBLE_BYTES + DELIMITER + data)
    wire[bit // 8] ^= 1 << bit % 8
    start = wire.find(DELIMITER)
    if start < 0:
        return bench.send(port, bytes(wire[PREAMBLE_BYTES:]), delimiter=False), "preamble"
    content = bytes(wire[start + 1 :])
    reason = "runt" if len(content) < 64 else "giant" if len(content) > 1522 else "fcs"
    if start <= PREAMBLE_BYTES:
        return bench.send(port, content, preamble=start), reason
    # A byte of the frame is taken for the delimiter.
    return bench.send(port, bytes(wire[PREAMBLE_BYTES:]), delimiter=False), reason


def test_flipped_bits_on_the_wire() -> None:
    bench = FaultBench(seed=8)
    expected, good = [], []
    for n in range(500):
        for port in range(PORTS):
            size = bench.rng.choice((64, 65, 128, 400, 1522))
            data = frame(
                station_address(after(port), 0), station_address(port, 0), size,
                vlan=1, pcp=bench.rng.randrange(8), seed=n,
            )  # fmt: skip
            # Port 3 is hit by nothing, the others in every fourth frame: in the delimiter, in the bit that makes one of
            # a byte of the preamble, or behind it.
            if port == 3 or n % 4:
                good.append(bench.send(port, data))
            else:
                ahead = (*range(7, 56, 8), *range(56, 64))
                bit = bench.rng.choice(ahead) if n % 5 == 0 else bench.rng.randrange(64, 8 * (8 + size))
                expected.append(send_flipped(bench, port, data, bit))
    bench.run_out()
    assert [fate.reason for fate, _ in expected] == [reason for _, reason in expected]
    assert {"fcs", "preamble"} < {reason for _, reason in expected}
    assert_delivered(good)
    bench.recover()


# ---- clocks


@pytest.mark.parametrize("ppb", [(PPB_200,) * 4, (-PPB_200,) * 4, (PPB_200, -PPB_200, 0, PPB_200)], ids=str)
def test_receive_clocks_200_ppm_off_at_line_rate(ppb: tuple[int, ...]) -> None:
    bench = FaultBench(seed=9)
    bench.gap_slack = 2
    for port in range(PORTS):
        bench.switch.link(port, rate_ppb=ppb[port])
    sent = bench.ring(500)
    start = bench.now
    bench.run_out()
    assert_delivered(sent)
    for port in range(PORTS):
        own = [fate for fate in sent if fate.port == port]
        # The wire is as fast as its clock says.
        cycles = sum(fate.size + 8 + GAP for fate in own[:-1])
        took = own[-1].entered - own[0].entered
        assert abs(took - cycles * (1 - ppb[port] / 1e9)) < 3
        assert took != cycles or ppb[port] == 0
        # What comes too fast waits, what comes too slowly makes the gap longer: never shorter than 12.
        gaps = gaps_behind(bench, after(port), start)
        assert min(gaps) == GAP
        if ppb[port] < 0:
            assert max(gaps) > GAP
    bench.recover()


def gaps_behind(bench: FaultBench, port: int, start: int) -> list[int]:
    """Silence between the frames that left by a port."""
    out = [fate for fate in bench.departures(port) if fate.left[port] > start]
    return [b.left[port] - 8 - a.left[port] - a.size for a, b in pairwise(out)]


def test_what_a_fast_clock_brings_too_much_is_refused_and_counted() -> None:
    # 1000 ppm, five times the worst, and a short queue: else it takes a second of line rate to fill it.
    bench = FaultBench(seed=10)
    bench.gap_slack = 2
    for k in range(8):
        bench.write(f"queue_limit[{k}]", cells=3)
    for port in range(PORTS):
        bench.switch.link(port, rate_ppb=1_000_000)
    data = frame(station_address(1, 0), station_address(0, 0), vlan=1, pcp=7)
    sent = [bench.send(0, data) for _ in range(10_000)]
    bench.run_out()
    refused = [fate for fate in sent if fate.refused]
    assert 5 <= len(refused) <= 10  # 10 frames more than an output can send, of which three wait
    assert {fate.refused[1] for fate in refused} == {"queue_full"}
    assert_delivered(fate for fate in sent if not fate.refused)
    for k in range(8):
        bench.write(f"queue_limit[{k}]", cells=256)
    bench.recover()
