# SPDX-License-Identifier: Apache-2.0
"""What people get wrong when a port becomes qdiscs of Linux: each with its place and what would be right."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import lcm

from penstock.scenario.chain import CLASSES
from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.egress import GateList
from penstock.scenario.host_port import HostPort
from penstock.scenario.instants import Now, looks_like_utc, utc_now_ns
from penstock.scenario.limits import START_TIME_NS
from penstock.scenario.network import Network
from penstock.scenario.positions import KeyPath
from penstock.scenario.units import show_rate, show_time
from penstock.scenario.windows import acting, wire_ns

_SHORTEST_FRAME_BYTES = 60  # ETH_ZLEN: without FCS, and nothing around it
_LONGEST_CYCLE_NS = 2**31 - 1  # INT_MAX, by the kernel's policy of the cycle time
_LAST_BASE_TIME_NS = 2**63 - 1
_MOST_READ_BACK = 850  # entries of 36 B in one netlink message of 32 KiB
_PTP_FRAME_BYTES = 90  # the longest that is sent often: Announce and Follow_Up of 802.1AS
_KILOBIT_BPS = 1000
_MOST_LAUNCHES = 10_000  # of a stream that are looked at


def check_host_port(draft: Draft, path: KeyPath, port: HostPort, network: Network, now: Now = utc_now_ns) -> None:
    """All checks of a port."""
    _check_shared_queues(draft, path, port)
    _check_order(draft, path, port)
    _check_selection(draft, path, port, network)
    if port.gates is not None:
        _check_gates(draft, path, port, port.gates)
        _check_ptp(draft, path, port, port.gates)
        _check_launches(draft, port, port.gates)
        if port.clock in (None, "TAI") and looks_like_utc(port.base_time_ns, now):
            draft.report.warn(
                (*path, "start"),
                "this has passed by TAI, but lies ahead by UTC, which is 37 s behind: "
                "if UTC is meant, write a time with its zone, such as 2026-11-21T12:00:00Z",
            )
        if port.clock not in (None, "TAI"):
            what = f"{port.clock} is not what PTP hands out: the phase is not that of other hosts; usual is TAI"
            draft.report.warn((*path, "clock"), what)
    elif port.max_sdu_bytes:
        draft.report.warn(path, "max_sdu needs gates on Linux: mqprio cannot drop long frames")
    for number, shaper in port.credit.items():
        if shaper.idle_slope_bps % _KILOBIT_BPS:
            what = (
                f"cbs counts kbit/s: the idle slope of {port.class_name(number)}, {shaper.idle_slope_bps} b/s, "
                "is rounded up"
            )
            draft.report.warn(path, what)
        if port.gates is not None and port.mode == "offload" and not port.credit_offload:
            what = "with full offload the device takes frames past the kernel's gates and its credit"
            draft.report.warn(path, f'{what}: usual is credit = "offload"')
            break


def _check_shared_queues(draft: Draft, path: KeyPath, port: HostPort) -> None:
    where: KeyPath = (*path, "queues")
    for queue in port.chain.queues:
        served = next((number for number in queue.classes if number in port.credit), None)
        if served is not None and queue.count > 1:
            what = f"class {served} is served by credit, and each of its {queue.count} queues would earn all of it"
            draft.report.add(where, what, "one queue")
        if len(queue.classes) < 2:
            continue
        first, *others = queue.classes
        both = f"classes {', '.join(map(str, queue.classes))} share a queue"
        if served is not None:
            draft.report.add(where, f"{both}, but class {served} is served by credit", f"a queue for class {served}")
        if any(port.max_sdu_bytes.get(number) != port.max_sdu_bytes.get(first) for number in others):
            draft.report.add(where, f"{both}, but not their max_sdu", "one max_sdu, or a queue for each")
        launched = port.launch_times.classes if port.launch_times is not None else ()
        if any((number in launched) != (first in launched) for number in others):
            draft.report.add(where, f"{both}, but not all of them have launch times", "a queue for each")
        for index, (states, _) in enumerate(port.gates.entries if port.gates is not None else ()):
            opened = [number for number in queue.classes if states >> number & 1]
            if 0 < len(opened) < len(queue.classes):
                shut = next(number for number in queue.classes if number not in opened)
                what = f"{both}, but entry {index} of the gates opens class {opened[0]} and not class {shut}"
                draft.report.add(where, what, "a queue for each, or gates that open them together")
                break


def _check_order(draft: Draft, path: KeyPath, port: HostPort) -> None:
    """Kernel and devices serve queues from one end to the other, and so must the classes be."""
    ranges = [(min(queue.classes), max(queue.classes)) for queue in port.chain.queues]
    rising = all(a[1] < b[0] for a, b in pairwise(ranges))
    falling = all(a[0] > b[1] for a, b in pairwise(ranges))
    if not rising and not falling:
        what = "the classes neither rise nor fall from queue to queue, but queues are served from one end to the other"
        draft.report.warn((*path, "queues"), what)


def _check_selection(draft: Draft, path: KeyPath, port: HostPort, network: Network) -> None:
    bridge = network.bridges.get(port.node)
    level = (bridge or network.stations[port.node]).round_robin.get(port.port)
    if level:
        turns = ", ".join(port.class_name(number) for number in sorted(level, reverse=True))
        what = f"no qdisc of Linux serves {turns} in turns behind taprio and mqprio"
        draft.report.add(path, what, 'selection = "strict", or no linux here')
    if bridge is None:
        return
    shaped = sorted({network.class_at(s, port.node) for s in port.streams if s.ats is not None})
    for number in shaped:
        if bridge.is_ats(number):
            how = "credit alone" if number in port.credit else "strict priority"
            what = f"Linux has no ATS: {port.class_name(number)} is served by {how} there"
            draft.report.warn(path, what)


def _check_gates(draft: Draft, path: KeyPath, port: HostPort, gates: GateList) -> None:
    shortest_ns = _SHORTEST_FRAME_BYTES * 8 * 10**9 // port.rate_bps
    where: KeyPath = (*path, "gates")
    intervals = [interval for _, _, interval in acting(gates).entries]
    short = [index for index, interval in enumerate(intervals) if interval < shortest_ns]
    if short:
        what = (
            f"entry {short[0]} of the gates takes {intervals[short[0]]} ns, in which no frame fits: "
            f"the kernel refuses intervals below {shortest_ns} ns at {show_rate(port.rate_bps)}"
        )
        draft.report.add(where, what, f"{shortest_ns}ns or more")
    if port.base_time_ns > _LAST_BASE_TIME_NS:
        what = f"the gates begin {port.base_time_ns - _LAST_BASE_TIME_NS} ns after the last time that the kernel knows"
        draft.report.add((*path, "start"), what, "an earlier start, or an earlier base_time")
    if gates.cycle_time_ns > _LONGEST_CYCLE_NS:
        what = f"the cycle of {show_time(gates.cycle_time_ns * 1000)} is longer than the kernel takes"
        draft.report.add(where, what, f"up to {_LONGEST_CYCLE_NS}ns")
    if len(gates.entries) > _MOST_READ_BACK:
        what = f"{len(gates.entries)} entries are more than the kernel can show again, so they cannot be verified"
        draft.report.add(where, what, f"up to {_MOST_READ_BACK}")


def _check_ptp(draft: Draft, path: KeyPath, port: HostPort, gates: GateList) -> None:
    number = port.chain.priority_map[port.ptp_priority]
    assert 0 <= number < CLASSES
    window_ns = acting(gates).largest_window(number)
    said = f"PTP is sent with priority {port.ptp_priority} and so in {port.class_name(number)}"
    if window_ns == 0:
        what = f"{said}, which never opens: the clock would be lost; usual is an entry that opens it, or ptp_priority"
        draft.report.warn((*path, "ptp_priority"), what)
    elif window_ns is not None and window_ns < wire_ns(_PTP_FRAME_BYTES, port.rate_bps):
        needed = wire_ns(_PTP_FRAME_BYTES, port.rate_bps)
        what = f"{said}, which is open for {window_ns} ns at most: its messages take {needed} ns"
        draft.report.warn((*path, "ptp_priority"), what)


def _check_launches(draft: Draft, port: HostPort, gates: GateList) -> None:
    """With txtime-assist taprio drops what a program sends with a launch time out of its class's gate."""
    if port.mode != "txtime-assist":
        return
    for stream in port.streams:
        bad = next((due for due in _launches_ns(stream, gates) if not _takes(port, gates, stream, due)), None)
        if bad is not None:
            # The frame has to begin after the opening: at that very ns taprio refuses it, seen on Linux 6.1.
            draft.report.warn(
                ("streams", stream.name, "source", "launch"),
                f"the launch time {show_time(bad * 1000)} and its frame are not within an entry that opens the gate of "
                "its class: taprio drops it; usual is a start that moves launch times behind the opening",
            )


def _launches_ns(stream: Stream, gates: GateList) -> range:
    """The launch times of a periodic stream until all begins anew, in ns of the scenario; those of others are drawn."""
    launch, every = None if stream.handover is None else stream.handover.launch, stream.source.every
    if launch is None or not every or every % 1000:
        return range(0)
    first, period = (stream.source.start + launch.offset_ps) // 1000, every // 1000
    count = min(lcm(period, gates.cycle_time_ns) // period, stream.source.count or _MOST_LAUNCHES, _MOST_LAUNCHES)
    return range(first, first + count * period, period)


def _takes(port: HostPort, gates: GateList, stream: Stream, due_ns: int) -> bool:
    phase = (due_ns + START_TIME_NS - gates.base_time_ns) % gates.cycle_time_ns
    number = port.chain.priority_map[port.chain.priority(stream.pcp if stream.vlan is not None else None)]
    end = phase + wire_ns(stream.max_frame_bytes, port.rate_bps)
    entries = acting(gates).entries
    ends = list(accumulate(interval for _, _, interval in entries))
    spans = zip([0, *ends], ends, entries, strict=False)
    return any(states >> number & 1 and opens < phase and end <= closes for opens, closes, (_, states, _) in spans)
