# SPDX-License-Identifier: Apache-2.0
"""What the laboratory needs of the system."""

from __future__ import annotations

import platform
import subprocess

from penstock.errors import RunError
from penstock.lab import kernel
from penstock.lab.kernel import Kernel, Tell
from penstock.system_packages import may_install, require

PROCESSOR = "x86_64"

# What a guest needs: a program of each Debian package.
GUEST_PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "modprobe": "kmod",
    "ip": "iproute2",
    "setpriv": "util-linux",
}


# What this machine's own kernel is used by.
OWN_PROGRAMS = {"ip": "iproute2", "setpriv": "util-linux"}


def prepare(tell: Tell, *, renew: bool = False) -> Kernel:
    """A kernel that is unpacked, and all programs that a guest needs; with `renew` the newest kernel.

    Raises:
        MissingError: A program is missing that is not to be installed, or could not be.
        RunError: There is no such kernel for this machine.

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
