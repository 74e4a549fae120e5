# SPDX-License-Identifier: Apache-2.0
"""What the laboratory needs of the system: named with the command that installs it, installed where that is allowed."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping

from penstock.errors import RunError
from penstock.lab import kernel
from penstock.lab.kernel import Kernel, Tell

PROCESSOR = "x86_64"

# What a guest needs: a program of each Debian package.
GUEST_PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "modprobe": "kmod",
    "ip": "iproute2",
    "setpriv": "util-linux",
}


def prepare(tell: Tell, *, renew: bool = False) -> Kernel:
    """A kernel that is unpacked, and all programs that a guest needs; with `renew` the newest kernel.

    Programs are installed by apt when this is root and PENSTOCK_NO_INSTALL is not set.

    Raises:
        RunError: Something is missing that may not be installed, or could not be.

    """
    if platform.machine() != PROCESSOR:
        raise RunError(f"the guest runs this machine's programs, and so needs {PROCESSOR}, not {platform.machine()}")
    require(GUEST_PROGRAMS, tell)
    have = kernel.cached()
    if have is not None and not renew:
        return have
    try:
        return kernel.fetch(tell)
    except RunError:
        if not may_install():
            raise
        tell("refreshing the package lists: apt-get update")
        subprocess.run(["apt-get", "update"], capture_output=True, check=False)
        return kernel.fetch(tell)


def missing_packages(programs: Mapping[str, str]) -> list[str]:
    """The Debian packages of programs that are not there; `programs` names the package of each."""
    return sorted({package for program, package in programs.items() if shutil.which(program) is None})


def require(programs: Mapping[str, str], tell: Tell) -> None:
    """Installs the packages of programs that are not there.

    Raises:
        RunError: They may not be installed, or could not be.

    """
    if packages := missing_packages(programs):
        install(packages, tell)


def may_install() -> bool:
    """As the entry decides it."""
    return os.geteuid() == 0 and not os.environ.get("PENSTOCK_NO_INSTALL") and shutil.which("apt-get") is not None


def install_command(packages: list[str]) -> str:
    """What a person types."""
    return f"sudo apt-get install -y --no-install-recommends {' '.join(packages)}"


def install(packages: list[str], tell: Tell) -> None:
    """Installs Debian packages, or says how.

    Raises:
        RunError: It may not, or apt failed.

    """
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if not may_install():
        raise RunError(f"missing: {' '.join(packages)}; run: {install_command(packages)}")
    tell(f"missing: {' '.join(packages)}; running: {' '.join(command)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for attempt in (command, ["apt-get", "update"], command):
        done = subprocess.run(attempt, env=environment, capture_output=True, text=True, check=False)
        if attempt is command and done.returncode == 0:
            return
    raise RunError(f"{' '.join(command)} failed: {done.stderr.strip()}")
