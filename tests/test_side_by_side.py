# SPDX-License-Identifier: Apache-2.0
"""One scenario over several kinds of nodes: the same frames, one table, one page."""

from __future__ import annotations

import io
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from penstock.cli import app
from penstock.errors import InputError
from penstock.journeys import View
from penstock.report.page import unpack
from penstock.scenario import load
from penstock.scenario.writing import toml_of
from penstock.side_by_side import show
from penstock.side_by_side.steps import WHOLE, rows, steps
from penstock.trace import read_trace
from planes_in_time import place_in_cycle_ps
from rights import needs_namespaces

LAB = Path(__file__).parents[1] / "scenarios" / "lab" / "scenario.toml"


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """8 ms of it: four cycles of the gates, in which control has its window."""
    said = tomllib.loads(LAB.read_text()) | {"duration": "8ms"}
    said["bridges"]["sw"]["ports"] = 4
    del said["streams"]["control"]["deadline"]  # what a busy machine does to it is another test's business
    file = tmp_path_factory.mktemp("side") / "scenario.toml"
    file.write_text(toml_of(said))
    return file


def started(*words: str) -> Result:
    """A command that is not caught by what ends all of them."""
    return CliRunner().invoke(app, list(words), catch_exceptions=False)


def told(row: str, found: dict[str, Any]) -> Any:
    """What was measured of a row."""
    (value,) = [each["measured"] for each in found["rows"] if each["id"] == row]
    return value


@needs_namespaces
def test_a_model_hardware_and_a_plane_take_the_same_steps(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = started("run", str(scenario), "--nodes", "model,rtl,plane", "--out", str(out), "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found == json.loads((out / "summary.json").read_text())
    for kind in ("model", "rtl", "plane"):
        assert (out / kind / "report.html").exists()
        assert (told(f"control/{WHOLE}/{kind}/frames", found), told(f"bulk/{WHOLE}/{kind}/frames", found)) == (4, 8)
        assert told(f"control/sw.2/{kind}/frames", found) == 4
    # Control is created 500 us after its window opens, which it does every 2 ms: it waits for the next, less its way
    # to the bridge.
    assert 1_498_000 < told("control/sw.2/model/p50", found) < 1_500_000
    # A busy machine may create frames late; whenever one reaches the plane, it leaves in a window.
    control = View(load(scenario, "plane"), read_trace(out / "plane" / "trace.parquet")).hops.filter(stream="control")
    assert control.select(place_in_cycle_ps(out / "plane", 2_000_000_000).max()).item() < 200_000_000
    both = [{row["id"].split("/")[-1]: row["measured"] for row in found["rows"] if f"/{kind}/" in row["id"]}
            for kind in ("model", "rtl")]  # fmt: skip
    assert both[0] == both[1]
    page = (out / "report.html").read_text()
    assert all(f'<a href="{kind}/report.html">' in page for kind in ("model", "rtl", "plane"))
    assert {trace["name"] for trace in json.loads(unpack(page, "pictures"))["plot-steps"]["data"]} == {
        "model", "rtl", "plane"}  # fmt: skip


def test_models_stand_beside_hardware_without_any_rights(scenario: Path, tmp_path: Path) -> None:
    done = started("run", str(scenario), "--nodes", "model,rtl", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["control", "end", "to", "end", "model", "4/4"] in [line[:6] for line in lines]
    assert ["rtl", "8/8"] in [line[:2] for line in lines]
    assert ["model:", "every", "requirement", "met"] in lines


def one(**others: Any) -> dict[str, Any]:
    """The summary of a run of one stream through one bridge."""
    times = {"min": 1.0, "mean": 2.0, "p50": 2.0, "p99": 3.0, "max": 3.0}
    hop = {"bridge": "sw", "port": 1, "frames": 4, "dropped": 1, "passing_ns": times, "bound_ns": 2.5}
    stream = {"delivered": 4, "copies": 5, "latency_ns": times, "bound_ns": None, "ok": True, "hops": [hop]}
    return {"streams": {"s": stream | others}}


def test_a_step_that_nobody_saw_is_neither_a_time_nor_a_failure() -> None:
    """Linux's own bridges tell nothing of a frame."""
    found = steps({"model": one(), "linux": one(hops=[])})
    seen = [(step.place, step.nodes, step.frames, step.of, step.ok) for step in found]
    assert seen == [
        (WHOLE, "model", 4, 5, True),
        (WHOLE, "linux", 4, 5, True),
        ("sw.1", "model", 4, 5, False),  # longer than its bound
        ("sw.1", "linux", 0, 0, True),
    ]
    assert show.cells(found[3]) == ["linux", "-", "-", "-", "-", "-", "-", "not seen"]
    ids = [row["id"] for row in rows(found)]
    assert "s/sw.1/model/max" in ids
    assert not [name for name in ids if name.startswith("s/sw.1/linux")]
    assert [row["id"] for row in rows(found) if not row["ok"]] == ["s/sw.1/model/frames", "s/sw.1/model/max"]


def test_a_stream_of_which_nothing_arrived_is_told_without_times() -> None:
    nothing = dict.fromkeys(("min", "mean", "p50", "p99", "max"))
    found = steps({"plane": one(delivered=0, latency_ns=nothing, ok=False, hops=None)})
    assert [show.cells(step) for step in found] == [["plane", "0/5", "-", "-", "-", "-", "-", "not met"]]
    assert [(row["id"], row["ok"]) for row in rows(found)] == [(f"s/{WHOLE}/plane/frames", False)]
    console = Console(file=io.StringIO(), width=80)
    console.print(show.table(found))
    assert max(map(len, console.file.getvalue().splitlines())) <= 80  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model,iron"], "iron"),
        (["model,rtl,model"], "model stands there twice"),
        (["model,"], "--nodes"),
        (["model,rtl", "--trace", "none"], "--trace"),
        (["model,rtl", "--seed", "3"], "--seed"),
        (["model,rtl", "--cores", "2"], "--cores"),
        (["model,rtl", "--csv"], "--csv"),
    ],
)
def test_what_is_asked_wrongly_is_refused(scenario: Path, tmp_path: Path, words: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        started("run", str(scenario), "--out", str(tmp_path / "out"), "--nodes", *words)
    assert list(tmp_path.iterdir()) == []


def test_a_kind_that_cannot_do_what_the_scenario_says_is_found_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        started("run", str(LAB.parents[1] / "plane"), "--nodes", "model,rtl", "--out", str(tmp_path / "out"))
    assert refused.value.key == "stations.sink.rate"
    assert list(tmp_path.iterdir()) == []
