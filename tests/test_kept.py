# SPDX-License-Identifier: Apache-2.0
"""A run's folder holds its scenario: what it was read from, and the files that it names."""

from __future__ import annotations

import copy
import datetime
import shutil
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from penstock import run as runner
from penstock.cli import app
from penstock.errors import InputError
from penstock.scenario import load
from penstock.scenario.writing import toml_of

TEXT = """\
name = "kept"  # a comment
nodes = "model"
duration = "3ms"
bridges.sw = { ports = 3 }
stations = { a = { at = "sw.0" }, z = { at = "sw.1" } }
[streams.f]
from = "a"
to = ["z"]
source = { capture = "CAPTURE", jitter = { file = "JITTER" } }
"""
HELLO = Path(__file__).parents[1] / "scenarios" / "hello"


def scenario(folder: Path, capture: str, jitter: str) -> Path:
    """A scenario whose files are where it says."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    for name, text in ((capture, None), (jitter, "1us\n3us\n")):
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            shutil.copyfile(HELLO / "control.pcapng", file)
        else:
            file.write_text(text)
    (home / "scenario.toml").write_text(TEXT.replace("CAPTURE", capture).replace("JITTER", jitter))
    return home


def report(*words: str) -> str:
    result = CliRunner().invoke(app, ["report", *words])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("where", ["beside", "below", "outside", "absolute"])
def test_the_report_is_made_again_without_the_scenario(where: str, tmp_path: Path) -> None:
    before = {"beside": "", "below": "in/here/", "outside": "../there/", "absolute": f"{tmp_path}/else/"}[where]
    home = scenario(tmp_path, f"{before}c.pcapng", f"{before}j.txt")
    network = load(home)
    folder = tmp_path / "out"
    runner.run(network, folder)
    first = (folder / "report.html").read_text()
    for gone in ("home", "there", "else"):
        shutil.rmtree(tmp_path / gone, ignore_errors=True)
    report(str(folder))
    assert (folder / "report.html").read_text() == first
    again = load(folder / "scenario")
    assert again.streams["f"].jitter == network.streams["f"].jitter
    assert again.streams["f"].capture == network.streams["f"].capture
    text = (folder / "scenario" / "scenario.toml").read_text()
    assert ("# a comment" in text) == (where in ("beside", "below")), "as it was written, where that holds"
    assert runner.run(again, tmp_path / "again").trace.equals(runner.Result({}, folder).trace)


def test_it_is_the_scenario_as_it_was_and_another_may_be_given(tmp_path: Path) -> None:
    home = scenario(tmp_path, "c.pcapng", "j.txt")
    network = load(home)
    (home / "scenario.toml").write_text("name = 1")
    runner.run(network, tmp_path / "out")
    report(str(tmp_path / "out"))
    shutil.rmtree(tmp_path / "out" / "scenario")
    with pytest.raises(InputError, match="holds no scenario"):
        CliRunner().invoke(app, ["report", str(tmp_path / "out")], catch_exceptions=False)
    scenario(tmp_path, "c.pcapng", "j.txt")
    report(str(tmp_path / "out"), str(home))


def test_a_scenario_of_python_is_kept_too(tmp_path: Path) -> None:
    values = tomllib.loads((HELLO.parent / "ring" / "scenario.toml").read_text()) | {"duration": "1ms"}
    before = copy.deepcopy(values)
    runner.run(load(values), tmp_path / "out", trace="full", captures=False)
    assert values == before
    assert tomllib.loads((tmp_path / "out" / "scenario" / "scenario.toml").read_text()) == values
    report(str(tmp_path / "out"))


_VALUES = st.recursive(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.booleans(),
        st.dates(),
        st.datetimes(min_value=datetime.datetime(1000, 1, 1)),
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), _VALUES))
def test_values_are_written_as_they_are_read(values: dict[str, object]) -> None:
    assert tomllib.loads(toml_of(values)) == values
