# SPDX-License-Identifier: Apache-2.0
"""Streams whose frames get an R-TAG with their sequence number, and ports that remove it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import penstock as ps
from penstock.captures import read_capture
from penstock.errors import InputError
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
    recorder, logger, drive = (
        [frame.data for frame in read_capture(tmp_path / "out" / f"{name}.pcapng").frames]
        for name in ("recorder", "logger", "drive")
    )
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


def test_between_bridges_frames_go_without(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    text = (
        'name = "x"\nnodes = "model"\nduration = "1ms"\n'
        '[topology.s]\nkind = "line"\nbridges = 2\nbridge = { ports = 4, PORT }\n'
        '[stations]\nt0 = { at = "s0.2" }\nlistener = { at = "s1.2" }\n'
    ) + frames("a", 3, 100, 0, more=NUMBERED)
    file.write_text(text.replace(", PORT", ""))
    with pytest.raises(InputError, match='leave for bridge "s1" with an R-TAG'):
        ps.load(file)
    file.write_text(text.replace("PORT", "port.1 = { r_tag_removal = true }"))
    assert ps.load(file).run().summary["streams"]["a"]["delivered"] > 0
