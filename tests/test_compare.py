# SPDX-License-Identifier: Apache-2.0
"""Two runs held against each other: what is worse, in the table, as JSON, in the page and as exit status."""

from __future__ import annotations

import copy
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock import run as runner
from penstock.cli import app
from penstock.compare import show
from penstock.compare.judge import Tolerance, compare
from penstock.errors import InputError
from penstock.scenario import load

SCENARIO = {
    "name": "two",
    "nodes": "model",
    "duration": "2ms",
    "bridges": {"sw": {"ports": 3}},
    "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}, "c": {"at": "sw.2"}},
    "streams": {
        "fast": {"from": "a", "to": ["c"], "deadline": "100us", "source": {"frames": "100B", "every": "100us"}},
        "slow": {"from": "b", "to": ["c"], "source": {"frames": "900B", "every": "50us"}},
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("run") / "two"
    runner.run(load(SCENARIO), found)
    return found


@pytest.fixture(scope="module")
def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def changed(summary: dict[str, Any], stream: str = "fast", **values: Any) -> dict[str, Any]:
    """A summary with other values of a stream, `latency_max` that of latency_ns.max."""
    found = copy.deepcopy(summary)
    for key, value in values.items():
        place = found["streams"][stream]
        if key.startswith("latency_"):
            place["latency_ns"][key.removeprefix("latency_")] = value
        else:
            place[key] = value
    return found


def change_of(before: dict[str, Any], after: dict[str, Any], tolerance: str = "1%") -> str:
    return next(each for each in compare(before, after, Tolerance.of(tolerance)).streams if each.name == "fast").change


def test_a_run_is_the_same_as_itself(summary: dict[str, Any]) -> None:
    found = compare(summary, summary, Tolerance())
    assert {each.change for each in found.streams} == {"same"}
    assert not found.worse
    assert not found.different


def test_what_is_worse(summary: dict[str, Any]) -> None:
    worst = summary["streams"]["fast"]["latency_ns"]["max"]
    cases: dict[str, dict[str, Any]] = {
        "verdict": {"ok": False},
        "late": {"deadline_missed": 1},
        "dropped": {"dropped": {"queue_full": 1}},
        "max": {"latency_max": worst * 1.011},
        "p99": {"latency_p99": worst * 1.011},
        "nothing arrives": {"latency_max": None},
    }
    for name, values in cases.items():
        assert change_of(summary, changed(summary, **values)) == "worse", name
        assert change_of(changed(summary, **values), summary) == "better", name
    assert change_of(summary, changed(summary, latency_max=worst * 1.009)) == "changed"
    assert change_of(summary, changed(summary, latency_max=worst * 1.04), "5%") == "changed"
    assert change_of(summary, changed(summary, latency_max=worst + 200), "200ns") == "changed"
    assert change_of(summary, changed(summary, latency_max=worst + 201), "200ns") == "worse"
    assert change_of(summary, changed(summary, latency_mean=worst)) == "same", "neither p99 nor the largest"


def test_late_frames_are_a_part_of_the_frames_sent(summary: dict[str, Any]) -> None:
    """Twice as long a run with twice as many is not worse."""
    one = changed(summary, deadline_missed=2)
    two = changed(summary, deadline_missed=4, copies=2 * summary["streams"]["fast"]["copies"])
    assert change_of(one, two) == "changed"


def test_percentiles_that_are_not_exact_may_differ_by_their_error(summary: dict[str, Any]) -> None:
    counted = summary | {"statistics": {"from": "engine", "percentile_error": 0.03}}
    p99 = summary["streams"]["fast"]["latency_ns"]["p99"]
    assert change_of(counted, changed(counted, latency_p99=p99 * 1.02)) == "changed"
    assert change_of(counted, changed(counted, latency_p99=p99 * 1.04)) == "worse"


def test_streams_of_one_run_only(summary: dict[str, Any]) -> None:
    fewer = copy.deepcopy(summary)
    del fewer["streams"]["fast"]
    gone, new = compare(summary, fewer, Tolerance()), compare(fewer, summary, Tolerance())
    assert gone.worse
    assert not new.worse
    assert new.different
    assert "only in the first run: fast" in gone.differences
    assert [each.change for each in new.streams] == ["same", "new"]


def test_runs_of_other_scenarios_are_said_so(summary: dict[str, Any]) -> None:
    other = changed(summary, to=["b"]) | {"name": "x", "nodes": "rtl", "duration_ns": 5e6, "partial": True}
    said = " ".join(compare(summary, other, Tolerance()).differences)
    for part in (
        "two, then x",
        "model, then rtl",
        "2 ms, then 5 ms",
        "a to c, then a to b",
        "second run was interrupted",
    ):
        assert part in said


@pytest.mark.parametrize("text", ["5", "-1%", "x%", "nan%", "1 %%", "", "-3us", "1e9%"])
def test_a_tolerance_is_a_percentage_or_a_time(text: str) -> None:
    with pytest.raises(InputError) as error:
        Tolerance.of(text)
    assert error.value.file == "--tolerance"


def test_the_table_fits_eighty_columns(summary: dict[str, Any]) -> None:
    out = io.StringIO()
    long = changed(summary, latency_max=1234567890.0)
    long["streams"] = {f"a_stream_with_a_long_name_{name}": stream for name, stream in long["streams"].items()}
    first = summary | {"streams": dict(zip(long["streams"], summary["streams"].values(), strict=True))}
    show.table(compare(first, long, Tolerance()), Console(file=out, width=80, force_terminal=True, color_system=None))
    assert max(map(len, out.getvalue().splitlines())) <= 80
    assert "worse" in out.getvalue()


def test_the_command(folder: Path, summary: dict[str, Any], tmp_path: Path) -> None:
    worse = tmp_path / "worse"
    worse.mkdir()
    (worse / "summary.json").write_text(json.dumps(changed(summary, latency_max=9e6)))
    page = tmp_path / "page.html"

    def call(*words: object) -> Any:
        return CliRunner().invoke(app, ["compare", *map(str, words), "--out", str(page)])

    assert call(folder, folder, "--fail-on", "different").exit_code == 0
    assert call(folder, worse).exit_code == 0
    assert call(folder, worse, "--fail-on", "worse").exit_code == 1
    assert call(worse, folder, "--fail-on", "worse").exit_code == 0
    assert call(worse, folder, "--fail-on", "different").exit_code == 1
    said = json.loads(call(folder, worse, "--json").stdout)
    assert not said["ok"]
    (row,) = [row for row in said["rows"] if not row["ok"]]
    assert (row["id"], row["measured"], row["unit"]) == ("fast/max", 9e6, "ns")
    assert row["before"] < row["goal"] < row["measured"]
    text = page.read_text(encoding="utf-8")
    assert "Something is worse" in text
    assert "max of latency" in text
    assert not re.search(r"(src|href)=[\"']?http", text)


def test_what_is_no_run(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        CliRunner().invoke(app, ["compare", str(folder), str(tmp_path)], catch_exceptions=False, standalone_mode=False)


def test_a_report_is_made_again(folder: Path, tmp_path: Path) -> None:
    """With any port at any time; the scenario has to be the run's own."""
    scenario = tmp_path / "scenario.toml"
    streams = "\n".join(
        f'[streams.{name}]\nfrom = "{s["from"]}"\nto = ["c"]\nsource = {{ frames = "100B", every = "1ms" }}'
        for name, s in SCENARIO["streams"].items()  # type: ignore[attr-defined]
    )
    text = 'name = "two"\nnodes = "model"\nduration = "2ms"\n[bridges.sw]\nports = 3\n[stations]\n'
    text += "\n".join(f'{name} = {{ at = "sw.{n}" }}' for n, name in enumerate("abc"))
    scenario.write_text(f"{text}\n{streams}\n")
    page = tmp_path / "again.html"

    def call(*words: object) -> Any:
        return CliRunner().invoke(app, ["report", str(folder), *map(str, words), "--out", str(page)])

    done = call(scenario, "--port", "sw.2", "--at", "1.5ms", "--frame", 3)
    assert done.exit_code == 0, done.output
    made = page.read_text(encoding="utf-8")
    assert ">sw port 2 at 1.500000 ms</option>" in made
    assert 'data-frame="3"' in made
    for words in (["--port", "sw.1"], ["--at", "1ms"], ["--frame", 12345], ["--port", "sw.2", "--at", "1"]):
        assert isinstance(call(scenario, *words).exception, InputError), words
    scenario.write_text(scenario.read_text().replace('from = "b"', 'from = "a"'))
    assert isinstance(call(scenario).exception, InputError)
