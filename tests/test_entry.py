# SPDX-License-Identifier: Apache-2.0
"""The entry script where something is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ENTRY = Path(__file__).parents[1] / "penstock"
ALWAYS = ("bash", "dirname", "readlink", "id", "sha256sum", "cut", "env")


def enter(
    folder: Path, *programs: str, words: tuple[str, ...] = ("--version",), environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Starts the entry script on a system that has these programs only."""
    path = folder / "bin"
    path.mkdir(exist_ok=True)
    for name in (*ALWAYS, *programs):
        found = sys.executable if name == "python3" else shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        (path / name).symlink_to(found)
    base = {"PATH": str(path), "HOME": str(folder), "PENSTOCK_VENV": str(folder / "venv")}
    return subprocess.run(
        [str(path / "bash"), str(ENTRY), *words],
        env=base | {"PENSTOCK_NO_INSTALL": "1", "LC_ALL": os.environ.get("LC_ALL", "C.UTF-8")} | (environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_missing_is_named_with_its_command(tmp_path: Path) -> None:
    done = enter(tmp_path)
    assert done.returncode == 3
    assert "sudo apt-get install -y --no-install-recommends python3 python3-venv g++ gcc make perl" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_rust_is_named_with_its_own_command(tmp_path: Path) -> None:
    done = enter(tmp_path, "python3", "g++", "cc", "make", "perl")
    assert done.returncode == 3
    assert "Rust 1.88 or later is missing" in done.stderr
    assert "rustup default stable" in done.stderr
    assert "no-install-recommends" not in done.stderr


def test_json_is_one_object_though_tools_are_missing(tmp_path: Path) -> None:
    done = enter(tmp_path, words=("check", 'a "b"', "--json"))
    assert done.returncode == 3
    (error,) = json.loads(done.stdout)["errors"]
    assert "missing: python3" in error["what"]
    assert list(error) == ["file", "line", "key", "what", "allowed"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may install")
@pytest.mark.parametrize("said", [{}, {"PENSTOCK_YES": "1"}])
def test_a_script_installs_only_what_it_said_yes_to(said: dict[str, str], tmp_path: Path) -> None:
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text('#!/usr/bin/env bash\necho "apt: $*" >&2\nexit 1\n')
    apt.chmod(0o755)
    done = enter(tmp_path, environment={"PENSTOCK_NO_INSTALL": ""} | said)
    assert done.returncode == 3
    assert ("apt: install -y" in done.stderr) is bool(said)
    assert ("PENSTOCK_YES=1" in done.stderr) is (not said)
