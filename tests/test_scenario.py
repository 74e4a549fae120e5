# SPDX-License-Identifier: Apache-2.0
"""Units, places in a file, and what a scenario comes to."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from penstock import plan
from penstock.bound import bound
from penstock.scenario import load
from penstock.scenario.positions import KeyPath, Lines, parse
from penstock.scenario.units import LENGTH, RATE, TIME, Kind, Quantity, show_rate, show_time

HELLO = Path(__file__).parents[1] / "scenarios" / "hello"
_A_TIME = Annotated[int, Quantity(TIME, 0, 10**18)]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (TIME, "50ns", 50_000),
        (TIME, "1.25us", 1_250_000),
        (TIME, " 200 ms ", 200_000_000_000),
        (TIME, "1s", 10**12),
        (TIME, "0.001ns", 1),
        (RATE, "1Gb/s", 10**9),
        (RATE, "2.5 Mb/s", 2_500_000),
        (RATE, "0.1Gb/s", 10**8),
        (LENGTH, "1542B", 1542),
        (LENGTH, "1_542B", 1542),
        (LENGTH, "128KiB", 131072),
    ],
)
def test_quantities_are_exact(kind: Kind, text: str, value: int) -> None:
    assert kind.read(text) == value
    assert kind.read(kind.write(value)) == value


NO_TIMES = ["50", "ns", "-5ns", "1e3ns", "5 n s", "1Gb/s", 50, True, "", "0.5ps"]
NO_TIMES += ["²ns", f"{10**50}ns", "9" * 5000 + "ns", f"0.{'0' * 5000}1ns"]


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_is_refused(text: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(_A_TIME).validate_python(text)


@given(st.integers(0, 10**15))
def test_any_whole_number_of_nanoseconds(value: int) -> None:
    assert TypeAdapter(_A_TIME).validate_python(f"{value}ns") == value * 1000


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
    lines = parse(TEXT)[1]
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
    assert {path: line(lines, path) for path in expected} == expected
    assert lines.near(("list", 1, "nothing", "here")) == 17
    assert lines.near(("list", 2)) == 13
    assert lines.near(("nothing",)) is None
    assert ("nothing",) not in lines
    assert ("t", 0) not in lines


def line(lines: Lines, path: KeyPath) -> int | None:
    return lines.near(path) if path in lines else None


def paths(value: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    found = {path} - {()}
    if isinstance(value, dict):
        found |= {p for key, inner in value.items() for p in paths(inner, (*path, key))}
    elif isinstance(value, list):
        found |= {p for index, inner in enumerate(value) for p in paths(inner, (*path, index))}
    return found


@pytest.mark.parametrize("text", [TEXT, (HELLO / "scenario.toml").read_text()])
def test_every_key_has_a_line(text: str) -> None:
    values, lines = parse(text)
    assert all(path in lines for path in paths(values))


ODD = """
[a.b.c]
x = 1_000
[z]
[a.b]
y = [0xFF, 0o17, 0b11, -1, +7, 9223372036854775808, 1e3, -inf, 6.5]
[[t.u]]
when = [1979-05-27T07:32:00Z, 1979-05-27 07:32:00.1234567-01:30, 1979-05-27, 07:32:00.5]
[[t.u]]
[t.u.v]
s = "\\u00e9\\t\\"" # x
[a]
late = 'C:\\'
"""


@pytest.mark.parametrize("text", [TEXT, ODD, ODD.replace("\n", "\r\n"), "", "a.b = 1\nc = 2\na.d = {}"])
def test_values_are_those_of_pythons_own_reader(text: str) -> None:
    assert json.dumps(parse(text)[0], default=repr) == json.dumps(tomllib.loads(text), default=repr)


@pytest.mark.parametrize(
    "text", ["a = 1\na = 2", "a = {\n}", 'a = "\\x41"', "[a]\n[a]", "a = 1979-02-30", "é = 1", "x"]
)
def test_what_is_not_toml_1_0_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="TOML"):
        parse(text)
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(text)


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
    told = plan.network_json(load(HELLO), {"sw": Path("model.so")}, {"sw": [(0, 1)]})
    bridge = told["bridges"][0]
    assert (bridge["name"], bridge["kind"], bridge["ports"], bridge["timing"]) == ("sw", "rtl", 4, {"kind": "hardware"})
    assert (bridge["library"], bridge["writes"]) == ("model.so", [[0, 1]])
    assert told["stations"][2]["name"] == "drive"
    assert told["links"][2] == {"a": [0, 2], "b": [3, 0], "rate_bps": 10**9, "delay_ps": 50_000}
    assert told["streams"][1]["source"]["start_ps"] == 30 * 10**9
    assert told["streams"][1]["downstream"] == [[0, 2, 1]]


def test_register_writes_configure_the_stream() -> None:
    network = load(HELLO)
    assert len(plan.register_writes(network, network.bridges["sw"])) > 20


def test_nodes_can_be_chosen_on_the_command_line_only_from_what_there_is() -> None:
    with pytest.raises(Exception, match='"fpga" is not known; allowed: model, rtl, linux'):
        load(HELLO, "fpga")


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


NETWORK = {
    "name": "n",
    "duration": "10ms",
    "nodes": "model",
    "topology": {"t": {"kind": "line", "bridges": 3, "rate": "10Gb/s"}},
    "bridges": {
        "t1": {"nodes": "rtl"},
        "t2": {"switching": "cut_through", "clock": {"offset": "-1us", "drift": "3ppb"}},
    },
    "stations": {"a": {"at": "t0.2"}, "b": {"at": "t2.3", "rate": "100Mb/s", "delay": "1us"}, "c": {"at": "t1.*"}},
    "streams": {
        "one": {
            "from": "a",
            "to": ["b", "c"],
            "vlan": 10,
            "pcp": 3,
            "source": {"frames": "100B", "every": "1ms"},
            "ats": {"rate": "1Mb/s", "burst": "120B"},
        }
    },
    "trace": {"events": ["sent", "delivered"], "nodes": ["t1", "b"]},
}


def network(**more: Any) -> dict[str, Any]:
    """The network above with some of its keys otherwise; the middle bridge is a model unless that is asked for."""
    values: dict[str, Any] = {key: dict(value) if isinstance(value, dict) else value for key, value in NETWORK.items()}
    values["bridges"] = {"t2": NETWORK["bridges"]["t2"]}  # type: ignore[index]
    return values | more


def test_a_bridge_says_what_is_otherwise_than_its_topology() -> None:
    bridges = load(network()).bridges
    assert list(bridges) == ["t0", "t1", "t2"]
    assert [bridge.ports for bridge in bridges.values()] == [4, 4, 4]
    assert [bridge.cut_through_bytes for bridge in bridges.values()] == [None, None, 64]
    assert (bridges["t2"].clock.offset_ps, bridges["t2"].clock.drift_ppb) == (-1_000_000, 3)


def test_only_bridges_at_1_gbps_without_delays_of_their_own_are_like_the_hardware() -> None:
    assert [b.hardware_timing for b in load(network()).bridges.values()] == [False, False, False]
    slow = network(topology={"t": {"kind": "line", "bridges": 3}})
    assert [b.hardware_timing for b in load(slow).bridges.values()] == [True, True, False]


def test_bridges_of_both_kinds() -> None:
    mixed = network(topology={"t": {"kind": "line", "bridges": 3}}, bridges={"t1": {"nodes": "rtl"}})
    assert [b.nodes for b in load(mixed).bridges.values()] == ["model", "rtl", "model"]
    assert [b.nodes for b in load(mixed, "model").bridges.values()] == ["model", "model", "model"]
    mixed["stations"]["b"] = {"at": "t2.3"}
    assert [b.nodes for b in load(mixed, "rtl").bridges.values()] == ["rtl", "rtl", "rtl"]


def test_the_engine_is_told_the_network() -> None:
    told = plan.network_json(load(network()), {}, {}, captures=Path("out"))
    assert [b["kind"] for b in told["bridges"]] == ["model"] * 3
    assert told["bridges"][2]["clock"] == {"offset_ps": -1_000_000, "drift_ppb": 3}
    idle = {"kind": "ideal", "processing_delay_ps": 8000 * (4 + 2 * 4 + 19 + 4), "cut_through_bytes": None}
    assert [b["timing"] for b in told["bridges"]] == [idle, idle, idle | {"cut_through_bytes": 64}]
    assert told["links"] == [
        {"a": [0, 1], "b": [1, 0], "rate_bps": 10**10, "delay_ps": 50_000},
        {"a": [1, 1], "b": [2, 0], "rate_bps": 10**10, "delay_ps": 50_000},
        {"a": [0, 2], "b": [3, 0], "rate_bps": 10**9, "delay_ps": 50_000},
        {"a": [2, 3], "b": [4, 0], "rate_bps": 10**8, "delay_ps": 10**6},
        {"a": [1, 2], "b": [5, 0], "rate_bps": 10**9, "delay_ps": 50_000},
    ]
    stream = told["streams"][0]
    assert (stream["from"], stream["to"]) == (0, [1, 2])
    assert sorted(stream["downstream"]) == [[0, 1, 2], [1, 1, 1], [1, 2, 1], [2, 3, 1]]
    assert told["trace"] == {"enabled": True, "events": ["sent", "delivered"], "nodes": [1, 4]}
    assert told["captures"] == "out"


def test_vlans_and_schedulers_are_where_streams_pass() -> None:
    checked = load(network())
    assert [bridge.vlans for bridge in checked.bridges.values()] == [{10: {1, 2}}, {10: {0, 1, 2}}, {10: {0, 3}}]
    configs = [plan.switch_config(checked, bridge) for bridge in checked.bridges.values()]
    assert [[(entry.name, entry.port) for entry in config.streams] for config in configs] == [
        [("one", 2)],
        [("one", 0)],
        [("one", 0)],
    ]
    # What another bridge has as idle delay, its schedulers add, so that what is not held back is not late.
    assert {config.processing_delay_max_ns for config in configs} == {280}
    strict = network(bridges={"t1": {"classes": {"7": {"selection": "strict"}}}})
    checked = load(strict)
    assert [len(plan.switch_config(checked, bridge).streams) for bridge in checked.bridges.values()] == [1, 0, 1]
    assert any('at "t1" its class is strict priority' in warning for warning in checked.warnings)


def test_shaped_streams_that_meet_get_destinations_of_their_own() -> None:
    values = network()
    one = NETWORK["streams"]["one"] | {"to": ["b"]}  # type: ignore[index]
    values["streams"] = {"one": one, "two": one | {"from": "c"}, "three": one | {"from": "c", "vlan": 11}}
    streams = load(values).streams
    assert streams["one"].destination_mac == 0x91E0F000FE00
    assert streams["two"].destination_mac == 0x91E0F000FE01
    assert streams["three"].destination_mac == 0x020000000002, "its VLAN tells it apart"


def told_source(source: dict[str, Any], **more: Any) -> dict[str, Any]:
    values = network()
    values["streams"] = {"s": {"from": "a", "to": ["c"], "source": source, **more}}
    told: dict[str, Any] = plan.network_json(load(values), {}, {})["streams"][0]
    return told


def test_audio_whose_packets_are_all_alike() -> None:
    # 6 samples of 2 channels of 3 bytes; AVTP's 24 bytes, addresses and type, tag, FCS.
    told = told_source({"audio": {"sample_rate": "48kHz"}}, vlan=5, pcp=3)
    assert told["source"]["kind"] == "pattern"
    assert told["source"]["period_ps"] == 125_000_000
    assert told["source"]["sizes"] == [[6 * 6 + 24 + 14 + 4 + 4]]
    assert told["frame"]["payload"] == {"kind": "raw", "ethertype": 0x22F0}


def test_audio_whose_sizes_alternate() -> None:
    # 44.1 kHz in 125 us are 5.5125 samples: 441 in 80 packets. With IPv4, UDP and RTP around them.
    udp = {"source": "10.0.0.1", "destination": "10.0.0.2"}
    audio = {"sample_rate": "44.1kHz", "channels": 8, "bits": 16}
    sizes = [size for [size] in told_source({"audio": audio}, udp=udp)["source"]["sizes"]]
    assert len(sizes) == 80
    samples = [(size - 14 - 28 - 12 - 4) // 16 for size in sizes]
    assert set(samples) == {5, 6}
    assert sum(samples) == 441
    # No packet has a sample before its time.
    assert all(sum(samples[:n]) <= 44_100 * n * 125e-6 for n in range(81))


def test_video_in_groups_of_pictures() -> None:
    video = {"pictures": "50Hz", "i_picture": "3kB", "p_picture": "1400B", "group": 3, "spacing": "10us"}
    source = told_source({"video": video, "jitter": {"values": ["1us", "-2ns"]}})["source"]
    around = 14 + 24 + 4
    assert source["period_ps"] == 20 * 10**9
    assert source["sizes"] == [[1400 + around, 1400 + around, 200 + around], [1400 + around], [1400 + around]]
    assert source["spread_ps"] == 10**7
    assert source["jitter"] == {"values_ps": [1_000_000, -2000]}


def test_video_of_a_rate() -> None:
    source = told_source({"video": {"pictures": "29.97Hz", "rate": "1Mb/s"}})["source"]
    assert source["period_ps"] == 33_366_700_033
    assert sum(size - 42 for size in source["sizes"][0]) == 4171  # 1 Mb/s / 8 / 29.97 and rounded up


def test_a_response_names_what_it_answers() -> None:
    values = network()
    answer = {"from": "b", "to": ["a"], "source": {"response_to": "one", "frames": "64B", "jitter": {"normal": "1us"}}}
    values["streams"] |= {"answer": answer}
    source = plan.network_json(load(values), {}, {})["streams"][1]["source"]
    assert (source["kind"], source["to_stream"], source["after_ps"]) == ("response", 0, 0)
    assert source["jitter"] == {"normal_ps": 1_000_000}


def test_jitter_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "host.txt").write_text("# measured\n1.5us\n\n-20ns\n")
    (tmp_path / "scenario.toml").write_text("""
name = "n"
duration = "1ms"
bridges.sw.ports = 2
stations = { a = { at = "sw.0" }, b = { at = "sw.1" } }
[streams.s]
from = "a"
to = ["b"]
source = { frames = "100B", poisson = "1ms", jitter = { file = "host.txt" } }
""")
    jitter = load(tmp_path).streams["s"].jitter
    assert jitter is not None
    assert jitter.values_ps == (1_500_000, -20_000)


def test_sources_without_a_seed_do_not_do_the_same() -> None:
    values = network()
    source = {"frames": "100B", "poisson": "1ms"}
    values["streams"] = {name: {"from": "a", "to": ["c"], "source": source} for name in ("s", "t")}
    told = plan.network_json(load(values), {}, {})
    assert told["streams"][0]["source"]["seed"] != told["streams"][1]["source"]["seed"]


@pytest.mark.parametrize("name", ["line5", "ring"])
def test_the_ready_scenarios(name: str) -> None:
    ready = load(HELLO.parent / name)
    for stream in ready.streams.values():
        if stream.ats is not None:
            assert bound(ready, stream.name).total_ps is not None
            assert stream.max_frame_bytes + 20 <= stream.ats.burst_bytes


def test_the_line_runs_as_both_kinds() -> None:
    line = load(HELLO.parent / "line5")
    assert {bridge.nodes for bridge in line.bridges.values()} == {"rtl"}
    model = load(HELLO.parent / "line5", "model")
    assert {(bridge.nodes, bridge.hardware_timing) for bridge in model.bridges.values()} == {("model", True)}


def large(bridges: int, count: int) -> dict[str, Any]:
    """A tree of bridges with two stations at each, and streams all over it."""
    stations = 2 * bridges
    ends = [(i % stations, (i * 7 + i // stations + 1) % stations) for i in range(count)]
    return {
        "name": "large",
        "duration": "1s",
        "nodes": "model",
        "topology": {
            "t": {"kind": "tree", "bridges": bridges, "children": 4, "rate": "10Gb/s", "bridge": {"ports": 8}}
        },
        "stations": {f"e{i}": {"at": f"t{i % bridges}.{5 + i // bridges}"} for i in range(stations)},
        "streams": {
            f"s{i}": {
                "from": f"e{talker}",
                "to": [f"e{listener}"],
                "vlan": 10 + i // 2500,
                "pcp": 3,
                "source": {"frames": "100B", "every": "1ms"},
                "ats": {"rate": "20kb/s", "burst": "120B"},
            }
            for i, (talker, listener) in enumerate(ends)
            if talker != listener
        },
    }


def calls(work: Callable[[], object]) -> int:
    """How many functions it calls, of Python and of C."""
    count = 0

    def seen(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_loading_grows_as_the_network_does() -> None:
    """No step looks at all streams for each stream, nor at all bridges for each bridge."""

    def work(values: dict[str, Any]) -> None:
        network = load(values)
        told = plan.network_json(network, {}, {})
        limits = [bound(network, name) for name in network.streams]
        assert len(told["streams"]) == len(network.streams)
        assert all(limit.total_ps is not None for limit in limits)

    work(large(10, 100))  # what is made once
    once, twice = calls(lambda: work(large(50, 500))), calls(lambda: work(large(100, 1000)))
    assert twice < 2.5 * once


def test_comments_and_blanks_around_a_key_do_not_move_it() -> None:
    text = (
        "[a.b] # [c]\n# d = 1\n\n  e = 1  # f = 2\n\n[ g . 'h' ]\ni=\"\"\n# end\nj = { k = [ 1, # }\n 2 ], l.m = '}' }"
    )
    lines = parse(text)[1]
    expected = {
        ("a",): 1,
        ("a", "b"): 1,
        ("a", "b", "e"): 4,
        ("g",): 6,
        ("g", "h"): 6,
        ("g", "h", "i"): 7,
        ("g", "h", "j"): 9,
        ("g", "h", "j", "k"): 9,
        ("g", "h", "j", "k", 0): 9,
        ("g", "h", "j", "k", 1): 10,
        ("g", "h", "j", "l"): 10,
        ("g", "h", "j", "l", "m"): 10,
    }
    assert {path: line(lines, path) for path in expected} == expected
