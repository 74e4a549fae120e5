# SPDX-License-Identifier: Apache-2.0
"""Talkers with software delays and launch times: when frames are sent, and what is said of those that are late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock import delay_variation
from penstock.report import punctuality as punctuality_table
from penstock.run import observe, run, statistics
from penstock.scenario import load
from penstock.summary import stream_table

LEAD_NS = 64  # preamble and delimiter
NETWORK: dict[str, Any] = {
    "name": "launch",
    "nodes": "model",
    "duration": "4ms",
    "bridges": {"sw": {"ports": 2}},
    "stations": {"host": {"at": "sw.0"}, "client": {"at": "sw.1"}},
}


def scenario(*sources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The host's streams to the client, each with its source."""
    streams = {
        f"s{n}": {"from": "host", "to": ["client"], "vlan": 10, "pcp": 0, "source": {"frames": "100B", **source}}
        for n, source in enumerate(sources)
    }
    return NETWORK | {"streams": streams} | more


def journeys_of(described: dict[str, Any]) -> pl.DataFrame:
    return observe(load(described))[1].journeys


def ns(column: pl.Series) -> list[float]:
    return [value / 1000 for value in column.to_list()]


def test_frames_are_sent_at_their_launch_times() -> None:
    found = journeys_of(
        scenario(
            {
                "every": "1ms",
                "start": "10us",
                "jitter": {"values": ["5us"]},
                "software": {"delay": {"values": ["40us"]}},
                "launch": "95us",
            }
        )
    )
    assert ns(found["created"]) == [n * 1e6 + 15_000 for n in range(4)]
    assert ns(found["talker_sent"]) == [n * 1e6 + 105_000 + LEAD_NS for n in range(4)]
    assert found["missed"].null_count() == 4


def test_without_launch_times_frames_are_sent_when_the_software_is_done() -> None:
    found = journeys_of(scenario({"every": "1ms", "software": {"delay": {"values": ["40us"]}}}))
    assert ns(found["created"]) == [n * 1e6 for n in range(4)]
    assert ns(found["talker_sent"]) == [n * 1e6 + 40_000 + LEAD_NS for n in range(4)]


def late_source(launch: str = "50us") -> dict[str, Any]:
    return {"every": "100us", "software": {"delay": {"values": ["40us", "60us"]}}, "launch": launch, "seed": 3}


def test_a_missed_launch_time_is_counted_traced_and_told(tmp_path: Path) -> None:
    network = load(scenario(late_source()))
    summary = run(network, tmp_path / "out").summary
    stream = summary["streams"]["s0"]
    found = observe(network)[1].journeys
    late = found.filter(pl.col("missed").is_not_null())
    assert 5 < late.height < 35
    assert ns(late["missed"]) == [created + 50_000 for created in ns(late["created"])]
    assert ns(late["talker_sent"]) == [created + 60_000 + LEAD_NS for created in ns(late["created"])]
    assert stream["launch"] == {"offset_ns": 50_000, "missed": late.height}
    said = f"s0: {late.height} of 40 frames reached the controller after their launch time and were sent at once"
    assert said in summary["warnings"]
    report = (tmp_path / "out" / "report.html").read_text()
    assert said in report
    assert f"<th>s0</th><td>{late.height}</td>" in report


def test_a_table_of_streams_has_them() -> None:
    source = {"every": "1ms"}
    table = stream_table(observe(load(scenario(late_source(), source)))[0])
    assert table["launch_missed"].to_list()[1] is None
    assert table["launch_missed"][0] > 0
    assert table["transmit_min_ns"][0] > table["latency_min_ns"][0] + 50_000
    assert table["period_jitter_peak_to_peak_ns"].to_list() == [pytest.approx(20_000, abs=16), 0]


def test_counts_are_the_same_without_a_trace() -> None:
    network = load(scenario(late_source()))
    with_trace, without = observe(network)[0]["streams"]["s0"], statistics(network)["streams"]["s0"]
    assert with_trace["launch"]["missed"] > 0
    for key in ("launch", "sent", "delivered", "latency_ns", "interval_ns", "talker_wait_ns"):
        assert with_trace[key] == without[key]
    assert without["period_jitter_ns"] is None


def test_launch_times_change_no_construction() -> None:
    """The same seed wakes up and works alike with launch times and without, so that two runs can be compared."""
    source = {"every": "1ms", "jitter": {"uniform": "9us"}, "software": {"delay": {"exponential": "30us"}}, "seed": 5}
    plain, launched = journeys_of(scenario(source)), journeys_of(scenario(source | {"launch": "1us"}))
    assert plain["created"].to_list() == launched["created"].to_list()
    assert plain["talker_sent"].to_list() == launched["talker_sent"].to_list()  # all are late


def test_several_streams_are_a_gate_control_list() -> None:
    source = {"every": "1ms", "jitter": {"uniform": "9us"}, "launch": "50us"}
    found = journeys_of(scenario(*(source | {"start": f"{n * 100}us"} for n in range(3))))
    sent = found.sort("talker_sent")
    assert ns(sent["talker_sent"])[:3] == [50_000 + n * 100_000 + LEAD_NS for n in range(3)]
    assert sent["stream"].cast(pl.String).to_list()[:3] == ["s0", "s1", "s2"]


def test_a_controller_may_be_off() -> None:
    source = {"every": "1ms", "launch": {"offset": "50us", "error": {"values": ["7ns"]}}}
    assert ns(journeys_of(scenario(source))["talker_sent"])[0] == 50_007 + LEAD_NS


def test_a_talker_follows_its_clock() -> None:
    described = scenario(
        {"every": "1ms", "start": "10us", "software": {"delay": {"values": ["5us"]}}, "launch": "95us"}
    )
    stations = {"host": {"at": "sw.0", "clock": {"offset": "10us"}}, "client": {"at": "sw.1"}}
    assert ns(journeys_of(described | {"stations": stations})["talker_sent"])[0] == 95_000 + LEAD_NS


def test_quantiles_of_a_release() -> None:
    """Half of all below the median, none beyond the ends."""
    points = [[0, "1us"], [0.5, "2us"], [1, "10us"]]
    found = journeys_of(scenario({"every": "10us", "jitter": {"quantiles": points}}, duration="100ms"))
    shift = np.array(found["created"].to_list()) / 1e6 - 10 * np.arange(found.height)
    assert shift.min() >= 1
    assert shift.max() <= 10
    assert (shift < 2).mean() == pytest.approx(0.5, abs=0.02)
    assert shift.mean() == pytest.approx(0.5 * 1.5 + 0.5 * 6, abs=0.1)


def test_equations_by_hand() -> None:
    constructed = np.array([0, 1_000, 2_000, 3_000])
    received = np.array([50, 1_060, 2_040, 3_070])
    assert delay_variation.period_jitter(received, 1_000).tolist() == [10, -20, 30]
    assert delay_variation.latency_change(constructed, received).tolist() == [10, -20, 30]
    assert delay_variation.frame_delay_variation(constructed, received).tolist() == [-30, 50]
    found = delay_variation.spread(np.array([10, -20, 30]))
    assert found == delay_variation.Spread(10, 20, 30, 50)
    assert found is not None
    assert found.scaled(10) == delay_variation.Spread(1, 2, 3, 5)
    assert delay_variation.spread(np.array([], dtype=np.int64)) is None


def test_the_summary_has_the_equations() -> None:
    source = {"every": "1ms", "jitter": {"values": ["0ns", "3us"]}, "seed": 1}
    summary, view = observe(load(scenario(source, duration="50ms")))
    stream = summary["streams"]["s0"]
    arrived = view.journeys["delivered"].to_numpy()
    transmit = arrived - view.journeys["created"].to_numpy()
    assert stream["period_jitter_ns"]["peak_to_peak"] == np.ptp(np.diff(arrived)) / 1000
    assert 5_900 < stream["period_jitter_ns"]["peak_to_peak"] < 6_100
    assert stream["transmit_ns"]["max"] == transmit.max() / 1000
    assert stream["delay_variation_ns"]["max"] == np.abs(np.diff(transmit, n=2)).max() / 1000


def test_streams_without_a_period_have_no_jitter_of_it() -> None:
    summary, _ = observe(load(scenario({"poisson": "1ms"}, duration="20ms")))
    stream = summary["streams"]["s0"]
    assert stream["period_jitter_ns"] is None
    assert stream["latency_change_ns"] is not None
    assert not punctuality_table.rows(summary)
