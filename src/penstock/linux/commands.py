# SPDX-License-Identifier: Apache-2.0
"""The `tc`, `ip` and `ethtool` commands that say what a plan says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.linux.plan import PortPlan
from penstock.linux.qdisc import (
    FULL_OFFLOAD,
    Cbs,
    Etf,
    Mapping16,
    Mqprio,
    Placed,
    Qdisc,
    Taprio,
    Vlan,
    clock_name,
    show_handle,
)

# What iproute2 6.1 sends of a gate list: what does not fit into 1024 bytes of attributes is left out without a word.
IPROUTE2_ENTRIES = 31
# Bursts that a device cuts into frames itself would pass gates and credit as one.
SEGMENTATION = ("tso", "gso")

Command = Sequence[str]


def commands(plan: PortPlan) -> list[Command]:
    """The commands of an interface in the order in which they are given."""
    found: list[Command] = [("ethtool", "-K", plan.interface, *_off(SEGMENTATION))]
    found += [_qdisc(plan.interface, placed) for placed in plan.qdiscs]
    if plan.set_again is not None:
        found.append(_qdisc(plan.interface, plan.set_again))
    for vlan in plan.vlans:
        found += _vlan(vlan)
    return found


def removal(plan: PortPlan) -> list[Command]:
    """The commands that undo it."""
    found: list[Command] = [("ip", "link", "delete", vlan.name) for vlan in reversed(plan.vlans)]
    found.append(("tc", "qdisc", "delete", "dev", plan.interface, "root"))
    return found


def ingress(plan: PortPlan) -> list[Command]:
    """The commands by which frames that a bridge receives get the priority of their PCP, or of those without a tag."""
    add = ("tc", "filter", "add", "dev", plan.interface, "ingress")
    match = (*add, "pref", "1", "protocol", "802.1Q", "flower", "vlan_prio")
    found: list[Command] = [("tc", "qdisc", "add", "dev", plan.interface, "clsact")]
    for priority, pcp in sorted(plan.port.chain.egress_map.items()):
        found.append((*match, str(pcp), "action", "skbedit", "priority", str(priority)))
    untagged = str(plan.port.chain.priority(None))
    found.append((*add, "pref", "2", "protocol", "all", "matchall", "action", "skbedit", "priority", untagged))
    return found


def show_command(command: Command) -> str:
    """A command for a shell; long ones in lines."""
    lines, line = [], ""
    for word in command:
        new_line = word in ("map", "queues", "base-time", "sched-entry", "max-sdu", "flags", "clockid", "txtime-delay")
        if new_line and len(command) > 20:
            lines.append(line)
            line = "    " + word
        else:
            line = f"{line} {word}" if line else word
    return " \\\n".join([*lines, line])


def is_cut(plan: PortPlan) -> bool:
    """Whether older versions of tc would leave out some of the gate list."""
    return any(isinstance(p.qdisc, Taprio) and len(p.qdisc.entries) > IPROUTE2_ENTRIES for p in plan.qdiscs)


def _off(features: Sequence[str]) -> Iterator[str]:
    for feature in features:
        yield feature
        yield "off"


def _qdisc(interface: str, placed: Placed) -> Command:
    where = ("root",) if placed.is_root else ("parent", show_handle(placed.parent))
    overhead = getattr(placed.qdisc, "overhead_bytes", None)
    stab = () if overhead is None else ("stab", "overhead", str(overhead))
    return (
        *("tc", "qdisc", "replace", "dev", interface, *where, "handle", show_handle(placed.handle), *stab),
        placed.qdisc.kind,
        *_options(placed.qdisc),
    )


def _options(qdisc: Qdisc) -> Iterator[str]:
    if isinstance(qdisc, Mqprio):
        yield from _mapping(qdisc.mapping)
        yield from ("hw", str(int(qdisc.hardware)))
    elif isinstance(qdisc, Taprio):
        yield from _taprio(qdisc)
    elif isinstance(qdisc, Etf):
        yield from ("clockid", f"CLOCK_{clock_name(qdisc.clock)}", "delta", str(qdisc.delta_ns))
        for word in ("offload", "deadline_mode", "skip_sock_check"):
            if getattr(qdisc, word):
                yield word
    elif isinstance(qdisc, Cbs):
        yield from ("idleslope", str(qdisc.idle_slope_kbps), "sendslope", str(qdisc.send_slope_kbps))
        yield from ("hicredit", str(qdisc.hi_credit_bytes), "locredit", str(qdisc.lo_credit_bytes))
        yield from ("offload", str(int(qdisc.offload)))


def _mapping(mapping: Mapping16) -> Iterator[str]:
    yield from ("num_tc", str(len(mapping.queues)))
    yield from ("map", *map(str, mapping.class_of_priority))
    yield from ("queues", *(f"{count}@{first}" for count, first in mapping.queues))


def _taprio(qdisc: Taprio) -> Iterator[str]:
    if qdisc.mapping is not None:
        yield from _mapping(qdisc.mapping)
    if qdisc.max_sdu_bytes and qdisc.mapping is not None:
        yield "max-sdu"
        for number in range(len(qdisc.mapping.queues)):
            yield str(qdisc.max_sdu_bytes.get(number, 0))
    yield from ("base-time", str(qdisc.base_time_ns))
    for entry in qdisc.entries:
        yield from ("sched-entry", "S", f"{entry.mask:x}", str(entry.interval_ns))
    yield from ("cycle-time", str(qdisc.cycle_time_ns))
    if qdisc.cycle_time_extension_ns:
        yield from ("cycle-time-extension", str(qdisc.cycle_time_extension_ns))
    yield from ("flags", hex(qdisc.flags))
    if qdisc.txtime_delay_ns:
        yield from ("txtime-delay", str(qdisc.txtime_delay_ns))
    if not qdisc.flags & FULL_OFFLOAD:
        yield from ("clockid", f"CLOCK_{clock_name(qdisc.clock)}")


def _vlan(vlan: Vlan) -> list[Command]:
    pairs = [f"{priority}:{pcp}" for priority, pcp in sorted(vlan.pcp_of_priority.items())]
    make = ("ip", "link", "add", "link", vlan.link, "name", vlan.name, "type", "vlan", "id", str(vlan.vlan))
    return [(*make, "egress-qos-map", *pairs), ("ip", "link", "set", "dev", vlan.name, "up")]
