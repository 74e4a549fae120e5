# SPDX-License-Identifier: Apache-2.0
"""Bounds of frames that bridges make longer or shorter: tags, R-TAGs, and padding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import penstock as ps
from penstock.bound import describe
from penstock.bound.certificate import refusals
from penstock.bound.drawn import drawn
from penstock.bound.solution import backlogs, certificate, solve
from penstock.bound.way import ways_of
from penstock.errors import InputError
from penstock.scenario import lengths, load
from penstock.scenario.lengths import lengths_at

TAG: dict[str, Any] = {"tagging": True}
UNTAG: dict[str, Any] = {"tagging": True, "untagged": [10]}
NONE: dict[str, Any] = {}


def meeting(
    size: int, port: dict[str, Any], stream: dict[str, Any], bridge: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Three talkers release a frame each at once, and all of these leave by one port."""
    settings = {"processing_delay": "1us"} if bridge is None else bridge
    strict = {"classes": {"7": {"selection": "strict"}}}
    streams = {
        f"s{n}": {"from": f"t{n}", "to": ["listener"], "source": {"frames": f"{size}B", "every": "1ms"}} | stream
        for n in range(3)
    }
    return {
        "name": "x",
        "nodes": "model",
        "duration": "3ms",
        "stations": {f"t{n}": {"at": f"b.{n}"} for n in range(3)} | {"listener": {"at": "b.3"}},
        "bridges": {"b": {"ports": 4, "port": {"3": port}} | strict | settings},
        "streams": streams,
    }


def worst_ps(scenario: dict[str, Any]) -> int:
    """Of a run."""
    streams = ps.load(scenario).run().summary["streams"].values()
    longest_ns: float = max(stream["latency_ns"]["max"] for stream in streams)
    return round(1_000 * longest_ns)


def bound_ps(scenario: dict[str, Any], name: str = "s0") -> int:
    (way,) = ways_of(load(scenario), name)
    assert way.total_ps is not None
    return way.total_ps


TAGGED: dict[str, Any] = {"vlan": 10, "pcp": 3}
NUMBERED = TAGGED | {"numbered": True}
# What a frame becomes: of its length, the settings of its port and of its stream, and how long it leaves.
CHANGES = [
    (300, NONE, TAGGED, 300),
    (300, NONE, NUMBERED, 306),
    (300, {"r_tag_removal": True}, NUMBERED, 300),
    (300, TAG, {}, 304),
    (300, TAG, {"numbered": True}, 310),
    (300, UNTAG, TAGGED, 296),
    (300, UNTAG, NUMBERED, 302),
    (68, UNTAG, TAGGED, 64),
    (64, UNTAG, TAGGED, 64),  # padded
]


@pytest.mark.parametrize(("size", "port", "stream", "leaves"), CHANGES)
def test_a_frame_waits_for_others_as_long_as_they_leave(
    size: int, port: dict[str, Any], stream: dict[str, Any], leaves: int
) -> None:
    """Two others at once, the frame itself as it came, 1 us, a preamble, two cables, and twice 1 ns of a grid."""
    scenario = meeting(size, port, stream)
    (way,) = ways_of(load(scenario), "s0")
    (hop,) = way.hops
    assert 0 <= hop.wait_ps - 2 * (leaves + 20) * 8_000 <= 100
    assert hop.frame_ps == size * 8_000
    longest = worst_ps(scenario)
    assert longest == 2 * (leaves + 20) * 8_000 + size * 8_000 + 1_000_000 + 64_000 + 2 * hop.cable_ps
    assert longest <= bound_ps(scenario) <= longest + 2_100


@pytest.mark.parametrize("size", [64, 68, 300])
def test_hardware_of_many_ports_has_the_link_for_what_a_frame_loses(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And begins the last one so much later: 32 ns for the tag itself, and as much for each before it."""
    scenario = meeting(size, UNTAG, TAGGED, {"ports": 8})
    (way,) = ways_of(load(scenario), "s0")
    leaves = max(64, size - 4) + 4
    assert 0 <= way.hops[0].wait_ps - 2 * (leaves + 20) * 8_000 <= 100
    longest = worst_ps(scenario)
    assert longest <= bound_ps(scenario) <= longest + 100_000
    # That no bound is which knows nothing of it.
    monkeypatch.setattr(lengths, "_is_slow", lambda _bridge: False)
    assert bound_ps(scenario) < longest


def test_a_window_has_room_for_what_hardware_of_many_ports_counts() -> None:
    scenario = meeting(300, UNTAG, TAGGED, {"ports": 8})
    open_ns = (300 + 20) * 8
    for interval, fits in ((open_ns, True), (open_ns - 8, False)):
        entries = [{"open": [7], "interval": f"{interval}ns"}, {"open": [], "interval": f"{10_000 - interval}ns"}]
        scenario["bridges"]["b"] |= {"class_of_priority": [7] * 8, "gates": {"entries": entries}}
        if fits:
            load(scenario)
        else:
            with pytest.raises(InputError, match=r"takes 2560 ns \(320 B on the wire\)"):
                load(scenario)


def test_equation_1_counts_frames_as_they_leave() -> None:
    """An ATS stream of its own, beside best effort, both with numbers: (306 + 1528 + 20) B in all."""
    numbered = {"numbered": True}
    other = TAGGED | numbered | {"from": "t1", "to": ["listener"], "pcp": 0}
    own = TAGGED | numbered | {"from": "t0", "to": ["listener"], "ats": {"rate": "20Mb/s", "burst": "320B"}}
    scenario = meeting(300, NONE, {}, {"ports": 4})
    scenario["bridges"]["b"]["classes"] = {"7": {"selection": "ats"}}
    scenario["streams"] = {
        "own": own | {"source": {"frames": "300B", "every": "200us"}},
        "other": other | {"source": {"frames": "1522B", "every": "13us"}},
    }
    (way,) = ways_of(load(scenario), "own")
    found = way.hops[0].contention
    assert found is not None
    assert (found.sum_of_bursts_bytes, found.l_min_bytes, found.l_lp_bytes) == (326, 326, 1548)
    assert found.ps == 1548 * 8_000
    assert worst_ps(scenario) <= max(bound_ps(scenario, "own"), bound_ps(scenario, "other"))


def test_a_store_holds_frames_as_they_came() -> None:
    """Three of 300 B, of which each is on the wire for 326 B, and takes three cells."""
    (found,) = backlogs(load(meeting(300, NONE, NUMBERED)))
    assert found.bytes is not None
    assert 3 * 326 <= found.bytes <= 3 * 326 + 10
    assert (found.frames, found.cells, found.longest_cells) == (3, 9, 3)


def test_a_checker_refuses_what_forgets_that_frames_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its claim is right of frames that stay as they are."""
    for size, port, stream, leaves in CHANGES:
        scenario = meeting(size, port, stream)
        claim = certificate(load(scenario))
        assert refusals(claim) == []
        with monkeypatch.context() as forgetful:
            forgetful.setattr(describe, "_counted", lambda _network, _stream: [])
            forgotten = certificate(load(scenario))
        assert refusals(forgotten) == []
        refused = [each.port for each in refusals(claim | {"waits": forgotten["waits"]})]
        assert refused == ([solve(load(scenario)).described.port_at["b", 3]] if leaves > size else []), (
            size,
            port,
            stream,
        )


def test_frames_leave_as_long_as_the_analysis_says() -> None:
    """Each that is seen is between the shortest and the longest, and where all are alike of that length."""
    looked = 0
    for seed in range(60):
        scenario = drawn(seed)
        if not any("port" in bridge for bridge in scenario["bridges"].values()):
            continue
        try:
            network = load(scenario)
        except InputError:
            continue
        trace = ps.load(scenario).run().trace
        rows = trace.filter((pl.col("event") == "sent") & pl.col("stream").is_not_null())
        seen = rows.group_by("node", "port", "stream").agg(least=pl.col("bytes").min(), most=pl.col("bytes").max())
        for node, port, name, least, most in seen.iter_rows():
            if node in network.bridges:
                stream = network.streams[name]
                sent = lengths_at(network, stream, (node, port)).sent
                assert sent[0] <= least <= most <= sent[1], (seed, node, port, name)
                assert (least, most) == sent or stream.min_frame_bytes < stream.max_frame_bytes
                looked += sent[0] != stream.min_frame_bytes
    assert looked > 50


def test_a_capture_that_has_numbers_is_counted_with_them(tmp_path: Path) -> None:
    """Hardware of many ports pads the shortest frames without them, and begins later all the same."""
    numbers = Path(__file__).parent.parent / "scenarios" / "numbers" / "scenario.toml"
    file = tmp_path / "s.toml"
    file.write_text(numbers.read_text().replace('"68B"', '"64B"').replace("port.2", "#"))
    ps.load(file).run(out=tmp_path / "out")
    for ports, late_ps in ((4, 0), (8, 48_000)):
        scenario = meeting(64, {"r_tag_removal": True}, {}, {"ports": ports})
        scenario["bridges"]["b"]["port"]["0"] = {"vlan": 10}
        scenario["streams"] = {
            "s0": {"from": "t0", "to": ["listener"], "source": {"capture": str(tmp_path / "out" / "logger.pcapng")}}
        }
        scenario["duration"] = "6ms"
        found = lengths_at(load(scenario), load(scenario).streams["s0"], ("b", 3))
        assert (found.came, found.late_ps) == ((66, 66), late_ps)
        assert found.counted == ((70, 70) if late_ps else (66, 66))
        assert worst_ps(scenario) <= bound_ps(scenario)
