# SPDX-License-Identifier: Apache-2.0
"""The scenarios of gates and credit do what their pages say, and what their reports draw is what happened."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

import penstock as ps
from penstock.bound import bound
from penstock.gates import CreditOverTime, Occupation, gate_states
from penstock.journeys import View
from penstock.report.moments import Ports
from penstock.report.page import unpack
from penstock.report.ports import occupations
from penstock.run import run as run_whole
from penstock.run import statistics
from penstock.scenario import load
from penstock.scenario.network import Network
from penstock.scenario.windows import acting

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
US = 10**6

Nodes = Literal["model", "rtl"]


@cache
def network(name: str) -> Network:
    return load(SCENARIOS / name, "model")


@cache
def run(name: str, nodes: Nodes = "model") -> ps.Run:
    return ps.load(SCENARIOS / name).run(nodes=nodes)


def begins(of: ps.Run, port: int) -> pl.DataFrame:
    """When each frame had the wire of the bridge's port: begin and end with preamble and gap, at 1 Gb/s."""
    sent = pl.col("event").cast(pl.String) == "sent"
    rows = of.trace.filter(sent & (pl.col("node").cast(pl.String) == "sw") & (pl.col("port") == port))
    begin = pl.col("time_ps").cast(pl.Int64) - 64_000
    return rows.select(
        pl.col("stream").cast(pl.String),
        "traffic_class",
        begin.alias("begin"),
        (begin + (pl.col("bytes").cast(pl.Int64) + 20) * 8_000).alias("end"),
    ).sort("begin")


@pytest.mark.parametrize("nodes", ["model", "rtl"])
@pytest.mark.parametrize(("name", "port"), [("tas", 2), ("mixed", 3)])
def test_frames_are_inside_their_windows(name: str, port: int, nodes: Nodes) -> None:
    frames = begins(run(name, nodes), port)
    assert frames.height > 500
    bridge = network(name).bridges["sw"]
    windows = list(gate_states(bridge, port, 0, 12_000 * US))
    for traffic_class, begin, end in frames.select("traffic_class", "begin", "end").iter_rows():
        during = [states for start, stop, states in windows if start < end and stop > begin]
        assert during
        assert all(states >> traffic_class & 1 for states in during), f"class {traffic_class} from {begin} to {end}"


@pytest.mark.parametrize("name", ["tas", "cbs", "mixed"])
def test_model_and_hardware_agree(name: str) -> None:
    columns = ["frame_id", "stream", "node", "port", "event", "time_ps"]
    both: tuple[Nodes, Nodes] = ("model", "rtl")
    model, hardware = (run(name, nodes).trace.select(columns).sort(columns) for nodes in both)
    assert model.with_columns(pl.col(pl.Categorical).cast(pl.String)).equals(
        hardware.with_columns(pl.col(pl.Categorical).cast(pl.String))
    )
    assert run(name).ok
    assert run(name, "rtl").ok


def test_control_frames_take_the_same_time_to_the_cycle() -> None:
    # Out of the talker 8 bytes of preamble before; 100 bytes, 280 ns and 8 bytes of preamble in the bridge; two cables.
    expected_ns = (100 + 8) * 8 + 280 + 2 * 50
    rows = run("tas").streams.filter(pl.col("stream") == "control")
    assert rows["jitter_ns"].item() == 0
    # A time of arrival of no whole cycle is rounded up.
    assert expected_ns <= rows["latency_max_ns"].item() < expected_ns + 8


def without_gates(name: str) -> dict[str, Any]:
    values = tomllib.loads((SCENARIOS / name / "scenario.toml").read_text())
    bridge = values["bridges"]["sw"]
    bridge.pop("gates", None)
    bridge.pop("port", None)
    for settings in bridge["classes"].values():
        settings.pop("scaled", None)
    return values


@pytest.mark.parametrize("name", ["tas", "mixed"])
def test_without_gates_control_is_late(name: str) -> None:
    summary = ps.load(without_gates(name)).run(nodes="model").summary
    assert summary["streams"]["control"]["deadline_missed"] > 0


def test_video_leaves_at_its_idle_slope() -> None:
    """A picture is seven packets of 1466 bytes on the wire and a rest: at 100 Mb/s 117.28 us from each to the next."""
    frames = begins(run("cbs"), 2).filter(pl.col("stream") == "video")
    gaps = frames.select(pl.col("begin").diff()).to_series().drop_nulls().to_list()
    lengths = frames.select(pl.col("end") - pl.col("begin")).to_series().to_list()
    # Within a picture no packet before its credit is back: ten times its own length on the wire. Waiting for others
    # earns what lets the next one come that much earlier, so over a picture it is the mean.
    for picture in range(0, frames.height - 8, 8):
        took = sum(gaps[picture : picture + 7])
        assert abs(took - 10 * sum(lengths[picture : picture + 7])) < 15 * US


def test_the_report_draws_gates_and_credit() -> None:
    for name, port, drawn in (
        ("tas", "sw port 2", {"gate open", "control", "video", "bulk"}),
        ("cbs", "sw port 2", {"audio", "video"}),
        (
            "mixed",
            "sw port 3",
            {"gate open", "control", "audio", "video", "bulk", "credit of audio 5", "credit of video 4"},
        ),
    ):
        page = Path(run(name).report()).read_text(encoding="utf-8")
        found = re.search(rf'<option value="(moment-\d+)"[^>]*>{port}</option>', page)
        assert found is not None
        traces = json.loads(unpack(page, found[1]))["hops"][0]["data"]
        assert drawn <= {trace["name"] for trace in traces}, name
        assert any("credit" in trace["name"] for trace in traces) == (name != "tas")


def test_a_source_that_breaks_its_contract_has_no_bound_and_its_run_fails(tmp_path: Path) -> None:
    values = tomllib.loads((SCENARIOS / "mixed" / "scenario.toml").read_text())
    values["streams"]["events"]["ats"]["burst"] = "640B"
    summary = run_whole(load(values, "model"), tmp_path / "run").summary
    stream = summary["streams"]["events"]
    assert stream["bound_ns"] is None
    assert "the source does not conform: 10 of 30 frames" in stream["bound"]["reason"]
    assert (stream["deadline_ok"], stream["bound_ok"], summary["ok"]) == (True, False, False)
    kept = run("mixed").summary
    assert (kept["streams"]["events"]["bound_ok"], kept["ok"]) == (True, True)


def test_each_stream_with_a_contract_is_held_against_its_bound_and_each_hop_too() -> None:
    for name in ("mixed", "cbs", "round-robin"):
        for stream, told in run(name).summary["streams"].items():
            assert told["bound_ok"] is True, (name, stream)
            assert told["latency_ns"]["max"] <= told["bound_ns"]
            for hop in told["hops"]:
                assert 0 < hop["passing_ns"]["max"] <= hop["bound_ns"], (name, stream, hop)
    page = Path(run("mixed").report()).read_text(encoding="utf-8")
    assert page.count("last bit in to first bit out") == 5


def test_a_latency_above_the_bound_of_a_stream_without_ats_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def less(network: Network, name: str, measured_ps: Any = None) -> Any:
        found = bound(network, name, measured_ps)
        return replace(found, total_ps=800_000) if name == "control" else found

    monkeypatch.setattr("penstock.summary.bound", less)
    summary = statistics(load(SCENARIOS / "tas", "model"))
    assert (summary["streams"]["control"]["bound_ok"], summary["ok"]) == (False, False)


def bridge_of(gates: dict[str, Any], **settings: Any) -> Network:
    return load(
        {
            "name": "one",
            "nodes": "model",
            "duration": "1ms",
            "bridges": {"sw": {"ports": 2, "port": {"1": {"gates": gates}}, **settings}},
            "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}},
            "streams": {"s": {"from": "a", "to": ["b"], "source": {"frames": "64B", "every": "1ms"}}},
        }
    )


GATES = {
    "base_time": "100us",
    "initial": "0x20",
    "entries": [{"open": "all", "interval": "10us"}, {"open": "none", "interval": "30us"}],
}


@pytest.mark.parametrize(
    ("clock", "first_us"),
    [
        ({}, 100),
        ({"offset": "5us", "drift": "100ppm"}, 100),  # synchronized
        ({"offset": "5us", "sync": "none"}, 95),
        ({"offset": "-5us", "sync": "none"}, 105),
    ],
)
@pytest.mark.parametrize("bridge", [{}, {"processing_delay": "1us"}])
def test_gate_states_in_the_time_of_the_run(bridge: dict[str, Any], clock: dict[str, Any], first_us: int) -> None:
    """In an ideal bridge to the picosecond; hardware acts in the cycle of 8 ns that comes then, of its own clock."""
    found = list(gate_states(bridge_of(GATES, clock=clock, **bridge).bridges["sw"], 1, 0, (first_us + 45) * US))
    first = first_us * US
    late = 0 if bridge else 8_000
    expected = [
        (0, first, 0x20),
        (first, first + 10 * US, 0xFF),
        (first + 10 * US, first + 40 * US, 0),
        (first + 40 * US, first + 45 * US, 0xFF),
    ]
    assert [states for _, _, states in found] == [states for _, _, states in expected]
    for (begin, end, _), (begin_ideal, end_ideal, _) in zip(found, expected, strict=True):
        assert 0 <= begin - begin_ideal <= late
        assert 0 <= end - end_ideal <= late


def test_a_synchronization_error_is_the_nodes_own() -> None:
    found = {}
    for name in ("sw", "other"):
        values = {"offset": "1ms", "sync": {"error": "200ns"}}
        bridge = bridge_of(GATES, clock=values).bridges["sw"]
        error = bridge.clock.sync_error_ns
        assert error is not None
        assert abs(error) <= 200
        end = next(end for _, end, _ in gate_states(bridge, 1, 0, 10**9))
        assert end == 100 * US - error // 8 * 8_000, "in the cycle of 8 ns that comes then"
        found[name] = error
    assert found["sw"] == found["other"], "the same in every run"


def test_a_list_as_it_acts() -> None:
    """Of 50 + 60 ... us in 100 us, the second is cut to 50 us; a rest of less than 64 ns goes to the entry before."""
    entries = [{"open": [1], "interval": "50us"}, {"open": [5], "interval": "60us"}, {"open": [3], "interval": "1us"}]
    gates = bridge_of({"cycle_time": "100us", "entries": entries}).bridges["sw"].gates[1]
    assert acting(gates).entries == [(0, 2, 50_000), (50_000, 32, 50_000)]
    gates = bridge_of({"cycle_time": "110.05us", "entries": entries}).bridges["sw"].gates[1]
    assert acting(gates).entries == [(0, 2, 50_000), (50_000, 32, 60_050)]


def test_credit_over_time_by_hand() -> None:
    """125 Mb/s. Ready at 10 us, sent from 22 us to 30 us: 1500 bits, then -5500, and zero 44 us later."""
    bridge = bridge_of(GATES, classes={"5": {"selection": "cbs", "idle_slope": "125Mb/s"}}, port={}).bridges["sw"]
    credit = CreditOverTime(bridge, 1, 5, 10**9)
    points = credit.points([Occupation(10 * US, 22 * US, 30 * US)], 0, 100 * US)
    at = dict(points)
    assert (at[10 * US], at[22 * US], at[30 * US], at[74 * US], at[100 * US]) == (0, 1500, -5500, 0, 0)


def test_credit_never_leaves_its_bounds_and_a_frame_begins_with_credit() -> None:
    """Replayed from the trace: not below loCredit, 8 L (idleSlope - R) / R, and not below zero at a selection."""
    result = run("cbs")
    net = network("cbs")
    bridge = net.bridges["sw"]
    for traffic_class, longest in ((6, 138), (5, 1466)):
        passage = Ports(View(net, result.trace)).passage("sw", 2)
        own = list(occupations(passage.place, passage.frames.filter(pl.col("traffic_class") == traffic_class)))
        credit = CreditOverTime(bridge, 2, traffic_class, 10**9)
        points = credit.points(own, 0, 10_000 * US)
        slope = bridge.credit[2, traffic_class].idle_slope_bps
        assert min(bits for _, bits in points) >= -8 * longest * (1 - slope / 1e9) - 1
        at: dict[int, float] = {}
        for time, bits in points:
            at[time] = max(bits, at.get(time, bits))
        for frame in own:
            if frame.selected is not None and frame.selected < 10_000 * US:
                assert at[frame.selected] >= 0


@pytest.mark.parametrize(
    "clock",
    [
        {"offset": "3us", "drift": "50ppm"},
        {"offset": "-7003ns", "drift": "-80ppm", "sync": {"error": "300ns"}},
        {"offset": "40us", "drift": "100ppm", "sync": "none"},
        {"offset": "-1234ps", "sync": "none"},
    ],
)
def test_clocks_that_differ(clock: dict[str, Any]) -> None:
    """Hardware and its model agree, and gates open in the network's time as the clock's synchronization has it."""
    values = tomllib.loads((SCENARIOS / "tas" / "scenario.toml").read_text()) | {"duration": "3ms"}
    values["bridges"]["sw"]["clock"] = clock
    both: tuple[Nodes, Nodes] = ("model", "rtl")
    runs = [ps.load(values).run(nodes=nodes) for nodes in both]
    columns = ["frame_id", "stream", "node", "port", "event", "time_ps"]
    model, hardware = (
        run.trace.select(columns).with_columns(pl.col(pl.Categorical).cast(pl.String)).sort(columns) for run in runs
    )
    assert model.equals(hardware)
    bridge = load(values, "model").bridges["sw"]
    for traffic_class, begin, end in begins(runs[0], 2).select("traffic_class", "begin", "end").iter_rows():
        # An edge is on the wire within a cycle of its time; what a clock counts in a frame's time is neglected.
        during = [states for _, _, states in gate_states(bridge, 2, begin + 8_000, end - 16_000)]
        assert all(states >> traffic_class & 1 for states in during), f"class {traffic_class} from {begin} to {end}"


@pytest.mark.parametrize("gated", [False, True])
def test_the_credit_of_a_picture_is_that_of_the_run_in_an_ideal_bridge(gated: bool) -> None:
    """At 30 Mb/s a byte takes no whole number of ps, and 7 Mb/s are no whole number of the hardware's units.

    A frame that waits for credit alone is selected in the first ps in which it is not negative: what the picture has
    then is less than what is earned in a ps, 7 * 10^-6 bits.
    """
    values: dict[str, Any] = {
        "name": "ideal",
        "nodes": "model",
        "duration": "40ms",
        "links": {"rate": "30Mb/s", "delay": "50ns"},
        "bridges": {
            "b": {
                "ports": 2,
                "processing_delay": "1us",
                "classes": {"5": {"selection": "cbs", "idle_slope": "7Mb/s"}},
                "clock": {"offset": "-7003ns", "sync": {"error": "300ns"}},
            }
        },
        "stations": {"talker": {"at": "b.0"}, "listener": {"at": "b.1"}},
        "streams": {
            "s": {"from": "talker", "to": ["listener"], "vlan": 10, "pcp": 7, "source": {"frames": "333B",
                  "every": "401us", "count": 80}},
        },
    }  # fmt: skip
    if gated:
        entries = [{"open": [5], "interval": "701us"}, {"open": "none", "interval": "97us"}]
        values["bridges"]["b"]["port"] = {"1": {"gates": {"entries": entries}}}
    passage = Ports(View(load(values, "model"), ps.load(values).run().trace)).passage("b", 1)
    own = list(occupations(passage.place, passage.frames))
    at = dict(passage.credit(5, 0, 40_000 * US) or [])
    held = [frame for frame in own if frame.selected is not None and frame.selected > frame.ready]
    exact = [at[frame.selected] for frame in held if frame.selected is not None and at[frame.selected] < 7.001e-6]
    assert len(held) > 50
    assert all(at[frame.selected] >= 0 for frame in held if frame.selected is not None)
    # Behind gates some wait for a window that is long enough.
    assert len(exact) == len(held) if not gated else len(exact) > len(held) // 2
