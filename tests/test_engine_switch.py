# SPDX-License-Identifier: Apache-2.0
"""The Verilated switch under the engine: cycle by cycle, and as a node of a network."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import _engine
from penstock.hardware.model import build_model, layout_header
from penstock.hardware.tools import ToolError, hardware_folder

PORTS = 4
CYCLE_PS = 8000
ID = 0x50454E53


def frame(size: int, destination: int = 0xFFFFFFFFFFFF, source: int = 0x020000000001, seed: int = 0) -> bytes:
    head = destination.to_bytes(6) + source.to_bytes(6) + b"\x88\xb5"
    body = head + bytes((7 * i + seed) & 0xFF for i in range(size - 4 - len(head)))
    return body + zlib.crc32(body).to_bytes(4, "little")


@pytest.fixture(scope="module")
def library() -> Path:
    return build_model(ports=PORTS)


@pytest.fixture
def switch(library: Path) -> _engine.Switch:
    return _engine.Switch(library)


def kinds(events: _engine.Events, kind: str) -> np.ndarray[Any, Any]:
    chosen: np.ndarray[Any, Any] = events["kind"] == _engine.KINDS.index(kind)
    return chosen


def test_flooded_frame_leaves_whole_and_at_once(switch: _engine.Switch) -> None:
    start = switch.cycle + 100
    number = switch.push(0, start, frame(300))
    switch.run(start + 2000)
    events = switch.events()
    assert switch.inside == switch.waiting == 0
    assert not kinds(events, "fault").any()
    entered = events["cycle"][kinds(events, "input")]
    assert entered.tolist() == [start + 8]
    out = kinds(events, "output")
    assert sorted(events["port"][out].tolist()) == [1, 2, 3]
    assert set(events["frame"][out].tolist()) == {number}
    assert set(events["length"][out].tolist()) == {300}
    assert not events["flags"][out].any()
    assert len(set(events["cycle"][out].tolist())) == 1
    assert 0 < int(events["cycle"][out][0]) - int(entered[0]) - 300 <= 50  # 0.40 us
    assert not len(switch.events()["kind"])


def test_every_error_has_its_reason_and_hurts_nobody(switch: _engine.Switch) -> None:
    start = switch.cycle + 100
    broken = bytearray(frame(100))
    broken[50] ^= 1
    wrong = {
        switch.push(0, start, frame(60)): "runt",
        switch.push(0, 0, bytes(broken)): "fcs",
        switch.push(0, 0, frame(100), rx_er_at=20): "rx_er",
        switch.push(0, 0, frame(1600)): "giant",
        switch.push(0, 0, b"", delimiter=False): "preamble",
        switch.push(0, 0, frame(64, destination=0x0180C200000E)): "reserved_address",
    }
    good = [
        switch.push(0, 0, frame(64), preamble=0),
        switch.push(0, 0, frame(100), gap=4),
        switch.push(1, 0, frame(90)),
    ]
    switch.run(start + 6000)
    events = switch.events()
    verdict = kinds(events, "verdict")
    reasons = dict(zip(events["frame"][verdict].tolist(), events["reason"][verdict].tolist(), strict=True))
    expected = {number: _engine.REASONS.index(name) for number, name in wrong.items()} | dict.fromkeys(good, 0)
    assert reasons == expected
    out = kinds(events, "output")
    assert sorted(events["frame"][out].tolist()) == sorted(3 * good)
    assert not events["flags"][out].any()
    assert not kinds(events, "fault").any()
    assert switch.inside == 0


def test_time_jumps_and_the_clock_stays_right(switch: _engine.Switch) -> None:
    start = switch.cycle
    simulated = switch.cycles_simulated
    switch.run(start + 1_000_000_000)
    assert switch.cycle >= start + 1_000_000_000
    assert switch.cycles_simulated - simulated < 1_000_000
    assert switch.cycles_simulated - simulated + switch.cycles_jumped == switch.cycle - start
    assert not kinds(switch.events(), "fault").any()
    number = switch.push(2, switch.cycle + 5_000_000, frame(64))
    switch.run(switch.cycle + 5_001_000)
    events = switch.events()
    assert events["cycle"][kinds(events, "input")].tolist() == [start + 1_000_000_000 + 5_000_008]
    assert set(events["frame"].tolist()) == {number}


def test_many_frames_at_line_rate(switch: _engine.Switch) -> None:
    count, size = 200, 130
    addresses = [0x020000000010 + p for p in range(PORTS)]
    start = switch.cycle + 100
    for port in range(PORTS):
        switch.push(port, start + 2000 * port, frame(64, source=addresses[port]))
    switch.run(start + 10_000)
    switch.events()
    order = [(n, p) for n in range(count) for p in range(PORTS)]
    data = b"".join(frame(size, addresses[(p + 1) % PORTS], addresses[p], seed=n) for n, p in order)
    first = switch.push_many(
        np.array([p for _, p in order], dtype=np.uint8),
        np.full(len(order), switch.cycle + 10, dtype=np.uint64),
        np.arange(len(order) + 1, dtype=np.uint64) * size,
        data,
    )
    assert first == PORTS
    switch.run(switch.cycle + count * (size + 20) + 1000)
    events = switch.events()
    out = kinds(events, "output")
    assert int(out.sum()) == len(order)
    assert not events["flags"][out].any()
    for port in range(PORTS):
        gone = events["frame"][out & (events["port"] == port)]
        assert (np.diff(gone.astype(np.int64)) == PORTS).all()


def test_registers_and_bad_calls(switch: _engine.Switch) -> None:
    assert switch.read(0) == ID
    with pytest.raises(_engine.HardwareError, match="0xfffc"):
        switch.read(0xFFFC)
    with pytest.raises(_engine.HardwareError, match="port 4 does not exist; 0 to 3"):
        switch.push(4, 0, frame(64))
    with pytest.raises(_engine.HardwareError, match="port 4 does not exist; 0 to 3"):
        switch.link(4)
    with pytest.raises(_engine.HardwareError, match="-1000001 ppb off; up to 1000000"):
        switch.link(0, rate_ppb=-1_000_001)
    with pytest.raises(_engine.HardwareError, match="gap"):
        switch.push(0, 0, frame(64), gap=0)
    with pytest.raises(ValueError, match="for 1 frames 2 are wanted"):
        switch.push_many(np.zeros(1, np.uint8), np.zeros(1, np.uint64), np.zeros(1, np.uint64), b"")
    with pytest.raises(_engine.HardwareError, match="not a model"):
        _engine.Switch(__file__)


STATIONS = "abcd"


def network(library: Path, *streams: dict[str, Any], duration_ps: int = 10**9) -> dict[str, Any]:
    link = {"rate_bps": 10**9, "delay_ps": 50_000}
    return {
        "duration_ps": duration_ps,
        "bridges": [
            {"name": "sw", "kind": "rtl", "ports": PORTS, "config": {}, "library": str(library), "writes": []},
        ],
        "stations": [{"name": name} for name in STATIONS],
        "links": [{"a": [0, port], "b": [1 + port, 0], **link} for port in range(PORTS)],
        "streams": list(streams),
    }


def stream(name: str, talker: str, to: list[str], source: dict[str, Any], **frame_changes: Any) -> dict[str, Any]:
    described = {
        "destination_mac": "ff:ff:ff:ff:ff:ff",
        "source_mac": f"02:00:00:00:00:{ord(talker):02x}",
        "vlan": 1,
        "pcp": 3,
        "payload": {"kind": "raw"},
    } | frame_changes
    listeners = [STATIONS.index(listener) for listener in to]
    return {"name": name, "from": STATIONS.index(talker), "to": listeners, "frame": described, "source": source}


def run(description: dict[str, Any]) -> tuple[_engine.Outcome, dict[str, np.ndarray[Any, Any]]]:
    """The result, and the columns of the trace."""
    chunks: list[Any] = []
    result = _engine.run(json.dumps(description), chunks.append)
    kinds = {"frame_id": "<u8", "node": "<u4", "port": "<u2", "event": "u1", "time_ps": "<u8"}
    return result, {name: np.concatenate([np.frombuffer(c[name], k) for c in chunks]) for name, k in kinds.items()}


PERIODIC: dict[str, Any] = {
    "kind": "periodic",
    "frame_bytes": 200,
    "period_ps": 20_000_000,
    "seed": 1,
    "count": None,
    "start_ps": 0,
}


def test_trace_tells_each_frames_way(library: Path) -> None:
    result, trace = run(network(library, stream("s", "a", ["c"], PERIODIC | {"count": 3})))
    assert result["nodes"] == ["sw", "a", "b", "c", "d"]
    rows = [
        (result["events"][event], result["nodes"][node], int(port), int(time))
        for frame_id, event, node, port, time in zip(
            *(trace[name] for name in ("frame_id", "event", "node", "port", "time_ps")), strict=True
        )
        if frame_id == 1
    ]
    rows.sort(key=lambda row: row[3])
    steps = [row[:2] for row in rows]
    assert steps[:3] == [("created", "a"), ("sent", "a"), ("received", "sw")]
    assert steps[-1] == ("delivered", "c")
    times = {row[:3]: row[3] for row in rows}
    created = times["created", "a", 0]
    assert created == 20_000_000
    received = times["received", "sw", 0]
    assert times["sent", "a", 0] == created + 8 * CYCLE_PS
    assert 0 <= received - times["sent", "a", 0] - 50_000 < CYCLE_PS
    left = times["sent", "sw", 2]
    assert 200 * CYCLE_PS < left - received <= 200 * CYCLE_PS + 400_000
    assert times["delivered", "c", 0] == left + 50_000
    assert result["conservation"]["s"] == {"created": 3, "delivered": 3, "dropped": {}, "inside": 0}


def test_conservation_of_all_kinds_of_traffic(library: Path) -> None:
    description = network(
        library,
        stream("greedy", "a", ["d"], {"kind": "back_to_back", "frame_bytes": 1522, "start_ps": 3_000}),
        stream("control", "a", ["b", "d"], PERIODIC | {"jitter": {"normal_ps": 3_000_000}}, pcp=3),
        stream("bursts", "b", ["d"], {"kind": "burst", "frame_bytes": 500, "size": 9, "period_ps": 10**8}),
        stream("random", "c", ["d"], {"kind": "poisson", "frame_bytes": 64, "mean_ps": 10**6, "seed": 5}),
        stream("gaps", "d", ["a"], {"kind": "normal", "frame_bytes": 80, "mean_ps": 10**7, "deviation_ps": 10**6}),
        stream("lost", "d", ["a"], PERIODIC, vlan=77),
    )
    first, trace = run(description)
    for name, fates in first["conservation"].items():
        assert fates["created"] == fates["delivered"] + sum(fates["dropped"].values()) + fates["inside"], name
        assert fates["inside"] == 0, name
    assert set(first["conservation"]["lost"]["dropped"]) == {"vlan"}
    again, same = run(description)
    assert again["statistics"] == first["statistics"]
    assert all((trace[name] == same[name]).all() for name in trace)


def test_bad_networks_are_refused(library: Path, tmp_path: Path) -> None:
    good = network(library, stream("s", "a", ["c"], PERIODIC))
    text = tmp_path / "a.txt"
    text.write_text("not a capture")
    capture = {"kind": "capture", "path": str(text)}
    changes: list[tuple[dict[str, Any], str]] = [
        ({"surprise": 1}, "unknown field `surprise`"),
        ({"streams": [stream("s", "a", ["c"], PERIODIC) | {"to": [4]}]}, "no station 4"),
        ({"streams": [stream("s", "a", ["a"], PERIODIC)]}, "to itself"),
        ({"streams": [stream("s", "a", ["c"], PERIODIC)] * 2}, 'two streams are named "s"'),
        ({"streams": [stream("s", "a", ["c"], PERIODIC | {"period_ps": 0})]}, "period_ps is 0"),
        ({"streams": [stream("s", "a", ["c"], PERIODIC | {"frame_bytes": 63})]}, "64 to"),
        ({"streams": [stream("s", "a", ["c"], capture)]}, "not a capture"),
        ({"links": [good["links"][0] | {"a": [0, 4]}, *good["links"]]}, 'port 4 of "sw"; 0 to 3 are there'),
        ({"links": [good["links"][0] | {"rate_bps": 10**8}, *good["links"][1:]]}, "100000000 b/s"),
    ]
    for change, message in changes:
        with pytest.raises(_engine.InputError, match=message):
            _engine.run(json.dumps(good | change))


def test_an_exception_of_progress_stops_the_run(library: Path) -> None:
    def stop(_done: float) -> None:
        raise RuntimeError("enough")

    description = json.dumps(network(library, stream("s", "a", ["c"], PERIODIC)))
    with pytest.raises(RuntimeError, match="enough"):
        _engine.run(description, None, stop)
    told: list[float] = []
    _engine.run(description, None, told.append)
    assert told[-1] == 1.0


def test_layout_follows_the_package() -> None:
    header = layout_header((hardware_folder() / "rtl" / "pen_pkg.sv").read_text())
    assert "constexpr Field shaped{0, 1};" in header
    small = """
      localparam int unsigned N = 3; // a comment; with a semicolon
      typedef logic [10:0] length_t;
      typedef enum logic [1:0] { A = 2'd0, B = 2'd1 } kind_e;
      typedef struct packed { logic valid; kind_e [N-1:0] kind; } verdict_t;
      typedef struct packed { length_t length; logic last; } egress_event_t;
    """
    header = layout_header(small)
    assert "WIDTH = 7;\nconstexpr Field valid{6, 1};\nconstexpr Field kind{0, 6};" in header
    assert "WIDTH = 12;\nconstexpr Field length{1, 11};\nconstexpr Field last{0, 1};" in header
    with pytest.raises(ToolError, match="unknown type nothing_t"):
        layout_header("typedef struct packed { nothing_t a; } verdict_t;")
    with pytest.raises(ToolError, match="2 to 8"):
        build_model(ports=9)


@pytest.mark.parametrize("first", [0, 1])
def test_switches_go_in_any_order(first: int) -> None:
    """Their scopes are taken out of their own contexts: in a process of its own, which would hang or crash."""
    code = (
        "from penstock.hardware.host_line import hardware\n"
        "switches = [hardware(), hardware()]\n"
        "[switch.run(switch.cycle + 1_000) for switch in switches]\n"
        f"del switches[{first}]\n"
        "del switches[0]\n"
        "hardware().run(10_000)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
