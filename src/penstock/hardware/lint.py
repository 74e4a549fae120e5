# SPDX-License-Identifier: Apache-2.0
"""Lint of the hardware: Verilator and slang, for several numbers of ports, without a single warning."""

from dataclasses import dataclass
from pathlib import Path

from .registers import generate_regblock
from .tools import cache_folder, hardware_folder, rtl_files, run, verilator

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


def sources() -> list[Path]:
    """All that is compiled, in order: the generated register block first."""
    return [*generate_regblock(cache_folder() / "regs"), *rtl_files()]


def lint(top: str = TOP, ports: tuple[int, ...] = PORTS) -> list[Finding]:
    """Runs both tools for each number of ports."""
    return [check(top, count) for count in ports for check in (lint_verilator, lint_slang)]


def lint_verilator(top: str, ports: int) -> Finding:
    """Verilator with all warnings on; hw/rtl/lint.vlt says which do not apply and why."""
    waivers = hardware_folder() / "rtl" / "lint.vlt"
    flags = ["--lint-only", "-Wall", "--quiet-stats", f"-GPORTS={ports}", "--top-module", top]
    done = run([verilator(), *flags, waivers, *sources()])
    return Finding("verilator", ports, done.stdout.strip() if done.returncode or done.stdout.strip() else "")


def lint_slang(top: str, ports: int) -> Finding:
    """Slang, the strictest reader of SystemVerilog; the generated register block may have warnings of its own."""
    import pyslang.driver

    generated = {path.name for path in generate_regblock(cache_folder() / "regs")}
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    files = " ".join(f'"{path}"' for path in sources() if path.suffix != ".vlt")
    arguments = f"slang --top {top} -G PORTS={ports} -Wextra -Wno-unused-parameter {files}"
    if not (driver.parseCommandLine(arguments) and driver.processOptions() and driver.parseAllSources()):
        return Finding("slang", ports, "the sources could not be read")
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    engine = pyslang.DiagnosticEngine(driver.sourceManager)
    said = []
    for diagnostic in compilation.getAllDiagnostics():
        where = driver.sourceManager.getFileName(diagnostic.location)
        if Path(where).name in generated and not diagnostic.isError():
            continue
        line = driver.sourceManager.getLineNumber(diagnostic.location)
        said.append(f"{where}:{line}: {engine.formatMessage(diagnostic)}")
    return Finding("slang", ports, "\n".join(said))
