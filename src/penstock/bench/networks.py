# SPDX-License-Identifier: Apache-2.0
"""Networks of models whose speed is measured, as scenarios; the same each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Scenario = dict[str, Any]

SHAPED_PCP, PLAIN_PCPS = 3, (0, 1, 4, 5)  # class 7 of a bridge by ATS; classes 1, 0, 2 and 3
PLAIN_CLASSES = (0, 1, 2, 3)
RING, LINE = 64, 16


@dataclass(frozen=True)
class Measured:
    """A network, and what its speed is held against in the same run."""

    make: Callable[[], Scenario]
    reference: str | None = None
    goal: float | None = None  # least speed, the reference's being 1
    trace_goal: float | None = None  # least speed with the full trace, that without one being 1
    cores_goal: float | None = None  # least speed on two cores, that on one being 1
    pace: int = 1  # so many times the network time, where fewer frames are sent in it


def overloaded() -> Scenario:
    """Seven stations offer an eighth one and a half times what its link carries, and it sends to all of them."""
    streams: Scenario = {}
    for number in range(1, 8):
        size, load = f"{64 + 16 * number}B", 214 + 10 * number
        streams[f"in{number}"] = _stream("st0", [f"st{number}"], PLAIN_PCPS[number % 4], size, _gap(size, 120), number)
        streams[f"out{number}"] = _stream(
            f"st{number}", ["st0"], PLAIN_PCPS[number % 4], size, _gap(size, load), number
        )
    stations = {f"st{number}": {"at": f"sw.{number}"} for number in range(8)}
    return _scenario("overloaded", {"bridges": {"sw": {"ports": 8}}, "stations": stations, "streams": streams})


def line() -> Scenario:
    """Sixteen bridges, a station at each, 64 streams over half of the line on average."""
    return _joined("line", {"kind": "line", "bridges": LINE}, streams=64, load_mbps=40)


def ring() -> Scenario:
    """64 bridges, a station at each, 1,000 streams, one in four shaped."""
    return _ring({})


def tree() -> Scenario:
    """400 bridges, three below each, a station at each, 10,000 streams, one in four shaped."""
    topology = {"kind": "tree", "bridges": 400, "children": 3, "rate": "10Gb/s"}
    return _joined("tree", topology, streams=10_000, load_mbps=0.25, bridge={"ports": 5})


def line_learned() -> Scenario:
    """The line, by learning and flooding only."""
    return _joined("line", {"kind": "line", "bridges": LINE}, 64, 40, {"forwarding": "learned"})


def ring_gates() -> Scenario:
    """The ring behind gates: 128 entries, any half of the classes open in each, a cycle of 1.28 ms."""
    return _ring({"gates": _random_gates(128, "10us")})


def ring_gates_10us() -> Scenario:
    """The ring behind gates: two entries, a cycle of 10 us."""
    return _ring({"gates": _short_gates()})


def ring_cbs() -> Scenario:
    """The ring with credit: four classes of 200 Mb/s."""
    return _ring({"classes": _credit("200Mb/s")})


def ring_both() -> Scenario:
    """The ring with 128 gate entries, a cycle of 1.28 ms, and four classes of 200 Mb/s."""
    return _ring({"gates": _random_gates(128, "10us"), "classes": _credit("200Mb/s")})


def ring_both_10us() -> Scenario:
    """The ring at a fifth of its load: a cycle of 10 us, four classes of 20 Mb/s."""
    return _ring({"gates": _short_gates(), "classes": _credit("20Mb/s")}, load_mbps=0.4)


def ring_multicast() -> Scenario:
    """The ring at half of its load, each stream to three listeners."""
    return _ring({}, load_mbps=1, listeners=3)


def ring_drift() -> Scenario:
    """The ring, the clocks of all bridges up to 100 ppm fast or slow."""
    scenario = _ring({})
    rng = random.Random("drift")
    scenario["bridges"] = {f"b{n}": {"clock": {"drift": f"{rng.randint(-100, 100)}ppm"}} for n in range(RING)}
    return scenario


NETWORKS = {
    "overloaded": Measured(overloaded, trace_goal=0.5),
    "line": Measured(line),
    "line_learned": Measured(line_learned, "line"),
    "ring": Measured(ring, trace_goal=0.5, cores_goal=1.7),
    "ring_gates": Measured(ring_gates, "ring", 0.7),
    "ring_gates_10us": Measured(ring_gates_10us, "ring", 0.7),
    "ring_cbs": Measured(ring_cbs, "ring", 0.7),
    "ring_both": Measured(ring_both, "ring", 0.5),
    "ring_both_10us": Measured(ring_both_10us, "ring", 0.5, pace=5),
    "ring_multicast": Measured(ring_multicast, "ring"),
    "ring_drift": Measured(ring_drift, "ring"),
    "tree": Measured(tree, cores_goal=1.7),
}


def _ring(bridge: Scenario, load_mbps: float = 2, listeners: int = 1) -> Scenario:
    return _joined("ring", {"kind": "ring", "bridges": RING}, 1_000, load_mbps, bridge, listeners)


def _credit(slope: str) -> Scenario:
    return {str(number): {"selection": "cbs", "idle_slope": slope} for number in PLAIN_CLASSES}


def _random_gates(entries: int, interval: str) -> Scenario:
    rng = random.Random("gates")
    return {"entries": [{"open": sorted(rng.sample(range(8), 4)), "interval": interval} for _ in range(entries)]}


def _short_gates() -> Scenario:
    """Each interval holds the longest frame."""
    return {"entries": [{"open": [0, 2, 4, 6], "interval": "5us"}, {"open": [1, 3, 5, 7], "interval": "5us"}]}


def _joined(
    name: str, topology: Scenario, streams: int, load_mbps: float, bridge: Scenario | None = None, listeners: int = 1
) -> Scenario:
    """A station at each bridge, streams between any of them. A name draws the same streams each time."""
    rng = random.Random(name)
    count = int(topology["bridges"])
    stations = {f"st{number}": {"at": f"b{number}.*"} for number in range(count)}
    drawn: Scenario = {}
    for number in range(streams):
        talker, *to = rng.sample(range(count), 1 + listeners)
        size = f"{rng.randrange(64, 500)}B"
        pcp = SHAPED_PCP if number % 4 == 0 else rng.choice(PLAIN_PCPS)
        drawn[f"s{number}"] = _stream(f"st{talker}", [f"st{n}" for n in to], pcp, size, _gap(size, load_mbps), number)
    topology = topology | {"bridge": {"ports": 3} | (bridge or {})}
    return _scenario(name, {"topology": {"b": topology}, "stations": stations, "streams": drawn})


def _gap(size: str, load_mbps: float) -> int:
    """The mean time between frames in ns."""
    return round((int(size[:-1]) + 20) * 8_000 / load_mbps)


def _stream(talker: str, to: list[str], pcp: int, size: str, gap_ns: int, number: int) -> Scenario:
    stream: Scenario = {"from": talker, "to": to, "vlan": 10, "pcp": pcp}
    if pcp != SHAPED_PCP:
        return stream | {"source": {"frames": size, "poisson": f"{gap_ns}ns", "seed": number}}
    wire_bytes = int(size[:-1]) + 20
    rate_kbps = max(11, round(wire_bytes * 8_800_000 / gap_ns))
    start_ns = number * 7919 % gap_ns
    return stream | {
        "source": {"frames": size, "every": f"{gap_ns}ns", "start": f"{start_ns}ns"},
        "ats": {"rate": f"{rate_kbps}kb/s", "burst": f"{2 * wire_bytes}B"},
    }


def _scenario(name: str, rest: Scenario) -> Scenario:
    return {"name": name, "nodes": "model", "duration": "1s", **rest}
