# SPDX-License-Identifier: Apache-2.0
"""`penstock test`: everything the project promises, one runner after the other, and one line that counts them all."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError

ROOT = Path(__file__).resolve().parents[2]

_CARGO_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)


@dataclass(frozen=True)
class Count:
    """How many tests passed and failed."""

    passed: int = 0
    failed: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed)

    def settled(self, status: int) -> Count:
        """A runner that failed on its own account, or ran nothing, counts as one failure."""
        if self.failed == 0 and (status != 0 or self.passed == 0):
            return Count(self.passed, 1)
        return self


def engine() -> Count:
    """The crates' own tests. The Python bindings are tested from Python, as a module outside of Python cannot link."""
    command = ["cargo", "test", "--quiet", "--locked", "--manifest-path", str(ROOT / "engine" / "Cargo.toml")]
    status, output = _run([*command, "--workspace", "--exclude", "penstock-py"], keep=True)
    return parse_cargo(output).settled(status)


def python() -> Count:
    """The scenario, the command line, and what crosses borders."""
    return _pytest(ROOT / "tests", f"--ignore={ROOT / 'tests' / 'lab'}")


def lab() -> Count:
    """The laboratory in its virtual machine, with a real-time kernel."""
    return _pytest(ROOT / "tests" / "lab")


def hardware() -> Count:
    """A test bench for each module."""
    return _pytest(ROOT / "hw" / "tb")


def lint() -> Count:
    """Style and types of the Python, style of the Rust where its tools are installed, warnings of the hardware."""
    total = Count()
    sources = [str(ROOT / name) for name in ("src", "tests", "hw/tb", "hw/regs", "notebooks", "scenarios")]
    manifest = ["--manifest-path", str(ROOT / "engine" / "Cargo.toml")]
    commands = [
        [sys.executable, "-m", "ruff", "check", *sources],
        [sys.executable, "-m", "ruff", "format", "--check", *sources],
        [sys.executable, "-m", "mypy"],
    ]
    if shutil.which("cargo-fmt"):
        commands.append(["cargo", "fmt", *manifest, "--all", "--check"])
    if shutil.which("cargo-clippy"):
        commands.append(["cargo", "clippy", "--quiet", "--locked", *manifest, "--all-targets", "--", "-D", "warnings"])
    for command in commands:
        status, _ = _run(command)
        total += Count(1, 0) if status == 0 else Count(0, 1)
    return total + _penstock("hw", "lint")


def prove() -> Count:
    """The proofs."""
    return _penstock("hw", "prove")


def soak() -> Count:
    """A million random frames through the switch against a scoreboard."""
    return _penstock("hw", "soak")


def differential() -> Count:
    """The switch against its model in random scenarios, to the clock cycle."""
    return _penstock("hw", "diff")


RUNNERS: dict[str, Callable[[], Count]] = {
    "engine": engine,
    "python": python,
    "lab": lab,
    "hardware": hardware,
    "lint": lint,
    "prove": prove,
    "soak": soak,
    "differential": differential,
}


def main(only: Sequence[str]) -> int:
    """Runs the runners named, or all; gives the exit status."""
    unknown = [name for name in only if name not in RUNNERS]
    if unknown:
        raise InputError("there is no such runner", allowed=", ".join(RUNNERS), file=unknown[0])
    total = Count()
    for name in only or RUNNERS:
        print(f"== {name}: {RUNNERS[name].__doc__}", flush=True)
        started = time.monotonic()
        try:
            count = RUNNERS[name]()
        except OSError as error:
            print(f"{name}: cannot be run: {error}", flush=True)
            count = Count(0, 1)
        total += count
        # In other words than the last line's, so that exactly one line counts.
        print(f"== {name}: {count.passed} ok, {count.failed} not, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 0 if total.failed == 0 and total.passed > 0 else 1


def parse_cargo(output: str) -> Count:
    """The sum over the result lines of all test programs."""
    return sum((Count(int(p), int(f)) for p, f in _CARGO_RESULT.findall(output)), Count())


def parse_junit(path: Path) -> Count:
    """The sum over the suites of a JUnit file; skipped tests are neither passed nor failed."""
    total = Count()
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        number = {key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")}
        failed = number["failures"] + number["errors"]
        total += Count(number["tests"] - failed - number["skipped"], failed)
    return total


def parse_rows(output: str) -> Count | None:
    """The rows of what a command printed with --json, or None when it printed none."""
    try:
        rows = json.loads(output)["rows"]
        return Count(sum(1 for r in rows if r["ok"] is not False), sum(1 for r in rows if r["ok"] is False))
    except (ValueError, KeyError, TypeError):
        return None


def _pytest(folder: Path, *options: str) -> Count:
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.xml"
        # A file stays with one worker, since the tests of a module share what they build.
        spread = ["-n", str(os.cpu_count() or 1), "--dist", "loadfile"]
        slowest = ["--durations=12", "--durations-min=5"]
        command = [sys.executable, "-m", "pytest", *spread, *slowest, *options, f"--junitxml={report}", str(folder)]
        status, _ = _run(command)
        return (parse_junit(report) if report.exists() else Count()).settled(status)


def _penstock(*arguments: str) -> Count:
    status, output = _run([sys.executable, "-m", "penstock", *arguments, "--json"], keep=True)
    counted = parse_rows(output)
    if status != 0 and counted:
        for row in json.loads(output)["rows"]:
            if row["ok"] is False:
                print(f"not met: {row['id']}; ./penstock {' '.join(arguments)} says more", flush=True)
    return (counted or Count(int(status == 0), 0)).settled(status)


def _run(command: list[str], keep: bool = False) -> tuple[int, str]:
    """Runs a command from the project's folder; its output is shown, and kept where it is counted."""
    if not keep:
        return subprocess.run(command, cwd=ROOT, check=False).returncode, ""
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if not line.startswith("{"):
                print(line, end="", flush=True)
    return process.returncode, "".join(lines)
