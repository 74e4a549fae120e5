# SPDX-License-Identifier: Apache-2.0
"""Scenarios on one guest: launch times through taprio, and iperf3 beside a stream."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from penstock.end.trace import ORIGIN
from penstock.lab.emulation import Emulation
from penstock.lab.machine import Machine
from penstock.lab.programs import How
from penstock.lab.run import Played, Where, hosts, play
from penstock.scenario import load
from penstock.scenario.network import Network
from penstock.system_packages import require

pytestmark = pytest.mark.long(50)

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "lab"
CYCLE_US = 2000
MOST_LATE = 2  # frames of 199: the host may keep the guest waiting


def _scenario(name: str, duration: str, start: str) -> Network:
    said = tomllib.loads((SCENARIOS / name).read_text())
    said["streams"]["control"]["source"]["start"] = start
    return load(said | {"duration": duration}, "linux")


def _assist(duration: str = "100ms", start: str = "1200us") -> Network:
    return _scenario("txtime-assist.toml", duration, start)


def _iperf3() -> Network:
    return _scenario("iperf3.toml", "60ms", "500us")


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    require({"iperf3": "iperf3"}, print)
    with hosts([_assist(), _iperf3()], Where(guest=True, emulation=Emulation("icount")), print) as made:
        yield made


def _arrivals(played: Played) -> pl.DataFrame:
    """Stream and place in the cycle of each frame that arrived, in their order."""
    base_ns = played.summary["laboratory"]["base_tai_ns"] - int(played.metadata[ORIGIN])
    phase = ((pl.col("time_ps") // 1000).cast(pl.Int64) - base_ns) / 1000 % CYCLE_US
    found = played.trace.filter(pl.col("event") == "delivered").sort("time_ps")
    return found.select(pl.col("stream").cast(pl.String), phase_us=phase)


def test_launch_times_of_a_program_and_of_taprio_at_one_port(machine: Machine, tmp_path: Path) -> None:
    played = play(machine, _assist(), How(), tmp_path / "ends")
    assert played.summary["laboratory"]["qdiscs_verified"] == {"plc": ["eth0"]}
    streams = played.summary["streams"]
    assert {name: (told["sent"], told["delivered"]) for name, told in streams.items()} == {
        "control": (49, 49), "state": (50, 50), "bulk": (100, 100)}  # fmt: skip
    found = _arrivals(played)
    # etf in software lets a frame go its delta, 300 us, before its launch time.
    wanted = Counter(
        {
            ("control", 18): 49,  # 100 us after the opening, as its program said
            ("state", 17): 50,  # at the opening, by taprio
            ("bulk", 8): 50,  # 400 us after it was sent, by taprio
            ("bulk", 19): 50,  # when control's window closes, by taprio
        }
    )
    places = Counter(zip(found["stream"], (found["phase_us"] // 100).cast(pl.Int64), strict=True))
    assert (wanted - places).total() <= MOST_LATE, places


def test_taprio_drops_a_launch_time_that_meets_a_closed_gate(machine: Machine, tmp_path: Path) -> None:
    network = _assist("40ms", "1500us")
    assert [told for told in network.warnings if "streams.control.source.launch: the launch time 2.4 ms" in told]
    streams = play(machine, network, How(), tmp_path / "ends").summary["streams"]
    assert streams["control"]["delivered"] == 0
    assert streams["state"]["delivered"] == 20
    assert streams["bulk"]["delivered"] == 40


def test_iperf3_runs_beside_a_stream(machine: Machine, tmp_path: Path) -> None:
    summary = play(machine, _iperf3(), How(), tmp_path / "ends").summary
    assert list(summary["streams"]) == ["control"]
    assert summary["streams"]["control"]["delivered"] == 30
    found = summary["laboratory"]["programs"]
    assert [told["protocol"] for told in found.values()] == ["udp", "tcp", "sctp"]
    for told in found.values():
        assert 0.5 * told["asked_bps"] < told["received_bps"] < 1.5 * told["asked_bps"]
