# SPDX-License-Identifier: Apache-2.0
"""The entry script where something is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ENTRY = Path(__file__).parents[1] / "penstock"
ALWAYS = ("bash", "dirname", "readlink", "id", "sha256sum", "cut", "env")


def enter(folder: Path, *programs: str) -> subprocess.CompletedProcess[str]:
    """Starts the entry script on a system that has these programs only."""
    path = folder / "bin"
    path.mkdir()
    for name in (*ALWAYS, *programs):
        found = sys.executable if name == "python3" else shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        (path / name).symlink_to(found)
    environment = {"PATH": str(path), "HOME": str(folder), "PENSTOCK_VENV": str(folder / "venv")}
    return subprocess.run(
        [str(path / "bash"), str(ENTRY), "--version"],
        env=environment | {"PENSTOCK_NO_INSTALL": "1", "LC_ALL": os.environ.get("LC_ALL", "C.UTF-8")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_missing_is_named_with_its_command(tmp_path: Path) -> None:
    done = enter(tmp_path)
    assert done.returncode == 2
    assert "sudo apt-get install -y --no-install-recommends python3 python3-venv g++ gcc make perl" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_rust_is_named_with_its_own_command(tmp_path: Path) -> None:
    done = enter(tmp_path, "python3", "g++", "cc", "make", "perl")
    assert done.returncode == 2
    assert "Rust 1.88 or later is missing" in done.stderr
    assert "rustup default stable" in done.stderr
    assert "no-install-recommends" not in done.stderr
