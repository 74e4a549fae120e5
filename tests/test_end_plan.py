# SPDX-License-Identifier: Apache-2.0
"""From a scenario to the plan of an end station, and from what both ends left to the trace."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.end.options import time_ns
from penstock.end.plan import plan_for, set_windows
from penstock.end.trace import End, Names, knows, read_end, trace_of, write
from penstock.errors import InputError
from penstock.scenario import load
from penstock.trace import read_trace

SCENARIO = """
name = "ends"
nodes = "model"
duration = "1s"
[bridges.sw]
ports = 3
[stations]
plc = { at = "sw.0" }
drive = { at = "sw.1" }
idle = { at = "sw.2" }
[streams.control]
from = "plc"
to = ["drive"]
vlan = 10
pcp = 3
source = { frames = "128B", every = "1ms", start = "250us", count = 7 }
deadline = "50us"
[streams.back]
from = "drive"
to = ["plc"]
source = { frames = "200B", every = "4ms" }
[streams.status]
from = "plc"
to = ["drive"]
udp = { source = "192.0.2.1", destination = "192.0.2.2", destination_port = 5001 }
source = { frames = "300B", every = "1.5ms", burst = 2 }
"""


def _network(folder: Path, text: str = SCENARIO) -> Any:
    file = folder / "ends.toml"
    file.write_text(text)
    return load(file)


def test_a_stream_with_launch_times_is_due_at_them(tmp_path: Path) -> None:
    text = SCENARIO.replace('start = "250us", count = 7 }', 'start = "250us", launch = "95us" }')
    network = _network(tmp_path, text)
    control, status = plan_for(network, "plc", "talk", "eth1")["streams"]
    assert (control["offset_ns"], control["send"], control["transmit_offset_ns"]) == (345_000, "launch_time", 95_000)
    assert "send" not in status
    heard = plan_for(network, "drive", "listen", "eth1")["streams"][0]
    assert heard["offset_ns"] == 345_000
    assert "send" not in heard


def test_a_talkers_plan_says_what_the_scenario_says(tmp_path: Path) -> None:
    plan = plan_for(_network(tmp_path), "plc", "talk", "eth1")
    assert (plan["interface"], plan["duration_ns"], plan["cycle_ns"]) == ("eth1", 10**9, 3_000_000)
    control, status = plan["streams"]
    wanted = {"name": "control", "id": 1, "mode": "raw", "bytes": 128, "vlan": 10, "pcp": 3, "offset_ns": 250_000}
    assert control.items() >= {**wanted, "period_ns": 10**6, "count": 7, "deadline_ns": 50_000}.items()
    assert control["destination_mac"] == "02:00:00:00:00:02"
    wanted = {"id": 3, "mode": "udp", "vlan": None, "frames_per_period": 2, "period_ns": 1_500_000}
    assert status.items() >= {**wanted, "destination": "192.0.2.2", "destination_port": 5001}.items()


def test_both_ends_call_a_stream_by_one_number(tmp_path: Path) -> None:
    network = _network(tmp_path)
    sent = {s["name"]: s for s in plan_for(network, "plc", "talk", "x")["streams"]}
    heard = {s["name"]: s for s in plan_for(network, "drive", "listen", "y")["streams"]}
    assert sent == heard
    assert [s["id"] for s in plan_for(network, "plc", "listen", "x")["streams"]] == [2]


@pytest.mark.parametrize(
    ("host", "role", "said"),
    [("plx", "talk", 'did you mean "plc"'), ("idle", "talk", "sends no stream"), ("idle", "listen", "listens to no")],
)
def test_a_host_without_work_is_refused(tmp_path: Path, host: str, role: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_for(_network(tmp_path), host, role, "x")


def test_frames_that_cannot_hold_the_header_are_told_all_at_once(tmp_path: Path) -> None:
    text = SCENARIO.replace("128B", "64B").replace("300B", "80B").replace("vlan = 10\npcp = 3", "vlan = 10", 1)
    text = text.replace("udp = {", "vlan = 10\nudp = {") + '[streams.tiny]\nfrom = "plc"\nto = ["drive"]\n'
    udp = 'udp = { source = "192.0.2.1", destination = "192.0.2.2", destination_port = 5009 }\n'
    text += udp + 'source = { frames = "70B", every = "1ms" }\n'
    with pytest.raises(InputError) as caught:
        plan_for(_network(tmp_path, text), "plc", "talk", "x")
    assert [(error.key, error.allowed) for error in caught.value.errors] == [
        ("streams.status.source", "at least 92 B, for the header"),
        ("streams.tiny.source", "at least 88 B, for the header"),
    ]


def test_sources_without_a_period_are_sent_as_the_model_creates_them(tmp_path: Path) -> None:
    text = SCENARIO.replace('every = "1ms", start = "250us", count = 7', 'poisson = "1ms", seed = 3, count = 40')
    text = text.replace('every = "4ms"', 'every = "4ms", jitter = { normal = "1us" }')
    text = text.replace(
        'frames = "300B", every = "1.5ms", burst = 2', 'video = { pictures = "100Hz", i_picture = "3kB" }'
    )
    network = _network(tmp_path, text)
    plan = plan_for(network, "plc", "talk", "x")
    control, status = plan["streams"]
    gaps = [b - a for (a, _), (b, _) in itertools.pairwise(control["frames"])]
    assert len(control["frames"]) == 40
    assert min(gaps) >= 0
    assert 500_000 < sum(gaps) / len(gaps) < 2_000_000
    assert len({length for _, length in status["frames"]}) > 1
    assert status["bytes"] == max(length for _, length in status["frames"])
    assert plan_for(network, "drive", "listen", "x")["streams"] == plan["streams"]
    # The jitter of a periodic stream stands for a host's software, which the real host has itself.
    assert "frames" not in plan_for(network, "drive", "talk", "x")["streams"][0]


def test_windows_are_set_by_name(tmp_path: Path) -> None:
    plan = plan_for(_network(tmp_path), "plc", "talk", "x")
    set_windows(plan, ["control=24us"], time_ns)
    assert [s.get("window_ns") for s in plan["streams"]] == [24_000, None]
    with pytest.raises(InputError) as caught:
        set_windows(plan, ["nobody=1us", "control", "control=5", "control=1.5us"], time_ns)
    assert len(caught.value.errors) == 3
    assert plan["streams"][0]["window_ns"] == 1500


def _end(rows: dict[str, list[Any]], **summary: Any) -> End:
    return End(pl.DataFrame(rows), {"clock": {"tai_minus_realtime_ns": 37 * 10**9}, **summary})


def _talk() -> End:
    first = 5 * 10**9 + 1000
    return _end({
        "stream": ["control"] * 4,
        "stream_id": [1] * 4,
        "sequence": [0, 1, 2, 3],
        "outcome": ["sent", "sent", "missed", "skipped"],
        "bytes": [128] * 4,
        "construction_tai_ns": [first + n * 1000 for n in range(4)],
        "handed_tai_ns": [first + 10, first + 1010, first + 2010, None],
        "kernel_realtime_ns": [first + 20 - 37 * 10**9, first + 1020 - 37 * 10**9, None, None],
        "hardware_ns": [5, None, None, None],
    })  # fmt: skip


def _listen() -> End:
    first = 5 * 10**9 + 1000
    return _end(
        {
            "stream": ["control"] * 2,
            "stream_id": [1] * 2,
            "sequence": [0, 0],
            "kind": ["in_order", "duplicate"],
            "bytes": [128] * 2,
            "construction_tai_ns": [first] * 2,
            "user_tai_ns": [first + 300, first + 400],
            "kernel_realtime_ns": [first + 250 - 37 * 10**9] * 2,
            "hardware_ns": [None, None],
        },
        stamps={"latency_from": "user"},
    )


NAMES = Names({"control": "plc"}, "drive", {"control": 7})


def test_the_trace_of_both_ends_keeps_every_frame(tmp_path: Path) -> None:
    trace, metadata = trace_of(_talk(), _listen(), NAMES)
    # Not all sent frames have a hardware stamp, so that none is used.
    assert metadata == {
        "penstock.stamps_of.sent": "kernel",
        "penstock.stamps_of.delivered": "user",
        "penstock.origin_tai_ns": str(5 * 10**9),
    }
    events = trace.select("frame_id", "event", "node", "time_ps", "reason").rows()
    frame = 1 << 32
    assert events == [
        (frame, "created", "plc", 1_000_000, "none"),
        (frame, "sent", "plc", 1_020_000, "none"),
        (frame, "delivered", "drive", 1_300_000, "none"),
        (frame + 1, "created", "plc", 2_000_000, "none"),
        (frame + 1, "sent", "plc", 2_020_000, "none"),
        (frame + 1, "dropped", "plc", 2_020_000, "lost"),
        (frame + 2, "created", "plc", 3_000_000, "none"),
        (frame + 2, "dropped", "plc", 3_010_000, "launch_time_missed"),
        (frame + 3, "created", "plc", 4_000_000, "none"),
        (frame + 3, "dropped", "plc", 4_000_000, "window_closed"),
    ]
    write(tmp_path / "trace.parquet", trace, metadata)
    assert read_trace(tmp_path / "trace.parquet").rows() == trace.rows()


def test_a_talker_of_other_frames_is_not_taken_for_theirs() -> None:
    assert knows(_talk(), _listen())
    other = _talk().rows.with_columns(pl.col("construction_tai_ns") + 1)
    assert not knows(End(other, _talk().summary), _listen())


def test_one_end_alone_says_what_it_knows() -> None:
    trace, _ = trace_of(None, _listen(), NAMES)
    assert trace["event"].to_list() == ["created", "delivered"]
    trace, _ = trace_of(_talk(), None, NAMES)
    assert trace["event"].value_counts().sort("event").rows() == [("created", 4), ("dropped", 2), ("sent", 2)]


def test_a_folder_that_no_end_wrote_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"talk\.csv: is not there"):
        read_end(tmp_path, "talk")
    (tmp_path / "talk.csv").write_text("stream\n")
    (tmp_path / "talk.json").write_text(json.dumps({}))
    assert read_end(tmp_path, "talk").rows.is_empty()
