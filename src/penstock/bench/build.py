# SPDX-License-Identifier: Apache-2.0
"""A build of the engine: this one, or another that it is held against, each in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench import worker
from penstock.errors import EngineError, InputError

OPTION = "--against"
# Of wall time: a run ends itself after less of processor time, if it can.
MOST_SECONDS = 300


class FailedRunError(EngineError):
    """A build cannot run a network: it does not know a key, or does not come to an end."""


@dataclass(frozen=True)
class Build:
    """What runs a network: a Python that has Penstock, and an engine in place of its own."""

    python: Path
    engine: Path | None = None

    def describe(self, scenario: Path, duration_ps: int, description: Path) -> None:
        """Writes a network as this build's engine takes it."""
        self._start("describe", scenario, duration_ps, description)

    def run(self, description: Path, traced: bool, cores: int = 1) -> dict[str, Any]:
        """What `worker.run` found."""
        engine = () if self.engine is None else (self.engine,)
        found: dict[str, Any] = json.loads(
            self._start("run", description, "trace" if traced else "statistics", cores, *engine)
        )
        return found

    def _start(self, *arguments: Any) -> str:
        command = [str(self.python), "-P", worker.__file__, *map(str, arguments)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise FailedRunError(f"does not end within {MOST_SECONDS} s") from None
        if done.returncode:
            raise FailedRunError("".join(done.stderr.strip().splitlines()[-1:]) or f"ends with {done.returncode}")
        return done.stdout


def this() -> Build:
    """The build that this Python has."""
    return Build(Path(sys.executable))


def found(path: Path) -> Build:
    """A checkout that was started once, a Python that has Penstock, or an engine (`_engine*.so`) for this Python."""
    if path.is_dir() and (path / ".venv/bin/python").exists():
        build = Build(path / ".venv/bin/python")
    elif path.suffix == ".so" and path.is_file():
        build = Build(Path(sys.executable), path.resolve())
    else:
        build = Build(path)
    try:
        probe = [str(build.python), "-P", "-c", "from penstock import _engine"]
        works = subprocess.run(probe, capture_output=True, check=False, timeout=MOST_SECONDS).returncode == 0
    except OSError:
        works = False
    if not works:
        allowed = "a checkout that ./penstock has prepared, a Python that has Penstock, an engine _engine*.so"
        raise InputError("is no build of Penstock", allowed=allowed, file=f"{OPTION} {path}")
    return build
