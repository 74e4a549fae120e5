# SPDX-License-Identifier: Apache-2.0
"""What `check` and `reproduce` say to services that build and test."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from penstock import cli
from penstock.command.answer import Format, asked
from penstock.command.ci import Case, github, junit
from penstock.errors import located
from penstock.reproduce import papers, show
from penstock.reproduce.result import Compared, Reproduction, Section
from penstock.reproduce.row import Row
from program import invoke

HELLO = Path(__file__).parents[1] / "scenarios" / "hello" / "scenario.toml"
HOSTILE = 'a,b:c%\n::error::x "]]> <&\x00\x1b\ud800'


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "scenario.toml"
    text = HELLO.read_text()
    for name in ("control", "greedy"):
        (tmp_path / f"{name}.pcapng").write_bytes((HELLO.parent / f"{name}.pcapng").read_bytes())
    file.write_text(text)
    return file


def break_it(scenario: Path) -> int:
    """Gives the line that is wrong then."""
    text = scenario.read_text().replace("pcp = 3", "pcp = 9")
    scenario.write_text(text)
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith("pcp = 9"))


def test_github_sees_errors_at_their_lines(scenario: Path) -> None:
    assert "::error" not in invoke(cli.app, ["check", ".", "--format", "github"]).stdout
    line = break_it(scenario)
    done = invoke(cli.app, ["check", ".", "--format", "github"])
    assert done.status == 2
    error, last = done.stdout.splitlines()
    assert error.startswith(f"::error file=scenario.toml,line={line},title=penstock%3A check::streams.control.pcp: 9")
    assert last == "::notice title=penstock::0 of 1 met"


def test_junit_counts_a_scenario_as_a_test(scenario: Path) -> None:
    (suite,) = ElementTree.fromstring(invoke(cli.app, ["check", ".", "--format=junit"]).stdout)
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")
    line = break_it(scenario)
    done = invoke(cli.app, ["check", ".", "--format=junit"])
    (suite,) = ElementTree.fromstring(done.stdout)
    assert (done.status, suite.get("failures")) == (2, "1")
    (test,) = suite
    assert (test.get("file"), test.get("line")) == ("scenario.toml", str(line))
    assert "streams.control.pcp" in str(test[0].get("message"))


def test_nothing_hostile_leaves_its_place() -> None:
    found = located(HOSTILE, file=HOSTILE, line=3, key=HOSTILE, allowed=HOSTILE)
    lines = github([Case(HOSTILE, HOSTILE, [found], [found])]).split("\n")
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::notice"]
    properties = lines[0].removeprefix("::error ").split("::")[0]
    assert [each.partition("=")[0] for each in properties.split(",")] == ["file", "line", "title"]
    (suite,) = ElementTree.fromstring(junit("check", [Case(HOSTILE, HOSTILE, [found], [found]), Case("a", "b")]))
    assert [len(test) for test in suite] == [2, 0]
    assert suite[0].get("name") == HOSTILE.replace("\x00\x1b\ud800", "\ufffd" * 3)


def test_each_row_of_a_reproduction_is_a_test() -> None:
    paper = papers.load("ats-switch")
    rows = [
        Row("a", "latency", "us", 3.0, paper=2.0, requirement="as good as the paper", ok=False),
        Row("b", "frames", "", 7.0, ok=True),
    ]
    section = Section(paper.experiments[0], [Compared(row, {"model": row.measured}) for row in rows], [])
    found = show.cases(Reproduction(paper, ("model",), [section]))
    assert [(case.name, len(case.failures)) for case in found] == [("latency", 1), ("frames", 0)]
    assert found[0].failures[0]["what"] == "as good as the paper: paper 2 us, model 3 us"
    assert "::error title=ats-switch." in github(found)


@pytest.mark.parametrize(
    ("words", "form"),
    [
        (["--format", "junit"], Format.JUNIT),
        (["--format=github"], Format.GITHUB),
        (["--json"], Format.JSON),
        (["--", "--json"], Format.TEXT),
        (["--format", "xml"], Format.TEXT),
    ],
)
def test_the_form_is_known_before_the_words_are(words: list[str], form: Format) -> None:
    assert asked(["check", *words]) is form


def test_two_forms_are_one_too_many(scenario: Path) -> None:
    done = invoke(cli.app, ["check", str(scenario), "--json", "--format", "junit"])
    assert done.status == 2
    assert "--format junit" in done.stderr
