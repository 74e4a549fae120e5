# SPDX-License-Identifier: Apache-2.0
"""What a report says of a moment: what held a frame, and what a port's gates, credit and queues did then."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from penstock import report
from penstock.gates import CreditOverTime
from penstock.journeys import View
from penstock.report.holding import held
from penstock.report.latency import delivered
from penstock.report.moments import Asked, Ports, moments
from penstock.report.page import unpack
from penstock.report.ports import clipped, occupations
from penstock.report.style import looks
from penstock.report.way import parts
from penstock.run import observe
from penstock.scenario import load

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
US = 10**6


@cache
def view_of(name: str) -> tuple[dict[str, Any], View]:
    return observe(load(SCENARIOS / name, "model"))


def bridge(streams: dict[str, Any], *, port: dict[str, Any] | None = None, **more: Any) -> tuple[dict[str, Any], View]:
    """Two talkers and a listener at port 2 of a bridge that takes no time of its own."""
    return observe(
        load(
            {
                "name": "moment",
                "nodes": "model",
                "duration": "1ms",
                "links": {"rate": "1Gb/s", "delay": "0ns"},
                "bridges": {"sw": {"ports": 3, "processing_delay": "0ns", "port": {"2": port or {}}, **more}},
                "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}, "c": {"at": "sw.2"}},
                "streams": {name: {"to": ["c"], "vlan": 10, **keys} for name, keys in streams.items()},
            }
        )
    )


def causes(view: View, stream: str, index: int = 0) -> list[tuple[str, int | None, int]]:
    """Of a frame of a stream at the bridge's port."""
    passage = Ports(view).passage("sw", 2)
    own = passage.frames.filter(passage.frames["stream"] == stream)
    frame = passage.find(own["frame_id"][index])
    assert frame is not None
    return [(one.cause, one.frame_id, one.ps) for one in held(passage, frame)]


def once(size: int, start: str) -> dict[str, Any]:
    return {"frames": f"{size}B", "every": "10ms", "start": start, "count": 1}


def test_a_closed_gate_held_it() -> None:
    """The window of class 1 opens 100 us into each cycle; a frame of 100 bytes is in the queue long before."""
    entries = [{"open": [0], "interval": "100us"}, {"open": [1], "interval": "100us"}]
    gates = {"cycle_time": "200us", "entries": entries}
    _, view = bridge({"s": {"from": "a", "pcp": 0, "source": once(100, "10us")}}, port={"gates": gates})
    ((cause, number, ps),) = [one for one in causes(view, "s") if one[2] > 1000]
    assert (cause, number) == ("gate", None)
    # It was received within 10 us and 864 ns: preamble and frame.
    assert ps == pytest.approx((100 - 10) * US - 864_000, abs=20_000)


def test_the_frame_in_its_way_is_named() -> None:
    """A frame of 1,500 bytes leaves while one of a higher class comes."""
    _, view = bridge(
        {
            "long": {"from": "a", "pcp": 0, "source": once(1500, "0us")},
            "short": {"from": "b", "pcp": 5, "source": once(64, "12us")},
        }
    )
    long_id = Ports(view).passage("sw", 2).frames.row(0, named=True)["frame_id"]
    found = [one for one in causes(view, "short") if one[2] > 1000]
    assert [(cause, number) for cause, number, _ in found] == [("frame", long_id)]


def test_every_wait_is_explained_to_its_last_bit_of_time() -> None:
    """Gates, ATS, credit and strict priority at one port: causes follow each other without a gap."""
    text = (SCENARIOS / "mixed" / "scenario.toml").read_text()
    # The events break their contract, so that ATS holds them.
    _, view = observe(load(tomllib.loads(text.replace('burst = "960B"', 'burst = "640B"')), "model"))
    passage = Ports(view).passage("sw", 3)
    seen = set()
    for frame_id in passage.frames["frame_id"].to_list():
        frame = passage.find(frame_id)
        assert frame is not None
        assert frame.selected is not None
        waits = held(passage, frame)
        assert sum(one.ps for one in waits) == frame.selected - frame.ready
        at = frame.ready
        for one in waits:
            assert one.begin_ps == at
            at = one.end_ps
        seen |= {one.cause for one in waits}
    assert {"gate", "frame", "eligibility", "credit", "window"} <= seen


def test_hops_add_up_to_the_latency() -> None:
    summary, view = view_of("line5")
    names = looks(list(summary["streams"]))
    arrived = delivered(view, summary)
    found = moments(Ports(view), arrived, names)
    for name, hops in found.hops.items():
        assert len(hops) == 1 + len(view.network.streams[name].tree)
        whole = sum(sum(parts(hop).values()) for hop in hops)
        last = view.network.stations[view.network.streams[name].listeners[0]].link_delay_ps
        talker = sum(parts(hops[0]).values())
        assert (whole - talker + last) / 1000 == summary["streams"][name]["latency_ns"]["max"]


@pytest.mark.parametrize("name", ["cbs", "mixed"])
def test_credit_of_a_late_moment_is_that_of_the_whole_run(name: str) -> None:
    """It is replayed from the last time before at which it was surely zero."""
    _, view = view_of(name)
    port = 2 if name == "cbs" else 3
    passage = Ports(view).passage("sw", port)
    for number in passage.place.credited:
        own = passage.frames.filter(passage.frames["traffic_class"] == number).sort("ready")
        frames = list(occupations(passage.place, own))
        bridge = view.network.bridges["sw"]
        for begin in (1_000 * US, 2_345 * US + 678, 7_000 * US):
            end = begin + 500 * US
            whole = CreditOverTime(bridge, port, number, passage.place.rate_bps).points(frames, 0, end)
            part = passage.credit(number, begin, end)
            assert part is not None
            for at, bits in clipped(whole, begin):
                assert min(abs(bits - value) for when, value in part if when == at) < 2, (number, at)


def test_late_frames_and_the_slowest_of_each_stream_can_be_opened() -> None:
    """A click looks for the frame's number in the list."""
    summary, view = view_of("hello")
    for stream in summary["streams"].values():
        stream["deadline_ns"] = 13_500.0
    page = report.render(view.network, view, summary)
    options = dict(re.findall(r'<option value="(moment-\d+)" data-frame="(\d+)">', page))
    arrived = delivered(view, summary)
    slowest = {rows.sort("latency_us")["frame_id"][-1] for rows in arrived.partition_by("stream")}
    assert {str(number) for number in slowest} <= set(options.values())
    late = int(arrived["late"].sum())
    assert f"of {late:,} late frames can be looked at hop by hop" in page
    for name, frame in options.items():
        moment = json.loads(unpack(page, name))
        assert moment["title"].startswith(f"Frame {frame} of ")
        assert [hop["place"] for hop in moment["hops"]][-1] == "sw port 2"
        assert all(hop["said"][0].startswith("Waited ") for hop in moment["hops"])


def test_any_port_at_any_time_and_any_frame() -> None:
    summary, view = view_of("tas")
    asked = [Asked("sw", 2, 7_777 * US), Asked(frame_id=5)]
    found = moments(Ports(view), delivered(view, summary), looks(list(summary["streams"])), asked)
    assert [moment.kind for moment in found.listed[:2]] == ["Asked for", "Asked for"]
    page = report.render(view.network, view, summary, asked)
    begin, end = json.loads(unpack(page, "moment-0"))["hops"][0]["layout"]["xaxis"]["range"]
    assert begin < 7_777 < end
    assert json.loads(unpack(page, "moment-1"))["title"].startswith("Frame 5 of ")
