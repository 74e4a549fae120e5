# SPDX-License-Identifier: Apache-2.0
"""Programs that are missing: named all at once, installed only if somebody wants it."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from penstock.lab import run as lab
from penstock.scenario import load
from penstock.system_packages import MissingError, require

PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "iperf3": "iperf3", "sh": "dash"}
LAB = Path(__file__).parents[1] / "scenarios" / "lab"


class Terminal(io.StringIO):
    """A person at a terminal, who types this."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What apt was asked for, on a system of root that has `sh` and apt."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in ("sh", "apt-get") else None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ("PENSTOCK_YES", "PENSTOCK_NO_INSTALL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return commands


def test_a_script_installs_only_what_it_said_yes_to(
    installed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingError) as error:
        require(PROGRAMS, print)
    assert "missing: iperf3 qemu-system-x86; run: sudo apt-get install -y" in str(error.value)
    assert "PENSTOCK_YES=1" in str(error.value)
    assert installed == []
    monkeypatch.setenv("PENSTOCK_YES", "1")
    require(PROGRAMS, print)
    assert [command[-2:] for command in installed] == [["iperf3", "qemu-system-x86"]]
    monkeypatch.setenv("PENSTOCK_NO_INSTALL", "1")
    with pytest.raises(MissingError):
        require(PROGRAMS, print)
    assert len(installed) == 1


@pytest.mark.parametrize(("typed", "wanted"), [("\n", True), ("y\n", True), ("n\n", False), ("", False)])
def test_a_person_is_asked_once(
    typed: str, wanted: bool, installed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", said)
    if wanted:
        require(PROGRAMS, lambda _: None)
    else:
        with pytest.raises(MissingError):
            require(PROGRAMS, lambda _: None)
    assert len(installed) == wanted
    assert said.getvalue().count("[Y/n]") == 1
    assert "iperf3 qemu-system-x86" in said.getvalue()


def test_who_is_not_root_is_told_the_command(installed: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PENSTOCK_YES", "1")
    with pytest.raises(MissingError, match="run: sudo apt-get install"):
        require(PROGRAMS, print)
    assert installed == []


@pytest.mark.parametrize(("lacks", "others"), [(["taprio"], ["qemu-system-x86"]), ([], [])])
def test_all_that_a_scenario_needs_is_missed_before_anything_starts(
    lacks: list[str], others: list[str], installed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = load(LAB / "iperf3.toml", "linux")
    monkeypatch.setattr(lab, "_lacking", lambda networks: lacks)
    monkeypatch.setattr(lab, "Machine", None)
    monkeypatch.setattr(lab, "Guest", None)
    with pytest.raises(MissingError) as error, lab.hosts([network], lab.Where(), lambda _: None):
        pass
    for package in ("iperf3", "iproute2", *others):
        assert package in str(error.value)
    assert ("qemu" in str(error.value)) is bool(others)
    assert installed == []
