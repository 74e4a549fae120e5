# SPDX-License-Identifier: Apache-2.0
"""The engine's `run` on networks of models, as Python sees it: chunks, statistics, progress, interruption, mistakes."""

from __future__ import annotations

import itertools
import json
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import _engine
from penstock.captures import read_capture

Json = dict[str, Any]
WIDTHS = {
    "frame_id": 8,
    "stream": 4,
    "node": 4,
    "port": 2,
    "event": 1,
    "time_ps": 8,
    "bytes": 4,
    "traffic_class": 1,
    "reason": 1,
}
HOUR_PS = 3_600 * 10**12


def network(**changes: Any) -> Json:
    """Two bridges between two stations, and a stream from one to the other."""
    link = {"rate_bps": 10**9, "delay_ps": 50_000}
    frame = {
        "destination_mac": "02:00:00:00:00:02",
        "source_mac": "02:00:00:00:00:01",
        "vlan": 1,
        "pcp": 5,
        "payload": {"kind": "raw"},
    }
    source = {"kind": "periodic", "frame_bytes": 100, "period_ps": 10_000_000}
    return {
        "duration_ps": 1_000_000_000,
        "bridges": [{"name": name, "kind": "model", "ports": 2, "config": {}} for name in ("s0", "s1")],
        "stations": [{"name": "talker"}, {"name": "listener"}],
        "links": [
            {"a": [0, 1], "b": [1, 0], **link},
            {"a": [2, 0], "b": [0, 0], **link},
            {"a": [3, 0], "b": [1, 1], **link},
        ],
        "streams": [{"name": "x", "from": 0, "to": [1], "frame": frame, "source": source}],
        **changes,
    }


def run(description: Json, **arguments: Any) -> tuple[Any, list[Any]]:
    chunks: list[Any] = []
    return _engine.run(json.dumps(description), chunks.append, **arguments), chunks


def endless() -> Json:
    busy = network(duration_ps=HOUR_PS, trace={"events": ["delivered"]})
    busy["streams"][0]["source"] = {"kind": "back_to_back", "frame_bytes": 64}
    return busy


def test_what_a_run_gives() -> None:
    result, chunks = run(network())
    assert result["nodes"] == ["s0", "s1", "talker", "listener"]
    assert result["streams"] == ["x"]
    assert result["conservation"] == {"x": {"created": 100, "delivered": 100, "dropped": {}, "inside": 0}}
    statistics = result["statistics"]["x"]
    # In at the next cycle after 50 ns, 100 bytes, what an idle bridge takes, a preamble out; twice, and one link more.
    bridge = 56_000 + 8_000 * (100 + 4 + 2 * 2 + 19 + 12)
    latency = statistics["latency_ps"]
    assert {latency[key] for key in ("min", "max", "mean", "p50", "p99")} == {2 * bridge + 50_000}
    assert latency["percentile_error"] == 0.0
    assert statistics["interval_ps"]["count"] == 99
    assert statistics["interval_ps"]["mean"] == 10_000_000
    assert statistics["talker_wait_ps"]["max"] == 64_000
    assert statistics["delivered_wire_bytes"] == 100 * 120
    assert result["simulation"]["frame_hops"] == 300
    assert not result["interrupted"]
    assert len(chunks) == 1
    assert {name: len(chunks[0][name]) for name in WIDTHS} == {n: w * chunks[0]["rows"] for n, w in WIDTHS.items()}
    events = np.frombuffer(chunks[0]["event"], "u1")
    counts = dict(zip(result["events"], np.bincount(events, minlength=12).tolist(), strict=True))
    assert counts == {
        "created": 100, "received": 200, "queued": 200, "eligible": 0, "sent": 300, "delivered": 100, "dropped": 0,
        "missed": 0,
        "fault_begin": 0,
        "fault_end": 0,
        "spoiled": 0,
        "cut": 0,
    }  # fmt: skip


def test_chunks_are_bounded_and_whole() -> None:
    busy = endless() | {"duration_ps": 200_000_000_000, "trace": {}}
    result, chunks = run(busy)
    rows = [chunk["rows"] for chunk in chunks]
    assert len(rows) > 3
    assert all(1 << 13 <= n < (1 << 13) + 300 for n in rows[:-1])
    frames = np.concatenate([np.frombuffer(c["frame_id"], "<u8") for c in chunks])
    assert len(frames) == sum(rows)
    created = result["conservation"]["x"]["created"]
    assert np.array_equal(np.unique(frames), np.arange(created))


@pytest.mark.parametrize("columns", [tuple(WIDTHS), ("time_ps",)], ids=["whole", "one column"])
def test_a_chunk_that_is_kept_stays_as_it_is(columns: tuple[str, ...]) -> None:
    kept: list[Json] = []
    copies: list[Json] = []
    turns = itertools.cycle((True, False))

    def sink(chunk: Any) -> None:
        # The memory of those between is used again.
        if next(turns):
            kept.append({column: chunk[column] for column in columns})
            copies.append({column: bytes(chunk[column]) for column in columns})

    _engine.run(json.dumps(endless() | {"duration_ps": 200_000_000_000, "trace": {}}), sink)
    assert len(kept) > 2
    assert [{column: bytes(values) for column, values in chunk.items()} for chunk in kept] == copies


def test_percentiles_of_many_values_say_their_error() -> None:
    random = network(duration_ps=100_000_000_000, statistics={"exact_up_to": 100})
    random["streams"][0]["source"] = {"kind": "poisson", "frame_bytes": 1000, "mean_ps": 9_000_000, "seed": 1}
    sketched = run(random)[0]["statistics"]["x"]["latency_ps"]
    random["statistics"]["exact_up_to"] = 10**6
    exact = run(random)[0]["statistics"]["x"]["latency_ps"]
    assert (sketched["percentile_error"], exact["percentile_error"]) == (0.001, 0.0)
    assert [sketched[k] for k in ("count", "min", "max", "mean")] == [exact[k] for k in ("count", "min", "max", "mean")]
    waits = run(random)[0]["statistics"]["x"]["talker_wait_ps"]
    assert waits["max"] > waits["p99"] > waits["p50"] > waits["min"]
    for key in ("p50", "p99"):
        assert sketched[key] == pytest.approx(exact[key], rel=0.001)


def test_progress_is_told_and_false_interrupts() -> None:
    told: list[float] = []

    def progress(done: float) -> bool | None:
        told.append(done)
        return False if len(told) == 3 else None

    result, chunks = run(endless(), progress=progress)
    assert result["interrupted"]
    assert len(told) == 3
    assert told == sorted(told)
    statistics = result["statistics"]["x"]
    assert statistics["delivered"] == sum(chunk["rows"] for chunk in chunks) > 0
    assert statistics["copies"] == statistics["delivered"] + statistics["inside"]


def test_an_interrupt_from_the_keyboard_leaves_what_there_is() -> None:
    # A shell may have started the tests with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    try:
        result, chunks = run(endless())
    finally:
        signal.signal(signal.SIGINT, before)
    assert result["interrupted"]
    assert result["statistics"]["x"]["delivered"] == sum(chunk["rows"] for chunk in chunks) > 0


def test_what_the_sink_raises_is_raised() -> None:
    def full(_chunk: Any) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        _engine.run(json.dumps(endless()), full)

    def broken(_done: float) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _engine.run(json.dumps(endless()), None, broken)


def test_captures_of_listening_stations(tmp_path: Path) -> None:
    result, chunks = run(network(captures=str(tmp_path), trace={"events": ["delivered"]}))
    assert [path.name for path in tmp_path.iterdir()] == ["listener.pcapng"]
    frames = read_capture(tmp_path / "listener.pcapng").frames
    times = np.frombuffer(chunks[0]["time_ps"], "<u8") // 1000 * 1000
    assert [frame.time_ps for frame in frames] == times.tolist()
    assert len(frames) == result["conservation"]["x"]["delivered"]
    assert {len(frame.data) for frame in frames} == {96}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"speed": 1}, "unknown field `speed`"),
        ({"links": []}, 'stream "x": no link leads from "talker" to "listener"'),
        ({"bridges": [{"name": "s0", "kind": "modell", "ports": 2, "config": {}}]}, "unknown variant `modell`"),
        ({"trace": {"nodes": [9]}}, "no node 9; 4 are there"),
    ],
)
def test_mistakes_are_told(change: Json, message: str) -> None:
    with pytest.raises(_engine.InputError, match=message):
        run(network(**change))


def test_hardware_needs_its_library() -> None:
    wrong = network()
    wrong["bridges"][0]["kind"] = "rtl"
    with pytest.raises(_engine.InputError, match='bridge "s0": the key "library" is missing'):
        run(wrong)
    wrong["bridges"][0]["library"] = "/nowhere/libpen_switch.so"
    with pytest.raises(_engine.HardwareError, match="not a model of this hardware"):
        run(wrong)
