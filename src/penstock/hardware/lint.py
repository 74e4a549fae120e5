# SPDX-License-Identifier: Apache-2.0
"""Lint of the hardware: Verilator and slang, for several numbers of ports, boards and the network card; no warning."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.hardware.boards import board, board_names, primitive_models
from penstock.hardware.registers import card_files, regblock_folder, switch_files
from penstock.hardware.tools import card_simulation_files, hardware_folder, run, simulation_files, verilator
from penstock.words import count

TOP = "pen_switch"
PORTS = (2, 4, 8)
CARD_PORTS = (1, 3, 4)
WITH_HOST = 3


@dataclass(frozen=True)
class Finding:
    """What one tool said of one size or board; nothing if it is content."""

    tool: str
    what: str
    text: str

    @property
    def ok(self) -> bool:
        return not self.text


def lint(top: str = TOP, ports: tuple[int, ...] = PORTS) -> list[Finding]:
    """Runs both tools for each number of ports; of the switch, once more with a host port."""
    found = [check(top, number) for number in ports for check in (lint_verilator, lint_slang)]
    host = [check(top, WITH_HOST, host=True) for check in (lint_verilator, lint_slang)] if top == TOP else []
    return found + host


def lint_boards() -> list[Finding]:
    """Runs both tools on each board, with models for the primitives of its FPGA."""
    found = []
    for name in board_names():
        one = board(name)
        files = [primitive_models(), *one.files()]
        found += [check(one.top, None, files, name) for check in (lint_verilator, lint_slang)]
    return found


def lint_card() -> list[Finding]:
    """Runs both tools on the network card, with one port, and with as many as it can have.

    It is looked at with what is bound to it in simulation.
    """
    files = [*card_files(), *card_simulation_files()]
    return [
        check("pen_nic", ports, files, f"network card, {count(ports, 'port')}")
        for ports in CARD_PORTS
        for check in (lint_verilator, lint_slang)
    ]


# The models of primitives have delays, which are never zero.
TIMING = ("--timing", "--no-sched-zero-delay", "--timescale", "1ns/1ps")


def lint_verilator(
    top: str, ports: int | None, files: Sequence[Path] | None = None, what: str | None = None, *, host: bool = False
) -> Finding:
    """Verilator with all warnings on; hw/rtl/lint.vlt says which do not apply and why. A board has no `ports`.

    The switch is looked at with what is bound to it in simulation, each board without.
    """
    waivers = hardware_folder() / "rtl" / "lint.vlt"
    flags = ["--lint-only", "-Wall", "--quiet-stats", *TIMING, "--top-module", top]
    flags += [] if ports is None else [f"-GPORTS={ports}"]
    flags += ["-GHOST=1"] if host else []
    done = run([verilator(), *flags, waivers, *(files or [*switch_files(), *simulation_files()])])
    said = done.stdout.strip() or ("failed" if done.returncode else "")
    return Finding("verilator", what or _size(ports, host=host), said)


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


def _size(ports: int | None, *, host: bool) -> str:
    return f"{ports} ports with host" if host else f"{ports} ports"


def lint_slang(
    top: str, ports: int | None, files: Sequence[Path] | None = None, what: str | None = None, *, host: bool = False
) -> Finding:
    """Slang, the strictest reader of SystemVerilog; warnings in the generated register block are not ours."""
    files = [path for path in files or switch_files() if path.suffix != ".vlt"]
    words = ["slang", "--top", top, "--timescale", "1ns/1ps", *SLANG_OPTIONS]
    words += [] if ports is None else ["-G", f"PORTS={ports}"]
    words += ["-G", "HOST=1"] if host else []
    words += ["--suppress-warnings", str(regblock_folder()), *map(str, files)]
    done = run([sys.executable, "-c", SLANG, " ".join(f'"{word}"' for word in words)])
    return Finding(
        "slang", what or _size(ports, host=host), done.stdout.strip() or ("failed" if done.returncode else "")
    )
