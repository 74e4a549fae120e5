# SPDX-License-Identifier: Apache-2.0
"""Runs of networks: statistics of the engine and of the trace, filters, tables, reports and the Python API."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import penstock as ps
from penstock import report
from penstock import run as runner
from penstock.journeys import View
from penstock.measure import KEYS
from penstock.report.page import MOST_BYTES, unpack
from penstock.scenario import Network, load
from penstock.trace import COLUMNS, TraceWriter, is_partial, read_trace

RING = """
name = "ring"
title = "A ring of four, overloaded"
nodes = "model"
duration = "10ms"
[topology.r]
kind = "ring"
bridges = 4
bridge = { ports = 4 }
[bridges.far]
ports = 3
switching = "cut_through"
processing_delay = "1us"
clock = { drift = "20ppm", offset = "3us" }
[links.spur]
between = ["r2.3", "far.0"]
rate = "100Mb/s"
delay = "2us"
[stations]
plc = { at = "r0.2" }
hmi = { at = "r0.3" }
camera = { at = "r1.2", clock = { drift = "-5ppm" } }
drive = { at = "r2.2" }
motor = { at = "far.1", rate = "10Mb/s" }
logger = { at = "far.2" }
[streams.control]
from = "plc"
to = ["drive", "motor"]
vlan = 10
pcp = 3
source = { frames = "100B", every = "200us", jitter = { normal = "3us" } }
ats = { rate = "8Mb/s", burst = "300B" }
deadline = "2ms"
[streams.answer]
from = "drive"
to = ["plc"]
vlan = 10
pcp = 4
source = { frames = "80B", response_to = "control", after = "5us" }
deadline = "10us"
[streams.video]
from = "camera"
to = ["hmi", "logger", "drive"]
vlan = 10
pcp = 1
source = { frames = "1500B", poisson = "70us" }
[streams.bulk]
from = "hmi"
to = ["drive"]
vlan = 10
pcp = 0
source = { frames = "1522B", back_to_back = true }
[streams.load]
from = "camera"
to = ["drive"]
vlan = 10
pcp = 0
source = { frames = "64B", poisson = "2us" }
[streams.silent]
from = "logger"
to = ["hmi"]
vlan = 10
pcp = 0
source = { frames = "64B", every = "1ms", start = "1s" }
"""
SHAPED = """
name = "shaped"
nodes = "model"
duration = "10ms"
[bridges.b]
ports = 3
classes.7 = { selection = "ats" }
[stations]
a = { at = "b.0" }
c = { at = "b.1" }
z = { at = "b.2" }
[streams.f]
from = "a"
to = ["z"]
vlan = 1
pcp = 3
source = { frames = "1522B", every = "100us" }
ats = { rate = "123.36Mb/s", burst = "1542B" }
[streams.beside]
from = "c"
to = ["z"]
vlan = 1
pcp = 0
source = { frames = "1522B", back_to_back = true }
"""
SAME = (
    *("sent", "copies", "delivered", "inside", "dropped", "lost", "conserved", "rate_bps"),
    *("interval_ns", "latency_ns", "talker_wait_ns", "jitter_ns", "deadline_ok"),
    *("conforms", "conformance", "bound_ns", "bound_ok"),
)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return ring_of(tmp_path_factory.mktemp("ring"))


def ring_of(folder: Path, more: str = "", **changes: str) -> Network:
    text = RING
    for old, new in changes.items():
        text = re.sub(rf"^{old} = .*$", f"{old} = {new}", text, flags=re.MULTILINE)
    (folder / "scenario.toml").write_text(text + more)
    return load(folder)


@pytest.fixture(scope="module")
def whole(ring: Network, tmp_path_factory: pytest.TempPathFactory) -> runner.Result:
    return runner.run(ring, tmp_path_factory.mktemp("run") / "results")


def test_the_network_is_worth_its_tests(whole: runner.Result) -> None:
    streams = whole.summary["streams"]
    assert sum(stream["delivered"] for stream in streams.values()) > 5000
    assert streams["bulk"]["dropped"]
    assert streams["video"]["dropped"]
    assert streams["answer"]["deadline_ok"] is False
    assert streams["silent"]["sent"] == 0
    assert whole.summary["conservation"]["ok"]


@pytest.mark.parametrize("how", ["none", "events", "nodes"])
def test_the_engine_counts_what_the_trace_says(how: str, ring: Network, whole: runner.Result, tmp_path: Path) -> None:
    filters = {
        "none": "enabled = false",
        "events": 'events = ["delivered", "dropped"]',
        "nodes": 'nodes = ["r2", "motor"]',
    }
    network = ring_of(tmp_path, f"[trace]\n{filters[how]}\n")
    result = runner.run(network, tmp_path / "results")
    assert result.summary["statistics"]["from"] == "engine"
    assert whole.summary["statistics"]["from"] == "trace"
    for name, stream in result.summary["streams"].items():
        there = whole.summary["streams"][name]
        assert {key: stream[key] for key in SAME} == {key: there[key] for key in SAME}, name
    assert result.summary["conservation"] == whole.summary["conservation"]
    if how == "none":
        with pytest.raises(ps.NoTraceError):
            _ = result.trace
    else:
        kept = {
            "events": pl.col("event").is_in(["delivered", "dropped"]),
            "nodes": pl.col("node").is_in(["r2", "motor"]),
        }
        assert result.trace.equals(whole.trace.filter(kept[how]))


@pytest.mark.parametrize(("rate", "applies"), [("123.36Mb/s", True), ("123.2Mb/s", False)])
def test_a_bound_needs_no_trace(rate: str, applies: bool, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SHAPED.replace("123.36Mb/s", rate))
    network = load(tmp_path)
    with_trace, without = runner.observe(network)[0]["streams"]["f"], runner.statistics(network)["streams"]["f"]
    assert without["conforms"] is applies
    assert without["bound_ok"] is applies, "a bound that is lost by its source is not met"
    assert without["ok"] is applies
    assert without["bound"]["reason"] is None if applies else "does not conform" in without["bound"]["reason"]
    for key in ("conformance", "bound", "bound_ns", "ok"):
        assert without[key] == with_trace[key]


def test_percentiles_of_many_values_keep_their_error(ring: Network, tmp_path: Path) -> None:
    network = ring_of(tmp_path, duration='"20ms"')
    exact = runner.run(network, tmp_path / "whole").summary
    told = runner.run(network, tmp_path / "none", trace="none").summary
    error = told["statistics"]["percentile_error"]
    assert 0 < error <= 0.01
    many = [name for name, stream in exact["streams"].items() if stream["delivered"] > 4_000]
    assert many
    for name in many:
        for what in ("latency_ns", "interval_ns"):
            a, b = exact["streams"][name][what], told["streams"][name][what]
            assert [a[key] for key in ("min", "mean", "max")] == [b[key] for key in ("min", "mean", "max")]
            for key in ("p50", "p99"):
                assert b[key] == pytest.approx(a[key], rel=1.1 * error)


def test_trace_full_overrules_the_scenario(tmp_path: Path, whole: runner.Result) -> None:
    network = ring_of(tmp_path, "[trace]\nenabled = false\n")
    result = runner.run(network, tmp_path / "results", trace="full")
    assert result.trace.equals(whole.trace)
    assert result.summary["statistics"]["from"] == "trace"


def test_a_big_trace_is_counted_by_the_engine_and_drawn_in_part(
    ring: Network, whole: runner.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "MOST_ROWS", 10_000)
    monkeypatch.setattr(runner, "PICTURED_ROWS", 5_000)
    result = runner.run(ring, tmp_path / "results")
    assert result.summary["statistics"]["from"] == "engine"
    assert result.trace.equals(whole.trace), "the file is in another order, but holds the same"
    text = (tmp_path / "results" / "report.html").read_text()
    assert f"The trace has {whole.trace.height:,} rows. The pictures show its beginning" in text


def test_journeys_lead_through_all_bridges(ring: Network, whole: runner.Result) -> None:
    view = View(ring, whole.trace)
    steps = view.journeys
    assert steps.height == sum(stream["copies"] for stream in whole.summary["streams"].values())
    passed = view.hops
    control = passed.filter(pl.col("stream") == "control")
    frames = whole.summary["streams"]["control"]["sent"]
    # r0, r1 or r3, r2 with two ports, and far.
    assert control.height == 5 * frames
    one = control.filter(pl.col("frame_id") == control["frame_id"][0]).sort("received", "port")
    assert one["node"].to_list()[0] == "r0"
    assert one["node"].to_list()[-1] == "far"
    assert (one["queued"] >= one["received"]).all()
    # Each bridge sends after the one before, and the last bit lies behind the first by the frame's time on that link.
    assert (one["arrived"] - one["received"]).to_list() == [800_000] * 4 + [8_000_000]
    lost = steps.filter(pl.col("dropped").is_not_null())
    assert set(lost["dropped_at"].cast(pl.String).unique()) <= set(ring.bridges)


def test_ports_and_hops_agree_with_the_streams(whole: runner.Result) -> None:
    summary = whole.summary
    ports = {(row["bridge"], row["port"]): row for row in summary["ports"]}
    passed: dict[tuple[str, int], int] = {}
    for stream in summary["streams"].values():
        for row in stream["hops"]:
            place = (row["bridge"], row["port"])
            passed[place] = passed.get(place, 0) + row["frames"]
    assert {place: row["frames"] for place, row in ports.items()} == passed
    assert max(row["queued_bytes_max"] for row in ports.values()) > 10_000
    far = next(row for row in summary["streams"]["video"]["hops"] if row["bridge"] == "far")
    # It cuts through, but its link out is faster than its link in, so that it stores.
    assert far["passing_ns"]["min"] >= 1000


def test_the_report_is_one_bounded_file(ring: Network, whole: runner.Result) -> None:
    text = (whole.folder / "report.html").read_text()
    body = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    for title in ("Network", "Latency over time", "Queue depth", "Drops by bridge", "Bridges on the way"):
        assert f"<h2>{title}</h2>" in body
    assert not re.search(r"(src|href)=[\"']?http", body)
    assert len(text) < MOST_BYTES
    without = report.render(ring, None, whole.summary)
    assert "There are no pictures of frames" in without
    assert "<h2>Network</h2>" in without
    assert "Latency over time" not in without


def test_reports_of_many_streams_show_some(tmp_path: Path) -> None:
    stations = "\n".join(f'a{n} = {{ at = "s0.*" }}\nb{n} = {{ at = "s3.*" }}' for n in range(50))
    streams = "\n".join(
        f'[streams.s{n}]\nfrom = "a{n}"\nto = ["b{n}"]\nvlan = 10\npcp = 4\ndeadline = "{30 + n}us"\n'
        f'source = {{ frames = "{100 + n}B", every = "500us" }}'
        for n in range(50)
    )
    (tmp_path / "scenario.toml").write_text(
        f'name = "many"\nnodes = "model"\nduration = "5ms"\n'
        f'[topology.s]\nkind = "line"\nbridges = 4\nbridge = {{ ports = 60 }}\n[stations]\n{stations}\n{streams}\n'
    )
    result = runner.run(load(tmp_path), tmp_path / "results")
    text = (tmp_path / "results" / "report.html").read_text()
    assert "48 of 50 streams are drawn" in text
    assert len(result.summary["streams"]) == 50
    latency = json.loads(unpack(text, "pictures"))["plot-latency-over-time"]["data"]
    points = {trace["name"]: trace["marker"] for trace in latency if trace["name"] in result.summary["streams"]}
    assert len(points) == 48
    assert len({(marker["color"], marker["symbol"]) for marker in points.values()}) == 48


def test_a_written_trace_is_read_as_it_was(tmp_path: Path) -> None:
    import numpy as np

    names = {"stream": ["s", "t"], "node": ["n"], "event": ["created", "sent"], "reason": ["none"]}
    kinds = dict(zip(COLUMNS, ("u8", "u4", "u4", "u2", "u1", "u8", "u4", "u1", "u1"), strict=True))

    def chunk(**values: list[int]) -> dict[str, Any]:
        rows = len(values["time_ps"])
        columns = {c: np.array(values.get(c, [0] * rows), dtype=f"<{k}").tobytes() for c, k in kinds.items()}
        return {"rows": rows, **columns}

    with TraceWriter(tmp_path / "t.parquet", names) as writer:
        writer.write(chunk(time_ps=[], frame_id=[]))
        writer.write(chunk(time_ps=[2**63, 5], frame_id=[2**64 - 1, 1], stream=[1, 0], event=[1, 0]))
        writer.write(chunk(time_ps=[0], frame_id=[3], port=[65535], traffic_class=[255], bytes=[2**16 - 1]))
    assert writer.rows == 3
    trace = read_trace(tmp_path / "t.parquet")
    assert trace["time_ps"].to_list() == [0, 5, 2**63]
    assert trace["frame_id"].to_list() == [3, 1, 2**64 - 1]
    assert trace["stream"].cast(pl.String).to_list() == ["s", "s", "t"]
    assert trace["event"].cast(pl.String).to_list() == ["created", "created", "sent"]
    assert (trace["port"][0], trace["traffic_class"][0], trace["bytes"][0]) == (65535, 255, 65535)
    assert not is_partial(tmp_path / "t.parquet")


LINE = """
name = "line"
nodes = "model"
duration = "1ms"
[topology.s]
kind = "line"
bridges = 3
bridge = { ports = 4 }
[stations]
a = { at = "s0.2" }
b = { at = "s0.3" }
c = { at = "s2.2" }
[streams.chance]
from = "a"
to = ["c"]
vlan = 10
pcp = 1
source = { frames = "500B", poisson = "15us" }
[streams.shaped]
from = "b"
to = ["c", "a"]
vlan = 10
pcp = 3
source = { frames = "100B", burst = 2, every = "50us" }
ats = { rate = "50Mb/s", burst = "120B" }
"""


def test_model_hardware_and_both_give_the_same(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(LINE)
    model = ps.load(scenario).run()
    hardware = ps.load(scenario).run(nodes="rtl")
    scenario.write_text(LINE + '[bridges.s1]\nnodes = "rtl"\n')
    mixed = ps.load(scenario).run()
    assert [run.summary["nodes"] for run in (model, hardware, mixed)] == ["model", "rtl", "mixed"]
    order = ["time_ps", "frame_id", "node", "port", "event"]
    traces = [
        run.trace.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort(order) for run in (model, hardware, mixed)
    ]
    assert traces[0].height > 1000
    for trace in traces[1:]:
        assert trace.equals(traces[0])
    for other in (hardware, mixed):
        assert other.streams.equals(model.streams)


# -- the Python API ----------------------------------------------------------------------------------------------------


def test_the_api_reads_like_the_scenario(ring: Network, whole: runner.Result, tmp_path: Path) -> None:
    net = ps.load(ring.file)
    run = net.run()
    assert repr(net) == "<Network 'ring': 5 bridges, 6 stations, 6 streams>"
    assert repr(run) == "<Run of 'ring' on model nodes: a requirement was not met>"
    assert (run.ok, run.partial) == (False, False)
    assert run.trace.equals(whole.trace)
    row = run.streams.row(by_predicate=pl.col("stream") == "video", named=True)
    assert row["latency_max_ns"] == whole.summary["streams"]["video"]["latency_ns"]["max"]
    assert row["to"] == ["hmi", "logger", "drive"]
    for column, kind in run.streams.schema.items():
        if kind == pl.Float64:
            assert column.endswith(("_ns", "_bps")), column
    assert set(run.ports.columns) >= {"bridge", "port", *(f"passing_{key}_ns" for key in KEYS)}
    report = run.report(tmp_path / "copy.html")
    assert Path(report).read_text() == (run.folder / "report.html").read_text()
    assert report._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert "ring" in run._repr_html_()


def test_a_temporary_folder_lives_as_long_as_its_run(ring: Network) -> None:
    run = ps.load(ring.file).run(trace="none")
    report = run.report()
    folder = run.folder
    del run
    assert Path(report).exists(), "a report holds it too"
    del report
    assert not folder.exists()


def test_a_scenario_can_be_a_dict(tmp_path: Path) -> None:
    described: dict[str, Any] = {
        "name": "small",
        "nodes": "model",
        "duration": "1ms",
        "bridges": {"sw": {"ports": 2}},
        "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}},
        "streams": {"s": {"from": "a", "to": ["b"], "source": {"frames": "64B", "poisson": "10us"}}},
    }
    run = ps.load(described).run(out=tmp_path / "small", captures=False)
    assert run.folder == tmp_path / "small"
    assert {path.name for path in run.folder.iterdir()} == {"trace.parquet", "summary.json", "report.html", "scenario"}
    assert run.streams["stream"].to_list() == ["s"]
    assert json.loads((tmp_path / "small" / "summary.json").read_text()) == run.summary
    seeds = {ps.load(described).run(seed=seed, trace="none").streams["latency_mean_ns"][0] for seed in (1, 2, 3)}
    assert len(seeds) == 3
    with pytest.raises(ps.InputError) as wrong:
        ps.load(described | {"duration": "1 parsec", "nods": 1})
    assert len(wrong.value.errors) == 2
