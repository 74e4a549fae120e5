# SPDX-License-Identifier: Apache-2.0
"""`penstock reproduce`: its rows, its scenarios, and that it fails when something is not as required."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest

from penstock.bound import bound
from penstock.command.tables import NOTHING
from penstock.errors import InputError, RunError
from penstock.hardware.synth import Block, Synthesis, documented
from penstock.hardware.tools import ToolError
from penstock.reproduce import PAPERS, cost, documentation, load, page, papers, work
from penstock.reproduce.ats_switch import contention, printed, shaping
from penstock.reproduce.ats_switch.place import FOLDER
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Paper, Picture
from penstock.reproduce.outcome import Outcome, watch
from penstock.reproduce.result import Compared, Reproduction, Section, reproduce
from penstock.reproduce.row import Row
from penstock.scenario import load as load_scenario

KEYS = {"id", "quantity", "unit", "paper", "theory", "bound", "measured", "requirement", "ok"}


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", "reproduce", *arguments], capture_output=True, text=True, check=False
    )


def outcomes_of(experiment: Experiment, nodes: str, keep: Callable[[Case], bool] = lambda _case: True) -> Outcomes:
    """Run in this process."""
    cases = [case for case in experiment.cases if keep(case)]
    tasks = work.plan([replace(experiment, cases=cases)], [nodes])
    return [(case, watch(tasks[work.Run(case, nodes).key].network())) for case in cases]


def experiment(name: str) -> Experiment:
    (found,) = papers.chosen(load("ats-switch"), [name])
    return found


def rows_of(found: Found) -> dict[str, Row]:
    return {row.id: row for row in found.rows}


def test_unknown_name_lists_what_there_is(tmp_path: Path) -> None:
    done = command("ats-swich", "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert 'there is no paper "ats-swich" (did you mean "ats-switch"?); allowed: ats-switch' in done.stderr
    assert not list(tmp_path.iterdir())


def test_missing_frames_are_told() -> None:
    one = replace(experiment("fig18"), cases=())
    with pytest.raises(RunError, match="fig18 on model: frames are missing"):
        reproduce(load("ats-switch"), [one], ("model",))


def test_unknown_experiment_lists_what_there_is() -> None:
    with pytest.raises(InputError, match=r'no experiment "fig9".*table2, table3'):
        papers.chosen(load("ats-switch"), ["fig9"])


@pytest.mark.parametrize("name", PAPERS)
def test_every_scenario_is_well_formed_and_used(name: str) -> None:
    cases = [case for experiment in load(name).experiments for case in experiment.cases]
    assert {case.scenario for case in cases} == set((FOLDER.parent / name).glob("*.toml"))
    assert work.plan(load(name).experiments, ["model"])  # checks each with all that is set
    for file in {case.scenario for case in cases}:
        load_scenario(file)


def test_every_table_and_figure_of_the_evaluation_is_there() -> None:
    names = {experiment.id for experiment in load("ats-switch").experiments}
    assert names == {*(f"table{n}" for n in range(2, 6)), *(f"fig{n}" for n in range(10, 23))}


def test_printed_tables_are_consistent() -> None:
    # The paper's totals are all 562 ns above the sum of their columns; of table 5 one total is off by 27.
    for table in (printed.TABLE_2, printed.TABLE_3, printed.TABLE_4):
        for *columns, total in table.values():
            assert total - sum(columns) * printed.CYCLE_NS == 562
    for *parts, total in printed.TABLE_5.values():
        assert abs(sum(parts) - total) <= 27


def test_command_prints_rows_and_leaves_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = command("ats-switch", "--only", "fig12", "--only", "table5", "--workers", "1", "--json", "-o", str(out))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == json.loads((out / "summary.json").read_text())
    assert told["ok"]
    assert all(set(row) == KEYS for row in told["rows"])
    by_name = {row["id"]: row for row in told["rows"]}
    assert by_name["fig12.1522.burst"]["measured"] == by_name["fig12.1522.burst"]["paper"] == 16
    assert by_name["fig12.1522.shaped"]["measured"] == pytest.approx(121.76, abs=0.008)
    assert by_name["fig12.1542.shaped"]["measured"] == pytest.approx(123.36, abs=0.008)
    assert by_name["table5.lut.total"]["measured"] == sum(block["lut"] for block in documented("xc7").values())
    assert len(json.loads((out / "runs.json").read_text())) == 2
    report = (out / "report.html").read_text()
    assert report.count('<div class="plot"') == 2
    assert "fig12.1522.shaped" in report


def test_latency_grows_from_its_blocks() -> None:
    """The blocks of a frame add up to its total, on a short and a long one."""
    table = experiment("table2")
    outcomes = outcomes_of(table, "model", lambda case: case.at["payload"] in (64, 1500))
    rows = rows_of(table.evaluate(outcomes, Options()))
    for payload, total in ((64, 1.032), (1500, 12.520)):
        cycles = sum(
            row.measured or 0
            for name, row in rows.items()
            if name.startswith(f"table2.{payload}.") and row.unit == "cycles"
        )
        assert rows[f"table2.{payload}.total"].measured == pytest.approx(total)
        assert cycles * printed.CYCLE_NS / 1000 == pytest.approx(total)


@pytest.fixture(scope="module")
def fig_21() -> Outcomes:
    return outcomes_of(experiment("fig21"), "model", lambda case: case.at["rate"] in (0, 500))


def test_equation_1_comes_out_of_the_scenario(fig_21: Outcomes) -> None:
    rows = rows_of(experiment("fig21").evaluate(fig_21, Options()))
    assert rows["fig21.equation_1"].measured == pytest.approx(27.413, abs=0.001)
    assert rows["fig21.equation_1"].ok
    assert rows["fig21.500.max"].ok
    assert 24 < (rows["fig21.increase"].measured or 0) <= 27.447


def test_latency_above_its_bound_fails(fig_21: Outcomes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outcome, "bound_us", lambda _self, _name: 30.0)
    rows = rows_of(experiment("fig21").evaluate(fig_21, Options()))
    assert not rows["fig21.500.max"].ok
    assert rows["fig21.0.max"].ok  # one frame of the other class alone is in time


def test_flow_without_a_bound_fails(fig_21: Outcomes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outcome, "bound_us", lambda _self, _name: None)
    assert not rows_of(experiment("fig21").evaluate(fig_21, Options()))["fig21.500.max"].ok


def test_model_and_hardware_agree() -> None:
    paper = Paper("p", "p", "p", ())
    few = [case for case in experiment("table2").cases if case.at["payload"] == 64]
    few += [case for case in experiment("table4").cases if case.at["payload"] == 64]
    small = replace(experiment("fig10"), cases=few, evaluate=_totals)
    result = reproduce(paper, [small], ("model", "rtl"), workers=1)
    assert [row.by_nodes for row in result.rows] == [{"model": 1.032, "rtl": 1.032}, {"model": 50.784, "rtl": 50.784}]
    assert result.ok


def _totals(outcomes: Outcomes, _options: Options) -> Found:
    rows = []
    for number, (_, outcome) in enumerate(outcomes):
        at = outcome.frames["ats"].at_bridge
        rows.append(Row.told(f"{number}", "total", "us", float(at["sent"][0] - at["received"][0]) / 1e6))
    return Found(rows)


def test_nodes_that_differ_fail() -> None:
    row = Row.told("a", "a", "us", 1.0)
    assert Compared(row, {"model": 1.0, "rtl": 1.0}).ok
    apart = Compared(row, {"model": 1.0, "rtl": 1.008})
    assert not apart.ok
    told = apart.as_json()
    assert (told["ok"], told["measured"], told["model"], told["rtl"]) == (False, 1.0, 1.0, 1.008)


@pytest.mark.parametrize(
    ("row", "ok"),
    [
        (Row.within("a", "a", "us", 1.0, 1.0), True),
        (Row.within("a", "a", "us", 1.001, 1.0), False),
        (Row.within("a", "a", "us", None, 1.0), False),
        (Row.at_most("a", "a", "us", 5.0, 5.0), True),
        (Row.at_most("a", "a", "us", 5.1, 5.0), False),
        (Row.equals("a", "a", "us", 5.1, 5.0, 0.2), True),
        (Row.equals("a", "a", "us", 4.7, 5.0, 0.2), False),
    ],
)
def test_requirements(row: Row, ok: bool) -> None:
    assert row.ok is ok


def test_length_of_a_burst() -> None:
    # Of 1542 * 16 bytes: 15.9 / 0.9 frames of 1542 bytes, or (24672 - 154.2) / (1522 - 154.2) of 1522.
    assert [shaping._in_burst(16, counted) for counted in (1542, 1522)] == [16, 16]
    assert [shaping._in_burst(n, 1542) for n in (1, 2, 10, 64)] == [0, 1, 10, 70]


def test_sources_have_their_rate() -> None:
    assert contention.periodic_source(500)["every"] == "24672000ps"
    assert contention.periodic_source(300)["every"] == "41120000ps"


def result_of(row: Row) -> Reproduction:
    def nothing(_outcomes: Outcomes, _options: Options) -> Found:
        return Found()

    one = Experiment("fig1", "A <title>", "Figure 1", (), nothing)
    section = Section(one, [Compared(row, {"model": row.measured})], [Picture("p", "n", go.Figure())])
    return Reproduction(Paper("p", "P", "someone", [one]), ("model",), [section])


def test_page_says_what_is_not_met() -> None:
    text = page.render(result_of(Row.within("fig1.max", "worst", "us", 2.0, 1.0)))
    assert "A requirement was not met" in text
    assert "✗ not met" in text
    assert "A &lt;title&gt;" in text


def test_docs_are_updated_between_their_marks(tmp_path: Path) -> None:
    file = tmp_path / "p.md"
    file.write_text("before\n<!-- begin rows -->\nold\n<!-- end rows -->\nafter\n")
    documentation.update(result_of(Row.within("fig1.max", "worst", "us", 2.0, 1.0).as_key()), file)
    text = file.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("<!-- end rows -->\nafter\n")
    assert f"| Figure 1 | worst | us | {NOTHING} | {NOTHING} | 1 | 2 | **not met** |" in text
    file.write_text("no marks")
    with pytest.raises(InputError, match="no place"):
        documentation.update(result_of(Row.told("a", "a", "us", 1.0)), file)


def test_documented_cost() -> None:
    rows = "| block | x |\n| `pen_a` | 4 | 1 | 2 | 3 | 4.5 | 0 |\n| **all** | | **1** |"
    text = f"<!-- begin xc7 -->\n{rows}\n<!-- end xc7 -->"
    assert documented("xc7", text) == {"pen_a": {"lut": 1, "lutram": 2, "ff": 3, "bram36": 4.5, "dsp": 0}}
    with pytest.raises(ToolError, match="has no table of ecp5"):
        documented("ecp5", text)


def test_bounds_of_the_paper_are_those_of_check() -> None:
    """Equations (2) to (4), of the scenarios as they stand."""
    expected: dict[str, Any] = {"fig17": 12.336, "fig19": 12.336, "fig20": 12.336, "fig21": 27.414}
    for name, us in expected.items():
        terms = bound(load_scenario(FOLDER / f"{name}.toml"), "ats").terms
        assert sum(term.ps for term in terms if term.name == "contention") / 1e6 == pytest.approx(us, abs=0.001)


def test_synthesis_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [Block("pen_ats", 1, Counter(lut=7, ff=5)), Block("pen_new", 1, Counter(lut=2))]
    monkeypatch.setattr(cost, "synthesize", lambda target, top, ports: Synthesis(target, top, ports, blocks, [], []))
    cost.cost.cache_clear()
    try:
        rows = rows_of(experiment("table5").evaluate((), Options(synthesize=True)))
    finally:
        cost.cost.cache_clear()
    found = [rows[f"table5.lut.{part}"].measured for part in ("total", "sched", "others", "clk_conv")]
    assert found == [9, 7, 2, None]
