# SPDX-License-Identifier: Apache-2.0
"""What a queueing discipline is set to, whether planned or found, in the kernel's own units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ROOT = 0xFFFFFFFF  # TC_H_ROOT, the parent of what stands at an interface itself

TXTIME_ASSIST, FULL_OFFLOAD = 1, 2  # TCA_TAPRIO_ATTR_FLAG_*
SET_GATES = 0  # TC_TAPRIO_CMD_SET_GATES

CLOCKS = {"REALTIME": 0, "MONOTONIC": 1, "BOOTTIME": 7, "TAI": 11}  # of <linux/time.h>


@dataclass(frozen=True)
class Mapping16:
    """`num_tc`, `map` and `queues` of mqprio and taprio: struct tc_mqprio_qopt."""

    class_of_priority: tuple[int, ...]  # 16
    queues: tuple[tuple[int, int], ...]  # of each class: count and first


@dataclass(frozen=True)
class Entry:
    """A line of a gate control list; bit k of the mask: the gate of class k of the qdisc is open."""

    mask: int
    interval_ns: int
    command: int = SET_GATES


@dataclass(frozen=True)
class Mqprio:
    """Classes and queues, without gates."""

    mapping: Mapping16
    hardware: bool = False
    kind = "mqprio"


@dataclass(frozen=True)
class Taprio:
    """Classes, queues and gates."""

    mapping: Mapping16 | None
    entries: tuple[Entry, ...]
    base_time_ns: int
    cycle_time_ns: int
    cycle_time_extension_ns: int = 0
    clock: int | None = CLOCKS["TAI"]  # None: the device's own
    flags: int = 0
    txtime_delay_ns: int = 0
    # By class; a class that is not there has no limit. None: the kernel does not say before the list has begun.
    max_sdu_bytes: Mapping[int, int] | None = field(default_factory=dict)
    overhead_bytes: int | None = None  # of the size table; None: it has none
    kind = "taprio"


@dataclass(frozen=True)
class Etf:
    """Each frame at its launch time."""

    delta_ns: int
    clock: int
    deadline_mode: bool = False
    offload: bool = False
    skip_sock_check: bool = False
    kind = "etf"


@dataclass(frozen=True)
class Cbs:
    """The credit-based shaper: slopes in kbit/s, credits in bytes."""

    idle_slope_kbps: int
    send_slope_kbps: int
    hi_credit_bytes: int
    lo_credit_bytes: int
    offload: bool = False
    overhead_bytes: int | None = None  # of the size table; None: it has none
    kind = "cbs"


@dataclass(frozen=True)
class Other:
    """A qdisc that is not ours."""

    kind: str


Qdisc = Mqprio | Taprio | Etf | Cbs | Other


@dataclass(frozen=True)
class Placed:
    """A qdisc where it stands. Handles are the kernel's 32 bits: major and minor number."""

    handle: int
    parent: int
    qdisc: Qdisc

    @property
    def is_root(self) -> bool:
        """Whether it stands at the interface itself."""
        return self.parent == ROOT


@dataclass(frozen=True)
class Vlan:
    """A VLAN interface."""

    name: str
    link: str
    vlan: int
    pcp_of_priority: Mapping[int, int]


def show_handle(handle: int) -> str:
    """A handle as tc writes it: `100:` of a qdisc, `100:1` of a class."""
    if handle == ROOT:
        return "root"
    major, minor = handle >> 16, handle & 0xFFFF
    return f"{major:x}:{minor:x}" if minor else f"{major:x}:"


def clock_name(clock: int | None) -> str:
    """As `tc` takes it, without CLOCK_."""
    return next((name for name, number in CLOCKS.items() if number == clock), str(clock))
