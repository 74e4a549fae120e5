# SPDX-License-Identifier: Apache-2.0
"""The test benches of the hardware: pytest over hw/tb, each folder one module."""

import importlib.util
import subprocess
import sys

from penstock.errors import InputError
from penstock.hardware.tools import ToolError, environment, hardware_folder, required


def run_testbenches(modules: list[str] | None = None, seed: str | None = None, jobs: int = 2) -> int:
    """Runs the test benches of all modules, or of these, and gives pytest's exit status."""
    required("cocotb")
    folder = hardware_folder() / "tb"
    if not (folder / "runner.py").is_file():
        raise ToolError("the test benches are in a checkout of the project only")
    known = sorted(path.name for path in folder.iterdir() if any(path.glob("test_*.py")))
    unknown = set(modules or ()) - set(known)
    if unknown:
        raise InputError("there is no such test bench", allowed=", ".join(known), file=", ".join(sorted(unknown)))
    command = [sys.executable, "-m", "pytest", *(str(folder / name) for name in modules or known)]
    if jobs > 1 and importlib.util.find_spec("xdist") is not None:
        command += ["-n", str(jobs)]
    extra = {} if seed is None else {"COCOTB_RANDOM_SEED": seed}
    return subprocess.run(command, env={**environment(), **extra}, check=False).returncode
