# SPDX-License-Identifier: Apache-2.0
"""When frames leave by credit, computed by hand and met to the nanosecond.

All times are of the preamble's first bit at the shaped port, at 1 Gb/s. A frame of 980 bytes takes 1000 bytes of the
wire, 8 us. At 125 Mb/s, which the hardware holds exactly as 1 bit in a cycle of 8 ns, it costs 8000 - 1000 = 7000
bits of credit, and its class earns 8000 bits in 64 us.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import _engine, report
from shaped import KINDS, Bridge, frames, gates, ready_ns, released_ns

US = 1000
FRAME, WIRE_US = 980, 8
SLOPE_BPS = 125_000_000

Make = Callable[[str], Bridge]


@pytest.fixture
def bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr(report, "render", lambda *_, **__: "")  # has tests of its own
    return lambda kind: Bridge(tmp_path, kind)


def cbs(traffic_class: int, mbps: float, more: str = "") -> str:
    return f'classes.{traffic_class} = {{ selection = "cbs", idle_slope = "{mbps}Mb/s"{more} }}\n'


def burst(count: int) -> str:
    return f'burst = {count}, every = "1s"'


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("mbps", "spacing_ns"), [(125, 64 * US), (250, 32 * US), (62.5, 128 * US), (1000, 8 * US)])
def test_departures_are_spaced_by_wire_length_over_idle_slope(
    kind: str, mbps: float, spacing_ns: int, bridge: Make
) -> None:
    """1000 bytes of the wire at 125 Mb/s: 64 us; at 250 Mb/s 32 us; at 62.5 Mb/s 128 us; at the link's rate 8 us."""
    first = ready_ns(0, FRAME)
    found = bridge(kind)(cbs(5, mbps), frames("s", 5, FRAME, 0, source=burst(12)))
    assert found == {"s": [first + n * spacing_ns for n in range(12)]}


@pytest.mark.parametrize("kind", KINDS)
def test_the_gap_may_be_free(kind: str, bridge: Make) -> None:
    """Without the gap, 988 bytes cost 988 · 7 bits, which 1 bit in 8 ns earns in 988 · 56 ns: 988 · 64 ns in all."""
    settings = "count_gap = false\n" + cbs(5, 125)
    found = bridge(kind)(settings, frames("s", 5, FRAME, 0, source=burst(12)))
    assert found == {"s": [ready_ns(0, FRAME) + n * 988 * 64 for n in range(12)]}


@pytest.mark.parametrize("kind", KINDS)
def test_credit_of_one_class_behind_a_long_frame(kind: str, bridge: Make) -> None:
    """A frame of 1522 bytes of best effort begins 8 ns before the class has two frames: 12.336 us less 8 ns to wait.

    hiCredit: 12.328 us · 125 Mb/s = 1541 bits. Then the first is sent, 1541 - 7000 = -5459 bits (loCredit would be
    -7000), which 125 Mb/s makes up for in 43.672 us. So the second begins 8 + 43.672 us after the first.
    """
    begin = 100 * US
    ready = begin + 8
    # Released together at one link, the second is ready 8 us after the first, while that waits.
    streams = frames("long", 1, 1522, released_ns(begin, 1522), talker=1)
    streams += frames("s", 5, FRAME, released_ns(ready, FRAME), source=burst(3))
    found = bridge(kind)(cbs(5, 125), streams)
    first = begin + 12_336
    second = first + 8 * US + 43_672
    assert found == {"long": [begin], "s": [first, second, second + 64 * US]}


@pytest.mark.parametrize("kind", KINDS)
def test_credit_of_two_classes(kind: str, bridge: Make) -> None:
    """Class 6 has 250 Mb/s, class 5 has 125 Mb/s. At 0 12.336 us of best effort begin, at 8 ns both have four frames.

    In 8 ns class 6 earns 2 bits and class 5 one. A frame takes 8 us and costs class 6 6000 bits, class 5 7000.

    - 12.336: class 6 has hiCredit, 12.328 us · 250 Mb/s = 3082 bits, and sends; class 5 has 1541.
    - 20.336: class 6 -2918, class 5 hiCredit, 2541: it has waited for the long frame and one of class 6. It sends.
    - 28.336: class 6 -918, class 5 -4459. Zero 3.672 us and 35.672 us later.
    - 32.008: class 6 sends, and is at zero at 40.008 + 24 = 64.008. So is class 5.
    - 64.008: class 6 goes first and leaves loCredit, -6000. Class 5 earns 1000 bits meanwhile.
    - 72.008: class 5 sends, and has -6000 at 80.008, zero at 128.008.
    - 96.008: class 6 is at zero (24 us after 72.008) and sends its last.
    - 128.008: class 5 sends, leaves loCredit, -7000, is at zero 56 us after its end, and sends its last at 192.008.
    """
    streams = frames("long", 1, 1522, released_ns(100 * US, 1522), talker=1)
    streams += frames("six", 6, FRAME, released_ns(100 * US + 8, FRAME), talker=3, source=burst(4))
    streams += frames("five", 5, FRAME, released_ns(100 * US + 8, FRAME), source=burst(4))
    found = bridge(kind)(cbs(6, 250) + cbs(5, 125), streams)
    begin = 100 * US
    assert found["long"] == [begin]
    assert [at - begin for at in found["six"]] == [12_336, 32_008, 64_008, 96_008]
    assert [at - begin for at in found["five"]] == [20_336, 72_008, 128_008, 192_008]


@pytest.mark.parametrize("kind", ["other maker", "model"])
def test_the_smallest_slope_behind_gates(kind: str, bridge: Make) -> None:
    """At 1 kb/s, behind a gate that is open for 10 us of 20 us, while others send in the other half all the time.

    A frame costs 8000 bits less 8 us · 1 kb/s, 7.999992 s of an open gate. 2 us of them are left in its own window, so
    that credit is zero at the end of the 799 999th window behind it, and the next frame begins with the one after that,
    16 s after the first. Hardware holds 134 · 2^-24 bit in 8 ns, 998.4 b/s, and earns it in whole cycles of 8 ns; that
    is done when too little of a window is left for the frame.
    """
    begin = 100 * US
    second = begin + 16 * 10**6 * US
    if kind == "model":
        cycles = -(-1000 * (2**27 - 134) // 134)
        windows, rest = divmod(cycles - 250, 1250)
        assert rest > 250
        second = begin + (windows + 2) * 20 * US
    released = second - 400_000 * US
    settings = cbs(5, 0.001) + gates([([5], 10 * US), ([1], 10 * US)])
    streams = frames("s", 5, FRAME, released_ns(begin, FRAME))
    streams += frames("t", 5, FRAME, released)
    streams += frames("other", 1, 64, released, talker=1, source='every = "40us", count = 9000')
    began = time.process_time()
    found = bridge(kind)(settings, streams, duration="17s")
    assert (found["s"], found["t"]) == ([begin], [second])
    assert len(found["other"]) == 9000
    assert time.process_time() - began < 20, "cost follows the frames, not the windows between them"


@pytest.mark.parametrize("kind", KINDS)
def test_a_starved_class_catches_up(kind: str, bridge: Make) -> None:
    """Eight frames of 1522 bytes in a strict class above keep the link for 98.688 us; class 5 has 250 Mb/s.

    Meanwhile it earns 24672 bits, less 2 as its frames are ready 8 ns later than the first of those. A frame costs
    6000: 24670, 18670, 12670, 6670, 670, -5330. So five go back to back, and the sixth after 5330 bits at 250 Mb/s:
    21.32 us.
    """
    settings = 'classes.7 = { selection = "strict" }\n' + cbs(5, 250)
    begin = 300 * US
    streams = frames("above", 7, 1522, released_ns(begin, 1522), talker=1, source=burst(8))
    streams += frames("s", 5, FRAME, released_ns(begin + 8, FRAME), source=burst(7))
    found = bridge(kind)(settings, streams)
    assert found["above"] == [begin + n * 12_336 for n in range(8)]
    free = begin + 98_688
    sixth = free + 5 * 8 * US + 21_320
    assert found["s"] == [*(free + n * 8 * US for n in range(5)), sixth, sixth + 32 * US]


@pytest.mark.parametrize("kind", KINDS)
def test_credit_above_zero_is_lost_when_nothing_waits(kind: str, bridge: Make) -> None:
    """A frame waits for 12.328 us and earns 1541 bits; sent, it leaves -5459, zero 43.672 us later, and no more.

    A burst that comes long after begins at once, and its second frame 64 us later: nothing was saved.
    """
    begin, later = 100 * US, 900 * US
    streams = frames("long", 1, 1522, released_ns(begin, 1522), talker=1)
    streams += frames("s", 5, FRAME, released_ns(begin + 8, FRAME))
    streams += frames("then", 5, FRAME, released_ns(later, FRAME), source=burst(2), talker=3)
    found = bridge(kind)(cbs(5, 125), streams)
    assert found["s"] == [begin + 12_336]
    assert found["then"] == [later, later + 64 * US]


@pytest.mark.parametrize("kind", KINDS)
def test_credit_behind_half_open_gates(kind: str, bridge: Make) -> None:
    """125 Mb/s scaled to a gate that is open for the first half of 256 us are 250 Mb/s while it is open.

    A frame takes 8 us and costs 6000 bits, which are earned in 24 us: 32 us from frame to frame, and while the gate is
    closed the credit stays as it is. 15 frames wait when the gate opens first.

    - 0, 32, 64, 96 us: four frames. The last leaves -6000 at 104 us, and the gate closes at 128 us, at 0 bits.
    - 256 us and so on: the same in each cycle, 4 · 8000 bits in 256 us, which is 125 Mb/s.
    """
    settings = cbs(5, 125, ", scaled = true") + gates([([5], 128 * US), ([], 128 * US)], 512 * US, 'initial = "none"')
    found = bridge(kind)(settings, frames("s", 5, FRAME, 0, source=burst(15)))
    assert found == {"s": [512 * US + 256 * US * (n // 4) + 32 * US * (n % 4) for n in range(15)]}


@pytest.mark.parametrize("kind", KINDS)
def test_credit_freezes_below_zero(kind: str, bridge: Make) -> None:
    """125 Mb/s, not scaled, and a gate that is open for 100 us of 200 us. A frame costs 7000 bits, earned in 56 us.

    - 0: the first, -7000 at 8 us, 0 at 64 us.
    - 64: the second, -7000 at 72 us. Until the gate closes at 100 us 3500 bits are earned, and then none.
    - 200: -3500, which take 28 us.
    - 228: the third, -7000 at 236 us, 0 at 292 us. There is 8 us left, and a frame takes 8 us: it fits exactly.
    - 292: the fourth, -7000 at 300 us, as the gate closes.
    - 400: -7000, 0 at 456 us.
    - 456: the fifth, -7000 at 464 us, and -2500 at 500 us. 20 us after 600 us it is zero: the sixth.
    """
    base = 512 * US
    settings = cbs(5, 125) + gates([([5], 100 * US), ([], 100 * US)], base, 'initial = "none"')
    found = bridge(kind)(settings, frames("s", 5, FRAME, 0, source=burst(6)))
    assert found == {"s": [base + at * US for at in (0, 64, 228, 292, 456, 620)]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_that_does_not_fit_goes_on_earning_until_the_gate_closes(kind: str, bridge: Make) -> None:
    """250 Mb/s, open for 100 us of 200 us. Frames at 0, 32 and 64 us; at 96 us the fourth has credit and 4 us are left.

    It earns 4 us · 250 Mb/s = 1000 bits until the gate closes, keeps them, and is sent at 200 us: 1000 - 6000 = -5000,
    zero 20 us after its end. So the fifth follows at 228 us, and the sixth 32 us later.
    """
    base = 512 * US
    settings = cbs(5, 250) + gates([([5], 100 * US), ([], 100 * US)], base, 'initial = "none"')
    found = bridge(kind)(settings, frames("s", 5, FRAME, 0, source=burst(6)))
    assert found == {"s": [base + at * US for at in (0, 32, 64, 200, 228, 260)]}


# ---- the state machine by itself, in the hardware's units: 2^-24 bit and cycles of 8 ns

BIT = 1 << 24
PORT_RATE = 8 * BIT


def test_slopes_in_units_of_the_hardware() -> None:
    """125 Mb/s are 1 bit in 8 ns, which is 2^24; others are rounded down: 100 Mb/s are 0.8 · 2^24 = 13421772.8."""
    assert _engine.idle_slope(1_000_000_000) == PORT_RATE
    assert _engine.idle_slope(SLOPE_BPS) == BIT
    assert _engine.idle_slope(100_000_000) == 13_421_772
    assert _engine.idle_slope(8) == 1  # 7.45 b/s


def test_the_least_and_the_greatest_credit() -> None:
    """Waiting for 1542 cycles earns 1542 bits; sending 1000 bytes costs 7 bits each: 1542 - 7000 = -5458 bits."""
    credit = _engine.Credit(BIT, PORT_RATE)
    credit.advance(1542, transmitting=False, gate_open=True, waiting=True)
    assert credit.credit == 1542 * BIT
    credit.advance(1000, transmitting=True, gate_open=True, waiting=True)
    assert credit.credit == -5458 * BIT
    credit.advance(10_000, transmitting=False, gate_open=False, waiting=True)
    assert credit.credit == -5458 * BIT
    assert credit.ticks_to_zero == 5458
    credit.advance(5457, transmitting=False, gate_open=True, waiting=False)
    assert credit.credit == -BIT
    credit.advance(2, transmitting=False, gate_open=True, waiting=False)
    assert credit.credit == 0
    credit.advance(10, transmitting=False, gate_open=True, waiting=True)
    credit.advance(1, transmitting=False, gate_open=False, waiting=False)
    assert credit.credit == 0


def test_a_slope_that_is_none_is_refused() -> None:
    for slope in (0, PORT_RATE + 1):
        with pytest.raises(_engine.InputError, match="idleSlope"):
            _engine.Credit(slope, PORT_RATE)


@pytest.mark.parametrize("kind", ["other maker", "model"])
def test_credit_frozen_in_the_guard_band(kind: str, bridge: Make) -> None:
    """The gate is open for 100 us of 200 us, and five frames of 8 us at 125 Mb/s are ready at 200 us.

    A frame costs 7000 bits, for which it takes 56 us. In the last 8 us before the gate closes credit stays as it is.

    - 264: the second; -7000 bits at 272, -4500 at 292, and still at 400; zero 36 us later.
    - 436: the third; -7000 at 444, -1000 at 492, and still at 600; zero 8 us later.
    - 608: the fourth; zero at 672, when the fifth begins.
    """
    settings = 'guard_band_credit = "frozen"\n' + cbs(5, 125) + gates([([5], 100 * US), ([], 100 * US)])
    streams = frames("s", 5, FRAME, released_ns(150 * US, FRAME), source=burst(5))
    found = bridge(kind)(settings, streams)
    assert found == {"s": [at * US for at in (200, 264, 436, 608, 672)]}
