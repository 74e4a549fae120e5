# SPDX-License-Identifier: Apache-2.0
"""Saihu's networks: what its tools published of one, ours through its format and back, and what is no network."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from penstock import cli
from penstock.bound.drawn import drawn
from penstock.bound.saihu import export, judge
from penstock.bound.solution import solve
from penstock.errors import InputError
from penstock.scenario import load

SCENARIOS = Path(__file__).parents[1] / "scenarios"
ACCEPTED = ((300, "strict"), (302, "cbs"), (306, "mix"), (305, "mix"), (307, "round_robin"), (308, "gates"))


def flow(path: list[str], bursts: list[Any], rates: list[Any], **more: Any) -> dict[str, Any]:
    return {"path": path, "arrival_curve": {"bursts": bursts, "rates": rates}, **more}


def server(name: str, latencies: list[Any], rates: list[Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "service_curve": {"latencies": latencies, "rates": rates}, "capacity": 100, **more}


def demo() -> dict[str, Any]:
    """The network of Saihu's own example: two switches, three flows, every way to give a unit."""
    flows = {
        "f0": flow(["s0-o0", "s1-o0"], [10, "2kB"], ["10kbps", 0.5], rate_unit="kbps"),
        "f1": flow(["s0-o0", "s1-o1"], ["10B"], ["10kbps"]),
        "f2": flow(["s1-o0"], [10], ["10kbps"]),
    }
    return {
        "network": {"packetizer": False, "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps"},
        "flows": [{"name": name, "max_packet_length": 50, **of} for name, of in flows.items()],
        "servers": [
            server("s0-o0", [10, 1000], [4, "50Mbps"]),
            server("s1-o0", [10, "1ms"], [4, 50]),
            server("s1-o1", [10], ["4Mbps"]),
        ],
    }


def written(tmp_path: Path, network: Any) -> Path:
    file = tmp_path / "network.json"
    file.write_text(network if isinstance(network, str) else json.dumps(network))
    return file


def test_what_the_tools_of_saihu_published_of_their_example(tmp_path: Path) -> None:
    """Its report (example/demo_report.md of the repository, arXiv 2303.14565), in us, by total flow analysis.

    xTFA knows the lines between servers, as ours does; panco and DNC do not.
    """
    found = judge(written(tmp_path, demo()))
    xtfa = {"f0": 99.324, "f1": 79.322, "f2": 49.324}
    panco = {"f0": 100.125, "f1": 80.125, "f2": 50.125}
    for name, expected in xtfa.items():
        total = found.total_ps(name)
        assert total is not None
        assert expected <= total / 1e6 < expected + 0.05 < panco[name]
    assert found.delays["f0"]["s0-o0"] == pytest.approx(50e6, abs=5)


def test_rate_latency_servers_in_a_row_are_known_in_closed_form(tmp_path: Path) -> None:
    """T + b / R, and then b + r (T + b / R): what total flow analysis says of two servers without lines between."""
    burst, rate, served, latency = 8_000, 10**6, 10**7, 1e-3
    values = {
        "network": {"packetizer": False, "time_unit": "s", "data_unit": "b", "rate_unit": "bps"},
        "flows": [flow(["a", "b"], [burst], [rate], name="f")],
        "servers": [server(name, [latency], [served], capacity=10**12) for name in "ab"],
    }
    first = latency + burst / served
    second = latency + (burst + rate * first) / served
    found = judge(written(tmp_path, values)).delays["f"]
    assert found["a"] == pytest.approx(first * 1e12, rel=1e-6)
    assert found["b"] == pytest.approx(second * 1e12, rel=1e-3)


def check_round_trip(values: Any, tmp_path: Path) -> int:
    """What is read again is no less than what was found, queue by queue; how many were looked at."""
    network = load(values)
    exported = export(network)
    found = judge(written(tmp_path, exported.network))
    # Sources in a known phase of gates are looked at window by window, which says another thing than curves do.
    solution = solve(network)
    waits = {
        f"{place[0]}-{place[1]}-class{number}": queue["wait_ps"]
        for (place, number), queue in solution.queues.items()
        if "gates" not in solution.described.ports[queue["port"]]
    }
    count = 0
    names = {each["name"].partition("#")[0].partition("/")[0] for each in exported.network["flows"]}
    assert names | set(exported.without) == set(network.streams)
    for delays in found.delays.values():
        for name, delay in delays.items():
            assert delay is None or delay >= waits.get(name, 0) - 4, name
            count += delay is not None
    return count


@pytest.mark.parametrize("name", ["cbs", "hello", "line5", "mixed", "round-robin", "tas"])
def test_scenarios_are_written_and_read_again(name: str, tmp_path: Path) -> None:
    values = tomllib.loads((SCENARIOS / name / "scenario.toml").read_text())
    file = SCENARIOS / name if any("capture" in str(of) for of in values["streams"].values()) else values
    assert check_round_trip(file, tmp_path) > 1


def test_random_networks_are_written_and_read_again(tmp_path: Path) -> None:
    """Whatever serves them."""
    assert sum(check_round_trip(drawn(seed, kind), tmp_path) for seed, kind in ACCEPTED) > 50


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("no json", "cannot be read"),
        ([], "is no output-port network"),
        ({"flows": [], "servers": []}, "is no output-port network"),
        (demo() | {"servers": []}, "is no output-port network"),
        (demo() | {"flows": [flow(["nowhere"], [1], [1], name="f")]}, "nowhere"),
        (demo() | {"flows": [flow(["s0-o0"], ["1 stone"], [1], name="f")]}, "stone"),
        (demo() | {"flows": [flow(["s0-o0"], [-1], [1], name="f")]}, "is not what the analysis takes"),
        (
            demo() | {"servers": [server(name, [0], [0]) for name in ("s0-o0", "s1-o0", "s1-o1")]},
            "is no output-port network",
        ),
    ],
)
def test_what_is_no_network_is_told(network: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        judge(written(tmp_path, network))


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_writes_and_judges(
    as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["penstock", "bound", *arguments, *(["--json"] if as_json else [])])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capfd.readouterr()
        assert (end.value.code, err) == (0, "")
        return str(out)

    file = tmp_path / "cbs.json"
    call(str(SCENARIOS / "cbs"), "--saihu", str(file))
    told = call(str(file))
    if as_json:
        assert {row["id"] for row in json.loads(told)["rows"]} >= {"audio/microphone-0-class6", "audio/sw-2-class6"}
    else:
        assert "sw-2-class6" in told
