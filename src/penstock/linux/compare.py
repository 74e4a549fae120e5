# SPDX-License-Identifier: Apache-2.0
"""What a host has against what was planned, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from penstock.linux.commands import SEGMENTATION
from penstock.linux.host import Host
from penstock.linux.plan import PortPlan
from penstock.linux.qdisc import Entry, Mapping16, Other, Placed, Qdisc, Taprio, Vlan, clock_name, show_handle
from penstock.scenario.instants import TAI_AHEAD_OF_UTC_S

_DEFAULTS = {"pfifo", "pfifo_fast", "fq_codel", "fq", "noqueue", "mq", "noop"}  # what the kernel puts where nothing is
_RECEPTION = {"clsact", "ingress"}
_NOTHING = "nothing"
_SECOND_NS = 10**9


@dataclass(frozen=True)
class Difference:
    """Something that is not as planned."""

    interface: str
    place: str
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.interface}: {self.place}: wanted {self.wanted}, found {self.found}"


def differences(plan: PortPlan, host: Host) -> list[Difference]:
    """All differences of an interface of a host."""
    links = host.links()
    link = links.get(plan.interface)
    if link is None:
        return [Difference(plan.interface, "interface", "there", _NOTHING)]
    found = list(qdisc_differences(plan, host.qdiscs(link)))
    found += [
        Difference(plan.interface, f"offload {feature}", "off", "on")
        for feature in SEGMENTATION
        if host.feature(plan.interface, feature)
    ]
    for vlan in plan.vlans:
        there = links.get(vlan.name)
        found += vlan_differences(plan.interface, vlan, None if there is None else there.vlan)
        if there is not None and not there.is_up:
            found.append(Difference(plan.interface, f"VLAN interface {vlan.name}", "up", "down"))
    return found


def qdisc_differences(plan: PortPlan, found: tuple[Placed, ...]) -> Iterator[Difference]:
    """The differences of the qdiscs; which handles they have does not matter, only what stands where."""
    # What frames meet on their way in is not of the plan.
    found = tuple(placed for placed in found if placed.qdisc.kind not in _RECEPTION)
    wanted_at = {_place(placed, plan.qdiscs): placed.qdisc for placed in plan.qdiscs}
    found_at = {_place(placed, found): placed.qdisc for placed in found}
    for place, qdisc in wanted_at.items():
        there = found_at.get(place)
        if there is None or there.kind != qdisc.kind:
            yield Difference(plan.interface, place, qdisc.kind, there.kind if there is not None else _NOTHING)
            continue
        for where, wanted, has in compare(qdisc, there):
            yield Difference(plan.interface, f"{place} {qdisc.kind} {where}", wanted, has)
    for place, qdisc in found_at.items():
        if place not in wanted_at and not (isinstance(qdisc, Other) and qdisc.kind in _DEFAULTS):
            yield Difference(plan.interface, place, _NOTHING, qdisc.kind)


def vlan_differences(interface: str, wanted: Vlan, found: Vlan | None) -> Iterator[Difference]:
    """The differences of a VLAN interface."""
    place = f"VLAN interface {wanted.name}"
    if found is None:
        yield Difference(interface, place, f"VLAN {wanted.vlan} of {wanted.link}", _NOTHING)
        return
    if (found.vlan, found.link) != (wanted.vlan, wanted.link):
        yield Difference(interface, place, f"VLAN {wanted.vlan} of {wanted.link}", f"VLAN {found.vlan} of {found.link}")
    for priority in range(16):
        pcp, has = wanted.pcp_of_priority.get(priority, 0), found.pcp_of_priority.get(priority, 0)
        if pcp != has:
            yield Difference(interface, f"{place} egress map of priority {priority}", f"PCP {pcp}", f"PCP {has}")


def compare(wanted: Qdisc, found: Qdisc) -> Iterator[tuple[str, str, str]]:
    """Where two qdiscs of one kind differ: place, wanted, found."""
    for each in fields(wanted):
        a, b = getattr(wanted, each.name), getattr(found, each.name)
        if a == b:
            continue
        if each.name == "entries":
            yield from _entries(a, b)
        elif each.name == "mapping":
            yield from _mapping(a, b)
        elif each.name == "max_sdu_bytes":
            yield from _limits(a, b)
        elif each.name == "base_time_ns" and isinstance(wanted, Taprio):
            yield "base time", f"{a} ns", f"{b} ns{_utc(b - a)}"
        elif each.name == "overhead_bytes":
            yield "stab overhead", _plain(a), _plain(b)
        elif each.name == "clock":
            yield "clockid", _clock(a), _clock(b)
        else:
            yield each.name.replace("_", " "), _plain(a), _plain(b)


def _place(placed: Placed, among: tuple[Placed, ...]) -> str:
    """Where a qdisc stands, in words that do not depend on handles."""
    if placed.is_root:
        return "root"
    major, minor = placed.parent >> 16, placed.parent & 0xFFFF
    among = tuple(each for each in among if each != placed)  # a file may say what leads back to itself
    above = next((each for each in among if each.handle >> 16 == major and each.handle), None)
    if above is None:
        return f"below {show_handle(placed.parent)}"
    if above.is_root:
        return f"queue {minor - 1}"
    return f"{_place(above, among)} below {above.qdisc.kind}"


def _entries(wanted: tuple[Entry, ...], found: tuple[Entry, ...]) -> Iterator[tuple[str, str, str]]:
    if len(wanted) != len(found):
        yield "number of entries", str(len(wanted)), str(len(found))
    for index in range(max(len(wanted), len(found))):
        a = wanted[index] if index < len(wanted) else None
        b = found[index] if index < len(found) else None
        if a != b:
            yield f"entry {index}", _entry(a), _entry(b)


def _limits(wanted: Mapping[int, int], found: Mapping[int, int] | None) -> Iterator[tuple[str, str, str]]:
    """Kernels since 6.3 show what acts: the limit or, where it is less, what fits into the gates' windows."""
    for number, size in sorted(wanted.items()):
        has = size if found is None else found.get(number)
        if has is None or has > size:
            yield f"max-sdu of class {number}", f"{size} B", "no limit" if has is None else f"{has} B"


def _mapping(wanted: Mapping16 | None, found: Mapping16 | None) -> Iterator[tuple[str, str, str]]:
    if wanted is None or found is None:
        yield "map", "a map" if wanted else _NOTHING, "a map" if found else _NOTHING
        return
    for priority, (a, b) in enumerate(zip(wanted.class_of_priority, found.class_of_priority, strict=False)):
        if a != b:
            yield f"map of priority {priority}", f"class {a}", f"class {b}"
    for number in range(max(len(wanted.queues), len(found.queues))):
        has = [m.queues[number] if number < len(m.queues) else None for m in (wanted, found)]
        if has[0] != has[1]:
            yield f"queues of class {number}", _queues(has[0]), _queues(has[1])


def _utc(apart_ns: int) -> str:
    if abs(apart_ns) == TAI_AHEAD_OF_UTC_S * _SECOND_NS:
        return f", {TAI_AHEAD_OF_UTC_S} s apart: UTC instead of TAI"
    return ""


def _queues(queues: tuple[int, int] | None) -> str:
    return _NOTHING if queues is None else f"{queues[0]}@{queues[1]}"


def _entry(entry: Entry | None) -> str:
    if entry is None:
        return _NOTHING
    command = "" if entry.command == 0 else f" command {entry.command}"
    return f"mask 0x{entry.mask:x} for {entry.interval_ns} ns{command}"


def _clock(clock: int | None) -> str:
    return "the device's own" if clock is None else clock_name(clock)


def _plain(value: Any) -> str:
    return _NOTHING if value is None else str(value)
