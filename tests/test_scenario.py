# SPDX-License-Identifier: Apache-2.0
"""Units, places in a file, and what a scenario comes to."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from penstock import plan
from penstock.scenario import load
from penstock.scenario.positions import key_lines, line_of
from penstock.scenario.units import BitsPerSecond, Bytes, Picoseconds, show_rate, show_time

HELLO = Path(__file__).parents[1] / "scenarios" / "hello"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Picoseconds, "50ns", 50_000),
        (Picoseconds, "1.25us", 1_250_000),
        (Picoseconds, " 200 ms ", 200_000_000_000),
        (Picoseconds, "1s", 10**12),
        (Picoseconds, "0.001ns", 1),
        (BitsPerSecond, "1Gb/s", 10**9),
        (BitsPerSecond, "2.5 Mb/s", 2_500_000),
        (BitsPerSecond, "0.1Gb/s", 10**8),
        (Bytes, "1542B", 1542),
        (Bytes, "1_542B", 1542),
        (Bytes, "128KiB", 131072),
    ],
)
def test_quantities_are_exact(kind: Any, text: str, value: int) -> None:
    assert TypeAdapter(kind).validate_python(text) == value


@pytest.mark.parametrize("text", ["50", "ns", "-5ns", "1e3ns", "5 n s", "1Gb/s", 50, True, "", "0.5ps"])
def test_what_is_no_time_is_refused(text: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Picoseconds).validate_python(text)


@given(st.integers(0, 10**15))
def test_any_whole_number_of_nanoseconds(value: int) -> None:
    assert TypeAdapter(Picoseconds).validate_python(f"{value}ns") == value * 1000


def test_quantities_for_people() -> None:
    assert show_time(12_336_000) == "12.34 us"
    assert show_time(225_600_000_000) == "225.6 ms"
    assert show_rate(30_000_000) == "30 Mb/s"


TEXT = '''\
# comment = 1
a = 1  # [x]
"quoted key" = """
b = 2
\\""" c"""
[t.u]
'lit.eral' = 'C:\\'
n.m = [ # one
  "x]",
  { k = 1, l = { z = "#" } },
]
d = 1979-05-27 07:32:00
[[list]]
k = 1
[list.sub]
k = """"two quotes""""
[[list]]
k = 2
'''


def test_lines_of_keys() -> None:
    lines = key_lines(TEXT)
    tomllib.loads(TEXT)
    expected = {
        ("a",): 2,
        ("quoted key",): 3,
        ("t", "u"): 6,
        ("t", "u", "lit.eral"): 7,
        ("t", "u", "n", "m"): 8,
        ("t", "u", "n", "m", 0): 9,
        ("t", "u", "n", "m", 1, "l", "z"): 10,
        ("t", "u", "d"): 12,
        ("list", 0, "k"): 14,
        ("list", 0, "sub", "k"): 16,
        ("list", 1): 17,
        ("list", 1, "k"): 18,
    }
    assert {path: lines.get(path) for path in expected} == expected
    assert line_of(lines, ("list", 1, "nothing", "here")) == 17


def paths(value: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    found = {path} - {()}
    if isinstance(value, dict):
        found |= {p for key, inner in value.items() for p in paths(inner, (*path, key))}
    elif isinstance(value, list):
        found |= {p for index, inner in enumerate(value) for p in paths(inner, (*path, index))}
    return found


@pytest.mark.parametrize("text", [TEXT, (HELLO / "scenario.toml").read_text()])
def test_every_key_has_a_line(text: str) -> None:
    assert paths(tomllib.loads(text)) - {("list",)} <= key_lines(text).keys()


def test_hello() -> None:
    network = load(HELLO)
    control, greedy = network.streams["control"], network.streams["greedy"]
    assert network.warnings == []
    assert (control.traffic_class, control.shaped, control.identify) == (7, True, "ipv4")
    assert (greedy.traffic_class, greedy.shaped, greedy.max_frame_bytes) == (1, False, 1522)
    assert len(control.capture.frames) == 2000  # type: ignore[union-attr]
    bridge = network.bridges["sw"]
    assert bridge.vlans == {10: {0, 1, 2}}
    assert plan.static_addresses(network, bridge) == [(0x020000000003, 10, {2})]


def test_the_engine_is_told_all() -> None:
    network = load(HELLO)
    told = plan.network_json(network, {"sw": Path("model.so")}, {"sw": [(0, 1)]})
    assert told["bridges"] == [{"name": "sw", "ports": 4, "model": "rtl", "library": "model.so", "writes": [[0, 1]]}]
    assert told["stations"][2] == {"name": "drive", "bridge": 0, "port": 2, "rate_bps": 10**9, "delay_ps": 50_000}
    assert told["streams"][1]["source"]["start_ps"] == 30 * 10**9


def test_register_writes_configure_the_stream() -> None:
    network = load(HELLO)
    assert len(plan.register_writes(network, network.bridges["sw"])) > 20


def test_nodes_can_be_chosen_on_the_command_line_only_from_what_there_is() -> None:
    with pytest.raises(Exception, match='"linux" is not part of this version'):
        load(HELLO, "linux")


SOURCES = {
    'frames = "100B", every = "1ms", jitter = { uniform = "2us" }': "periodic",
    'frames = "100B", back_to_back = true, count = 5': "back_to_back",
    'frames = "100B", burst = 4, every = "1ms"': "burst",
    'frames = "100B", poisson = "1ms", seed = 3': "poisson",
    'frames = "100B", normal = { mean = "1ms", deviation = "10us" }': "normal",
}


@pytest.mark.parametrize(("source", "kind"), SOURCES.items())
def test_every_source_reaches_the_engine(source: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(f"""
name = "sources"
duration = "10ms"
bridges.sw.ports = 2
stations = {{ a = {{ at = "sw.0" }}, b = {{ at = "sw.1" }} }}
[streams.s]
from = "a"
to = ["b"]
source = {{ {source} }}
udp = {{ source = "10.0.0.1", destination = "10.0.0.2" }}
""")
    network = load(file)
    told = plan.network_json(network, {"sw": Path("x")}, {"sw": []})["streams"][0]
    assert told["source"]["kind"] == kind
    assert told["source"]["frame_bytes"] == 100
    assert told["frame"]["vlan"] is None
    assert told["frame"]["payload"]["source"] == "10.0.0.1"
    assert network.bridges["sw"].vlans == {1: {0, 1}}
