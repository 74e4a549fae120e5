# SPDX-License-Identifier: Apache-2.0
"""Where the program `penstock-end` is."""

from __future__ import annotations

import subprocess
from pathlib import Path

from penstock.static_program import StaticProgram

PROGRAM = StaticProgram("penstock-end", ("end", "sys", "frame"))
NAME = PROGRAM.name


def build() -> Path:
    """The program, built if it is not there. Raises EngineError when that cannot be."""
    return PROGRAM.build()


def version() -> str:
    """What it says of itself."""
    return subprocess.run([build(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
