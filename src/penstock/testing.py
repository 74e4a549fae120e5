# SPDX-License-Identifier: Apache-2.0
"""`penstock test`: everything the project promises, one runner after the other, and one line that counts them all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from penstock import data
from penstock.errors import InputError

ROOT = data.HARDWARE.parent


@dataclass(frozen=True)
class Count:
    """How many tests passed and failed, and which were skipped and why."""

    passed: int = 0
    failed: int = 0
    skipped: tuple[str, ...] = ()

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def settled(self, status: int) -> Count:
        """A runner that failed on its own account, or ran nothing, counts as one failure."""
        if self.failed == 0 and (status != 0 or self.passed == 0):
            return Count(self.passed, 1, self.skipped)
        return self


def engine() -> Count:
    """The crates' own tests. The Python bindings are tested from Python, as a module outside of Python cannot link."""
    report = ROOT / "engine" / "target" / "nextest" / "default" / "junit.xml"  # as engine/.config/nextest.toml has it
    report.unlink(missing_ok=True)
    command = [str(Path(sys.executable).with_name("cargo-nextest")), "nextest", "run", "--locked"]
    which = ["--manifest-path", str(ROOT / "engine" / "Cargo.toml"), "--workspace", "--exclude", "penstock-py"]
    quiet = ["--status-level", "fail", "--final-status-level", "fail", "--show-progress", "none"]
    status, _ = _run([*command, *which, *quiet, "--cargo-quiet"])
    return _counted(report).settled(status)


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
    sources = [
        str(ROOT / name)
        for name in ("src", "tests", "hw/tb", "hw/regs", "docs/draw_waves.py", "notebooks", "scenarios")
    ]
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
    # Most of them use one core each.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        hardware = pool.submit(_penstock, "hw", "lint")
        for status, _ in pool.map(_run, commands):
            total += Count(1, 0) if status == 0 else Count(0, 1)
        return total + hardware.result()


def prove() -> Count:
    """The proofs."""
    return _penstock("hw", "prove")


def soak() -> Count:
    """200,000 random frames through the switch against a scoreboard."""
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


def main(only: Sequence[str], strict: bool = False) -> int:
    """Runs the runners named, or all; gives the exit status. If `strict`, a skipped test is a failure.

    Raises InputError for a runner that there is not, and away from a checkout.
    """
    if data.checkout() is None:
        raise InputError("the tests are not in the package", allowed="a checkout of the project", file="penstock test")
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
    for each in total.skipped:
        print(f"skipped: {each}", flush=True)
    print(f"{total.passed} passed, {total.failed} failed, {len(total.skipped)} skipped", flush=True)
    return 0 if total.failed == 0 and total.passed > 0 and not (strict and total.skipped) else 1


def parse_junit(path: Path) -> Count:
    """The tests of a JUnit file; skipped ones are neither passed nor failed."""
    total = Count()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            total += Count(failed=1)
        elif skipped is not None:
            name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            total += Count(skipped=(f"{name}: {skipped.get('message')}",))
        else:
            total += Count(passed=1)
    return total


def _counted(report: Path) -> Count:
    """Nothing, where a runner broke before it wrote its report."""
    return parse_junit(report) if report.exists() else Count()


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
        # A file stays with one worker, since the tests of a module share what they build; conftest.py says which begin.
        # There is one worker more than cores, as one of them always waits for a process or a timer.
        spread = ["-n", str((os.cpu_count() or 1) + 1), "--dist", "loadfile", "--no-loadscope-reorder"]
        slowest = ["--durations=12", "--durations-min=5"]
        command = [sys.executable, "-m", "pytest", *spread, *slowest, *options, f"--junitxml={report}", str(folder)]
        status, _ = _run(command)
        return _counted(report).settled(status)


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
