# SPDX-License-Identifier: Apache-2.0
"""From the tables of talkers and listeners to one trace and its summary."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from penstock.end.trace import LOST, ORIGIN
from penstock.journeys import View
from penstock.lab.programs import How, Program, programs
from penstock.lab.results import collect
from penstock.scenario import load
from penstock.scenario.network import Network
from penstock.summary import summarize
from penstock.trace import COLUMNS

BASE = 1_790_000_000_000_000_000
TALK = (
    "stream,stream_id,sequence,outcome,bytes,due_tai_ns,wake_late_ns,construction_tai_ns,handed_tai_ns,"
    "kernel_realtime_ns,hardware_ns"
)
LISTEN = (
    "arrival,stream,stream_id,sequence,kind,bytes,vlan,pcp,source_mac,construction_tai_ns,due_tai_ns,launch_time,"
    "user_tai_ns,kernel_realtime_ns,hardware_ns"
)


def _network() -> Network:
    return load(Path(__file__).parents[1] / "scenarios" / "lab", "linux")


def _folder(tmp_path: Path) -> tuple[list[Program], Path]:
    """Of control, frames 0 to 3: 0 and 1 arrive, 2 is not sent, 3 is lost. Of bulk, frame 0 arrives twice."""
    listen, control, bulk = programs(_network(), How(), 0)
    start = [BASE + n * 2_000_000 for n in range(4)]
    sent = [
        f"control,1,{n},{'skipped' if n == 2 else 'sent'},128,{t},0,{t},{t + 9},{t + 5}," for n, t in enumerate(start)
    ]
    _write(tmp_path / control.name / "talk", TALK, sent, {"clock": {"tai_minus_realtime_ns": 7}})
    _write(
        tmp_path / bulk.name / "talk",
        TALK,
        [f"bulk,2,0,sent,1000,{BASE},0,{BASE},{BASE + 9},,"],
        {"clock": {"tai_minus_realtime_ns": 7}},
    )
    rows = [
        f"{n},control,1,{n},in_order,128,10,3,02:00:00:00:00:01,{start[n]},{start[n]},0,{start[n] + 900},"
        f"{start[n] + 500 + n - 7},"
        for n in (0, 1)
    ]
    rows += [
        f"{2 + n},bulk,2,0,{kind},1000,10,0,02:00:00:00:00:02,{BASE},{BASE},0,{BASE + 800},{BASE + 300 - 7},"
        for n, kind in enumerate(("in_order", "duplicate"))
    ]
    told = {"clock": {"tai_minus_realtime_ns": 7}, "stamps": {"latency_from": "kernel"}}
    _write(tmp_path / listen.name / "listen", LISTEN, rows, told)
    return [listen, control, bulk], tmp_path


def _write(place: Path, head: str, rows: list[str], summary: object) -> None:
    place.parent.mkdir()
    place.with_suffix(".csv").write_text("\n".join([head, *rows]) + "\n")
    place.with_suffix(".json").write_text(json.dumps(summary))


def test_one_trace_of_all_ends(tmp_path: Path) -> None:
    trace, metadata = collect(_network(), *_folder(tmp_path))
    assert tuple(trace.columns) == COLUMNS
    assert metadata == {ORIGIN: str(BASE), "penstock.stamps_of.delivered": "kernel"}
    rows = trace.select(pl.col("stream", "node", "event", "reason").cast(pl.String), "port", "time_ps")
    control = rows.filter(pl.col("stream") == "control").drop("stream").rows()
    assert control == [
        ("plc", "created", "none", 0, 0),
        ("drive", "delivered", "none", 0, 500_000),
        ("plc", "created", "none", 0, 2_000_000_000),
        ("drive", "delivered", "none", 0, 2_000_501_000),
        ("plc", "created", "none", 0, 4_000_000_000),
        ("sw", "dropped", "window_closed", 0, 4_000_009_000),
        ("plc", "created", "none", 0, 6_000_000_000),
        ("sw", "dropped", LOST, 0, 6_000_000_000),
    ]


def test_the_summary_conserves_frames_and_measures_from_construction(tmp_path: Path) -> None:
    network = _network()
    trace, _ = collect(network, *_folder(tmp_path))
    summary = summarize(View(network, trace))
    control, bulk = summary["streams"]["control"], summary["streams"]["bulk"]
    assert summary["conservation"]["ok"]
    assert (control["sent"], control["delivered"]) == (4, 2)
    assert control["dropped"] == {LOST: 1, "window_closed": 1}
    assert (control["latency_ns"]["min"], control["latency_ns"]["max"]) == (500.0, 501.0)
    assert not control["ok"]
    assert (bulk["sent"], bulk["delivered"], bulk["latency_ns"]["max"]) == (1, 1, 300.0)


def test_ends_that_saw_nothing_give_an_empty_trace(tmp_path: Path) -> None:
    network = _network()
    todo = programs(network, How(), 0)
    told = {"clock": {"tai_minus_realtime_ns": 0}, "stamps": {"latency_from": "kernel"}}
    for program in todo:
        head = TALK if program.role == "talk" else LISTEN
        _write(tmp_path / program.name / program.role, head, [], told)
    trace, _ = collect(network, todo, tmp_path)
    assert trace.height == 0
    assert summarize(View(network, trace))["streams"]["control"]["sent"] == 0
