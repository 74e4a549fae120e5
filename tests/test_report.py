# SPDX-License-Identifier: Apache-2.0
"""The report of a run stays small, shows what matters and hides no late frame."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from penstock import report
from penstock.journeys import View
from penstock.report.page import MOST_BYTES, pack, unpack
from penstock.report.thin import visible
from penstock.scenario import Network, load
from penstock.summary import summarize

US = 1_000_000
KINDS = {"stream": pl.Categorical, "node": pl.Categorical, "event": pl.Categorical, "reason": pl.Categorical}


def network(streams: int = 1) -> Network:
    """Talkers and listeners at one bridge, of many streams some from each talker."""
    return load_with_deadlines(["100us"] * streams)


def load_with_deadlines(deadlines: list[str]) -> Network:
    """As many streams, with these."""
    streams = len(deadlines)
    pairs = min(streams, 30)
    ends = {f"{side}{n}": {"at": "sw.*"} for n in range(pairs) for side in "ab"}
    return load(
        {
            "name": "wide",
            "nodes": "model",
            "duration": "16s",
            "bridges": {"sw": {"ports": 2 * pairs}},
            "stations": ends,
            "streams": {
                f"s{n}": {
                    "from": f"a{n % pairs}",
                    "to": [f"b{n % pairs}"],
                    "deadline": deadlines[n],
                    "source": {"frames": "100B", "every": "100us"},
                }
                for n in range(streams)
            },
        }
    )


def trace_of(net: Network, latencies_us: dict[str, NDArray[np.float64]], every_us: float) -> pl.DataFrame:
    """Of frames that leave their talkers at even times and take so long, all of it at the bridge."""
    parts = []
    first_id = 0
    for name, latency_us in latencies_us.items():
        stream = net.streams[name]
        hop = stream.tree[0]
        count = len(latency_us)
        sent = np.arange(count, dtype=np.int64) * round(every_us * US)
        out = sent + np.round(latency_us * US).astype(np.int64)
        ids = np.arange(first_id, first_id + count, dtype=np.uint64)
        first_id += count
        for node, port, event, time in (
            (stream.talker, 0, "created", sent),
            (stream.talker, 0, "sent", sent),
            ("sw", hop.entry, "received", sent),
            ("sw", hop.egress[0], "queued", sent + US),
            ("sw", hop.egress[0], "sent", out),
            (stream.listeners[0], 0, "delivered", out),
        ):
            parts.append(
                pl.DataFrame({"frame_id": ids, "time_ps": time}).with_columns(
                    stream=pl.lit(name), node=pl.lit(node), port=pl.lit(port, pl.UInt16), event=pl.lit(event),
                    bytes=pl.lit(100, pl.UInt32), traffic_class=pl.lit(0, pl.UInt8), reason=pl.lit("none"),
                )
            )  # fmt: skip
    return pl.concat(parts).sort("time_ps", maintain_order=True).cast(KINDS)  # type: ignore[arg-type]


def page_of(net: Network, trace: pl.DataFrame) -> str:
    """Of times that were made up, which no bound holds."""
    view = View(net, trace)
    return report.render(net, view, summarize(view, bounded=False))


def traces(page: str, picture: str = "latency-over-time") -> dict[str, dict[str, Any]]:
    return {trace["name"]: trace for trace in json.loads(unpack(page, "pictures"))[f"plot-{picture}"]["data"]}


def values(array: Any) -> NDArray[Any]:
    """What plotly wrote as numbers or as base64."""
    if isinstance(array, dict):
        import base64

        found = np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"])
        return found.reshape([int(n) for n in array["shape"].split(",")]) if "shape" in array else found
    return np.array(array)


def test_a_long_run_of_constant_latency_is_small() -> None:
    """What every gated stream has: before, each of its frames was a point, and a run of 16 s made 42 MB."""
    net = network()
    page = page_of(net, trace_of(net, {"s0": np.full(60_000, 12.5)}, 100))
    assert len(page.encode()) < MOST_BYTES / 2
    points = values(traces(page)["s0"]["x"])
    assert 500 < points.size < 2_000
    assert points.min() == 0
    assert points.max() > 0.999 * 6_000, "the points reach over the whole run"
    assert f"{60_000 - points.size:,} in time are left out" in page


def test_any_run_stays_below_five_megabytes() -> None:
    """Many streams whose frames all differ, a third of them late, more than can be drawn one by one."""
    net = network(60)
    chance = np.random.default_rng(1)
    latency = {f"s{n}": chance.uniform(1, 150, 1_500) for n in range(60)}
    page = page_of(net, trace_of(net, latency, 100))
    assert len(page.encode()) < MOST_BYTES


def test_late_frames_are_all_drawn() -> None:
    """As many as fit one by one, the least of them too, beside two hundred times as many in time."""
    net = network()
    latency = np.full(100_000, 12.5)
    late = np.random.default_rng(2).choice(latency.size, 500, replace=False)
    latency[late] = 100.001  # all in one line of the picture
    latency[7] = 100.0  # the deadline itself is in time
    late = np.setdiff1d(late, [7])
    drawn = traces(page_of(net, trace_of(net, {"s0": latency}, 100)))["late: s0"]
    assert sorted(values(drawn["customdata"])[:, 0].tolist()) == sorted(late.tolist())


def test_too_many_late_frames_are_counted_where_they_are() -> None:
    net = network()
    latency = np.full(60_000, 12.5)
    latency[10_000:50_000] = 200 + np.arange(40_000) % 7
    page = page_of(net, trace_of(net, {"s0": latency}, 100))
    marks = values(traces(page)["late: s0"]["customdata"])
    assert len(marks) <= 8_000
    assert marks[:, 1].sum() == 40_000, "each late frame is counted by one mark"
    assert "the 40,000 frames above a bound or a deadline, drawn as" in page


def test_late_frames_of_streams_that_are_not_drawn_are_drawn() -> None:
    net = network(60)
    latency = {f"s{n}": np.full(20, 12.5 if n else 99.0) for n in range(60)}
    for n in range(1, 56):
        latency[f"s{n}"][n % 20] = 150.0
    page = page_of(net, trace_of(net, latency, 100))
    drawn = traces(page)
    late = [len(values(trace["x"])) for name, trace in drawn.items() if name.startswith("late")]
    assert sum(late) == 55
    assert len(values(drawn["late, other streams"]["x"])) == 55 - 48


def test_thinning_keeps_each_place_and_its_slowest() -> None:
    x = np.arange(100_000)
    rows = pl.DataFrame({"x": x, "y": np.where(x % 1000 == 500, 50.0, 1.0)})
    kept = visible(rows, "x", "y", 5_000)
    assert kept.height <= 5_000
    assert kept.filter(pl.col("y") == 50.0).height == 100, "no peak is lost"
    assert kept["x"].is_sorted()
    assert visible(rows, "x", "y", 100).height <= 100
    same = pl.DataFrame({"x": [1.0] * 50, "y": [2.0] * 50})
    assert visible(same, "x", "y", 10).height == 1
    assert visible(same.clear(), "x", "y", 10).height == 0


def test_names_are_text_wherever_they_are() -> None:
    """A title that is HTML is shown as it is written."""
    hostile = "</script><script>alert(1)</script>"
    net = load(
        {
            "name": "x",
            "title": hostile,
            "nodes": "model",
            "duration": "1ms",
            "bridges": {"sw": {"ports": 2}},
            "stations": {"a0": {"at": "sw.0"}, "b0": {"at": "sw.1"}},
            "streams": {"s0": {"from": "a0", "to": ["b0"], "source": {"frames": "100B", "every": "100us"}}},
        }
    )
    page = page_of(net, trace_of(net, {"s0": np.full(10, 5.0)}, 100))
    assert "alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_page_carries_what_it_was_given() -> None:
    assert pack("<&>").isascii()
    with pytest.raises(KeyError):
        unpack("<p></p>", "pictures")


def test_a_model_says_nothing_of_clock_cycles() -> None:
    net = network()
    view = View(net, trace_of(net, {"s0": np.full(10, 5.0)}, 100))
    summary = summarize(view, {"cycles_simulated": 5, "cycles_jumped": 7})
    assert "clock cycles" not in report.render(net, view, summary)


def test_many_streams_can_be_chosen_and_their_limits_with_them() -> None:
    """Each has a look of its own; the limits of 40 would hide the picture."""
    net = network(40)
    page = page_of(net, trace_of(net, {f"s{n}": np.full(20, 12.5) for n in range(40)}, 100))
    assert page.count('<button type="button" data-stream=') == 40
    drawn = traces(page)
    assert all(trace["meta"]["stream"] for trace in drawn.values())
    limits = [trace for trace in drawn.values() if trace["meta"].get("limit")]
    assert len(limits) == 40
    assert not any(trace["visible"] for trace in limits)
    few = network(3)
    page = page_of(few, trace_of(few, {f"s{n}": np.full(20, 12.5) for n in range(3)}, 100))
    assert "data-stream=" not in page
    layout = json.loads(unpack(page, "pictures"))["plot-latency-over-time"]["layout"]
    (label,) = layout["annotations"]
    assert label["text"] == "deadline of s0 and 2 more: 100.00 us", "streams with one limit share line and label"


def test_labels_of_limits_do_not_overlap() -> None:
    net = load_with_deadlines([f"{100 + n}us" for n in range(8)])
    page = page_of(net, trace_of(net, {f"s{n}": np.linspace(5, 90, 20) for n in range(8)}, 100))
    layout = json.loads(unpack(page, "pictures"))["plot-latency-over-time"]["layout"]
    places = [(label["x"], label["y"]) for label in layout["annotations"]]
    assert len(layout["shapes"]) == 8
    assert 2 <= len(places) < 8
    heights: dict[float, list[float]] = {}
    for x, y in places:
        heights.setdefault(x, []).append(y)
    for own in heights.values():
        assert all(b - a > 0.05 for a, b in itertools.pairwise(sorted(own)))


def test_the_network_has_the_numbers_of_ports_and_each_stream_on_its_links() -> None:
    net = network(2)
    page = page_of(net, trace_of(net, {f"s{n}": np.full(5, 12.5) for n in range(2)}, 100))
    picture = json.loads(unpack(page, "pictures"))["plot-network"]
    written = [label["text"] for label in picture["layout"]["annotations"]]
    assert sorted(written) == sorted(["sw", "a0", "a1", "b0", "b1", "0", "1", "2", "3"])
    ways = {trace["name"]: trace for trace in picture["data"] if trace.get("meta")}
    assert set(ways) == {"s0", "s1"}
    assert all(len(trace["x"]) == 6 for trace in ways.values()), "two links each, with a gap behind each"
