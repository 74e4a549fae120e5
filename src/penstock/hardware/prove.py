# SPDX-License-Identifier: Apache-2.0
"""Proofs of the hardware: all of hw/formal, by SymbiYosys with the solver that each names."""

import os
import re
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError
from penstock.hardware.tools import hardware_folder, required, run

LONGEST = "pen_gates"  # begins first, so that no core is idle at the end


@dataclass(frozen=True)
class Proof:
    """One task of one .sby file."""

    name: str
    status: str  # PASS, FAIL, UNKNOWN, TIMEOUT or ERROR
    seconds: float
    log: str

    @property
    def ok(self) -> bool:
        return self.status == "PASS"


def proof_files(names: list[str] | None = None) -> list[Path]:
    """The .sby files of hw/formal, or those of these names."""
    files = sorted((hardware_folder() / "formal").glob("*.sby"))
    if not names:
        return files
    unknown = set(names) - {path.stem for path in files}
    if unknown:
        allowed = ", ".join(path.stem for path in files)
        raise InputError("there is no such proof", allowed=allowed, file=", ".join(sorted(unknown)))
    return [path for path in files if path.stem in names]


def prove(names: list[str] | None = None) -> Iterator[Proof]:
    """Runs the tasks of the proofs on all cores and gives each result when it and those before it are there."""
    for solver in ("bitwuzla", "z3"):
        required(solver)
    tasks = [(path, task) for path in proof_files(names) for task in _tasks(path)]
    tasks.sort(key=lambda each: each[0].stem != LONGEST)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda each: _prove(*each), tasks)


def _tasks(path: Path) -> list[str]:
    """The words below [tasks], each the name of a task first."""
    section = path.read_text(encoding="utf-8").partition("[tasks]\n")[2].partition("\n[")[0]
    return [line.split()[0] for line in section.splitlines() if line.strip()]


def _prove(path: Path, task: str) -> Proof:
    # Inside hw, since Yosys as WebAssembly cannot see the system's temporary folder.
    with tempfile.TemporaryDirectory(prefix=".proof-", dir=path.parent) as folder:
        start = time.monotonic()
        done = run(["sby", "--prefix", f"{Path(folder).name}/{path.stem}", path.name, task], cwd=path.parent)
        seconds = time.monotonic() - start
    found = re.search(r"SBY\s+\S+ \[[^\]]*\] DONE \((\w+), rc=\d+\)", done.stdout)
    status = found[1] if found else "ERROR"
    if status == "PASS" and done.returncode:
        status = "ERROR"
    return Proof(f"{path.stem}_{task}", status, seconds, done.stdout)
