# SPDX-License-Identifier: Apache-2.0
"""A station takes the keys of a bridge's port: what they become, and what is refused, each with its place."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from penstock.errors import CollectedInputError, InputError
from penstock.scenario import load
from penstock.scenario.network import Network

GOOD = """\
name = "talker"
duration = "10ms"
nodes = "model"

[stations.plc]
at = "sw.0"
rate = "100Mb/s"
class_of_priority = [0, 1, 2, 3, 4, 5, 6, 7]
classes.7 = { name = "control" }
classes.6 = { selection = "cbs", idle_slope = "10Mb/s", name = "sound" }
classes.5 = { selection = "cbs", max_sdu = "500B", idle_slope = "20Mb/s" }

[stations.plc.gates]
cycle_time = "500us"
base_time = "1ms"
entries = [
  { open = ["control"], interval = "100us" },
  { open = ["sound", 5, 0], interval = "400us" },
]

[stations.drive]
at = "sw.1"

[streams.control]
from = "plc"
to = ["drive"]
vlan = 10
pcp = 7
source = { frames = "200B", every = "500us" }

[streams.sound]
from = "plc"
to = ["drive"]
vlan = 10
pcp = 6
source = { frames = "300B", every = "500us" }

[streams.video]
from = "plc"
to = ["drive"]
vlan = 10
pcp = 5
source = { frames = "518B", every = "1ms" }

[bridges.sw]
ports = 4
classes.7 = { selection = "strict" }
classes.6 = { selection = "strict" }
classes.1 = { selection = "ats" }
"""

GATES = "stations.plc.gates"
CONTROL, VIDEO = "classes.7 = {", 'idle_slope = "20Mb/s"'

# What is changed, and line, key, what is wrong and what is allowed.
CASES = {
    "no such": (CONTROL, CONTROL + ' selection = "at",', 9, "stations.plc.classes.7.selection", '"at" is not known',
        '"strict", "cbs" or "round_robin"'),
    "a residence time": (CONTROL, CONTROL + ' max_residence = "1ms",', 9, "stations.plc.classes.7.max_residence",
        "only ATS has a residence time", 'selection = "ats"'),
    "a class that does not exist": (VIDEO, VIDEO + ' }\nclasses.8 = { name = "more"', 12, "stations.plc.classes.8",
        'no traffic class "8"', "0 to 7"),
    "too few classes": ("5, 6, 7]", "5, 6]", 8, "stations.plc.class_of_priority", "has 7 entries", "a class per PCP"),
    "a slope without credit": (CONTROL, CONTROL + ' idle_slope = "1Mb/s",', 9, "stations.plc.classes.7.idle_slope",
        'nothing about selection = "strict"', "cbs"),
    "credit without a slope": (", " + VIDEO, "", 11, "stations.plc.classes.5.idle_slope", "has an idle slope", "20Mb"),
    "a slope above the link": (VIDEO, 'idle_slope = "101Mb/s"', 11, "stations.plc.classes.5.idle_slope",
        "101 Mb/s is above the 100 Mb/s of the port", "up to 100 Mb/s"),
    "slopes above the link": (VIDEO, 'idle_slope = "91Mb/s"', 11, "stations.plc.classes.5.idle_slope",
        "the idle slopes at the port sum up to 101 Mb/s, above its 100 Mb/s", "up to 90 Mb/s"),
    "a slope of zero": (VIDEO, 'idle_slope = "0b/s"', 11, "stations.plc.classes.5.idle_slope", "too small", "1kb"),
    "a scaled slope above the link": (VIDEO, 'idle_slope = "81Mb/s", scaled = true', 11,
        "stations.plc.classes.5.idle_slope", "in the 400 us of 500 us that it is open are 101.2 Mb/s", "80 Mb/s"),
    "another send slope": (VIDEO, VIDEO + ', send_slope = "-70Mb/s"', 11, "stations.plc.classes.5.send_slope",
        "-70 Mb/s is not the idle slope less the 100 Mb/s of the port", '"-80000000b/s"'),
    "a name twice": (VIDEO, VIDEO + ', name = "control"', 11, "stations.plc.classes.5.name",
        "also the name of another", "once"),
    "a unit out of range": ('"500B"', '"45B"', 11, "stations.plc.classes.5.max_sdu", "too small", "46B to"),
    "a frame above the longest unit": ('"500B"', '"499B"', 43, "streams.video.source",
        r"frames of 518 B are above the max_sdu of class 5 at plc: 499 B", "up to 517B"),
    "no entries": (r"re:entries = \[.*?\n\]", "entries = []", 16, f"{GATES}.entries", "has no entries", "1 to 1024"),
    "too many entries": (r"re:entries = \[.*?\n\]",
        "entries = [" + ", ".join(['{ open = "all", interval = "100ns" }'] * 1025) + "]",
        16, f"{GATES}.entries", "has 1025 entries", "1 to 1024 entries"),
    "an unknown class of a gate": ('["control"]', '["contrl"]', 17, f"{GATES}.entries[0].open", '"contrl"', "control"),
    "a short cycle": ('"500us"\nbase', '"0ns"\nbase', 14, f"{GATES}.cycle_time", "0ns. is too small", "1ns to"),
    "a time before time": ('base_time = "1ms"', 'base_time = "0.5ns"', 15, f"{GATES}.base_time", "whole number", "ns"),
    "a class that never opens": ('["sound", 5, 0]', '["sound", 0]', 16, f"{GATES}.entries",
        'class 5 never opens at plc, but "video" needs it', "opens class 5"),
    "a window too short": ('["control"], interval = "100us"', '["control"], interval = "17599ns"', 16,
        f"{GATES}.entries", r'17599 ns at most at plc, but a frame of "control" takes 17600 ns \(220 B', "17600ns"),
    "a clock that is far off": ('at = "sw.0"', 'at = "sw.0"\nclock = { sync = { error = "2ms" } }', 7,
        "stations.plc.clock.sync.error", "2ms. is too large", "0s to 1ms"),
    "an unknown key": ('at = "sw.0"', 'at = "sw.0"\ngate = 1', 7, "stations.plc.gate", 'unknown key "gate"', "gates"),
}  # fmt: skip


def read(tmp_path: Path, text: str) -> Network:
    (tmp_path / "scenario.toml").write_text(text)
    return load(tmp_path / "scenario.toml")


def refused(tmp_path: Path, text: str) -> list[InputError]:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    return list(caught.value.errors) if isinstance(caught.value, CollectedInputError) else [caught.value]


def test_the_keys_of_a_port(tmp_path: Path) -> None:
    station = read(tmp_path, GOOD).stations["plc"]
    assert station.class_of_pcp == (0, 1, 2, 3, 4, 5, 6, 7)
    assert station.class_names == {7: "control", 6: "sound"}
    assert {place: shaper.idle_slope_bps for place, shaper in station.credit.items()} == {
        (0, 6): 10_000_000,
        (0, 5): 20_000_000,
    }
    assert station.max_sdu_bytes == {(0, 5): 500}
    assert station.gates[0].entries == ((0x80, 100_000), (0x61, 400_000))
    assert (station.gates[0].cycle_time_ns, station.is_shaped) == (500_000, True)


def test_a_station_without_them_is_as_its_bridge(tmp_path: Path) -> None:
    network = read(tmp_path, GOOD)
    station = network.stations["drive"]
    assert not station.is_shaped
    assert station.class_of_pcp == network.bridges["sw"].class_of_pcp


def test_a_slope_is_scaled_to_the_gates_of_the_station(tmp_path: Path) -> None:
    station = read(tmp_path, GOOD.replace(VIDEO, VIDEO + ", scaled = true")).stations["plc"]
    shaper = station.credit[0, 5]
    assert (shaper.idle_slope_bps, shaper.reserved_bps) == (25_000_000, 20_000_000)


@pytest.mark.parametrize("case", CASES)
def test_bad_keys(case: str, tmp_path: Path) -> None:
    old, new, line, key, what, allowed = CASES[case]
    if old.startswith("re:"):
        text, count = re.subn(old[3:], lambda _: new, GOOD, flags=re.DOTALL)
    else:
        text, count = GOOD.replace(old, new, 1), GOOD.count(old)
    assert count >= 1
    errors = refused(tmp_path, text)
    assert [(error.line, error.key) for error in errors] == [(line, key)]
    assert re.search(what, errors[0].what)
    assert allowed in (errors[0].allowed or "")


def test_a_slope_that_is_scaled_to_no_gates(tmp_path: Path) -> None:
    text = re.sub(r"\[stations.plc.gates\].*?\n\]\n", "", GOOD, flags=re.DOTALL)
    errors = refused(tmp_path, text.replace(VIDEO, VIDEO + ", scaled = true"))
    assert [str(error) for error in errors] == [
        f"{tmp_path}/scenario.toml:11: stations.plc.classes.5.scaled: the station has no gates to scale to; "
        "allowed: gates, or no scaled"
    ]


def test_rates_of_streams_beside_credit_have_to_fit_the_link(tmp_path: Path) -> None:
    more = """
        [streams.shaped]
        from = "plc"
        to = ["drive"]
        vlan = 10
        pcp = 0
        source = { frames = "100B", every = "1ms" }
        ats = { rate = "71Mb/s", burst = "120B" }
        """
    errors = refused(tmp_path, GOOD + dedent(more))
    assert [error.key for error in errors] == ["streams.shaped.ats.rate"]
    assert 'on the link from plc to "sw" add up to 101 Mb/s, above its 100 Mb/s' in errors[0].what


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    text = GOOD
    for old, new in {
        VIDEO: 'idle_slope = "2Gb/s"',
        '"100us"': '"5s"',
        "5, 6, 7]": "5]",
        '["sound", 5, 0]': "[9]",
    }.items():
        text = text.replace(old, new, 1)
    assert {(error.line, error.key) for error in refused(tmp_path, text)} == {
        (8, "stations.plc.class_of_priority"),
        (11, "stations.plc.classes.5.idle_slope"),
        (17, f"{GATES}.entries[0].interval"),
        (18, f"{GATES}.entries[1].open"),
    }
