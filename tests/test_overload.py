# SPDX-License-Identifier: Apache-2.0
"""Talkers whose sources are faster than their link: what waits, what is dropped and what is said, computed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.check.checked import check
from penstock.scenario import load


def scenario(*sources: dict[str, Any], **station: Any) -> dict[str, Any]:
    """A talker at 100 Mb/s, where a frame of 1230 B takes 100 us with preamble and gap."""
    return {
        "name": "overload",
        "nodes": "model",
        "duration": "1ms",
        "bridges": {"sw": {"ports": 2}},
        "stations": {"plc": {"at": "sw.0", "rate": "100Mb/s"} | station, "drive": {"at": "sw.1"}},
        "streams": {
            f"s{number}": {"from": "plc", "to": ["drive"], "source": source} for number, source in enumerate(sources)
        },
    }


TWICE_THE_LINK = {"frames": "1230B", "every": "50us"}


@pytest.mark.parametrize("shaped", [{}, {"classes": {"0": {"max_sdu": "1500B"}}}], ids=["plain", "shaped port"])
def test_a_periodic_source_fills_its_queue(tmp_path: Path, shaped: dict[str, Any]) -> None:
    """20 frames are released, 10 sent until the end; the queue is full by then and sends its 4."""
    limit = {"queue_limit": {"frames": 4}}
    classes = {"1": limit} | shaped.get("classes", {})
    run = ps.load(scenario(TWICE_THE_LINK, classes=classes)).run(out=tmp_path / "run")
    stream = run.summary["streams"]["s0"]
    assert (stream["sent"], stream["delivered"], stream["dropped"]) == (20, 14, {"queue_full": 6})
    assert run.summary["conservation"]["ok"]
    # The last one waits for the four before it: released at 950 us into a queue whose head goes at 1 ms.
    assert stream["talker_wait_ns"]["max"] == 350_640


@pytest.mark.parametrize(
    ("source", "rate", "key"),
    [
        (TWICE_THE_LINK, "200 Mb/s", "every"),
        (TWICE_THE_LINK | {"every": "1ms", "burst": 11}, "110 Mb/s", "every"),
        ({"frames": "1230B", "poisson": "50us"}, "200 Mb/s", "poisson"),
        ({"frames": "1230B", "normal": {"mean": "50us", "deviation": "1us"}}, "200 Mb/s", "normal"),
        # 1 kHz pictures of ten packets of 1206 B: 14 B MAC header, 24 B AVTP, 4 B FCS and 20 B around make 1268 B.
        ({"video": {"pictures": "1kHz", "i_picture": "12060B", "packet": "1206B"}}, "101.4 Mb/s", "video"),
    ],
)
def test_it_is_said_of_the_stream(source: dict[str, Any], rate: str, key: str) -> None:
    (warning,) = [each for each in load(scenario(source)).warnings if "releases" in each]
    assert warning.key == f"streams.s0.source.{key}"
    assert warning.what == (
        f'releases {rate} on the wire, and the link has 100 Mb/s: the queue of "plc" grows, '
        "and drops what is beyond its queue_limit (queue_full)"
    )


def test_it_is_said_of_the_talker_whose_streams_are_too_fast_together() -> None:
    half = {"frames": "1230B", "every": "200us"}
    assert not [each for each in load(scenario(half, half)).warnings if "release" in each]
    (warning,) = [each for each in load(scenario(half, half, half)).warnings if "release" in each]
    assert warning.key == "stations.plc"
    assert "its streams release 150 Mb/s on the wire together, and the link has 100 Mb/s" in warning


def test_check_looks_at_such_a_network_to_its_end() -> None:
    """What comes to the bridge is what the link carries, which the bridge's port at 1 Gb/s takes."""
    found = check(load(scenario(TWICE_THE_LINK)))
    assert [each.key for each in found.warnings] == ["streams.s0.source.every"]
