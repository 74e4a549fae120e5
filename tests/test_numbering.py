# SPDX-License-Identifier: Apache-2.0
"""Streams whose frames get an R-TAG with their sequence number, and ports that remove it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

import penstock as ps
from penstock.bound import bound
from penstock.captures import read_capture
from penstock.errors import InputError
from penstock.scenario import load
from shaped import KINDS, Bridge, frames, gates, ready_ns, wire_ns

ALL = list(range(8))
TAG = b"\x81\x00\x60\x0a"
NUMBERED = "numbered = true\n"


def r_tag(number: int) -> bytes:
    return b"\xf1\xc1\0\0" + number.to_bytes(2, "big")


@pytest.mark.parametrize("nodes", ["model", "rtl"])
def test_captures_show_the_numbers(tmp_path: Path, nodes: Literal["model", "rtl"]) -> None:
    """The same for all copies, behind the tag if there is one; the FCS was checked where a capture is written."""
    ps.load(Path(__file__).parent.parent / "scenarios" / "numbers").run(nodes=nodes, out=tmp_path / "out")
    recorder, logger, drive, far_drive = (
        [frame.data for frame in read_capture(tmp_path / "out" / f"{name}.pcapng").frames]
        for name in ("recorder", "logger", "drive", "far_drive")
    )
    assert far_drive == drive  # whose bridge takes away what another one gave
    assert len(recorder) == len(logger) == len(drive) == 50
    for number, plain in enumerate(drive):
        assert plain[12:14] == b"\x88\xb5"
        assert logger[number] == plain[:12] + r_tag(number) + plain[12:]
        assert recorder[number] == plain[:12] + TAG + r_tag(number) + plain[12:]


@pytest.mark.parametrize("nodes", ["model", "rtl"])
def test_a_frame_that_has_one_keeps_it_or_loses_it(tmp_path: Path, nodes: Literal["model", "rtl"]) -> None:
    """A capture of what was numbered, played into a bridge that would number it too."""
    ps.load(Path(__file__).parent.parent / "scenarios" / "numbers").run(nodes="model", out=tmp_path / "first")
    for came in ("recorder", "logger"):
        file = tmp_path / "s.toml"
        file.write_text(
            'name = "x"\nduration = "6ms"\n[stations]\n'
            't = { at = "b.0" }\nkeeps = { at = "b.2" }\nloses = { at = "b.3" }\n'
            "[bridges.b]\nports = 4\nport.3 = { r_tag_removal = true }\nport.0.vlan = 10\n"
            '[streams.s]\nfrom = "t"\nto = ["keeps", "loses"]\nnumbered = true\n'
            f'source = {{ capture = "first/{came}.pcapng" }}\n'
        )
        ps.load(file).run(nodes=nodes, out=tmp_path / "out")
        given, kept, lost = (
            [frame.data for frame in read_capture(tmp_path / path).frames]
            for path in (f"first/{came}.pcapng", "out/keeps.pcapng", "out/loses.pcapng")
        )
        assert kept == given
        at = 16 if came == "recorder" else 12
        assert lost == [(frame[:at] + frame[at + 6 :]).ljust(60, b"\0") for frame in given]


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_makes_a_frame_longer(tmp_path: Path, kind: str) -> None:
    """Two frames come at once, and the second follows when the first has left, its gap counted."""
    bridge = Bridge(tmp_path, kind)
    for settings, leaves in (("", 306), ("port.2.r_tag_removal = true\n", 300)):
        both = frames("a", 3, 300, 0, more=NUMBERED) + frames("b", 3, 300, 0, talker=1, more=NUMBERED)
        times = sorted(time for each in bridge(settings, both).values() for time in each)
        assert times == [ready_ns(0, 300), ready_ns(0, 300) + wire_ns(leaves)]
        found = bridge.trace.filter((bridge.trace["node"] == "b") & (bridge.trace["event"] == "sent"))
        assert found["bytes"].to_list() == [leaves, leaves]


@pytest.mark.parametrize("kind", KINDS)
def test_a_guard_band_is_of_the_frame_with_its_number(tmp_path: Path, kind: str) -> None:
    room = ready_ns(0, 300) + wire_ns(305)
    lists = gates([(ALL, room), ([], 50_000 - room)])
    bridge = Bridge(tmp_path, kind)
    assert bridge(lists, frames("a", 3, 300, 0))["a"] == [ready_ns(0, 300)]
    assert bridge(lists, frames("a", 3, 300, 0, more=NUMBERED))["a"] == [50_000]


@pytest.mark.parametrize(
    ("settings", "more", "what"),
    [
        ('switching = "cut_through"\nport.2.r_tag_removal = true', "", "leaves as it came"),
        ('switching = "cut_through"', NUMBERED, "leaves as it came"),
    ],
)
def test_what_cannot_be(tmp_path: Path, settings: str, more: str, what: str) -> None:
    with pytest.raises(InputError) as refused:
        Bridge(tmp_path, "model")(settings, frames("a", 3, 100, 0, more=more))
    assert what in str(refused.value), refused.value


def test_streams_that_cannot_be_told_apart_are_not_numbered(tmp_path: Path) -> None:
    two = frames("a", 3, 100, 0, more=NUMBERED + 'destination = "01:00:5e:00:00:01"\n')
    two += frames("b", 3, 100, 0, more='destination = "01:00:5e:00:00:01"\n')
    with pytest.raises(InputError, match="cannot tell its frames"):
        Bridge(tmp_path, "model")("", two)


def test_streams_that_share_a_scheduler_are_not_numbered(tmp_path: Path) -> None:
    shared = '[schedulers.both]\nrate = "20Mb/s"\nburst = "340B"\n'
    stream = frames("a", 7, 100, 0, more=NUMBERED + 'scheduler = "both"\n')
    with pytest.raises(InputError, match="shares its scheduler"):
        Bridge(tmp_path, "model")("", shared + stream)


@pytest.mark.parametrize("ports", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_hardware_and_model_are_equal_where_numbers_pass_bridges(tmp_path: Path, ports: int) -> None:
    """In all that happens to each frame, and to the byte at each listener."""
    text = (Path(__file__).parent.parent / "scenarios" / "numbers" / "scenario.toml").read_text(encoding="utf-8")
    file = tmp_path / "s.toml"
    file.write_text(text.replace("ports = 4", f"ports = {ports}"))
    found = []
    for nodes in ("model", "rtl"):
        trace = ps.load(file).run(nodes=nodes, out=tmp_path / nodes).trace.filter(pl.col("event") != "received")
        captures = [read_capture(path).frames for path in sorted((tmp_path / nodes).glob("*.pcapng"))]
        found.append((trace.sort("time_ps", "frame_id", "node", "event", "port").rows(), captures))
    assert len(found[0][1]) == 4
    assert found[0] == found[1]


def over_two(
    bridges: dict[str, Any] | None = None, port: dict[str, Any] | None = None, **stream: Any
) -> dict[str, Any]:
    """A numbered stream by s1 and s2, 100 B each 100 us; its port between them is given."""
    two: dict[str, Any] = {name: {"ports": 4, "classes": {"7": {"selection": "ats"}}} for name in ("s1", "s2")}
    two["s1"]["port"] = {"1": port or {}}
    two["s2"] |= bridges or {}
    source = {"frames": "100B", "every": "100us"}
    numbered = {"from": "t", "to": ["z"], "vlan": 10, "pcp": 3, "numbered": True, "source": source}
    return {
        "name": "two",
        "nodes": "model",
        "duration": "2ms",
        "bridges": two,
        "links": {"up": {"between": ["s1.1", "s2.0"]}},
        "stations": {"t": {"at": "s1.0"}, "z": {"at": "s2.1"}},
        "streams": {"s": numbered | stream},
    }


RATE = {"rate": "9.6Mb/s", "burst": "126B"}  # of 120 B each 100 us


def test_a_scheduler_counts_the_number_that_a_bridge_before_gave() -> None:
    """With the rate that the stream has it holds each frame longer than the one before; with more, none."""
    scenario = over_two(ats=RATE)
    held = ps.load(scenario).run().summary["streams"]["s"]["latency_ns"]
    assert held["max"] > held["min"] + 5_000
    assert bound(load(scenario), "s").reason == (
        'frames of "s" come here longer than to the scheduler before, and may be held; '
        'rate = "10080000b/s" and burst = "133B" or more here (ats.at) has a bound (at "s2")'
    )
    for more in (
        {"port": {"r_tag_removal": True}},
        {"ats": RATE | {"at": {"s2": {"rate": "10.08Mb/s", "burst": "133B"}}}},
    ):
        scenario = over_two(**{"ats": RATE} | more)
        found = bound(load(scenario), "s")
        assert found.total_ps is not None
        latency = ps.load(scenario).run().summary["streams"]["s"]["latency_ns"]
        assert latency["max"] == latency["min"] <= found.total_ps / 1_000


def test_nothing_holds_numbered_frames_without_a_rate() -> None:
    """Of a class that is ATS, by links faster than any scheduler is."""
    scenario = over_two(port={"r_tag_removal": True}, source={"frames": "1000B", "every": "1s", "burst": 9})
    scenario["links"] = {"up": {"between": ["s1.1", "s2.0"], "rate": "10Gb/s"}, "rate": "10Gb/s"}
    for bridge in scenario["bridges"].values():
        bridge["processing_delay"] = "1us"
    latency = ps.load(scenario).run().summary["streams"]["s"]["latency_ns"]
    assert latency["max"] == latency["min"]
    assert latency["max"] <= (bound(load(scenario), "s").total_ps or 0) / 1_000


@pytest.mark.parametrize(
    ("scenario", "what"),
    [
        (over_two({"max_frame": "100B"}), 'they come to "s2" with 106 B, and its max_frame is less'),
        (
            over_two(ats={"rate": "20Mb/s", "burst": "125B"}),
            r"less than the longest frame's 126 B \(106 B and 20 B around",
        ),
        (
            over_two(ats=RATE, identify="ipv4", udp={"source": "10.0.0.1", "destination": "10.0.0.2"}),
            '"s2" shapes them, and does not know their IPv4 behind an R-TAG',
        ),
    ],
)
def test_what_bridges_behind_cannot_do(scenario: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        load(scenario)
    scenario["bridges"]["s1"]["port"]["1"] = {"r_tag_removal": True}
    load(scenario)
