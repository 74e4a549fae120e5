# SPDX-License-Identifier: Apache-2.0
"""Networks drawn at random, run in the engine: no frame takes longer than its bound, and some come near it."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from penstock import plan
from penstock.bound import Conformance, WayBound, applies, conformance, ways_of
from penstock.bound.contracts import contract_of
from penstock.bound.drawn import KINDS, drawn
from penstock.captures import CapturedFrame, write_pcapng
from penstock.errors import InputError
from penstock.scenario import Network, load

engine: Any = import_module("penstock._engine")

COLUMNS = {"event": "u1", "stream": "<u4", "node": "<u4", "port": "<u2", "frame_id": "<u8", "time_ps": "<u8",
           "bytes": "<u4"}  # fmt: skip
SEEDS = range(60)
ATS_CLASSES = set(KINDS["ats"].shaped)


@dataclass
class Seen:
    """A run in the engine."""

    network: Network
    rows: pl.DataFrame
    nodes: list[str]
    events: list[str]
    conforming: dict[str, Conformance] = field(default_factory=dict)

    def of(self, event: str, stream: str, node: str) -> pl.DataFrame:
        index = list(self.network.streams).index(stream)
        return self.rows.filter(
            (pl.col("event") == self.events.index(event))
            & (pl.col("stream") == index)
            & (pl.col("node") == self.nodes.index(node))
        )

    def longest_ps(self, stream: str, event: str, node: str, port: int | None = None) -> int | None:
        """Since the frame was sent by its talker."""
        begun = self.of("sent", stream, self.network.streams[stream].talker).select("frame_id", begun="time_ps")
        ended = self.of(event, stream, node)
        if port is not None:
            ended = ended.filter(pl.col("port") == port)
        longest = ended.join(begun, on="frame_id").select((pl.col("time_ps") - pl.col("begun")).max()).item()
        return None if longest is None else int(longest)


def simulated(network: Network) -> Seen:
    chunks: list[dict[str, Any]] = []
    result: dict[str, Any] = engine.run(json.dumps(plan.network_json(network, {}, {})), chunks.append)
    columns = {
        key: np.concatenate([np.frombuffer(chunk[key], kind) for chunk in chunks]) for key, kind in COLUMNS.items()
    }
    seen = Seen(network, pl.DataFrame(columns), result["nodes"], result["events"])
    for name, stream in network.streams.items():
        if stream.ats is not None:
            talker = network.stations[stream.talker]
            pairs = seen.of("received", name, talker.bridge).sort("time_ps").select("time_ps", "bytes").rows()
            ends = [(time - -size * 8 * 10**12 // talker.link_rate_bps, size) for time, size in pairs]
            overhead = network.bridges[talker.bridge].overhead_bytes
            first = stream.ats.at_node(talker.bridge)
            seen.conforming[name] = conformance(ends, first.rate_bps, first.burst_bytes, overhead)
            counted = result["statistics"][name]["conformance"]
            assert Conformance.from_engine(counted) == seen.conforming[name], name
    return seen


@dataclass
class Tally:
    """What was looked at, so that nothing is proven by looking at nothing."""

    refused_networks: int = 0
    shaped: int = 0
    conforming: int = 0
    ways: int = 0
    hops: list[int] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    classes: set[int] = field(default_factory=set)


def hold(seen: Seen, way: WayBound, seed: int, tally: Tally) -> None:
    """The whole way, and its beginning up to each bridge, against the sum of the hops so far."""
    assert way.total_ps is not None
    worst = seen.longest_ps(way.stream, "delivered", way.listener)
    if worst is None:
        return
    assert worst <= way.total_ps, (seed, way.stream, way.listener, worst, way.total_ps)
    tally.ways += 1
    tally.hops.append(len(way.hops))
    tally.ratios.append(worst / way.total_ps)
    tally.classes.add(way.hops[0].traffic_class)
    so_far = way.clock_drift_ps
    for hop in way.hops:
        so_far += hop.total_ps
        until = seen.longest_ps(way.stream, "sent", hop.bridge, hop.egress)
        assert until is not None
        assert until <= so_far, (seed, way.stream, hop.bridge, until, so_far)


def test_no_frame_takes_longer_than_its_bound() -> None:
    tally = Tally()
    for seed in SEEDS:
        try:
            network = load(drawn(seed, "ats"))
        except InputError:  # rates above a link
            tally.refused_networks += 1
            continue
        seen = simulated(network)
        for name, stream in network.streams.items():
            if stream.ats is None:
                continue
            tally.shaped += 1
            tally.conforming += seen.conforming[name].ok
            for way in ways_of(network, name):
                if way.reason is None and applies(network, name, seen.conforming) is None:
                    hold(seen, way, seed, tally)
    assert tally.refused_networks < 6
    assert tally.conforming > 0.9 * tally.shaped  # but where two streams of a talker meet
    assert tally.ways > 0.9 * tally.shaped
    assert tally.ways > 150
    assert {1, 2, 3, 4} <= set(tally.hops)
    assert tally.classes == ATS_CLASSES
    assert max(tally.ratios) > 0.9


def with_schedulers_of_talkers(described: dict[str, Any], seed: int) -> dict[str, Any]:
    """Talkers hold what they talk, and most of them bring more at once than their bursts are."""
    draw = random.Random(seed)
    for station in described["stations"].values():
        station["classes"] = {str(number): {"selection": "ats"} for number in ATS_CLASSES}
        station["class_of_priority"] = list(range(8))
        station["overhead"] = described["bridges"]["b0"]["overhead"]
    for stream in described["streams"].values():
        if "ats" in stream and draw.random() < 0.7:
            longest = stream["source"].get("frames", "464B").removesuffix("B")
            stream["ats"]["burst"] = f"{int(longest) + 30}B"
    return described


def test_bounds_hold_behind_the_schedulers_of_talkers() -> None:
    """What is proved before a run is so, and what is held against its bound keeps it."""
    tally, proved, held_back = Tally(), 0, 0
    for seed in SEEDS[:30]:
        try:
            network = load(with_schedulers_of_talkers(drawn(seed, "ats"), seed))
        except InputError:
            continue
        seen = simulated(network)
        for name, stream in network.streams.items():
            if stream.ats is None:
                continue
            contract = contract_of(network, name)
            assert contract is not None
            if contract.state in ("kept", "broken"):
                proved += contract.state == "kept"
                assert seen.conforming[name].ok is (contract.state == "kept"), (seed, name, contract)
            waits = seen.of("eligible", name, stream.talker).join(
                seen.of("created", name, stream.talker).select("frame_id", created="time_ps"), on="frame_id"
            )
            held_back += waits.filter(pl.col("time_ps") > pl.col("created")).height > 0
            tally.shaped += 1
            for way in ways_of(network, name):
                if way.reason is None and applies(network, name, seen.conforming) is None:
                    hold(seen, way, seed, tally)
    assert proved > tally.shaped // 4
    assert held_back > tally.shaped // 3
    assert tally.ways > tally.shaped // 2


def test_a_higher_class_that_goes_on_at_its_rate(tmp_path: Path) -> None:
    """Behind a long frame and a burst, what goes on coming makes up half of the bound of the class below."""
    tag = b"\x81\x00" + (3 << 13 | 10).to_bytes(2) + b"\x88\xb5"
    data = bytes.fromhex("020000000003020000000001") + tag + bytes(78)  # 100 B with the FCS
    # 120 B on the wire each: 20 at once, and then one per 19.2 us, which are 50 Mb/s.
    times_ps = [960_000 * n for n in range(20)] + [19_201_000 * n for n in range(1, 60)]
    write_pcapng(tmp_path / "high.pcapng", [CapturedFrame(time, data, len(data)) for time in sorted(times_ps)])
    common = {"to": ["d"], "vlan": 10}
    network = load(
        {
            "name": "below",
            "duration": "2ms",
            "nodes": "model",
            "bridges": {"s": {"ports": 4, "processing_delay": "0ns"}},
            "stations": {"a": {"at": "s.0"}, "b": {"at": "s.1"}, "c": {"at": "s.2"},
                         "d": {"at": "s.3", "rate": "100Mb/s"}},
            "streams": {
                "high": {"from": "a", "pcp": 3, "ats": {"rate": "50Mb/s", "burst": "2640B"}, **common,
                         "source": {"capture": str(tmp_path / "high.pcapng"), "start": "12us"}},
                "low": {"from": "b", "pcp": 2, "ats": {"rate": "1Mb/s", "burst": "120B"}, **common,
                        "source": {"frames": "100B", "every": "1ms", "start": "12.1us", "count": 1}},
                "long": {"from": "c", "pcp": 0, **common,
                         "source": {"frames": "1522B", "every": "1ms", "count": 1}},
            },
        }
    )  # fmt: skip
    seen = simulated(network)
    assert [found.describe() for found in seen.conforming.values() if not found.ok] == []
    (way,) = ways_of(network, "low")
    worst = seen.longest_ps("low", "delivered", "d")
    assert worst is not None
    assert way.total_ps is not None
    assert 0.9 * way.total_ps < worst <= way.total_ps


def test_bursts_of_frames_that_are_counted_without_gaps() -> None:
    """Seven talkers whose 20 shortest frames each are 1280 B of burst, and 1680 B on the wire."""
    talkers = [f"e{i}" for i in range(7)]
    ats = {"rate": "50Mb/s", "burst": "1280B"}
    network = load(
        {
            "name": "short",
            "duration": "1ms",
            "nodes": "model",
            "bridges": {"s": {"ports": 8, "overhead": "0B"}},
            "stations": {name: {"at": f"s.{i}"} for i, name in enumerate([*talkers, "d"])},
            "streams": {
                name: {"from": name, "to": ["d"], "vlan": 10, "pcp": 3, "ats": ats,
                       "source": {"frames": "64B", "burst": 20, "every": "1ms"}}
                for name in talkers
            },
        }
    )  # fmt: skip
    seen = simulated(network)
    worst = max(seen.longest_ps(name, "delivered", "d") or 0 for name in talkers)
    (way,) = ways_of(network, talkers[0])
    assert way.total_ps is not None
    counted_ps = (7 * 1280 - 84) * 8000
    assert counted_ps < worst <= way.total_ps


def test_a_slow_clock_falls_behind_a_source_at_its_full_rate() -> None:
    """100 ppm of 40 ms are 4 us, and most of the bound."""
    network = load(
        {
            "name": "slow",
            "duration": "40ms",
            "nodes": "model",
            "bridges": {"s": {"ports": 2, "clock": {"drift": "-100ppm"}}},
            "stations": {"a": {"at": "s.0"}, "b": {"at": "s.1"}},
            "streams": {
                "f": {"from": "a", "to": ["b"], "vlan": 10, "pcp": 3, "ats": {"rate": "10Mb/s", "burst": "120B"},
                      "source": {"frames": "100B", "every": "96us"}},
            },
        }
    )  # fmt: skip
    seen = simulated(network)
    assert seen.conforming["f"].ok
    (way,) = ways_of(network, "f")
    worst = seen.longest_ps("f", "delivered", "b")
    assert worst is not None
    assert way.total_ps is not None
    assert way.total_ps - way.clock_drift_ps < worst <= way.total_ps
    assert worst > 0.9 * way.total_ps
