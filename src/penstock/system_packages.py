# SPDX-License-Identifier: Apache-2.0
"""Programs of the system that are needed: all named at once, before anything starts, and installed if that is wanted.

The same holds for the entry script: on a Debian system root is asked on a terminal; a script says yes by
`PENSTOCK_YES=1` or `--yes`, and `PENSTOCK_NO_INSTALL=1` says no. Everybody else is told the command.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping

from penstock.errors import MachineError

YES, NO = "PENSTOCK_YES", "PENSTOCK_NO_INSTALL"
_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends")


class MissingError(MachineError):
    """Programs are missing and were not installed; the message has the command that does it."""


def missing_packages(programs: Mapping[str, str]) -> list[str]:
    """The Debian packages of programs that are not there; `programs` names the package of each."""
    return sorted({package for program, package in programs.items() if shutil.which(program) is None})


def may_install() -> bool:
    """Whether packages can be installed here at all, if somebody wants it."""
    return os.geteuid() == 0 and not os.environ.get(NO) and shutil.which("apt-get") is not None


def install_command(packages: list[str]) -> str:
    """What a person types."""
    return f"sudo {' '.join(_INSTALL)} {' '.join(packages)}"


def require(programs: Mapping[str, str], tell: Callable[[str], None]) -> None:
    """Sees that programs are there: names the packages of those that are not, asks, and installs them.

    Raises:
        MissingError: They may not be installed, or could not be.

    """
    packages = missing_packages(programs)
    if not packages:
        return
    said = f"missing: {' '.join(packages)}"
    if not may_install():
        raise MissingError(f"{said}; run: {install_command(packages)}")
    if not (os.environ.get(YES) or _asked(f"{said}; install by {' '.join(_INSTALL)} {' '.join(packages)}?")):
        raise MissingError(f"{said}; run: {install_command(packages)}; or say --yes, or {YES}=1")
    tell(f"{said}; running: {' '.join(_INSTALL)} {' '.join(packages)}")
    _install(packages)


def _asked(question: str) -> bool:
    """Whether a person at a terminal says yes; where nobody can be asked, no."""
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    print(f"penstock: {question} [Y/n] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().lower() in ("\n", "y\n", "yes\n")  # nothing at all is the end of the input


def _install(packages: list[str]) -> None:
    command = [*_INSTALL, *packages]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for attempt in (command, ["apt-get", "update"], command):
        done = subprocess.run(attempt, env=environment, capture_output=True, text=True, check=False)
        if attempt is command and done.returncode == 0:
            return
    raise MissingError(f"{' '.join(command)} failed: {done.stderr.strip()}")
