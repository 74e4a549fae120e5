# SPDX-License-Identifier: Apache-2.0
"""When frames leave a station with gates and credit, computed by hand and met to the nanosecond.

All times are of the preamble's first bit at the station. A frame of 980 bytes takes 1000 bytes of the wire, 8 us at
1 Gb/s; at an idle slope of 125 Mb/s it costs 7000 bits of credit, which are earned again in 56 us.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

import penstock as ps
from penstock import report
from penstock.journeys import View
from penstock.report.moments import Ports, at_port
from penstock.run import run
from penstock.scenario import load
from penstock.scenario.egress import GateList
from penstock.scenario.limits import START_TIME_NS
from shaped import begins, drops, entry, frames, wire_ns

US = 1000
FRAME = 980


class Talker:
    """Runs streams from one station, and keeps the trace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trace = pl.DataFrame()
        self.summary: Mapping[str, object] = {}

    def __call__(
        self, keys: str, streams: str, *, rate_mbps: int = 1000, duration: str = "3ms"
    ) -> dict[str, list[int]]:
        """When the preamble of each frame begins at the station in ns, by stream."""
        text = (
            f'name = "talker"\nnodes = "model"\nduration = "{duration}"\n'
            f'[links]\nrate = "{rate_mbps}Mb/s"\ndelay = "0ns"\n'
            '[bridges.b]\nports = 2\nprocessing_delay = "0ns"\nclasses.7.selection = "strict"\n'
            f'[stations.listener]\nat = "b.1"\n[stations.t0]\nat = "b.0"\n{keys}\n{streams}'
        )
        file = self.folder / "scenario.toml"
        file.write_text(text)
        result = ps.load(file).run()
        self.trace = result.trace.with_columns(pl.col("stream", "node", "event").cast(pl.String))
        self.summary = result.summary
        assert result.summary["ok"]
        return begins(self.trace, "t0", rate_mbps)


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talker:
    monkeypatch.setattr(report, "render", lambda *_, **__: "")  # has tests of its own
    return Talker(tmp_path)


def gates(entries: list[tuple[list[int], int]], base_ns: int = 0, more: str = "") -> str:
    lines = ", ".join(entry(*one) for one in entries)
    return f'[stations.t0.gates]\nbase_time = "{base_ns}ns"\n{more}\nentries = [{lines}]\n'


def cbs(traffic_class: int, mbps: float) -> str:
    return f'classes.{traffic_class} = {{ selection = "cbs", idle_slope = "{mbps}Mb/s" }}\n'


def burst(count: int) -> str:
    return f'burst = {count}, every = "1s"'


@pytest.mark.parametrize("rate_mbps", [100, 1000])
def test_one_window_for_each_class(rate_mbps: int, talk: Talker) -> None:
    """Class k is open from 30 us · k to 30 us · (k + 1) of a cycle of 240 us that first begins at 1 ms.

    All wait by then, behind closed gates; each begins with its window. The second of each class is released after the
    first window and waits for the second likewise.
    """
    base, window = 1000 * US, 30 * US
    keys = gates([([k], window) for k in range(8)], base, 'initial = "none"')
    streams = ""
    for k in range(8):
        streams += frames(f"c{k}", k, 200, 20 * US * k, source='every = "1140us", count = 2')
    found = talk(keys, streams, rate_mbps=rate_mbps)
    assert found == {f"c{k}": [base + window * k, base + 240 * US + window * k] for k in range(8)}


@pytest.mark.parametrize("late_ns", [0, 1])
@pytest.mark.parametrize("frame_bytes", [64, 1522])
@pytest.mark.parametrize("rate_mbps", [100, 1000])
def test_the_guard_band(rate_mbps: int, frame_bytes: int, late_ns: int, talk: Talker) -> None:
    """The gate closes 200 us after the cycle's begin at 400 us, and opens again 50 us later.

    A frame that is released so long before the gate closes as it takes, gap included, begins at once: at 1 Gb/s 672 ns
    for 64 bytes, 12.336 us for 1522. One that is released 1 ns later waits for the next window.
    """
    base, closes, cycle = 400 * US, 600 * US, 250 * US
    last = closes - {64: 672, 1522: 12_336}[frame_bytes] * (1000 // rate_mbps)
    keys = gates([([1], 200 * US), ([], 50 * US)], base)
    found = talk(keys, frames("s", 1, frame_bytes, last + late_ns), rate_mbps=rate_mbps)
    assert found == {"s": [base + cycle if late_ns else last]}


def test_a_short_frame_of_a_lower_class_passes_one_that_does_not_fit(talk: Talker) -> None:
    """Both classes close at 200 us. At 195 us one of 1522 bytes, 12.336 us, and one of 64 bytes are released."""
    keys = gates([([3, 2], 200 * US), ([], 50 * US)])
    streams = frames("long", 3, 1522, 195 * US) + frames("short", 2, 64, 195 * US)
    assert talk(keys, streams) == {"short": [195 * US], "long": [250 * US]}


@pytest.mark.parametrize(("mbps", "spacing_ns"), [(125, 64 * US), (250, 32 * US), (62.5, 128 * US), (1000, 8 * US)])
def test_departures_are_spaced_by_wire_length_over_idle_slope(mbps: float, spacing_ns: int, talk: Talker) -> None:
    """1000 bytes of the wire at 125 Mb/s: 64 us; at 250 Mb/s 32 us; at 62.5 Mb/s 128 us; at the link's rate 8 us."""
    found = talk(cbs(5, mbps), frames("s", 5, FRAME, 10 * US, source=burst(12)))
    assert found == {"s": [10 * US + n * spacing_ns for n in range(12)]}


def test_the_gap_may_be_free(talk: Talker) -> None:
    """Without the gap, 988 bytes cost 988 · 7 bits, which 125 Mb/s earn in 988 · 56 ns: 988 · 64 ns in all."""
    found = talk("count_gap = false\n" + cbs(5, 125), frames("s", 5, FRAME, 0, source=burst(12)))
    assert found == {"s": [n * 988 * 64 for n in range(12)]}


def test_credit_of_two_classes(talk: Talker) -> None:
    """Class 6 has 250 Mb/s, class 5 has 125 Mb/s. At 0 12.336 us of best effort begin, at 8 ns both have four frames.

    In 8 ns class 6 earns 2 bits and class 5 one. A frame takes 8 us and costs class 6 6000 bits, class 5 7000.

    - 12.336: class 6 has 12.328 us · 250 Mb/s = 3082 bits and sends; class 5 has 1541.
    - 20.336: class 6 -2918, class 5 2541. It sends.
    - 28.336: class 6 -918, class 5 -4459. Zero 3.672 us and 35.672 us later.
    - 32.008: class 6 sends, and is at zero at 40.008 + 24 = 64.008. So is class 5.
    - 64.008: class 6 goes first and leaves -6000. Class 5 earns 1000 bits meanwhile.
    - 72.008: class 5 sends, and has -6000 at 80.008, zero at 128.008.
    - 96.008: class 6 is at zero (24 us after 72.008) and sends its last.
    - 128.008: class 5 sends, is at zero 56 us after its end, and sends its last at 192.008.
    """
    begin = 100 * US
    streams = frames("long", 1, 1522, begin)
    streams += frames("six", 6, FRAME, begin + 8, source=burst(4))
    streams += frames("five", 5, FRAME, begin + 8, source=burst(4))
    found = talk(cbs(6, 250) + cbs(5, 125), streams)
    assert found["long"] == [begin]
    assert [at - begin for at in found["six"]] == [12_336, 32_008, 64_008, 96_008]
    assert [at - begin for at in found["five"]] == [20_336, 72_008, 128_008, 192_008]


def test_credit_waits_behind_a_closed_gate(talk: Talker) -> None:
    """The gate is open for 100 us of 200 us. Five frames at 125 Mb/s are released with the first cycle.

    - 0: the first; -7000 bits at 8, zero at 64.
    - 64: the second; -7000 at 72, -3500 when the gate closes at 100, and still when it opens at 200; zero at 228.
    - 228: the third; -7000 at 236, zero at 292.
    - 292: the fourth, which ends just as the gate closes at 300; -7000 until 400, zero at 456.
    - 456: the fifth.
    """
    keys = cbs(5, 125) + gates([([5], 100 * US), ([], 100 * US)])
    found = talk(keys, frames("s", 5, FRAME, 0, source=burst(5)))
    assert found == {"s": [0, 64 * US, 228 * US, 292 * US, 456 * US]}


def test_credit_frozen_in_the_guard_band(talk: Talker) -> None:
    """As before, but from 8 us before the gate closes on, credit stays as it is while a frame of 8 us waits.

    - 64: the second; -7000 bits at 72, -4500 at 92, and still at 200; zero 36 us later.
    - 236: the third; -7000 at 244, -1000 at 292, and still at 400; zero 8 us later.
    - 408: the fourth; -7000 at 416, zero at 472.
    - 472: the fifth.
    """
    keys = 'guard_band_credit = "frozen"\n' + cbs(5, 125) + gates([([5], 100 * US), ([], 100 * US)])
    found = talk(keys, frames("s", 5, FRAME, 0, source=burst(5)))
    assert found == {"s": [0, 64 * US, 236 * US, 408 * US, 472 * US]}


def test_a_guard_band_without_the_gap(talk: Talker) -> None:
    """A window of 15.904 us holds 980 bytes, their gap, and 980 more without theirs; with it, the second waits."""
    streams = frames("s", 5, FRAME, 0, source=burst(2))
    windows = gates([([5], 15_904), ([], 84_096)])
    assert talk("guard_band_gap = false\n" + windows, streams) == {"s": [0, 8 * US]}
    assert talk(windows, streams) == {"s": [0, 100 * US]}


@pytest.mark.parametrize("gap", ["true", "false"])
def test_a_source_without_end_is_paced_and_leaves_the_rest_to_lower_classes(gap: str, talk: Talker) -> None:
    """Class 5 at 500 Mb/s sends 980 bytes every 16 us (988 · 16 ns where the gap is free), whatever else there is.

    Between two of them are 8 us, in which best effort without an end puts a frame of 480 bytes, 4 us, and another.
    Its first comes at 8 us. With the gap counted all fits exactly, so that class 5 finds the link free each time.
    """
    streams = frames("s", 5, FRAME, 0, source="back_to_back = true") + frames(
        "rest", 1, 480, 0, source="back_to_back = true"
    )
    found = talk(f"count_gap = {gap}\n" + cbs(5, 500), streams, duration="159us")
    if gap == "true":
        assert found["s"][:10] == [n * 16 * US for n in range(10)]
        assert found["rest"][:19] == [n * 16 * US + more for n in range(10) for more in (8 * US, 12 * US)][:19]
    else:
        # Class 5 is ready every 15.808 us, but has to wait for best effort, which begins 192 ns before. It earns
        # meanwhile, and is never late by more than one frame of 4 us.
        late = [at - n * 988 * 16 for n, at in enumerate(found["s"])]
        assert all(0 <= each < 4 * US for each in late)


def test_frames_above_the_longest_unit_are_dropped_and_told(tmp_path: Path) -> None:
    """Of class 1 frames up to 518 bytes leave: 500 and 18 around them. `check` refuses longer ones of known streams."""
    network = load(_two_lengths(518, 519))
    station = dataclasses.replace(network.stations["t"], max_sdu_bytes={(0, 1): 500})
    outcome = run(dataclasses.replace(network, stations=network.stations | {"t": station}), tmp_path / "out")
    short, long = (outcome.summary["streams"][name] for name in ("short", "long"))
    assert (short["delivered"], short["dropped"]) == (4, {})
    assert (long["delivered"], long["dropped"]) == (0, {"max_sdu": 4})
    assert outcome.summary["ok"]


def test_a_frame_that_fits_no_window_does_not_block_its_queue(tmp_path: Path) -> None:
    """A window of 5 us holds 605 bytes. One that waits when the list begins to act, at 100 us, is dropped then."""
    network = load(_two_lengths(605, 606))
    window = GateList(((1 << 1, 5 * US), (0, 95 * US)), START_TIME_NS + 100 * US, 100 * US, 0, 0)
    station = dataclasses.replace(network.stations["t"], gates={0: window})
    outcome = run(dataclasses.replace(network, stations=network.stations | {"t": station}), tmp_path / "out")
    trace = pl.read_parquet(tmp_path / "out" / "trace.parquet")
    trace = trace.with_columns(pl.col("stream", "node", "event", "reason").cast(pl.String))
    assert drops(trace) == [("long", "t", "max_sdu")] * 4
    at = trace.filter(pl.col("event") == "dropped").sort("time_ps")["time_ps"].to_list()
    assert at == [100 * US * 1000, 100 * US * 1000, 100 * US * 1000, 150 * US * 1000]
    assert begins(trace, "t") == {"short": [100 * US, 200 * US, 300 * US, 400 * US]}
    assert outcome.summary["ok"]


def _two_lengths(short: int, long: int) -> dict[str, object]:
    """Of each four frames, the long ones from 0 us on, the short ones from 10 us on, every 50 us."""
    return {
        "name": "lengths",
        "nodes": "model",
        "duration": "1ms",
        "bridges": {"b": {"ports": 2, "processing_delay": "0ns"}},
        "stations": {"t": {"at": "b.0"}, "listener": {"at": "b.1"}},
        "streams": {
            name: {
                "from": "t",
                "to": ["listener"],
                "vlan": 10,
                "pcp": 0,
                "source": {"frames": f"{size}B", "every": "50us", "start": start, "count": 4},
            }
            for name, size, start in (("long", long, "0us"), ("short", short, "10us"))
        },
    }


@pytest.mark.parametrize(("sync", "opens_us"), [('"ideal"', 100), ('"none"', 90)])
def test_which_clock_gates_follow(sync: str, opens_us: int, talk: Talker) -> None:
    """The station's clock is 10 us ahead. It releases by its own clock; its gates follow it only if told so."""
    keys = f'clock = {{ offset = "10us", sync = {sync} }}\n' + gates(
        [([1], 5 * US), ([], 95 * US)], 100 * US, 'initial = "none"'
    )
    assert talk(keys, frames("s", 1, 200, 50 * US)) == {"s": [opens_us * US]}
    created = talk.trace.filter(pl.col("event") == "created")["time_ps"].to_list()
    assert created == [40 * US * 1000]


def test_what_nothing_holds_leaves_as_from_a_station_without_shapers(talk: Talker) -> None:
    """Open gates and credit for a class that nothing uses: the same trace as of a plain station, event by event."""
    streams = frames("a", 7, 300, 0, source='every = "20us", jitter = { uniform = "15us" }')
    streams += frames("b", 5, 700, 0, source='poisson = "15us"')
    streams += frames("c", 1, 100, 0, source='burst = 20, every = "200us"')
    streams += frames("d", 0, 1000, 0, source="back_to_back = true")
    until = pl.col("time_ps") < 2_900_000_000  # a shaped port has a frame of "d" left when sources end
    talk("", streams)
    plain = talk.trace.filter(until & (pl.col("event") != "created"))
    talk(cbs(3, 10) + gates([(list(range(8)), 100 * US)]), streams)
    shaped = talk.trace.filter(until & (pl.col("event") != "created"))
    order = ["time_ps", "node", "event", "stream"]
    assert plain.height > 1000
    assert shaped.select(order).sort(order).equals(plain.select(order).sort(order))
    assert wire_ns(1000) == 8160  # the link is never idle


def test_hardware_hears_a_shaped_talker_as_its_model_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "render", lambda *_, **__: "")
    keys = cbs(5, 125) + gates([([5], 100 * US), ([1], 100 * US)])
    streams = frames("s", 5, FRAME, 0, source=burst(9)) + frames("rest", 1, 300, 0, source="back_to_back = true")
    text = (
        'name = "talker"\nduration = "1ms"\n[links]\ndelay = "50ns"\n[bridges.b]\nports = 4\n'
        f'[stations.listener]\nat = "b.2"\n[stations.t0]\nat = "b.0"\n{keys}\n{streams}'
    )
    (tmp_path / "scenario.toml").write_text(text)
    found = [ps.load(tmp_path / "scenario.toml").run(nodes=nodes).trace for nodes in ("model", "rtl")]
    order = ["time_ps", "node", "event", "frame_id"]
    model, rtl = (trace.with_columns(pl.col("node", "event").cast(pl.String)).sort(order) for trace in found)
    assert model.filter(pl.col("event") == "delivered").height > 100
    assert rtl.select(order).equals(model.select(order))


def test_the_report_draws_the_gates_of_a_talker(talk: Talker) -> None:
    """One frame in each window, in its class at the talker; on the wire it takes 208 bytes, without its gap."""
    keys = gates([([1], 5 * US), ([], 95 * US)])
    found = talk(keys, frames("s", 1, 200, 0, source='every = "100us", count = 2'))
    network = load(talk.folder / "scenario.toml")
    passage = Ports(View(network, talk.trace)).passage("t0", 0)
    picture = at_port(passage, 0, 200 * 10**6, {})
    assert "100 us" in picture["note"]
    (drawn,) = (bars for bars in picture["data"] if bars["name"] == "s")
    (opened,) = (bars for bars in picture["data"] if bars["name"] == "gate open")
    assert [round(at * US) for at in drawn["base"]] == found["s"] == [0, 100 * US]
    assert list(drawn["y"]) == [1, 1]
    assert [at for lane, at in zip(opened["y"], opened["base"], strict=True) if lane == 1] == [0, 100]
    assert list(drawn["x"]) == [208 * 8 / US] * 2
