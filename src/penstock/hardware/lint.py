# SPDX-License-Identifier: Apache-2.0
"""Lint of the hardware: Verilator and slang, for several numbers of ports, without a single warning."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .registers import regblock_folder, switch_files
from .tools import hardware_folder, run, verilator

TOP = "pen_switch"
PORTS = (2, 4, 8)


@dataclass(frozen=True)
class Finding:
    """What one tool said of one size; nothing if it is content."""

    tool: str
    ports: int
    text: str

    @property
    def ok(self) -> bool:
        return not self.text


def lint(top: str = TOP, ports: tuple[int, ...] = PORTS) -> list[Finding]:
    """Runs both tools for each number of ports."""
    return [check(top, count) for count in ports for check in (lint_verilator, lint_slang)]


def lint_verilator(top: str, ports: int, files: Sequence[Path] | None = None) -> Finding:
    """Verilator with all warnings on; hw/rtl/lint.vlt says which do not apply and why."""
    waivers = hardware_folder() / "rtl" / "lint.vlt"
    flags = ["--lint-only", "-Wall", "--quiet-stats", f"-GPORTS={ports}", "--top-module", top]
    done = run([verilator(), *flags, waivers, *(files or switch_files())])
    return Finding("verilator", ports, done.stdout.strip() if done.returncode or done.stdout.strip() else "")


# A `default` in a `unique case` says what hardware does when the impossible happens; a cast can be useless for one
# value of a parameter only. The generated register block shifts a register of one bit, which no suppression reaches.
SLANG_OPTIONS = ("-Wextra", "-Wno-case-redundant-default", "-Wno-useless-cast", "-Wno-shift-count-overflow")
SLANG = """
import sys
from pyslang.driver import Driver
driver = Driver()
driver.addStandardArgs()
ok = driver.parseCommandLine(sys.argv[1]) and driver.processOptions() and driver.parseAllSources()
sys.exit(0 if ok and driver.runFullCompilation(True) else 1)
"""


def lint_slang(top: str, ports: int, files: Sequence[Path] | None = None) -> Finding:
    """Slang, the strictest reader of SystemVerilog; warnings in the generated register block are not ours."""
    files = [path for path in files or switch_files() if path.suffix != ".vlt"]
    words = ["slang", "--top", top, "-G", f"PORTS={ports}", *SLANG_OPTIONS]
    words += ["--suppress-warnings", str(regblock_folder()), *map(str, files)]
    done = run([sys.executable, "-c", SLANG, " ".join(f'"{word}"' for word in words)])
    return Finding("slang", ports, done.stdout.strip() or ("failed" if done.returncode else ""))
