# SPDX-License-Identifier: Apache-2.0
"""The same network with hardware, with models, and mixed: the same trace, to the picosecond."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from penstock import _engine
from penstock.hardware.configure import StreamEntry, SwitchConfig, configure, model_config
from penstock.hardware.registers import registers
from penstock.hardware.traffic import library

PORTS = 4
VLAN = 10
RATE_BPS = 1_000_000_000
COLUMNS = {
    "time_ps": "<u8",
    "frame_id": "<u8",
    "stream": "<u4",
    "node": "<u4",
    "port": "<u2",
    "event": "<u1",
    "bytes": "<u4",
    "traffic_class": "<u1",
    "reason": "<u1",
}
DELIVERED = 5
Json = dict[str, Any]
Trace = Any  # a record array


def mac(station: int) -> int:
    return 0x020000000000 + station


def address(number: int) -> str:
    return number.to_bytes(6).hex(":")


def line(bridges: int, **config: Any) -> tuple[list[SwitchConfig], list[Json], list[Json]]:
    """Bridges in a line by ports 0 and 1, a station at every other port: configurations, stations, links."""
    places = []
    for bridge in range(bridges):
        places += [
            (bridge, p) for p in range(PORTS) if p > 1 or (p == 0 and bridge == 0) or (p == 1 and bridge == bridges - 1)
        ]
    link = {"rate_bps": RATE_BPS, "delay_ps": 50_000}
    links = [{"a": [b, 1], "b": [b + 1, 0], **link} for b in range(bridges - 1)]
    links += [{"a": list(place), "b": [bridges + n, 0], **link} for n, place in enumerate(places)]
    configs = []
    for bridge in range(bridges):
        static = []
        for n, (at, port) in enumerate(places):
            static.append((mac(n), VLAN, {port if at == bridge else 0 if at < bridge else 1}))
        everybody = set(range(PORTS))
        configs.append(SwitchConfig(PORTS, vlans={VLAN: everybody}, static_addresses=static, **config))
    return configs, [{"name": f"h{n}"} for n in range(len(places))], links


def stream(name: str, talker: int, listeners: list[int], pcp: int, source: Json, to: int | None = None) -> Json:
    destination = mac(listeners[0]) if to is None else to
    return {
        "name": name,
        "from": talker,
        "to": listeners,
        "frame": {
            "destination_mac": address(destination),
            "source_mac": address(mac(talker)),
            "vlan": VLAN,
            "pcp": pcp,
            "payload": {"kind": "raw"},
        },
        "source": source,
    }


def run(kinds: str, configs: list[SwitchConfig], network: Json, clocks: list[Json] | None = None) -> tuple[Any, Trace]:
    """`kinds` has a letter per bridge: r for hardware, m for a model. The result and the trace."""
    bridges = []
    for index, (kind, config) in enumerate(zip(kinds, configs, strict=True)):
        bridge: Json = {"name": f"s{index}", "kind": "model", "ports": PORTS, "config": model_config(config)}
        if kind == "r":
            writes = configure(config, registers())
            bridge |= {"kind": "rtl", "library": str(library(ports=PORTS)), "writes": writes}
        bridges.append(bridge | ({"clock": clocks[index]} if clocks else {}))
    chunks: list[Any] = []
    result = _engine.run(json.dumps({**network, "bridges": bridges}), chunks.append)
    columns = [np.concatenate([np.frombuffer(c[name], kind) for c in chunks]) for name, kind in COLUMNS.items()]
    return result, np.rec.fromarrays(columns, dtype=list(COLUMNS.items()))


def differences(one: Trace, other: Trace) -> list[Any]:
    a, b = Counter(map(tuple, one.tolist())), Counter(map(tuple, other.tolist()))
    return sorted((a - b).elements())[:3] + sorted((b - a).elements())[:3]


@cache
def overloaded() -> tuple[list[SwitchConfig], Json]:
    """Three bridges, ATS in class 7, queues that overflow, a multicast stream, an answer, floods."""
    group = 0x030000000001
    configs, stations, links = line(
        3,
        ats_classes={7},
        queue_limit_cells={0: 30, 1: 20, 7: 40},
        max_residence_ns={(p, 7): 400_000 for p in range(PORTS)},
    )
    last = len(stations) - 1  # at port 1 of the last bridge; 0 is at port 0 of the first
    for bridge, config in enumerate(configs):
        leads = {1: {3}, 0: {1}, 2: {1}}[bridge] | ({1} if bridge < 2 else set())
        config.static_addresses = [*config.static_addresses, (group, VLAN, leads)]
        config.streams = [
            StreamEntry(0, "destination", 60_000_000, 2_000, mac=mac(last), vlan=VLAN),
            StreamEntry(2, "source", 80_000_000, 1_600, mac=mac(1), vlan=VLAN),
        ]
    burst = {"kind": "burst", "frame_bytes": 400, "size": 12, "period_ps": 400_000_000, "jitter": {"normal_ps": 9_000}}
    poisson = {"kind": "poisson", "frame_bytes": 900, "mean_ps": 9_000_000, "seed": 3}
    small = {"kind": "normal", "frame_bytes": 64, "mean_ps": 2_000_000, "deviation_ps": 900_000, "seed": 5}
    video = {
        "kind": "pattern",
        "period_ps": 250_000_000,
        "sizes": [[1522, 1522, 800], [400], []],
        "spread_ps": 13_000_000,
    }
    ask = {"kind": "periodic", "frame_bytes": 100, "period_ps": 170_000_001, "jitter": {"exponential_ps": 20_000_000}}
    streams = [
        stream("shaped", 0, [last], 3, burst),
        stream("steady", 1, [last], 3, {**burst, "size": 3, "period_ps": 111_000_000, "frame_bytes": 333}),
        stream("bulk", 2, [last], 0, poisson),
        stream("more", 3, [last], 1, {**poisson, "seed": 4, "frame_bytes": 1500}),
        stream("tiny", 4, [last], 0, small),
        stream("picture", 5, [0], 2, video),
        stream("group", 0, [4, last], 5, {**poisson, "mean_ps": 40_000_000}, to=group),
        stream("ask", last, [2], 4, ask),
        stream("answer", 2, [last], 4, {"kind": "response", "to_stream": 7, "after_ps": 3_000_000, "frame_bytes": 80}),
        stream("unknown", 3, [0], 2, {**ask, "frame_bytes": 70}, to=0x02AA00000001),
    ]
    network = {"duration_ps": 2_500_000_000, "stations": stations, "links": links, "streams": streams}
    return configs, network


@cache
def with_models() -> tuple[Any, Trace]:
    return run("mmm", *overloaded())


@pytest.mark.parametrize("kinds", ["rrr", "rmr"])
def test_hardware_and_models_give_the_identical_trace(kinds: str) -> None:
    result, trace = run(kinds, *overloaded())
    expected, reference = with_models()
    assert differences(trace, reference) == []
    assert result["conservation"] == expected["conservation"]
    assert result["statistics"] == expected["statistics"]
    assert result["simulation"]["frame_hops"] == expected["simulation"]["frame_hops"]
    assert result["simulation"]["cycles_simulated"] > 0


def test_the_network_of_the_comparison_does_all_that_it_should() -> None:
    result, trace = with_models()
    dropped: Counter[str] = Counter()
    for statistics in result["statistics"].values():
        dropped.update(statistics["dropped"])
    assert dropped["queue_full"] > 50
    assert dropped["residence"] > 5
    assert (trace.event == result["events"].index("eligible")).sum() > 100
    assert result["conservation"]["unknown"]["delivered"] > 5, "flooded over all three bridges"
    assert result["conservation"]["answer"]["delivered"] == result["conservation"]["ask"]["delivered"] > 5
    assert result["simulation"]["cycles_simulated"] == 0


def test_a_line_of_five_with_clocks_that_differ() -> None:
    configs, stations, links = line(5)
    last = len(stations) - 1
    source = {"kind": "back_to_back", "frame_bytes": 200, "count": 40}
    streams = [
        stream("there", 0, [last], 2, source),
        stream(
            "back",
            last,
            [0],
            2,
            {"kind": "periodic", "frame_bytes": 64, "period_ps": 7_000_000, "start_ps": 50_000, "count": 40},
        ),
    ]
    for n, station in enumerate(stations):
        station["clock"] = {"offset_ps": 1_234 * n, "drift_ppb": 90_000 - 10_000 * n}
    network = {"duration_ps": 1_000_000_000, "stations": stations, "links": links, "streams": streams}
    clocks = [{"offset_ps": -3_333 * n, "drift_ppb": 50_000 * (-1) ** n} for n in range(len(configs))]
    _, trace = run("rrrrr", configs, network, clocks)
    _, reference = run("mmmmm", configs, network, clocks)
    assert differences(trace, reference) == []
    delivered = trace[trace.event == DELIVERED]
    assert Counter(delivered.stream.tolist()) == {0: 40, 1: 40}
