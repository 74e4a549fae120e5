# SPDX-License-Identifier: Apache-2.0
"""Drop of the oldest: which frames of a full queue give way to the one that comes; by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.errors import InputError
from penstock.run import observe, statistics
from penstock.scenario import load
from shaped import Bridge, frames, gates

KIND = "other maker"
CLOSED = gates([([7], 200_000), ([0, 1, 3], 800_000)])
OLDEST = 'drop = "oldest"'
TEN = frames("s", 1, 1000, 0, source='every = "10us", count = 10')


def numbers(trace: pl.DataFrame, event: str, node: str, stream: str = "s") -> list[int]:
    """Which frames of a stream, from the first on."""
    of = trace.filter(pl.col("stream") == stream)
    first = of["frame_id"].min()
    rows = of.filter((pl.col("event") == event) & (pl.col("node") == node)).sort("time_ps", "frame_id")
    ids = of["frame_id"].unique().sort().to_list()
    assert first == ids[0]
    return [ids.index(number) for number in rows["frame_id"]]


@pytest.mark.parametrize(
    ("limit", "stay"),
    [
        ("frames = 3", [0, 1, 2]),
        ('frames = 3, drop = "oldest"', [7, 8, 9]),
        ('frames = 3, drop = "newest"', [0, 1, 2]),
        (f'bytes = "4kB", {OLDEST}', [7, 8, 9]),  # 31 cells of 128 B, of which a frame takes 8
    ],
)
def test_which_frames_stay(tmp_path: Path, limit: str, stay: list[int]) -> None:
    """Ten frames of 1000 B wait behind a closed gate."""
    run = Bridge(tmp_path, KIND)
    run(f"classes.1 = {{ queue_limit = {{ {limit} }} }}\n{CLOSED}", TEN, duration="1ms")
    assert numbers(run.trace, "sent", "b") == stay
    reason = "displaced" if "oldest" in limit else "queue_full"
    assert run.drops() == [("s", reason)] * 7
    if "oldest" in limit:
        # Frame n comes to its queue 8064 ns after its release, and frame n - 3 goes.
        rows = run.trace.filter(pl.col("event") == "dropped").sort("time_ps")
        assert rows["time_ps"].to_list() == [(8_064 + 10_000 * n) * 1000 for n in range(3, 10)]
    summary, _ = observe(load(tmp_path / "scenario.toml"))
    assert summary["streams"]["s"]["dropped"] == {reason: 7}
    assert summary["conservation"]["ok"]
    assert statistics(load(tmp_path / "scenario.toml"))["streams"]["s"]["dropped"] == {reason: 7}


def test_what_is_on_the_wire_does_not_give_way(tmp_path: Path) -> None:
    """A queue of one frame: while one is sent its cells are taken, and what comes then finds nothing that could go."""
    run = Bridge(tmp_path, KIND)
    two = frames("s", 1, 1000, 0) + frames("t", 1, 1000, 5_000, talker=1)
    run(f"classes.1 = {{ queue_limit = {{ frames = 1, {OLDEST} }} }}\n", two, duration="1ms")
    assert numbers(run.trace, "sent", "b") == [0]
    assert run.drops() == [("t", "queue_full")]


def test_a_long_frame_takes_the_place_of_short_ones(tmp_path: Path) -> None:
    """Eight cells: of 100 B each takes one; a frame of 500 B takes four, so that four of eight go."""
    run = Bridge(tmp_path, KIND)
    short = frames("s", 1, 100, 0, source='every = "10us", count = 8')
    run(
        f'classes.1 = {{ queue_limit = {{ bytes = "1024B", {OLDEST} }} }}\n{CLOSED}',
        short + frames("long", 1, 500, 100_000, talker=1),
        duration="1ms",
    )
    assert numbers(run.trace, "dropped", "b") == [0, 1, 2, 3]
    assert numbers(run.trace, "sent", "b") == [4, 5, 6, 7]
    assert numbers(run.trace, "sent", "b", "long") == [0]


def test_other_classes_and_ports_keep_their_frames(tmp_path: Path) -> None:
    run = Bridge(tmp_path, KIND)
    run(
        f"classes.1 = {{ queue_limit = {{ frames = 3, {OLDEST} }} }}\n"
        f"classes.3 = {{ queue_limit = {{ frames = 3 }} }}\n{CLOSED}",
        TEN + frames("t", 3, 1000, 0, talker=1, source='every = "10us", count = 10'),
        duration="1ms",
    )
    assert numbers(run.trace, "sent", "b") == [7, 8, 9]
    assert numbers(run.trace, "sent", "b", "t") == [0, 1, 2]


@pytest.mark.parametrize("shaped", ["", 'gates = { entries = [{ open = "all", interval = "1ms" }] }\n'])
def test_a_station_drops_its_oldest_too(tmp_path: Path, shaped: str) -> None:
    """Ten frames of 1230 B at once, 100 us each at 100 Mb/s: one is sent, and the last two wait behind it."""
    keys = f'rate = "100Mb/s"\n{shaped}classes.1.queue_limit = {{ frames = 2, {OLDEST} }}\n'
    file = tmp_path / "scenario.toml"
    file.write_text(
        'name = "one"\nnodes = "model"\nduration = "1ms"\n[bridges.b]\nports = 2\n'
        f'[stations.plc]\nat = "b.0"\n{keys}[stations.drive]\nat = "b.1"\n'
        '[streams.s]\nfrom = "plc"\nto = ["drive"]\nsource = { frames = "1230B", every = "10us", count = 10 }\n'
    )
    summary, view = observe(load(file))
    trace = view.trace.with_columns(pl.col("stream", "node", "event").cast(pl.String))
    assert numbers(trace, "sent", "plc") == [0, 8, 9]
    assert numbers(trace, "dropped", "plc") == list(range(1, 8))
    assert summary["streams"]["s"]["dropped"] == {"displaced": 7}
    assert summary["conservation"]["ok"]


def test_hardware_refuses_it(tmp_path: Path) -> None:
    text = f"classes.1 = {{ queue_limit = {{ frames = 3, {OLDEST} }} }}\n"
    with pytest.raises(InputError, match=r"queue_limit\.drop: the hardware drops the frame that comes"):
        Bridge(tmp_path, "rtl")(text, TEN)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost_in_overload(seed: int) -> None:
    """Four talkers at full speed into one port, frames of all lengths, several classes and listeners."""
    limit: dict[str, Any] = {"queue_limit": {"bytes": "3kB", "drop": "oldest"}}
    network = {
        "name": "overload",
        "nodes": "model",
        "duration": "1ms",
        "bridges": {"b": {"ports": 6, "processing_delay": "1us", "classes": {str(k): limit for k in range(6)}}},
        "stations": {f"s{n}": {"at": f"b.{n}"} for n in range(6)},
        "streams": {
            f"f{n}": {
                "from": f"s{n % 4}",
                "to": ["s4", "s5"] if n % 3 else ["s4"],
                "pcp": n % 3,
                "vlan": 1,
                "source": {"frames": f"{64 + (n * 373 + seed * 91) % 1400}B", "every": f"{7 + (n + seed) % 5}us"},
            }
            for n in range(8)
        },
    }
    summary, _ = observe(load(network))
    assert summary["conservation"]["ok"]
    reasons = [set(stream["dropped"]) for stream in summary["streams"].values()]
    assert "displaced" in set().union(*reasons)
    counted = statistics(load(network))
    for name, stream in summary["streams"].items():
        assert counted["streams"][name]["dropped"] == stream["dropped"]
