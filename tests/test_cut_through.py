# SPDX-License-Identifier: Apache-2.0
"""Cut-through: when a copy leaves before its frame is whole, when it waits, and what becomes of bad frames. By hand.

At 1 Gb/s a byte takes 8 ns. The first bit of a frame that is released at 0 comes 64 ns later, behind its preamble; the
bridge takes 280 ns.
"""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.errors import InputError
from penstock.run import observe, statistics
from penstock.scenario import load
from shaped import Bridge, frames, gates

KIND = "other maker"
ALL = list(range(8))


def header(size: int | None = None) -> str:
    said = "" if size is None else f'cut_through_header = "{size}B"\n'
    return f'switching = "cut_through"\n{said}'


def early(released_ns: int, header_bytes: int = 64) -> int:
    return released_ns + 64 + 8 * header_bytes + 280


def whole(released_ns: int, frame_bytes: int) -> int:
    return released_ns + 64 + 8 * frame_bytes + 280


def rows(trace: pl.DataFrame, event: str) -> list[tuple[str, str, int, str, int]]:
    """Stream, node, port, reason and time in ns."""
    found = trace.filter(pl.col("event") == event).select("stream", "node", "port", "reason", "time_ps")
    return [(s, n, p, str(r), t // 1000) for s, n, p, r, t in found.iter_rows()]


@pytest.mark.parametrize("size", [None, 16, 42, 64, 65, 999, 1000, 2000])
def test_a_frame_leaves_behind_its_header(tmp_path: Path, size: int | None) -> None:
    sent = Bridge(tmp_path, KIND)(header(size), frames("s", 1, 1000, 0))
    assert sent["s"] == [early(0, min(size or 64, 1000))]


def test_only_an_idle_port_takes_a_frame_that_is_not_whole(tmp_path: Path) -> None:
    """The port is busy until 9.016 us, when `s` is not whole: it waits for that, until 9.344 us."""
    busy = frames("busy", 1, 1000, 0, talker=1)
    sent = Bridge(tmp_path, KIND)(header(), busy + frames("s", 3, 1000, 1000))
    assert sent == {"busy": [856], "s": [whole(1000, 1000)]}
    assert whole(1000, 1000) == 9344


def test_a_port_that_is_free_in_that_instant_is_idle(tmp_path: Path) -> None:
    """`busy` has the line from 856 ns to 9016 ns: a header that is read then leaves at once, one a ns before not."""
    for released, begins in ((8160, 9016), (8159, whole(8159, 1000))):
        busy = frames("busy", 1, 1000, 0, talker=1)
        assert Bridge(tmp_path, KIND)(header(), busy + frames("s", 1, 1000, released))["s"] == [begins]


def test_of_two_in_one_instant_the_higher_class_goes_first(tmp_path: Path) -> None:
    sent = Bridge(tmp_path, KIND)(header(), frames("low", 1, 500, 0) + frames("high", 3, 1000, 0, talker=1))
    # The low one is whole at 4344 ns, and waits for the line.
    assert sent == {"high": [856], "low": [856 + 8160]}


def test_frames_of_a_class_stay_in_order(tmp_path: Path) -> None:
    """While `first` waits for its gate, a frame of its class is no candidate, and one of another class is."""
    closed = gates([([3], 20_000), (ALL, 1_000_000)])
    streams = frames("first", 1, 500, 0) + frames("second", 1, 100, 20_000 - 800, talker=1)
    sent = Bridge(tmp_path, KIND)(header() + closed, streams + frames("other", 3, 500, 6000, talker=3))
    assert sent["other"] == [early(6000)]
    assert sent["first"] == [20_000]
    assert sent["second"] == [20_000 + 520 * 8]


def test_a_gate_has_to_stay_open_for_the_longest_frame(tmp_path: Path) -> None:
    """Its length is not known: 1522 B take 12.336 us, and 100 B that max_sdu allows 960 ns."""
    for limit, begins in (("", whole(1000, 100)), ('classes.1.max_sdu = "82B"\n', early(1000))):
        for window in (10_000, early(1000) + 960):
            closing = gates([(ALL, window), ([], 1_000_000 - window)])
            sent = Bridge(tmp_path, KIND)(header() + limit + closing, frames("s", 1, 100, 1000))
            assert sent["s"] == [begins if window == 10_000 or limit else 1_000_000]
    closing = gates([(ALL, early(1000) + 959), ([], 1_000_000)])
    limit = 'classes.1.max_sdu = "82B"\n'
    assert Bridge(tmp_path, KIND)(header() + limit + closing, frames("s", 1, 100, 1000))["s"] != [early(1000)]
    wide = gates([(ALL, early(1000) + 12_336), ([], 1_000_000)])
    assert Bridge(tmp_path, KIND)(header() + wide, frames("s", 1, 100, 1000))["s"] == [early(1000)]


def test_a_class_without_credit_waits(tmp_path: Path) -> None:
    """The first costs 8160 ns of 900 Mb/s, which takes 9 times as long to earn; the second is whole by then."""
    cbs = 'classes.4 = { selection = "cbs", idle_slope = "100Mb/s" }\n'
    two = frames("a", 4, 1000, 0) + frames("b", 4, 100, 9000, talker=1)
    sent = Bridge(tmp_path, KIND)(header() + cbs, two)
    assert sent == {"a": [856], "b": [856 + 10 * 8160]}
    later = Bridge(tmp_path, KIND)(header() + cbs, two.replace('"9000ns"', '"200us"'))
    assert later["b"] == [early(200_000)]


def test_a_stream_with_ats_is_stored(tmp_path: Path) -> None:
    """Its eligibility time is its last bit's at the earliest; frames of its class without a scheduler leave early."""
    shaped = frames("s", 7, 1000, 0, more='ats = { rate = "100Mb/s", burst = "2kB" }')
    sent = Bridge(tmp_path, KIND)(header(), shaped + frames("other", 7, 500, 100_000, talker=1))
    assert sent == {"s": [whole(0, 1000)], "other": [early(100_000)]}


def broken(a: str, b: str, rate: str = "1") -> str:
    return f'\n[[faults]]\nlink = ["{a}", "{b}"]\nbit_error_rate = {rate}\n'


def test_what_turns_out_bad_is_sent_on_spoiled(tmp_path: Path) -> None:
    """Known with its last bit, at 8064 ns; the listener drops it with the last bit that it gets."""
    run = Bridge(tmp_path, KIND)
    sent = run(header(), frames("s", 1, 1000, 0) + broken("t0", "b"))
    assert sent["s"] == [856]
    assert rows(run.trace, "spoiled") == [("s", "b", 2, "fcs", 8064)]
    assert rows(run.trace, "dropped") == [("s", "listener", 0, "fcs", 856 + 64 + 8000)]
    summary, _ = observe(load(tmp_path / "scenario.toml"))
    stream = summary["streams"]["s"]
    assert (stream["dropped"], stream["spoiled"], stream["conserved"]) == ({"fcs": 1}, 1, True)
    assert statistics(load(tmp_path / "scenario.toml"))["streams"]["s"]["spoiled"] == 1


def test_what_is_known_to_be_bad_does_not_leave(tmp_path: Path) -> None:
    """Where its port is busy, or where it is whole before it could leave."""
    run = Bridge(tmp_path, KIND)
    busy = frames("busy", 1, 1000, 0, talker=1)
    sent = run(header(), busy + frames("s", 3, 1000, 1000) + broken("t0", "b"))
    assert "s" not in sent
    assert rows(run.trace, "dropped") == [("s", "b", 0, "fcs", 1000 + 8064)]
    # 280 ns are 35 B: behind the header of 64 B, 99 B and no more are there before the frame would leave.
    for length, leaves in ((98, False), (99, False), (100, True)):
        assert ("s" in run(header(), frames("s", 1, length, 0) + broken("t0", "b"))) is leaves


CHAIN = """
name = "chain"
nodes = "model"
duration = "1ms"
[links]
delay = "0ns"
a = { between = ["one.1", "two.0"] }
b = { between = ["two.1", "three.0"] }
[bridges]
one = { ports = 3, processing_delay = "280ns", switching = "cut_through" }
two = { ports = 3, processing_delay = "280ns", switching = "SWITCHING" }
three = { ports = 3, processing_delay = "280ns", switching = "cut_through" }
[stations]
talker = { at = "one.0" }
listener = { at = "three.1" }
[streams.s]
from = "talker"
to = ["listener"]
source = { frames = "1000B", every = "100us", count = 10 }
"""


@pytest.mark.parametrize(
    ("switching", "spoiled", "at"),
    [
        ("cut_through", [("one", 64), ("two", 920), ("three", 1776)], "listener"),
        ("store_and_forward", [("one", 64)], "two"),
    ],
)
def test_the_first_that_stores_drops_it(switching: str, spoiled: list[tuple[str, int]], at: str) -> None:
    text = CHAIN.replace("SWITCHING", switching) + broken("talker", "one")
    summary, view = observe(load(tomllib.loads(text)))
    told = rows(view.trace.head(1_000_000).with_columns(pl.col("node", "stream").cast(pl.String)), "spoiled")
    # The first bit comes to each bridge so late, and the last one 8000 ns after it.
    assert [(node, time) for _, node, _, _, time in told[: len(spoiled)]] == [(n, t + 8000) for n, t in spoiled]
    assert {node for _, node, *_ in rows(view.trace, "dropped")} == {at}
    assert summary["streams"]["s"]["dropped"] == {"fcs": 10}
    assert summary["streams"]["s"]["spoiled"] == 10 * len(spoiled)


@pytest.mark.parametrize("bad", [False, True])
def test_of_a_frame_for_two_each_copy_goes_its_way(tmp_path: Path, bad: bool) -> None:
    """Port 2 is busy until 9016 ns and port 3 idle: what is bad is dropped for the one, and spoiled for the other."""
    two = frames("s", 1, 1000, 1000).replace('to = ["listener"]', 'to = ["listener", "t3"]')
    run = Bridge(tmp_path, KIND)
    run(header(), frames("busy", 1, 1000, 0, talker=1) + two + (broken("t0", "b") if bad else ""))
    at_b = run.trace.filter((pl.col("node") == "b") & (pl.col("stream") == "s"))
    sent = [
        (p, t // 1000 - 64) for p, t in at_b.filter(pl.col("event") == "sent").select("port", "time_ps").iter_rows()
    ]
    assert sent == [(3, early(1000)), (2, whole(1000, 1000))][: 1 if bad else 2]
    if bad:
        assert rows(run.trace, "spoiled") == [("s", "b", 3, "fcs", 9064)]
        dropped = [("s", "b", 2, "fcs", 9064), ("s", "t3", 0, "fcs", early(1000) + 64 + 8000)]
        assert sorted(rows(run.trace, "dropped")) == dropped
    summary, view = observe(load(tmp_path / "scenario.toml"))
    stream = summary["streams"]["s"]
    assert stream["conserved"]
    assert (stream["delivered"], stream["dropped"]) == ((0, {"fcs": 2}) if bad else (2, {}))
    assert statistics(load(tmp_path / "scenario.toml"))["streams"]["s"]["dropped"] == stream["dropped"]
    del view


@pytest.mark.parametrize("at_ns", [3_000, 9_000, 9_100])
def test_a_bridge_that_dies_with_half_a_frame_keeps_its_books(tmp_path: Path, at_ns: int) -> None:
    """One copy is on its way to port 3, the other waits for port 2."""
    two = frames("s", 1, 1000, 1000).replace('to = ["listener"]', 'to = ["listener", "t3"]')
    dies = f'\n[[faults]]\nnode = "b"\nat = "{at_ns}ns"\nuntil = "20us"\n'
    Bridge(tmp_path, KIND)(header(), frames("busy", 1, 1000, 0, talker=1) + two + dies)
    summary, _ = observe(load(tmp_path / "scenario.toml"))
    assert summary["conservation"]["ok"]
    assert summary["streams"]["s"]["dropped"] == {"node_down": 2}


def chain(draw: random.Random, switching: dict[str, str]) -> dict[str, Any]:
    """Bridges in a line at any rates, and one frame."""
    hops = draw.randint(1, 4)
    rates = [draw.choice(["100Mb/s", "1Gb/s", "10Gb/s"]) for _ in range(hops + 1)]
    delay = draw.choice(["0ns", "100ns", "3us"])
    clocks = [{"drift": f"{draw.randint(-100, 100)}ppm"} for _ in range(hops)]
    return {
        "name": "chain",
        "nodes": "model",
        "duration": "1ms",
        "links": {f"l{n}": {"between": [f"b{n}.1", f"b{n + 1}.0"], "rate": rates[n + 1]} for n in range(hops - 1)},
        "bridges": {
            f"b{n}": {"ports": 2, "processing_delay": delay, "clock": clocks[n], **switching} for n in range(hops)
        },
        "stations": {
            "talker": {"at": "b0.0", "rate": rates[0]},
            "listener": {"at": f"b{hops - 1}.1", "rate": rates[-1]},
        },
        "streams": {
            "s": {
                "from": "talker",
                "to": ["listener"],
                "source": {
                    "frames": f"{draw.randint(64, 1522)}B",
                    "every": "1ms",
                    "start": f"{draw.randint(0, 999)}ns",
                },
            }
        },
    }


@pytest.mark.parametrize("seed", range(30))
def test_in_an_idle_network_it_is_never_later(seed: int) -> None:
    size = random.Random(seed).choice([16, 64, 300, 2000])
    took = [
        statistics(load(chain(random.Random(seed), switching)))["streams"]["s"]["latency_ns"]["max"]
        for switching in (
            {"switching": "cut_through", "cut_through_header": f"{size}B"},
            {"switching": "cut_through", "cut_through_header": "2kB"},
            {"switching": "store_and_forward"},
        )
    ]
    assert took[0] <= took[1] == took[2]


def test_a_header_has_to_hold_what_a_stream_is_known_by(tmp_path: Path) -> None:
    ends = 'source = "10.0.0.1", destination = "10.0.0.2", source_port = 1, destination_port = 2'
    udp = f'udp = {{ {ends} }}\nidentify = "ipv4"\n'
    ats = 'ats = { rate = "100Mb/s", burst = "2kB" }\n'
    with pytest.raises(InputError, match=r"first 41 B.*42B"):
        Bridge(tmp_path, KIND)(header(41), frames("s", 7, 1000, 0, more=udp + ats))
    assert Bridge(tmp_path, KIND)(header(42), frames("s", 7, 1000, 0, more=udp + ats))["s"] == [whole(0, 1000)]


def test_bridges_of_linux_store(tmp_path: Path) -> None:
    Bridge(tmp_path, KIND)(header(), frames("s", 1, 1000, 0))
    for nodes, said in (("linux", "whole frames only"), ("rtl", "is what it is")):
        with pytest.raises(InputError) as refused:
            load(tmp_path / "scenario.toml", nodes)
        assert said in str(refused.value)
