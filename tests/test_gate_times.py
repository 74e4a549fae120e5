# SPDX-License-Identifier: Apache-2.0
"""When frames leave through gates, computed by hand and met to the nanosecond.

All times are of the preamble's first bit at the gated port. A frame may begin at t if its gate is open from t until
(L + 20) byte times later: 8 bytes of preamble, L bytes, 12 bytes of gap.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import report
from penstock.errors import InputError
from penstock.run import run
from penstock.scenario import load
from penstock.scenario.egress import GateList
from penstock.scenario.limits import START_TIME_NS
from shaped import KINDS, Bridge, frames, gates, ready_ns, released_ns, wire_ns

STRICT = 'classes.7 = { selection = "strict" }\nclasses.6 = { selection = "strict" }\n'
US = 1000
# Hardware and its twin run at 1 Gb/s.
SPEEDS = [(kind, 1000) for kind in KINDS] + [("other maker", 100)]

Make = Callable[[str, int], Bridge]


@pytest.fixture
def bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr(report, "render", lambda *_, **__: "")  # has tests of its own
    return lambda kind, rate_mbps: Bridge(tmp_path, kind, rate_mbps)


@pytest.mark.parametrize(("kind", "rate_mbps"), SPEEDS)
def test_one_window_for_each_class(kind: str, rate_mbps: int, bridge: Make) -> None:
    """Class k is open from 30 us · k to 30 us · (k + 1) of a cycle of 240 us that first begins at 1 ms.

    All frames wait by then, behind closed gates; each begins with its window, 200 + 20 bytes of 1.76 us at 1 Gb/s and
    17.6 us at 100 Mb/s. The second of each class comes after the first window and waits for the second likewise.
    """
    base, window = 1000 * US, 30 * US
    settings = STRICT + gates([([k], window) for k in range(8)], base, 'initial = "none"')
    streams = ""
    for k in range(8):
        streams += frames(f"c{k}", k, 200, 20 * US * k, source='every = "1140us", count = 2')
    found = bridge(kind, rate_mbps)(settings, streams)
    assert found == {f"c{k}": [base + window * k, base + 240 * US + window * k] for k in range(8)}


@pytest.mark.parametrize("late_ns", [0, 8])
@pytest.mark.parametrize("frame_bytes", [64, 1522])
@pytest.mark.parametrize(("kind", "rate_mbps"), SPEEDS)
def test_the_guard_band(kind: str, rate_mbps: int, frame_bytes: int, late_ns: int, bridge: Make) -> None:
    """Class 1 closes 200 us after the cycle's begin, which is at 400 us, and opens again 50 us later.

    A frame of 64 bytes takes 672 ns at 1 Gb/s and 6.72 us at 100 Mb/s, one of 1522 bytes 12.336 us and 123.36 us. One
    that is ready so long before the gate closes begins at once; one that is ready a cycle of 8 ns later waits for the
    next window.
    """
    base, closes, cycle = 400 * US, 600 * US, 250 * US
    last = closes - {64: 672, 1522: 12_336}[frame_bytes] * (1000 // rate_mbps)
    settings = gates([([1], 200 * US), ([], 50 * US)], base)
    start = released_ns(last + late_ns, frame_bytes, rate_mbps)
    found = bridge(kind, rate_mbps)(settings, frames("s", 1, frame_bytes, start))
    assert found == {"s": [base + cycle if late_ns else last]}


@pytest.mark.parametrize("late_ns", [0, 1])
@pytest.mark.parametrize("rate_mbps", [100, 1000])
def test_the_guard_band_to_a_nanosecond(rate_mbps: int, late_ns: int, bridge: Make) -> None:
    base, closes, frame_bytes = 400 * US, 600 * US, 300
    last = closes - 320 * 8 * (1000 // rate_mbps)
    settings = gates([([1], 200 * US), ([], 50 * US)], base)
    start = released_ns(last + late_ns, frame_bytes, rate_mbps)
    found = bridge("other maker", rate_mbps)(settings, frames("s", 1, frame_bytes, start))
    assert found == {"s": [base + 250 * US if late_ns else last]}


@pytest.mark.parametrize(("kind", "rate_mbps"), SPEEDS)
def test_a_frame_that_fits_exactly_and_one_byte_more(kind: str, rate_mbps: int, bridge: Make) -> None:
    """The first window of a cycle of 300 us is as long as 500 + 20 bytes: 4160 ns at 1 Gb/s, 41.6 us at 100 Mb/s.

    The frame of 500 bytes is sent in it, though it has no nanosecond to spare. The one of 501 bytes waits for the
    second window, 150 us later.
    """
    base, exact = 200 * US, 4160 * (1000 // rate_mbps)
    entries = [([1, 2], exact), ([], 150 * US - exact), ([1, 2], 100 * US), ([], 50 * US)]
    streams = frames("fits", 1, 500, 0) + frames("longer", 2, 501, 0, talker=1)
    found = bridge(kind, rate_mbps)(gates(entries, base, 'initial = "none"'), streams)
    assert found == {"fits": [base], "longer": [base + 150 * US]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_cycle_of_250_us_with_three_windows(kind: str, bridge: Make) -> None:
    """Control from 0 to 20 us, video from 20 to 120 us, all else from 120 to 250 us; cycles begin at 500 us.

    Before that all is closed, and 16 frames of each have come. Video's frames of 1522 bytes take 12.336 us: 8 of them
    fit in 100 us (98.688 us), the ninth would end at 111.024 us. In 130 us 10 frames of bulk fit (123.36 us). Control's
    frames of 480 bytes take 4 us: 5 of them fill 20 us to the last byte.
    """
    base, cycle = 500 * US, 250 * US
    settings = STRICT + gates([([7], 20 * US), ([6], 100 * US), ([1], 130 * US)], base, 'initial = "none"')
    burst = 'burst = 16, every = "1s"'
    streams = frames("control", 7, 480, 0, source=burst)
    streams += frames("video", 6, 1522, 0, talker=1, source=burst)
    streams += frames("bulk", 1, 1522, 0, talker=3, source=burst)
    found = bridge(kind, 1000)(settings, streams)

    def begins(first: int, wire: int, at_once: int) -> list[int]:
        return [base + cycle * (n // at_once) + first + wire * (n % at_once) for n in range(16)]

    assert found["control"] == begins(0, 4 * US, 5)
    assert found["video"] == begins(20 * US, 12_336, 8)
    assert found["bulk"] == begins(120 * US, 12_336, 10)


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_in_which_the_gate_stays_open_makes_no_guard_band(kind: str, bridge: Make) -> None:
    """Class 1 is open from 100 us to 200 us in three entries, and from 390 us over the cycle's end on to 450 us.

    A frame of 12.336 us that is ready 4 us before an entry ends begins at once, also where that is the end of the
    cycle; one that is ready at 192 us has 8 us left, and waits for 390 us.
    """
    entries = [
        ([1], 50 * US), ([], 50 * US), ([1], 30 * US), ([1, 2], 30 * US), ([1], 40 * US), ([], 190 * US),
        ([1], 10 * US),
    ]  # fmt: skip
    cycle = 400 * US
    ready = [126 * US, 156 * US, 192 * US, cycle + 396 * US, 2 * cycle + 40 * US]
    streams = "".join(frames(f"s{n}", 1, 1522, released_ns(at, 1522)) for n, at in enumerate(ready))
    found = bridge(kind, 1000)(gates(entries), streams)
    assert found == {
        "s0": [126 * US], "s1": [156 * US], "s2": [390 * US], "s3": [cycle + 396 * US], "s4": [2 * cycle + 100 * US],
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_shorter_frame_of_a_lower_class_goes_where_a_longer_one_does_not_fit(kind: str, bridge: Make) -> None:
    """5 us before the gates of both classes close, 1522 bytes of class 5 do not fit (12.336 us), 100 of class 2 do."""
    base = 100 * US
    entries = [([2, 5], 50 * US), ([], 50 * US)]
    at = base + 45 * US
    streams = frames("long", 5, 1522, released_ns(at, 1522)) + frames("short", 2, 100, released_ns(at, 100), talker=1)
    found = bridge(kind, 1000)(gates(entries, base), streams)
    assert found == {"long": [base + 100 * US], "short": [at]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_is_longer_than_its_cycle_is_cut(kind: str, bridge: Make) -> None:
    """Of the entries of 60, 60 and 60 us in a cycle of 100 us, the second lasts 40 us and the third never acts."""
    settings = gates([([1], 60 * US), ([2], 60 * US), ([3], 60 * US)], 0, 'cycle_time = "100us"')
    # 40 us are 5000 bytes; ready 10 us before the second entry ends by the cycle, though it would last 30 us.
    streams = frames("first", 2, 1200, released_ns(90 * US, 1200)) + frames(
        "late", 2, 1300, released_ns(190 * US, 1300)
    )
    found = bridge(kind, 1000)(settings, streams)
    # 1220 bytes are 9.76 us and fit in 10 us; 1320 are 10.56 us.
    assert found == {"first": [90 * US], "late": [260 * US]}


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_entry_of_a_shorter_list_lasts(kind: str, bridge: Make) -> None:
    """Entries of 20 and 20 us in a cycle of 100 us: the second lasts from 20 us to 100 us."""
    settings = gates([([1], 20 * US), ([2], 20 * US)], 0, 'cycle_time = "100us"')
    streams = frames("two", 2, 1000, released_ns(80 * US, 1000)) + frames(
        "one", 1, 1000, released_ns(80 * US, 1000), talker=1
    )
    assert bridge(kind, 1000)(settings, streams) == {"two": [80 * US], "one": [100 * US]}


@pytest.mark.parametrize("kind", KINDS)
def test_shorter_intervals_than_any_frame(kind: str, bridge: Make) -> None:
    """64 entries of 64 ns, class 1 open in all, class 2 in every other: class 1 passes as without gates."""
    settings = gates([([1, 2] if n % 2 else [1, 3], 64) for n in range(64)])
    at = 100 * US + 8
    assert bridge(kind, 1000)(settings, frames("s", 1, 700, released_ns(at, 700))) == {"s": [at]}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base_ns", [0, 64, 1_000_008])
def test_gates_open_at_their_time(kind: str, base_ns: int, bridge: Make) -> None:
    """Frames that wait begin as the gate opens, to the cycle: 80 ns into each cycle of 10.08 us, from the base time."""
    settings = gates([([], 80), ([1], 10_000)], base_ns, 'initial = "none"')
    streams = frames("s", 1, 1208, 0, source='burst = 4, every = "1s"')
    # Ready at 10.008 us. A frame of 1228 bytes takes 9.824 us: one for each window, from its begin if it waits by then.
    ready, cycle = ready_ns(0, 1208), 10_080
    cycles = -(-(ready - base_ns - 80) // cycle) if ready > base_ns + 80 else 0
    first = base_ns + 80 + cycles * cycle
    assert wire_ns(1208) == 9_824
    assert bridge(kind, 1000)(settings, streams) == {"s": [first + n * cycle for n in range(4)]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_that_fits_no_window_does_not_block_its_queue(kind: str, tmp_path: Path) -> None:
    """A window of 5 us holds 605 bytes. `check` refuses longer frames; those that come all the same are dropped.

    The shorter ones of the same class behind them are sent, one in each window as that is what it holds.
    """
    base = 100 * US
    network = load(
        {
            "name": "long",
            "nodes": "rtl" if kind == "rtl" else "model",
            "duration": "1ms",
            "links": {"delay": "0ns"},
            "bridges": {"b": {"ports": 4} | ({"processing_delay": "280ns"} if kind == "other maker" else {})},
            "stations": {"t": {"at": "b.0"}, "listener": {"at": "b.2"}},
            "streams": {
                name: {
                    "from": "t",
                    "to": ["listener"],
                    "vlan": 10,
                    "pcp": 0,
                    "source": {"frames": f"{size}B", "every": "50us", "start": start, "count": 4},
                }
                for name, size, start in (("long", 606, "0us"), ("short", 605, "10us"))
            },
        }
    )
    window = GateList(((1 << 1, 5 * US), (0, 95 * US)), START_TIME_NS + base, 100 * US, 0, 0)
    gated = dataclasses.replace(network.bridges["b"], gates={2: window})
    summary = run(dataclasses.replace(network, bridges={"b": gated}), tmp_path / "out").summary
    long, short = (summary["streams"][name] for name in ("long", "short"))
    # What comes before the list acts is queued, and dropped when it is looked at.
    assert (long["delivered"], long["dropped"]) == (0, {"max_sdu": 4})
    assert (short["delivered"], short["dropped"]) == (4, {})
    assert summary["ok"]


@pytest.mark.parametrize("years", [1, 56, 100])
@pytest.mark.parametrize("kind", ["other maker", "model"])
def test_gates_that_begin_in_years(kind: str, years: int, bridge: Make) -> None:
    """Until then what `initial` says holds: class 1 is open, class 2 closed."""
    base = years * 365 * 86_400 * 10**9
    settings = gates([([2], 100 * US), ([1], 100 * US)], base, "initial = [1]")
    streams = frames("s", 1, 200, 500 * US) + frames("t", 2, 200, 500 * US, talker=1)
    assert bridge(kind, 1000)(settings, streams) == {"s": [ready_ns(500 * US, 200)]}


@pytest.mark.parametrize("kind", ["other maker", "model"])
def test_a_guard_band_without_the_gap(kind: str, bridge: Make) -> None:
    """Class 1 closes at 100 us, 300 us, and so on; 980 bytes take 7.904 us, with the gap 8 us.

    Ready 7.904 us before the gate closes, a frame begins at once; ready 8 ns later, it waits for the next window.
    With the gap the first of them waits, too.
    """
    settings = gates([([1], 100 * US), ([], 100 * US)])
    for late_ns, gap, begins in ((0, "false", 92_096), (8, "false", 200 * US), (0, "true", 200 * US)):
        streams = frames("s", 1, 980, released_ns(92_096 + late_ns, 980))
        found = bridge(kind, 1000)(f"guard_band_gap = {gap}\n" + settings, streams)
        assert found == {"s": [begins]}


def test_the_longest_frame_of_a_window_without_the_gap(bridge: Make) -> None:
    """A window of 7.904 us holds 980 bytes without their gap, and never holds them with it."""
    settings = gates([([1], 7_904), ([], 100 * US)])
    streams = frames("s", 1, 980, released_ns(50 * US, 980))
    found = bridge("model", 1000)("guard_band_gap = false\n" + settings, streams)
    assert found == {"s": [107_904]}
    with pytest.raises(InputError, match="7904 ns at most"):
        bridge("model", 1000)(settings, streams)


def test_linux_has_no_other_guard_band() -> None:
    keys = {"guard_band_gap": False, "guard_band_credit": "frozen"}
    values = {
        "nodes": "linux",
        "bridges": {"b": {"ports": 2, **keys}},
        "stations": {"t": {"at": "b.0", **keys}, "l": {"at": "b.1"}},
        "streams": {
            "s": {"from": "t", "to": ["l"], "vlan": 10, "pcp": 0, "source": {"frames": "100B", "every": "1ms"}}
        },
    }
    with pytest.raises(InputError) as refused:
        load(values)
    found = {error.key: error.allowed or "" for error in refused.value.errors}
    for node in ("bridges.b", "stations.t"):
        assert 'nodes = "model"' in found[f"{node}.guard_band_gap"]
        assert 'nodes = "model"' in found[f"{node}.guard_band_credit"]
