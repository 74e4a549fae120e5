# SPDX-License-Identifier: Apache-2.0
"""Proofs of the hardware: all of hw/formal, by SymbiYosys with the Z3 solver."""

import os
import re
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError
from penstock.hardware.tools import hardware_folder, run

LONGEST = "pen_queue"  # begins first, so that no core is idle at the end


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
    """Runs the proofs on all cores and gives each result when it and those before it are there."""
    files = sorted(proof_files(names), key=lambda path: path.stem != LONGEST)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for proofs in pool.map(_prove, files):
            yield from proofs


def _prove(path: Path) -> list[Proof]:
    # Inside hw, since Yosys as WebAssembly cannot see the system's temporary folder.
    with tempfile.TemporaryDirectory(prefix=".proof-", dir=path.parent) as folder:
        start = time.monotonic()
        done = run(["sby", "--prefix", f"{Path(folder).name}/{path.stem}", path.name], cwd=path.parent)
        seconds = time.monotonic() - start
    found = re.findall(r"SBY\s+\S+ \[[^\]]*?([\w.-]+)\] DONE \((\w+), rc=\d+\)", done.stdout)
    if not found or (done.returncode and all(status == "PASS" for _, status in found)):
        found.append((path.stem, "ERROR"))
    return [Proof(name, status, seconds / len(found), done.stdout) for name, status in found]
