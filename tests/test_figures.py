# SPDX-License-Identifier: Apache-2.0
"""Figures of ports, hops and shaping that the engine works out are those of the trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock import run as runner
from penstock.cli import app
from penstock.scenario import Network, load
from test_network_run import RING, SHAPED

CUT = '[[faults]]\nlink = "spur"\nat = "3ms"\nuntil = "5ms"\n'
DEAD = '[[faults]]\nnode = "r2"\nat = "4ms"\nuntil = "6ms"\n'
NOISE = '[[faults]]\nlink = "spur"\nbit_error_rate = 1e-6\nat = "6ms"\nuntil = "9ms"\n'
CUT_THROUGH = """
name = "cut-through"
nodes = "model"
duration = "2ms"
bridges.b = { ports = 3, switching = "cut_through", processing_delay = "500ns" }
stations = { a = { at = "b.0" }, c = { at = "b.1" }, z = { at = "b.2" } }
[streams.one]
from = "a"
to = ["z"]
vlan = 1
pcp = 0
source = { frames = "1000B", every = "20us" }
[streams.two]
from = "c"
to = ["z", "a"]
vlan = 1
pcp = 0
source = { frames = "700B", poisson = "30us", seed = 3 }
"""
SCENARIOS = Path(__file__).parents[1] / "scenarios"
OF_STREAM = ("hops", "shaping_ns", "bound_ns", "bound", "bound_ok", "conforms", "conformance")


def network_of(source: str, folder: Path, more: str = "") -> Network:
    if "\n" not in source:
        return load(SCENARIOS / source, "model")
    (folder / "scenario.toml").write_text(source + more)
    return load(folder)


def figures_of(summary: dict[str, Any]) -> dict[str, Any]:
    return {
        "ports": summary["ports"],
        "streams": {name: {key: of[key] for key in OF_STREAM} for name, of in summary["streams"].items()},
        "bridges": summary["bridges"],
        "warnings": summary["warnings"],
    }


@pytest.mark.parametrize(
    ("source", "more"),
    [
        pytest.param(RING, "", id="ring"),
        pytest.param(RING, CUT + DEAD + NOISE, id="faults"),
        pytest.param(SHAPED, "", id="ats"),
        pytest.param(CUT_THROUGH, "", id="cut-through"),
        *(pytest.param(name, "", id=name) for name in ("line5", "mixed", "tas", "cbs", "round-robin", "torus")),
    ],
)
def test_figures_without_a_trace_are_those_of_the_trace(source: str, more: str, tmp_path: Path) -> None:
    network = network_of(source, tmp_path, more)
    of_trace, _ = runner.observe(network)
    of_engine = runner.statistics(network, figures=True)
    assert (of_trace["statistics"]["from"], of_engine["statistics"]["from"]) == ("trace", "engine")
    assert figures_of(of_engine) == figures_of(of_trace)
    assert of_trace["ports"]
    assert all(of["hops"] for of in of_trace["streams"].values() if of["sent"])
    assert runner.statistics(network)["ports"] is None, "nobody asked"


def test_the_networks_have_what_is_compared(tmp_path: Path) -> None:
    summary = runner.statistics(network_of(RING, tmp_path, CUT), figures=True)
    assert max(row["queued_bytes_max"] for row in summary["ports"]) > 10_000
    assert any(row["dropped"] for row in summary["ports"])
    assert 0.8 < max(row["utilisation"] for row in summary["ports"]) <= 1
    through = runner.statistics(network_of(CUT_THROUGH, tmp_path), figures=True)
    assert through["ports"][1]["passing_ns"]["min"] < 0 < through["ports"][1]["passing_ns"]["max"]
    shaped = runner.statistics(network_of(SHAPED, tmp_path), figures=True)
    assert shaped["streams"]["f"]["shaping_ns"]["max"] > 0


def test_utilisation_counts_preamble_and_gap(tmp_path: Path) -> None:
    text = SHAPED[: SHAPED.index("[streams.beside]")]
    summary = runner.statistics(network_of(text, tmp_path), figures=True)
    (port,) = summary["ports"]
    # 1542 bytes of 8 ns every 100 us; the run ends when its last frame has come, after less than 10.1 ms.
    assert port["utilisation"] == pytest.approx(12_336 / 100_000, rel=0.011)


def test_several_cores_give_the_same_figures(tmp_path: Path) -> None:
    network = network_of(RING, tmp_path)
    one, two = (runner.statistics(network, runner.CompiledEngine(cores=cores), figures=True) for cores in (1, 2))
    one["simulation"]["seconds"] = two["simulation"]["seconds"] = None
    assert one == two


def test_a_part_of_the_trace_is_written_beside_all_figures(tmp_path: Path) -> None:
    network = network_of(RING, tmp_path, '[trace]\nevents = ["delivered"]\nnodes = ["motor", "drive"]\n')
    without = runner.run(network, tmp_path / "without", captures=False)
    result = runner.run(network, tmp_path / "with", captures=False, figures=True)
    assert result.trace.equals(without.trace)
    assert without.summary["ports"] is None
    assert figures_of(result.summary) == figures_of(runner.statistics(network, figures=True))


def test_hardware_has_them_too() -> None:
    network = load(SCENARIOS / "line5")
    of_trace, _ = runner.observe(network)
    assert figures_of(runner.statistics(network, figures=True)) == figures_of(of_trace)


def test_python_and_the_command_ask_for_them(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(RING)
    run = ps.load(tmp_path).run(trace="none", figures=True)
    assert run.ports["utilisation"].to_list() == [row["utilisation"] for row in run.summary["ports"]]
    assert run.hops.filter(stream="bulk")["bridge"].to_list() == ["r0", "r1", "r2"]
    assert run.hops["passing_max_ns"].max() == run.ports["passing_max_ns"].max()
    folder = tmp_path / "out"
    said = CliRunner().invoke(
        app, ["run", str(tmp_path), "--trace", "none", "--figures", "--wide", "--out", str(folder)]
    )
    assert "utilisation" in said.output
    assert "<h2>Bridges on the way</h2>" in (folder / "report.html").read_text()
