# SPDX-License-Identifier: Apache-2.0
"""What people get wrong in configurations that they write by hand: each with its place and a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.linux.commands import IPROUTE2_ENTRIES, SEGMENTATION
from penstock.linux.foreign.written import Written
from penstock.linux.plan import PortPlan
from penstock.linux.qdisc import CLOCKS, FULL_OFFLOAD, TXTIME_ASSIST, Cbs, Etf, Mapping16, Mqprio, Taprio
from penstock.scenario.host_port import LINUX_OVERHEAD_BYTES
from penstock.scenario.instants import Now, looks_like_utc, utc_now_ns
from penstock.scenario.units import show_rate

_PRIORITIES = 16
_HEADER_BYTES = 14  # hard_header_len, which the kernel adds to max-sdu
_SHORTEST_FRAME_BYTES = 60  # ETH_ZLEN


@dataclass(frozen=True)
class Finding:
    """Something that is probably not meant."""

    interface: str
    place: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.interface}: {self.place}: {self.what}; remedy: {self.remedy}"


_Said = tuple[str, str]  # what, remedy


def lint(plan: PortPlan, written: Written, now: Now = utc_now_ns) -> list[Finding]:
    """What is wrong with what a file says of the plan's interface, apart from not being the plan."""
    found: list[Finding] = []

    def note(place: str, said: Iterator[_Said]) -> None:
        found.extend(Finding(plan.interface, place, what, remedy) for what, remedy in said)

    for placed in written.qdiscs:
        qdisc = placed.qdisc
        if isinstance(qdisc, Taprio | Mqprio) and qdisc.mapping is not None:
            note(qdisc.kind, _mapping(qdisc.mapping, written.map_lengths.get(placed.handle)))
        if isinstance(qdisc, Taprio):
            note("taprio", _list(qdisc, plan.port.rate_bps, now))
            note("taprio", _clocks(qdisc))
            note("taprio", _assist(qdisc, [p.qdisc for p in written.qdiscs if isinstance(p.qdisc, Etf)]))
            note("taprio", _windows(qdisc, plan))
            if written.is_script:
                note("taprio", _script(qdisc))
        if isinstance(qdisc, Cbs):
            note("cbs", _credit(qdisc, plan.port.rate_bps))
            if written.is_script:
                note("cbs", _counted(qdisc, [p.qdisc for p in written.qdiscs if isinstance(p.qdisc, Taprio)]))
    if written.is_script:
        note("offloads", _features(plan.interface, written))
    return found


def _mapping(mapping: Mapping16, length: int | None) -> Iterator[_Said]:
    number = len(mapping.queues)
    if length is not None and length < _PRIORITIES:
        what = f"map has {length} priorities: those from {length} to 15 go to class 0"
        yield what, "a class for each of the 16 priorities"
    beyond = sorted({each for each in mapping.class_of_priority if each >= number})
    if beyond:
        yield f"map names class {beyond[0]}, but num_tc is {number}", f"classes 0 to {number - 1}, or a larger num_tc"
    taken: dict[int, int] = {}
    for each, (count, first) in enumerate(mapping.queues):
        if count == 0:
            yield f"class {each} has no queue", "COUNT@FIRST for each class in queues"
        for queue in range(first, first + count):
            if taken.setdefault(queue, each) != each:
                yield f"queue {queue} is of class {taken[queue]} and of class {each}", "queues that do not overlap"


def _list(qdisc: Taprio, rate_bps: int, now: Now) -> Iterator[_Said]:
    total = sum(entry.interval_ns for entry in qdisc.entries)
    if total != qdisc.cycle_time_ns:
        what = f"the entries take {total} ns, the cycle {qdisc.cycle_time_ns} ns"
        yield what, f"cycle-time {total}, or entries that sum up to it"
    number = len(qdisc.mapping.queues) if qdisc.mapping is not None else _PRIORITIES
    for index, entry in enumerate(qdisc.entries):
        if entry.mask >> number:
            what = f"entry {index} opens class {entry.mask.bit_length() - 1}, but there are {number} classes"
            yield what, f"masks up to 0x{(1 << number) - 1:x}"
        if entry.interval_ns < _SHORTEST_FRAME_BYTES * 8 * 10**9 // rate_bps:
            what = f"entry {index} takes {entry.interval_ns} ns, in which no frame fits at {show_rate(rate_bps)}"
            yield what, f"{_SHORTEST_FRAME_BYTES * 8 * 10**9 // rate_bps} ns or more"
    if qdisc.clock in (None, CLOCKS["TAI"]) and looks_like_utc(qdisc.base_time_ns, now):
        what = "base-time has passed by TAI, but lies ahead by UTC, which is 37 s behind"
        yield what, "37 s more: gates count TAI, date counts UTC"
    if qdisc.overhead_bytes != LINUX_OVERHEAD_BYTES and qdisc.max_sdu_bytes is not None:
        has = "no size table" if qdisc.overhead_bytes is None else f"an overhead of {qdisc.overhead_bytes} B"
        what = f"{has}: the guard before a gate closes is too short by what stands around a frame"
        yield what, f"stab overhead {LINUX_OVERHEAD_BYTES}: preamble, delimiter, FCS and gap"


def _clocks(qdisc: Taprio) -> Iterator[_Said]:
    if qdisc.flags & FULL_OFFLOAD and qdisc.clock is not None:
        yield "clockid with full offload, which the kernel refuses: the device's clock counts", "no clockid"
    if not qdisc.flags & FULL_OFFLOAD:
        if qdisc.clock is None:
            yield "no clockid, which the kernel wants without full offload", "clockid CLOCK_TAI"
        elif qdisc.clock != CLOCKS["TAI"]:
            yield "the clock is not TAI, which PTP hands out", "clockid CLOCK_TAI"


def _assist(qdisc: Taprio, children: list[Etf]) -> Iterator[_Said]:
    if not qdisc.flags & TXTIME_ASSIST:
        if qdisc.txtime_delay_ns:
            yield "txtime-delay without txtime-assist, which the kernel refuses", "flags 0x1, or no txtime-delay"
        return
    if not children:
        yield "txtime-assist without etf: nothing keeps the launch times", "an etf with skip_sock_check at each queue"
    for etf in children:
        if not etf.skip_sock_check:
            yield "etf without skip_sock_check drops each frame that no socket gave a launch time", "skip_sock_check"
        if qdisc.txtime_delay_ns <= etf.delta_ns:
            what = f"txtime-delay {qdisc.txtime_delay_ns} is not above the delta of etf, {etf.delta_ns}"
            yield f"{what}: frames are late when they come to it", f"more than {etf.delta_ns}"


def _windows(qdisc: Taprio, plan: PortPlan) -> Iterator[_Said]:
    """Longest windows against max-sdu, and whether PTP gets any."""
    if qdisc.mapping is None or not qdisc.entries:
        return
    ptp = qdisc.mapping.class_of_priority[plan.port.ptp_priority]
    if not any(entry.mask >> ptp & 1 for entry in qdisc.entries):
        what = f"class {ptp}, to which PTP goes with priority {plan.port.ptp_priority}, never opens"
        yield what, "an entry that opens it, or socket_priority of ptp4l with ptp_priority here"
    for number, size in sorted((qdisc.max_sdu_bytes or {}).items()):
        window = _largest_window(qdisc, number)
        needed = (size + _HEADER_BYTES + LINUX_OVERHEAD_BYTES) * 8 * 10**9 // plan.port.rate_bps
        if window is not None and 0 < window < needed:
            fits = window * plan.port.rate_bps // (8 * 10**9) - _HEADER_BYTES - LINUX_OVERHEAD_BYTES
            what = (
                f"max-sdu {size} of class {number} takes {needed} ns with the {LINUX_OVERHEAD_BYTES} B around a frame, "
                f"its longest window {window} ns"
            )
            yield what, f"max-sdu up to {fits}"


def _largest_window(qdisc: Taprio, number: int) -> int | None:
    """The longest time for which a class is open without a break; None if always."""
    opened = [bool(entry.mask >> number & 1) for entry in qdisc.entries]
    if all(opened):
        return None
    start = opened.index(False)
    longest = now = 0
    for index in range(len(opened)):
        at = (start + index) % len(opened)
        now = now + qdisc.entries[at].interval_ns if opened[at] else 0
        longest = max(longest, now)
    return longest


def _script(qdisc: Taprio) -> Iterator[_Said]:
    if len(qdisc.entries) > IPROUTE2_ENTRIES:
        what = f"{len(qdisc.entries)} entries: tc 6.1 sends the first {IPROUTE2_ENTRIES} or so and says nothing"
        yield what, "penstock linux apply, which sends all and reads them back"


def _credit(qdisc: Cbs, rate_bps: int) -> Iterator[_Said]:
    apart = qdisc.idle_slope_kbps - qdisc.send_slope_kbps
    units = {rate_bps: "bit/s", rate_bps // 10**6: "Mbit/s", rate_bps // 8: "byte/s"}
    if apart in units:
        yield f"the slopes are in {units[apart]}", "idleslope and sendslope in kbit/s"
    elif apart != rate_bps // 1000:
        what = f"idleslope less sendslope is {apart}, not the {rate_bps // 1000} kbit/s of the port"
        yield what, f"sendslope {qdisc.idle_slope_kbps - rate_bps // 1000}"
    if qdisc.hi_credit_bytes < 0 or qdisc.lo_credit_bytes > 0 or qdisc.send_slope_kbps > 0:
        yield "a sign is wrong", "idleslope and hicredit above 0, sendslope and locredit below"


def _counted(qdisc: Cbs, above: list[Taprio]) -> Iterator[_Said]:
    if above and qdisc.overhead_bytes is not None:
        yield "a size table below taprio, which the kernel refuses", "stab at taprio only, which counts for cbs too"
    elif not above and not qdisc.offload and qdisc.overhead_bytes != LINUX_OVERHEAD_BYTES:
        what = "cbs in software counts frames without what stands around them, the slopes count it"
        yield what, f"stab overhead {LINUX_OVERHEAD_BYTES} before cbs"


def _features(interface: str, written: Written) -> Iterator[_Said]:
    left = [name for name in SEGMENTATION if written.features.get(name) is not False]
    if left:
        what = f"{' and '.join(left)} stay on: bursts pass gates, credit and launch times as one frame"
        yield what, f"ethtool -K {interface} {' '.join(f'{name} off' for name in left)}"
