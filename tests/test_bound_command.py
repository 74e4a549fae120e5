# SPDX-License-Identifier: Apache-2.0
"""`penstock bound`: every term, on a terminal, as JSON and as a data frame, and when it refuses."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import penstock as ps
from paper_switch import ATS, Stream, write
from penstock import cli
from penstock.command.tables import NOTHING

F7 = ("f7", "a", 3, ATS)
F6 = ("f6", "b", 2, ATS)
BEST_EFFORT = ("be", "c", 7, "")  # class 5

Bound = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Bound:
    """Calls the command for a network of these streams; gives status and what it printed."""

    def call(streams: list[Stream], *options: str) -> tuple[int, str, str]:
        write(tmp_path, *streams)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["penstock", "bound", "scenario.toml", *options])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"], "it leaves nothing"
        return int(end.value.code or 0), *capfd.readouterr()

    return call


def contention(told: dict[str, Any], stream: str) -> dict[str, Any]:
    (hop,) = told["streams"][stream]["listeners"]["d"]["hops"]
    found: dict[str, Any] = hop["contention"]
    return found


def as_json(bound: Bound, *streams: Stream) -> dict[str, Any]:
    status, out, err = bound(list(streams), "--json")
    assert err == ""
    told: dict[str, Any] = json.loads(out)
    assert told["ok"] is (status == 0)
    return told


def test_the_papers_equation_2(bound: Bound) -> None:
    """An ATS stream beside best effort: (1542 - 1542 + 1542) B / 1 Gb/s = 12.3 us."""
    one = contention(as_json(bound, F7, BEST_EFFORT), "f7")
    assert one["ns"] == 12_336.0
    assert (one["sum_of_bursts_bytes"], one["l_min_bytes"], one["l_lp_bytes"]) == (1542, 1542, 1542)
    assert (one["l_lp_stream"], one["link_rate_bps"], one["higher_rates_bps"]) == ("be", 10**9, 0)


def test_the_papers_equation_3(bound: Bound) -> None:
    """Beside another of the same class: (1542 + 1542 - 1542) B / 1 Gb/s = 12.3 us."""
    one = contention(as_json(bound, F7, ("other", "b", 3, ATS)), "f7")
    assert one["ns"] == 12_336.0
    assert (one["sum_of_bursts_bytes"], one["l_min_bytes"], one["l_lp_bytes"]) == (3084, 1542, 0)
    assert [each["stream"] for each in one["bursts"]] == ["f7", "other"]


def test_the_papers_equation_4(bound: Bound) -> None:
    """Below a higher class and beside best effort: (1542 + 1542 - 1542 + 1542) B / (1 Gb/s - 100 Mb/s) = 27.4 us."""
    told = as_json(bound, F7, F6, BEST_EFFORT)
    one = contention(told, "f6")
    assert one["ns"] == 27_413.334, "rounded up to whole ps"
    assert (one["sum_of_bursts_bytes"], one["higher_rates_bps"]) == (3084, 10**8)
    assert [(each["stream"], each["traffic_class"]) for each in one["bursts"]] == [("f7", 7), ("f6", 6)]
    assert contention(told, "f7")["ns"] == 12_336.0, "of the highest class, equation (2)"


def test_json_shows_what_a_bound_is_made_of(bound: Bound) -> None:
    told = as_json(bound, F7, BEST_EFFORT)
    stream = told["streams"]["f7"]
    way = stream["listeners"]["d"]
    (hop,) = way["hops"]
    assert (hop["bridge"], hop["entry"], hop["egress"], hop["traffic_class"]) == ("sw", 0, 3, 7)
    assert hop["media"] == {"ns": 12_290.0, "cable_ns": 50.0, "frame_ns": 12_176.0, "preamble_ns": 64.0}
    assert (hop["processing"]["ns"], hop["processing"]["processing_delay_max_ns"]) == (336.0, 248.0)
    assert hop["clock_grid"]["ns"] == 32.8
    assert hop["bound_ns"] == 12_290.0 + 336.0 + 12_336.0 + 32.8
    assert way["bound_ns"] == stream["bound_ns"] == hop["bound_ns"] + way["last_cable_ns"]
    assert way["bound_ns"] == pytest.approx(sum(way["parts"].values()))
    assert [row for row in told["rows"] if row["id"].startswith("f7")] == [
        {"id": "f7/d/sw", "quantity": "worst case of the hop", "unit": "ns", "bound": hop["bound_ns"], "ok": True},
        {"id": "f7/d", "quantity": "worst-case latency", "unit": "ns", "bound": way["bound_ns"], "ok": True},
    ]


def test_best_effort_has_a_bound_and_nothing_is_asked_of_it(bound: Bound) -> None:
    status, out, _ = bound([F7, BEST_EFFORT])
    assert status == 0
    be = as_json(bound, F7, BEST_EFFORT)["streams"]["be"]
    assert (be["ok"], be["required"], be["reason"]) == (True, False, None)
    # A frame of f7 may be in the way; only one comes while it waits, since f7 has one frame in 123 us.
    assert 26_000 < be["bound_ns"] < 27_000
    status, out, _ = bound([BEST_EFFORT])
    assert (status, "every ATS stream has a bound" in out) == (0, True)


def test_the_table_says_every_term(bound: Bound) -> None:
    status, out, err = bound([F7, F6, BEST_EFFORT])
    assert (status, err) == (0, "")
    assert "…" not in out
    lines = [" ".join(line.replace("│", " ").split()) for line in out.splitlines()]
    assert f"f6 d 1 12.340 0.336 27.413 0.034 40.123 {NOTHING} ok" in lines
    assert "sw 6 0.050 12.176 0.336 27.413 0.064 0.034 40.073" in lines
    assert "sw: 27.413 us = (1542 + 1542 - 1542 + 1542) B / (1000 - 100) Mb/s" in lines
    assert "b: f7 1542 B, f6 1542 B; l_min 1542 B; l_LP 1542 B of be; r: f7 100 Mb/s" in lines


def test_a_stream_that_takes_all_refuses_those_it_is_in_the_way_of(bound: Bound) -> None:
    """It is of an ATS class itself, which nobody means to be unshaped."""
    wild = ("wild", "b", 3, "[streams.wild.source]\npoisson = '1ms'\nframes = '1522B'\n")
    told = as_json(bound, wild, F6)
    assert told["ok"] is False
    refused = told["streams"]["f6"]["listeners"]["d"]
    said = '"wild" brings what its link carries: the times between its frames are by chance (poisson)'
    assert refused["reason"].startswith(said)
    assert (refused["refused_at"], refused["bound_ns"], refused["hops"]) == ("sw", None, [])
    # Of a class above it keeps its bound: one frame may be in the way.
    told = as_json(bound, ("wild", "b", 2, wild[3]), F7)
    assert told["streams"]["f7"]["bound_ns"] is not None
    status, out, _ = bound([wild, F6])
    assert status == 1
    assert f"no bound for f6 to d: {said}" in " ".join(out.split())
    assert "1 of 2 have no bound" in out


def test_a_deadline_below_the_bound_is_not_met(bound: Bound) -> None:
    tight = ("f7", "a", 3, ATS + 'deadline = "25us"\n')
    status, out, _ = bound([tight, BEST_EFFORT])
    assert status == 1
    assert "above the deadline" in out
    told = as_json(bound, tight, BEST_EFFORT)
    (whole,) = [row for row in told["rows"] if row["id"] == "f7/d"]
    assert (whole["goal"], whole["ok"]) == (25_000.0, False)
    wide = ("f7", "a", 3, ATS + 'deadline = "25.1us"\n')
    assert all(row["ok"] for row in as_json(bound, wide, BEST_EFFORT)["rows"])


def test_rates_above_the_link_are_bad_input(bound: Bound) -> None:
    fast = 'ats = { rate = "950Mb/s", burst = "1542B" }'
    for options in ((), ("--json",)):
        status, out, err = bound([F7, ("f6", "b", 2, fast)], *options)
        assert status == 2
        assert [error["line"] for error in json.loads(out)["errors"]] == [24] if options else out == ""
        assert err.count("\n") == 1
        assert "streams.f6.ats.rate" in err
        assert "above its 1 Gb/s" in err


def test_a_scenario_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["penstock", "bound", "nowhere"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    out, err = capfd.readouterr()
    assert (end.value.code, out, err.count("\n")) == (2, "", 1)


def test_bounds_as_data_frames() -> None:
    network = ps.load(Path(__file__).parents[1] / "scenarios" / "line5")
    by_listener, by_hop = network.bounds(), network.bounds(by="hop")
    assert by_listener["stream"].to_list() == ["control", "state", "picture", "bulk"]
    assert by_listener["required"].to_list() == [True, True, True, False]
    assert by_listener.filter(stream="bulk")["bound_ns"].to_list() == [None]
    shaped = by_listener.filter(pl.col("required"))
    parts = shaped.select(pl.sum_horizontal("media_ns", "processing_ns", "contention_ns", "clock_ns"))
    assert parts.to_series().to_list() == pytest.approx(shaped["bound_ns"].to_list())
    assert by_hop.filter(stream="state")["bridge"].to_list() == ["s1", "s2", "s3", "s4"]
    # Hops and the last cable, 50 ns.
    sums = by_hop.group_by("stream", maintain_order=True).agg(pl.col("hop_ns").sum() + 50)
    assert sums["hop_ns"].to_list() == pytest.approx(shaped["bound_ns"].to_list())
    terms = pl.sum_horizontal("cable_ns", "frame_ns", "preamble_ns", "processing_ns", "contention_ns", "clock_grid_ns")
    assert by_hop.select(terms).to_series().to_list() == pytest.approx(by_hop["hop_ns"].to_list())
    with pytest.raises(ValueError, match='allowed: "listener", "hop"'):
        network.bounds(by="bridge")  # type: ignore[arg-type]


def test_what_a_bound_rests_on_is_told(bound: Bound) -> None:
    """A source with one frame a millisecond keeps to 100 Mb/s; one of 2 Mb/s does not."""
    status, out, _ = bound([F7])
    assert status == 0
    assert "proved to keep rate and burst: f7" in out
    slow = ("slow", "b", 3, 'ats = { rate = "2Mb/s", burst = "1542B" }\n')
    status, out, _ = bound([F7, slow])
    assert status == 1
    assert "no bound for slow to d: the source does not keep rate and burst: frame 2, released at 1 ms," in " ".join(
        out.split()
    )
    told = as_json(bound, F7, slow)["streams"]
    assert [told[name]["contract"]["state"] for name in ("f7", "slow")] == ["kept", "broken"]
    assert told["slow"]["contract"]["needed_rate_bps"] == 12_336_000


def test_many_streams_are_shown_in_part(bound: Bound) -> None:
    streams = [(f"f{i}", "a", 3, 'ats = { rate = "13Mb/s", burst = "1542B" }\n') for i in range(50)]
    status, out, _ = bound(streams)
    assert status == 0
    assert "40 of 50 ways" in out
    assert "the terms of 42 ways more are in --json" in out
    assert "f5 1542 B and 44 more; l_min" in out
    assert len(out.splitlines()) < 200
    assert len(as_json(bound, *streams)["streams"]) == 50


def test_a_page_of_curves(bound: Bound, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Beside what is printed: each queue, its bound, and the frame of a run that came nearest."""
    file = tmp_path_factory.mktemp("page") / "bound.html"
    status, out, err = bound([F7, F6, BEST_EFFORT], "--html", str(file))
    assert (status, err) == (0, "")
    assert "every ATS stream has a bound" in out
    page = file.read_text()
    assert all(f"sw port 3, class {number}" in page for number in (5, 6, 7))
    # Of the highest class a frame of a lower one, 12.336 us.
    waits = sorted(float(wait) for wait in re.findall(r"No frame waits for longer than ([0-9.]+) us", page))
    assert 12.336 <= waits[0] < 12.4
    assert waits[0] < waits[1] < waits[2]
    assert "of f7 came nearest" in page
    status, out, err = bound([F7], "--html", "/nowhere/bound.html")
    assert (status, out) == (3, "")
    assert "/nowhere" in err
