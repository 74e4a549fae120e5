# SPDX-License-Identifier: Apache-2.0
"""Ports that tag and untag: what leaves, and how long it has the wire. By hand."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import penstock as ps
from penstock.captures import header_of, read_capture
from penstock.errors import InputError
from shaped import KINDS, MBPS, PCP, Bridge, frames, gates, ready_ns, wire_ns

UNTAGGED = "port.2.tagging = true\nport.2.untagged = [10]\n"
TAGGED = "port.2.tagging = true\n"
ALL = list(range(8))


def untagged_stream(name: str, frame_bytes: int, talker: int) -> str:
    text = frames(name, 5, frame_bytes, 0, talker=talker)
    return "\n".join(line for line in text.splitlines() if not line.startswith(("vlan", "pcp")))


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_has_the_wire_as_long_as_it_leaves(tmp_path: Path, kind: str) -> None:
    """Two frames come at once, and the second follows when the first has left, its gap counted."""
    bridge = Bridge(tmp_path, kind)
    both = frames("a", 3, 300, 0) + frames("b", 3, 300, 0, talker=1)
    for settings, leaves in (("", 300), (TAGGED, 300), (UNTAGGED, 296)):
        sent = bridge(settings, both)
        assert sorted(time for times in sent.values() for time in times) == [
            ready_ns(0, 300),
            ready_ns(0, 300) + wire_ns(leaves),
        ]
        found = bridge.trace.filter((bridge.trace["node"] == "b") & (bridge.trace["event"] == "sent"))
        assert found["bytes"].to_list() == [leaves, leaves]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tag_makes_a_frame_longer_and_padding_a_short_one_no_shorter(tmp_path: Path, kind: str) -> None:
    bridge = Bridge(tmp_path, kind)
    for settings, stream, came, leaves in (
        (TAGGED + "port.0.vlan = 10\nport.1.vlan = 10\n", untagged_stream, 64, 68),
        (UNTAGGED, lambda name, size, talker: frames(name, 5, size, 0, talker=talker), 64, 64),
        (UNTAGGED, lambda name, size, talker: frames(name, 5, size, 0, talker=talker), 67, 64),
    ):
        sent = bridge(settings, stream("a", came, 0) + stream("b", came, 1))
        times = sorted(time for each in sent.values() for time in each)
        assert times == [ready_ns(0, came), ready_ns(0, came) + wire_ns(leaves)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_guard_band_is_of_the_frame_as_it_leaves(tmp_path: Path, kind: str) -> None:
    """The window has room for the frame without its tag; with it, the frame waits for the next one."""
    room = ready_ns(0, 300) + wire_ns(298)
    lists = gates([(ALL, room), ([], 50_000 - room)])
    bridge = Bridge(tmp_path, kind)
    assert bridge(UNTAGGED + lists, frames("a", 3, 300, 0))["a"] == [ready_ns(0, 300)]
    assert bridge(TAGGED + lists, frames("a", 3, 300, 0))["a"] == [50_000]


@pytest.mark.parametrize("nodes", ["model", "rtl"])
def test_captures_show_what_leaves(tmp_path: Path, nodes: Literal["model", "rtl"]) -> None:
    """All is as it came but for the tag; the FCS was checked where a capture is written by its length."""
    ps.load(Path(__file__).parent.parent / "scenarios" / "tags").run(nodes=nodes, out=tmp_path / "out")
    names = ("recorder", "drive", "neighbour")
    tagged, bare, translated = (read_capture(tmp_path / "out" / f"{name}.pcapng").frames for name in names)
    assert len(tagged) == len(bare) == len(translated) == 50
    for with_tag, without, other in zip(tagged, bare, translated, strict=True):
        assert (header_of(with_tag.data).vlan, header_of(with_tag.data).pcp) == (10, 3)
        assert header_of(without.data).vlan is None
        assert without.data == with_tag.data[:12] + with_tag.data[16:]
        assert other.data == with_tag.data[:12] + b"\x81\x00\xc0\x14" + with_tag.data[16:]


@pytest.mark.parametrize("nodes", ["model", pytest.param("rtl", marks=pytest.mark.slow)])
def test_of_many_ports_what_loses_its_tag_is_sent_four_cycles_later(
    tmp_path: Path, nodes: Literal["model", "rtl"]
) -> None:
    """Its words come no faster than it sends them; the other port sends at once."""
    text = (Path(__file__).parent.parent / "scenarios" / "tags" / "scenario.toml").read_text(encoding="utf-8")
    file = tmp_path / "s.toml"
    file.write_text(text.replace("ports = 4", "ports = 8"))
    trace = ps.load(file).run(nodes=nodes).trace
    rows = trace.filter((trace["node"] == "sw") & (trace["event"] == "sent")).sort("port", "time_ps")
    times = {port: [time for at, time in rows.select("port", "time_ps").rows() if at == port] for port in (2, 3)}
    assert [a - b for a, b in zip(times[2], times[3], strict=True)] == [32_000] * 50


def test_a_bound_holds_where_a_tag_is_taken_and_where_one_is_given(tmp_path: Path) -> None:
    def outcome(settings: str, stream: str) -> ps.Network:
        file = tmp_path / "s.toml"
        file.write_text(
            'name = "x"\nnodes = "model"\nduration = "2ms"\n'
            '[stations]\nt0 = { at = "b.0" }\nlistener = { at = "b.2" }\n'
            f"[bridges.b]\nports = 4\n{settings}\n{stream}"
        )
        return ps.load(file)

    more = f'ats = {{ rate = "{20 * MBPS}b/s", burst = "340B" }}\n'
    periodic = frames("a", 7, 300, 0, source='every = "200us"', more=more)
    given = periodic.replace("vlan = 10\npcp = 3\n", "")
    for settings, stream in ((UNTAGGED, periodic), (TAGGED + "class_of_untagged = 7\n", given)):
        summary = outcome(settings, stream).run().summary["streams"]["a"]
        assert summary["bound_ns"] is not None
        assert summary["latency_ns"]["max"] <= summary["bound_ns"]


@pytest.mark.parametrize("nodes", ["model", "rtl"])
@pytest.mark.parametrize(
    ("translation", "talker", "sent"),
    [
        ("{ vlan = 20 }", "vlan = 10\npcp = 3\n", (20, 3)),
        ("{ pcp = 0 }", "vlan = 10\npcp = 3\n", (10, 0)),
        ("{ vlan = 4094, pcp = 7 }", "vlan = 10\npcp = 3\n", (4094, 7)),
        ("{ vlan = 20 }", "", (20, 5)),  # a tag that comes is translated too
        ("{ vlan = 20, pcp = 1 }", "", (20, 1)),
    ],
)
def test_a_tag_is_what_the_vlan_is_translated_to(
    tmp_path: Path, nodes: Literal["model", "rtl"], translation: str, talker: str, sent: tuple[int, int]
) -> None:
    """Where the port translates; where it does not, the tag is that of the VLAN."""
    file = tmp_path / "s.toml"
    file.write_text(
        'name = "x"\nduration = "1ms"\n[stations]\n'
        't = { at = "b.0" }\nother = { at = "b.2" }\nsame = { at = "b.3" }\n'
        f"[bridges.b]\nports = 4\npcp_of_untagged = 5\ntranslations.10 = {translation}\nport.0.vlan = 10\n"
        "port.2 = { tagging = true, translation = true }\nport.3 = { tagging = true }\n"
        f'[streams.s]\nfrom = "t"\nto = ["other", "same"]\n{talker}source = {{ frames = "100B", every = "1ms" }}\n'
    )
    ps.load(file).run(nodes=nodes, out=tmp_path / "out")
    found = []
    for name in ("other", "same"):
        header = header_of(read_capture(tmp_path / "out" / f"{name}.pcapng").frames[0].data)
        found.append((header.vlan, header.pcp))
    assert found == [sent, (10, 3 if talker else 5)]


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ("port.2 = { untagged = [10] }", "as they came"),
        ('switching = "cut_through"\nport.2.tagging = true', "leaves as it came"),
        ("port.2 = { tagging = true, untagged = [4095] }", "4095"),
        ("pcp_of_untagged = 8", "8"),
        ("port.2 = { translation = true }\ntranslations.10 = { pcp = 1 }", "as they came"),
        ("port.2 = { tagging = true, translation = true }", "translates no VLAN"),
        ("port.2 = { tagging = true, translation = true }\ntranslations.4095 = { pcp = 1 }", "4095 is not a VLAN"),
        ("port.2 = { tagging = true, translation = true }\ntranslations.10 = { vlan = 4095 }", "4095"),
        ("port.2 = { tagging = true, translation = true }\ntranslations.10 = { pcp = 8 }", "8"),
        ("port.2 = { tagging = true, translation = true }\ntranslations.10 = {}", "neither vlan nor pcp"),
    ],
)
def test_what_cannot_be(tmp_path: Path, settings: str, what: str) -> None:
    with pytest.raises(InputError) as refused:
        Bridge(tmp_path, "model")(settings, frames("a", 3, 100, 0))
    assert what in str(refused.value), refused.value


def test_between_bridges_tags_stay(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    text = (
        'name = "x"\nnodes = "model"\nduration = "1ms"\n'
        '[topology.s]\nkind = "line"\nbridges = 2\n'
        "bridge = { ports = 4, port.1 = { tagging = true, untagged = [10] } }\n"
        '[stations]\nt0 = { at = "s0.2" }\nlistener = { at = "s1.2" }\n'
    )
    file.write_text(text + frames("a", 3, 100, 0))
    with pytest.raises(InputError, match="without its tag"):
        ps.load(file)
    other = "port.1 = { tagging = true, translation = true }, translations.10 = { pcp = 6 }"
    file.write_text(text.replace("port.1 = { tagging = true, untagged = [10] }", other) + frames("a", 3, 100, 0))
    with pytest.raises(InputError, match="a tag of VLAN 10 and PCP 6"):
        ps.load(file)
    same = other.replace("pcp = 6", f"pcp = {PCP[3]}")
    file.write_text(text.replace("port.1 = { tagging = true, untagged = [10] }", same) + frames("a", 3, 100, 0))
    ps.load(file)
