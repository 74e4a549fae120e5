# SPDX-License-Identifier: Apache-2.0
"""Input that nobody means: files that are none, limits passed, wrong types. Each is told in a line that helps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InputError
from penstock.scenario import load
from penstock.sweep.plan import parse_setting, plan

NETWORK = """\
name = "small"
nodes = "model"
duration = "1ms"
[bridges.sw]
ports = 2
[stations]
a = { at = "sw.0" }
b = { at = "sw.1" }
[streams.s]
from = "a"
to = ["b"]
source = { frames = "100B", every = "1ms" }
deadline = "1ms"
"""

_CAPTURE = 'capture = "frames.pcapng"'
_FRAMES = 'frames = "100B", every = "1ms"'
_SEVEN = "\N{DEVANAGARI DIGIT SEVEN}"

Told = tuple[int, str, str, str]


def _udp(address: str) -> tuple[str, str, Told]:
    new = f'deadline = "1ms"\nudp = {{ source = "{address}", destination = "10.0.0.2" }}'
    what = f'"{address}" is not an IPv4 address'
    return 'deadline = "1ms"', new, (14, "streams.s.udp.source", what, 'four numbers such as "10.0.0.1"')


# What is replaced by what, and of each message its line, its key, what is wrong and what is allowed.
CASES: dict[str, tuple[str, str, Told]] = {
    "a deadline of no time": ('deadline = "1ms"', 'deadline = "0s"', (13, "streams.s.deadline", '"0s" is too small',
        "1ps to 8640000s")),
    "an address with an exponent": _udp("10.0.0.²"),
    "an address of five numbers": _udp("10.0.0.1.5"),
    "an address with a zero before it": _udp("10.0.0.01"),
    "a listener without its list": ('["b"]', '"b"', (11, "streams.s.to", '"b" is not a list', 'a list, such as ["b"]')),
    "a listener that is a table": ('["b"]', "{ b = 1 }", (11, "streams.s.to", "{'b': 1} is not a list", "a list")),
    "a listener that is a number": ('["b"]', "[5]", (11, "streams.s.to[0]", "5 is not text", "text in quotes")),
    "a word for a switch": ("[bridges.sw]", '[bridges.sw]\ncount_gap = "yes"', (5, "bridges.sw.count_gap",
        '"yes" is neither true nor false', "true or false")),
    "a class with a zero before it": ("ports = 2", 'ports = 2\nclasses.07 = { selection = "strict" }',
        (6, "bridges.sw.classes.07", 'there is no traffic class "07"', "0 to 7")),
    "a class in other digits": ("ports = 2", f'ports = 2\nclasses."{_SEVEN}" = {{ selection = "strict" }}',
        (6, f"bridges.sw.classes.{_SEVEN}", "there is no traffic class", "0 to 7")),
    "a port in other digits": ("sw.1", f"sw.{_SEVEN}", (8, "stations.b.at", "is not a port", "BRIDGE.PORT")),
    "a field's own name": ('from = "a"', 'talker = "a"', (10, "streams.s.talker", 'unknown key "talker"', "to")),
    "a name of two lines": ('to = ["b"]', 'to = ["b\\nc"]', (11, "streams.s.to[0]", 'no station "b\\nc"', "a, b")),
    "a key of two lines": ('deadline =', '"dead\\nline" =', (13, 'streams.s."dead\\nline"',
        'unknown key "dead\\nline"', "from, to")),
    "an empty name": ('name = "small"', 'name = ""', (1, "name", "is empty", "one character or more")),
    "a capture in a name that no file has": (_FRAMES, 'capture = "a\\u0000b"',
        (12, "streams.s.source.capture", "cannot be read: embedded null byte", "pcap")),
    "a capture in a name too long": (_FRAMES, f'capture = "{"a" * 300}"',
        (12, "streams.s.source.capture", "cannot be read: File name too long", "pcap")),
    "more pictures than fit": (_FRAMES,
        'video = { pictures = "1mHz", rate = "1Gb/s", packet = "1B" }',
        (12, "streams.s.source.video", "125000000000 packets are in a picture", "up to 1000000")),
}  # fmt: skip


def _errors(folder: Path, text: str) -> list[InputError]:
    (folder / "scenario.toml").write_text(text)
    with pytest.raises(InputError) as raised:
        load(folder)
    return list(raised.value.errors)


@pytest.mark.parametrize("case", CASES)
def test_one_message_says_it_all(case: str, tmp_path: Path) -> None:
    old, new, (line, key, what, allowed) = CASES[case]
    assert NETWORK.count(old) == 1
    errors = _errors(tmp_path, NETWORK.replace(old, new))
    told = [e for e in errors if e.key == key]
    assert len(told) == 1, errors
    assert (told[0].line, "\n" in str(told[0])) == (line, False)
    assert what in told[0].what
    assert allowed in told[0].allowed


def test_an_unknown_key_hides_nothing(tmp_path: Path) -> None:
    """It counts as the one that it is near, so what is wrong with the rest of its table is told, and nothing else."""
    text = NETWORK.replace('every = "1ms"', 'evry = "1ms", cuont = 5').replace('["b"]', '["bb"]')
    assert [(e.line, e.key) for e in _errors(tmp_path, text)] == [
        (11, "streams.s.to[0]"),
        (12, "streams.s.source.evry"),
        (12, "streams.s.source.cuont"),
    ]
    text = NETWORK.replace('deadline = "1ms"', 'dedline = "1m"\nvlan = 9\npcp = 9').replace("ports = 2", "prots = 2")
    assert {(e.line, e.key) for e in _errors(tmp_path, text)} == {
        (5, "bridges.sw.prots"),
        (13, "streams.s.dedline"),
        (15, "streams.s.pcp"),
    }


def test_what_is_out_of_range_hides_nothing(tmp_path: Path) -> None:
    """It counts as the nearest value; what would follow from that is not told."""
    text = NETWORK.replace('"1ms"\n[b', '"10000000000s"\n[b').replace('["b"]', '["bb"]').replace('"100B"', '"9000B"')
    text = text.replace(
        "ports = 2", 'ports = 2\ngates = { cycle_time = "0ns", entries = [{ open = [9], interval = "1s" }] }'
    )
    assert [(e.line, e.key) for e in _errors(tmp_path, text)] == [
        (3, "duration"),
        (6, "bridges.sw.gates.cycle_time"),
        (6, "bridges.sw.gates.entries[0].open"),
        (12, "streams.s.to[0]"),
        (13, "streams.s.source.frames"),
    ]


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_a_capture_that_is_no_file(kind: str, tmp_path: Path) -> None:
    """Not opened, which would wait for somebody to write it, or read it without an end."""
    place = tmp_path / "frames.pcapng"
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("/dev/zero")
    errors = _errors(tmp_path, NETWORK.replace(_FRAMES, _CAPTURE))
    why = "a folder" if kind == "folder" else "not a plain file"
    assert [e.key for e in errors] == ["streams.s.source.capture"]
    assert errors[0].what == f'the capture "frames.pcapng" cannot be read: it is {why}'


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_times_from_what_is_no_file(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "jitter.txt"
    os.mkfifo(place) if kind == "fifo" else place.symlink_to("/dev/zero")
    source = 'frames = "100B", every = "1ms", jitter = { file = "jitter.txt" }'
    errors = _errors(tmp_path, NETWORK.replace(_FRAMES, source))
    assert [(e.key, "is not a plain file" in e.what) for e in errors] == [("streams.s.source.jitter.file", True)]


@pytest.mark.parametrize("kind", ["fifo", "device", "dangling", "null"])
def test_a_scenario_that_is_no_file(kind: str, tmp_path: Path) -> None:
    place = tmp_path / ("a\0b" if kind == "null" else "scenario.toml")
    if kind == "fifo":
        os.mkfifo(place)
    elif kind != "null":
        place.symlink_to("/dev/zero" if kind == "device" else tmp_path / "nothing")
    with pytest.raises(InputError) as raised:
        load(place)
    assert raised.value.allowed


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    """Editors of other systems write one."""
    (tmp_path / "scenario.toml").write_text(NETWORK, encoding="utf-8-sig")
    assert load(tmp_path).name == "small"
    assert len(plan(tmp_path, [parse_setting("duration=1ms,2ms")])) == 2
    (tmp_path / "scenario.toml").write_text(NETWORK.replace("1ms", "1m", 1), encoding="utf-8-sig")
    with pytest.raises(InputError) as raised:
        load(tmp_path)
    assert raised.value.line == 3


@pytest.mark.parametrize(
    "text",
    [
        f"name = {'1' * 5000}",
        f"name = {'[' * 5000}{']' * 5000}",
        "name = '''",
        "\0",
        "name = 2026-11-21",
        "[[streams]]\n[[stations]]",
    ],
)
def test_toml_that_python_does_not_read(text: str, tmp_path: Path) -> None:
    assert all(error.allowed for error in _errors(tmp_path, text))


@pytest.mark.parametrize(
    "value", [10**5000, "9" * 10_000 + "s", float("nan"), None, [[]], {"a": {}}, b"1s", 1j], ids=lambda _: ""
)
def test_a_dict_may_hold_anything(value: Any) -> None:
    for key in ("name", "duration", "streams", "stations", "links", "topology", "trace", "bridges", "nodes"):
        values = {"name": "n", "duration": "1s", "stations": {"a": {"at": "sw.0"}}, "streams": {}, key: value}
        with pytest.raises(InputError) as raised:
            load(values)
        assert all(len(str(error)) < 1000 for error in raised.value.errors)


@pytest.mark.parametrize(
    "piece", ["1" * 5000, "[" * 5000, "'", "1e400"], ids=["digits", "brackets", "quote", "infinity"]
)
def test_any_text_is_a_value_of_a_sweep(piece: str, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(NETWORK)
    with pytest.raises(InputError):
        plan(tmp_path, [parse_setting(f"duration={piece}")])
