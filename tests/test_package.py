# SPDX-License-Identifier: Apache-2.0
"""The wheel, in an environment that has nothing but what its own metadata asks for, away from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from penstock import data
from penstock.hardware.model import build_model

ROOT = Path(__file__).parents[1]
SMALL = """\
name = "small"
nodes = "rtl"
duration = "100us"
[bridges.sw]
ports = 4
[stations]
a = { at = "sw.0" }
b = { at = "sw.1" }
[streams.s]
from = "a"
to = ["b"]
source = { frames = "100B", every = "10us" }
"""


class Installed:
    """The wheel in an environment of its own."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.wheel = wheel
        self._programs = folder / "venv" / "bin"
        self._home = folder / "home"
        self._away = folder / "away"
        self._away.mkdir()
        self._constraints = folder / "constraints.txt"
        lock = (ROOT / "requirements" / "dev.txt").read_text()
        self._constraints.write_text("\n".join(re.findall(r"^\S+==[^\s;]+", lock, re.MULTILINE)))
        venv.create(folder / "venv", with_pip=True)
        self.install(str(wheel))

    def install(self, what: str) -> None:
        """By pip, in the versions that are locked, so that models of the cache fit."""
        quiet = ["-q", "--no-compile", "--disable-pip-version-check"]
        subprocess.run([self._programs / "pip", "install", *quiet, "-c", self._constraints, what], check=True)

    def __call__(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs one of its programs in an empty folder, without what a checkout puts into the environment."""
        kept = {name: os.environ[name] for name in ("HOME", "PENSTOCK_CACHE", "XDG_CACHE_HOME") if name in os.environ}
        command = [str(self._programs / program), *words]
        environment = {**kept, "PATH": f"{self._programs}:/usr/bin:/bin"}
        return subprocess.run(command, cwd=self._away, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # As ./penstock builds it, which has then compiled all.
    environment = {"RUSTFLAGS": "-C target-cpu=native", **os.environ}
    maturin = Path(sys.executable).with_name("maturin")
    command = [maturin, "build", "--quiet", "--release", "--interpreter", sys.executable, "--out", folder]
    subprocess.run(list(map(str, command)), cwd=ROOT, env=environment, capture_output=True, check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"), wheel)


def test_the_wheel_holds_what_is_used_and_no_more(wheel: Path) -> None:
    assert re.fullmatch(r"penstock-[\d.]+-cp311-abi3-manylinux_2_\d+_\w+\.whl", wheel.name)
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, there in (("hw", data.HARDWARE / "rtl"), ("scenarios", data.SCENARIOS)):
        expected = [str(file.relative_to(ROOT)) for file in there.rglob("*") if file.suffix in (".sv", ".toml", ".f")]
        assert expected
        assert not [name for name in expected if f"penstock/data/{name}" not in names], folder
    assert not [name for name in names if re.search(r"/(target|tests|__pycache__|\.venv)/|/test_\w+\.py$", name)]
    assert wheel.stat().st_size < 5_000_000  # half of it the engine, with both widths of times


def test_a_packaged_scenario_runs_on_the_model(installed: Installed) -> None:
    assert installed("penstock", "--version").stdout.startswith("penstock ")
    done = installed("penstock", "run", "scenarios/cbs", "--nodes", "model", "--json")
    assert done.returncode == 0, done.stderr
    assert '"ok": true' in done.stdout


def test_scenarios_are_listed_and_copied(installed: Installed) -> None:
    listed = [line.split()[0] for line in installed("penstock", "scenarios").stdout.splitlines()]
    assert listed == data.scenario_names()
    assert not [name for name in listed if name.startswith("recording/")]  # a recording is no scenario
    assert {"hello", "lab/iperf3.toml", "papers/ats-switch/fig17.toml"} < set(listed)
    assert installed("penstock", "scenarios", "copy", "hello", "mine").returncode == 0
    done = installed("penstock", "check", "mine")
    assert done.returncode == 0, done.stderr
    again = installed("penstock", "scenarios", "copy", "hello", "mine")
    assert again.returncode == 2
    assert "mine: is there already" in again.stderr


# The extra is installed by the last step, so the order of these two is that of a newcomer.
def test_without_the_tools_hardware_says_what_to_install(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    advice = 'install it by: pip install "penstock[hw]"'
    checked = installed("penstock", "check", str(tmp_path / "small.toml"))
    assert checked.returncode == 0, checked.stderr
    assert "not held against the tables of the hardware" in checked.stdout
    for words in (
        ["run", str(tmp_path / "small.toml"), "--out", str(tmp_path / "out")],
        ["hw", "bench"],
        ["hw", "lint"],
    ):
        done = installed("penstock", *words)
        assert done.returncode == 3, (words, done.stderr)
        assert "Traceback" not in done.stderr
        assert advice in " ".join(done.stderr.split()) or "penstock[synthesis]" in done.stderr


def test_with_the_tools_the_hardware_is_that_of_the_checkout(installed: Installed, tmp_path: Path) -> None:
    installed.install("penstock[hw]")
    asked = installed("python", "-c", "from penstock.hardware.model import build_model; print(build_model())")
    assert asked.stdout.strip() == str(build_model()), asked.stderr
    (tmp_path / "small.toml").write_text(SMALL)
    done = installed("penstock", "run", str(tmp_path / "small.toml"), "--out", str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    assert '"delivered": 10,' in done.stdout
    # The model of a replay is set by register writes; the recording travels with its scenario.
    replayed = installed("penstock", "replay", "scenarios/recording/three-flows")
    assert replayed.returncode == 0, replayed.stderr
