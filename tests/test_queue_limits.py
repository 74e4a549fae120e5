# SPDX-License-Identifier: Apache-2.0
"""What queues hold at most: of bridges in cells of 128 B, of stations in frames or bytes; computed by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import penstock as ps
from penstock import plan
from penstock.errors import InputError
from penstock.scenario import load
from shaped import KINDS, Bridge, drops, frames, gates

GATES = gates([([7], 200_000), ([0, 1], 800_000)])


def bridge(limit: Any, **more: Any) -> dict[str, Any]:
    """A stream of 100 B and one of 1000 B in class 1."""
    return {
        "name": "queues",
        "nodes": "model",
        "duration": "1ms",
        "bridges": {"b": {"ports": 4, "classes": {"1": {"queue_limit": limit}}} | more},
        "stations": {"a": {"at": "b.0"}, "z": {"at": "b.2"}},
        "streams": {
            name: {
                "from": "a",
                "to": ["z"],
                "vlan": 1,
                "pcp": 0,
                "source": {"frames": f"{length}B", "every": "1ms"},
            }
            for name, length in (("short", 100), ("long", 1000))
        },
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("limit", "held"),
    [
        ("frames = 3", 3),  # 3 * 8 cells of 128 B
        ('bytes = "4kB"', 3),  # 31 cells, of which a frame takes 8
        ('bytes = "4096B"', 4),
    ],
)
def test_what_is_beyond_the_limit_is_dropped(tmp_path: Path, kind: str, limit: str, held: int) -> None:
    """Ten frames of 1000 B wait behind a closed gate."""
    run = Bridge(tmp_path, kind)
    sent = run(
        f"classes.1 = {{ queue_limit = {{ {limit} }} }}\n{GATES}",
        frames("s", 1, 1000, 0, source='every = "10us", count = 10'),
        duration="1ms",
    )
    assert len(sent["s"]) == held
    assert run.drops() == [("s", "queue_full")] * (10 - held)


@pytest.mark.parametrize(
    ("limit", "cells"),
    [
        ({"frames": 1}, 8),
        ({"frames": 100}, 800),  # above what a class holds after reset, which grows with it
        ({"frames": 128}, 1024),
        ({"bytes": "1024B"}, 8),
        ({"bytes": "1279B"}, 9),
        ({"bytes": "131072B"}, 1024),
    ],
)
def test_a_limit_in_cells(limit: Any, cells: int) -> None:
    network = load(bridge(limit))
    config = plan.switch_config(network, network.bridges["b"])
    assert config.queue_limit_cells == {1: cells}
    assert config.class_limit_cells == ({1: cells} if cells > 640 else {})


@pytest.mark.parametrize(
    ("limit", "what", "allowed"),
    [
        ({"bytes": "1023B"}, "a frame of 1000 B takes 8 cells of 128 B, and would never be queued", "1024B and above"),
        ({"bytes": "131200B"}, 'is 1,025 cells, and the store of "b" has 1,024', "up to 131072B"),
        ({"frames": 129}, 'is 1,032 cells, and the store of "b" has 1,024', "up to 128"),
        ({"frames": 0}, "0 is not a whole number from 1", "1 to"),
        ({"bytes": "63B"}, "63B", "64B"),
        ({}, "is frames or bytes", "frames = 64, or bytes"),
        ({"frames": 1, "bytes": "1kB"}, "is frames or bytes", "frames = 64, or bytes"),
        ({"cells": 4}, 'unknown key "cells"', "frames, bytes"),
        ("64 frames", "64 frames", "frames"),
    ],
)
def test_limits_that_are_none(limit: Any, what: str, allowed: str) -> None:
    with pytest.raises(InputError) as refused:
        load(bridge(limit))
    (error,) = [each for each in refused.value.errors if what in each.what]
    assert error.key is not None
    assert error.key.startswith("bridges.b.classes.1.queue_limit")
    assert allowed in (error.allowed or "")


def test_a_model_with_more_ports_has_a_larger_store() -> None:
    network = load(bridge({"frames": 200}, ports=16))
    assert plan.switch_config(network, network.bridges["b"]).queue_limit_cells == {1: 1600}


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize(
    ("store", "held"),
    [
        ("30720B", 3),  # 4 * 60 cells: nothing is left but the 24 of the reception port
        ("32768B", 5),  # 16 cells more are shared
        ("33791B", 5),  # 255 B more are less than two cells
        ("1MB", 10),
    ],
)
def test_the_size_of_a_store(tmp_path: Path, kind: str, store: str, held: int) -> None:
    """Ten frames of 1000 B, 8 cells each, wait behind a closed gate."""
    run = Bridge(tmp_path, kind)
    sent = run(
        f'store = "{store}"\n{GATES}', frames("s", 1, 1000, 0, source='every = "10us", count = 10'), duration="1ms"
    )
    assert len(sent["s"]) == held
    assert run.drops() == [("s", "store_full")] * (10 - held)


def test_a_class_has_its_part_of_a_store() -> None:
    """5/8 of the store, as the hardware has 640 of 1024 cells; a queue of which more is said may fill it."""
    values = bridge({"frames": 48})
    values["bridges"]["b"]["store"] = "64KiB"
    network = load(values)
    config = plan.switch_config(network, network.bridges["b"])
    assert config.size.cells == 512
    assert config.class_limit_cells == {k: 384 if k == 1 else 320 for k in range(8)}


@pytest.mark.parametrize(
    ("store", "nodes", "what", "allowed"),
    [
        ("30719B", "model", "239 cells of 128 B are less than the 240 that 4 ports need", "30720B and above"),
        ("15kB", "model", "15kB", "15KiB to 1000MB"),
        ("128KiB", "rtl", "the hardware is what it is", 'no "store", or nodes = "model" for "b"'),
    ],
)
def test_stores_that_are_none(store: str, nodes: str, what: str, allowed: str) -> None:
    values = bridge({"frames": 1})
    values["bridges"]["b"]["store"] = store
    with pytest.raises(InputError) as refused:
        load(values, nodes=nodes)
    (error,) = refused.value.errors
    assert error.key == "bridges.b.store"
    assert what in error.what
    assert allowed in (error.allowed or "")


def station(limit: str, more: str = "", sources: str = "") -> str:
    return f"""
name = "talker"
nodes = "model"
duration = "1ms"
bridges.b.ports = 2
[stations.t]
at = "b.0"
{limit}
{more}
[stations]
z = {{ at = "b.1" }}
[streams.s]
from = "t"
to = ["z"]
vlan = 10
pcp = 0
source = {{ frames = "1000B", burst = 10, every = "500us" }}
{sources}
"""


SHAPED = 'gates = { entries = [{ open = [7], interval = "100us" }, { open = [0, 1], interval = "400us" }] }'
OTHER = """
[streams.other]
from = "t"
to = ["z"]
vlan = 10
pcp = 3
source = { frames = "64B", burst = 10, every = "500us" }
"""


@pytest.mark.parametrize(
    ("limit", "more", "dropped"),
    [
        ("", "", 0),
        ("", SHAPED, 0),
        # The port takes the first frame in the instant of its release, or not, but only when all are queued.
        ("classes.1 = { queue_limit = { frames = 4 } }", "", 12),
        ("classes.1 = { queue_limit = { frames = 4 } }", SHAPED, 12),
        ('classes.1 = { queue_limit = { bytes = "3999B" } }', "", 14),
        ('classes.1 = { queue_limit = { bytes = "3999B" } }', SHAPED, 14),
        ("classes.7 = { queue_limit = { frames = 4 } }", "", 0),
    ],
)
def test_a_station_counts_what_it_drops(tmp_path: Path, limit: str, more: str, dropped: int) -> None:
    """Two bursts of ten; those of another class have a queue of their own."""
    file = tmp_path / "scenario.toml"
    file.write_text(station(limit, more))
    run = ps.load(file).run()
    stream = run.summary["streams"]["s"]
    assert (stream["sent"], stream["delivered"]) == (20, 20 - dropped)
    assert stream["dropped"] == ({"queue_full": dropped} if dropped else {})
    assert run.summary["conservation"]["ok"]
    assert (
        drops(run.trace.with_columns(pl.col("stream", "node", "event").cast(pl.String)))
        == [("s", "t", "queue_full")] * dropped
    )


def test_classes_of_a_station_have_queues_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(station("classes.1 = { queue_limit = { frames = 1 } }", "", OTHER))
    streams = ps.load(file).run().summary["streams"]
    assert streams["s"]["dropped"] == {"queue_full": 18}
    assert streams["other"]["dropped"] == {}


def test_room_comes_back_when_a_frame_leaves(tmp_path: Path) -> None:
    """A frame takes 8.16 us at 1 Gb/s, and the next one comes after that."""
    text = station("classes.1 = { queue_limit = { frames = 1 } }").replace(
        'burst = 10, every = "500us"', 'every = "8.2us", count = 50'
    )
    (tmp_path / "scenario.toml").write_text(text)
    assert ps.load(tmp_path).run().summary["streams"]["s"]["delivered"] == 50


def test_a_queue_that_nothing_is_said_of_is_bounded_too(tmp_path: Path) -> None:
    text = station("").replace("burst = 10", "burst = 100_020").replace('"500us"', '"10s"').replace('"1ms"', '"2ms"')
    (tmp_path / "scenario.toml").write_text(text.replace("1000B", "64B"))
    network = load(tmp_path)
    described = plan.network_json(network, {}, {})
    described["trace"] = {"enabled": False}
    result = ps._engine.run(json.dumps(described))
    assert result["statistics"]["s"]["dropped"] == {"queue_full": 20}
