# SPDX-License-Identifier: Apache-2.0
"""How the guest's processor is made: by KVM where that really works, else by emulation."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from penstock.hardware.tools import cache_folder

Kind = Literal["kvm", "tcg", "icount"]
KINDS: tuple[Kind, ...] = ("kvm", "tcg", "icount")
MOST_ICOUNT_SHIFT = 10


@dataclass(frozen=True)
class Emulation:
    """What runs the guest's instructions."""

    kind: Kind
    # of icount: each instruction takes 2 to the power of this, in nanoseconds of the guest's clock
    shift: int = 0

    def arguments(self, processors: int) -> list[str]:
        """Of QEMU."""
        if self.kind == "kvm":
            return ["-accel", "kvm", "-cpu", "host", "-smp", str(processors)]
        if self.kind == "tcg":
            return ["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(processors)]
        # All processors take turns in one thread; a time in which none has work passes at once.
        count = f"shift={self.shift},sleep=off"
        return ["-accel", "tcg,thread=single", "-icount", count, "-cpu", "max", "-smp", str(processors)]

    def __str__(self) -> str:
        if self.kind == "icount":
            return f"TCG with icount, {1 << self.shift} ns per instruction"
        return {"kvm": "KVM", "tcg": "TCG"}[self.kind]


def kvm_is_offered() -> bool:
    """Whether this user may open /dev/kvm. That says nothing of whether a guest gets anywhere by it."""
    return os.access("/dev/kvm", os.R_OK | os.W_OK)


def remembered(release: str) -> bool | None:
    """Whether KVM ran this kernel since the machine started, or None if nobody tried."""
    try:
        return _memory(release).read_text() == "works"
    except OSError:
        return None


def remember(release: str, works: bool) -> None:
    """Keeps what a try of KVM showed until the machine starts again, since a try that hangs takes its whole time."""
    file = _memory(release)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("works" if works else "hangs")


def _memory(release: str) -> Path:
    start = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return cache_folder() / "lab" / "kvm" / f"{start}-{release}"
