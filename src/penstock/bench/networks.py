# SPDX-License-Identifier: Apache-2.0
"""Networks of models whose speed is measured, as scenarios; the same each time."""

from __future__ import annotations

import random
from typing import Any

Scenario = dict[str, Any]

SHAPED_PCP, PLAIN_PCPS = 3, (0, 1, 4, 5)  # class 7 of a bridge by ATS; strict priority


def overloaded() -> Scenario:
    """Seven stations offer an eighth one and a half times what its link carries, and it sends to all of them."""
    streams: Scenario = {}
    for number in range(1, 8):
        size, load = f"{64 + 16 * number}B", 214 + 10 * number
        streams[f"in{number}"] = _stream("st0", f"st{number}", PLAIN_PCPS[number % 4], size, _gap(size, 120), number)
        streams[f"out{number}"] = _stream(f"st{number}", "st0", PLAIN_PCPS[number % 4], size, _gap(size, load), number)
    stations = {f"st{number}": {"at": f"sw.{number}"} for number in range(8)}
    return _scenario("overloaded", {"bridges": {"sw": {"ports": 8}}, "stations": stations, "streams": streams})


def line() -> Scenario:
    """Sixteen bridges, a station at each, 64 streams over half of the line on average."""
    return _joined("line", {"kind": "line", "bridges": 16, "bridge": {"ports": 3}}, streams=64, load_mbps=40)


def ring() -> Scenario:
    """64 bridges, a station at each, 1,000 streams, one in four shaped."""
    return _joined("ring", {"kind": "ring", "bridges": 64, "bridge": {"ports": 3}}, streams=1_000, load_mbps=2)


def tree() -> Scenario:
    """400 bridges, three below each, a station at each, 10,000 streams, one in four shaped."""
    topology = {"kind": "tree", "bridges": 400, "children": 3, "rate": "10Gb/s", "bridge": {"ports": 5}}
    return _joined("tree", topology, streams=10_000, load_mbps=0.25)


NETWORKS = {"overloaded": overloaded, "line": line, "ring": ring, "tree": tree}


def _joined(name: str, topology: Scenario, streams: int, load_mbps: float) -> Scenario:
    rng = random.Random(name)
    count = int(topology["bridges"])
    stations = {f"st{number}": {"at": f"b{number}.*"} for number in range(count)}
    drawn: Scenario = {}
    for number in range(streams):
        talker, listener = rng.sample(range(count), 2)
        size = f"{rng.randrange(64, 500)}B"
        pcp = SHAPED_PCP if number % 4 == 0 else rng.choice(PLAIN_PCPS)
        drawn[f"s{number}"] = _stream(f"st{talker}", f"st{listener}", pcp, size, _gap(size, load_mbps), number)
    return _scenario(name, {"topology": {"b": topology}, "stations": stations, "streams": drawn})


def _gap(size: str, load_mbps: float) -> int:
    """The mean time between frames in ns."""
    return round((int(size[:-1]) + 20) * 8_000 / load_mbps)


def _stream(talker: str, listener: str, pcp: int, size: str, gap_ns: int, number: int) -> Scenario:
    stream: Scenario = {"from": talker, "to": [listener], "vlan": 10, "pcp": pcp}
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
