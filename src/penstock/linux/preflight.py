# SPDX-License-Identifier: Apache-2.0
"""What has to be so before anything is changed, and what people forget about a host."""

from __future__ import annotations

import time
from collections.abc import Iterator

from penstock.linux.errors import HostError
from penstock.linux.host import Host
from penstock.linux.netlink.links import Link
from penstock.linux.plan import HostPlan, PortPlan
from penstock.linux.qdisc import FULL_OFFLOAD, Taprio
from penstock.scenario.instants import TAI_AHEAD_OF_UTC_S
from penstock.scenario.units import show_rate

# Devices whose queue 0 is served first; of others the last.
_FIRST_QUEUE_FIRST = ("igb", "igc")
_UNKNOWN_LINK_BPS = 10_000_000  # SPEED_10, by which taprio refuses entries below 48 us
_CLASSES_IN_ORDER = (6, 3)  # since then taprio in software serves its highest class first, before its first queue


def preflight(plan: HostPlan, host: Host, default_routes: frozenset[str], yes: bool) -> list[HostError]:
    """Everything because of which nothing may be changed."""
    found = []
    links = host.links()
    for port in plan.ports:
        link = links.get(port.interface)
        if link is None:
            there = ", ".join(sorted(links)[:8])
            found.append(HostError(f'there is no interface "{port.interface}"', f"one of {there}"))
            continue
        found += _interface(port, link, host)
        if port.interface in default_routes and not yes:
            what = f'"{port.interface}" has the default route: this host may be cut off'
            found.append(HostError(what, "--yes, if that is meant"))
        for vlan in port.vlans:
            if vlan.name in links:
                what = f'there is already an interface "{vlan.name}", and what others made is not touched'
                found.append(HostError(what, f'another name in vlans, vlans = "none", or ip link delete {vlan.name}'))
    return found


def _interface(port: PortPlan, link: Link, host: Host) -> Iterator[HostError]:
    name = port.interface
    if link.transmit_queues < port.transmit_queues:
        remedy = "fewer entries in queues of the scenario"
        if link.kind in ("veth", "dummy", "ifb"):
            remedy += f", or ip link add {name} numtxqueues {port.transmit_queues} type {link.kind}"
        else:
            remedy += f", or ethtool -L {name} combined N if the device has more"
        what = f'"{name}" has {link.transmit_queues} transmit queues, the plan needs {port.transmit_queues}'
        yield HostError(what, remedy)
    elif link.transmit_queues < 2:
        yield HostError(
            f'"{name}" has one transmit queue, mqprio and taprio want several', "a device with several queues"
        )
    for placed in host.qdiscs(link):
        if placed.is_root and placed.handle:
            what = f'"{name}" already has a root qdisc that somebody set: {placed.qdisc.kind}'
            yield HostError(what, f"none: tc qdisc delete dev {name} root")


def advice(
    plan: HostPlan, drivers: dict[str, str | None], kernel: tuple[int, int], speeds_mbps: dict[str, int | None]
) -> list[str]:
    """What is probably not meant, by what the host is."""
    found: list[str] = []
    for port in plan.ports:
        first, last = port.port.chain.queues[0].classes, port.port.chain.queues[-1].classes
        rising, driver = min(first) < min(last), drivers.get(port.interface)
        speed = speeds_mbps.get(port.interface)
        if speed is None:
            found.append(
                f"{port.interface}: the kernel knows no rate of the link (is it up?) and counts "
                f"{show_rate(_UNKNOWN_LINK_BPS)} in gates and credit, the scenario {show_rate(port.port.rate_bps)}"
            )
        elif speed * 10**6 != port.port.rate_bps:
            found.append(
                f"{port.interface}: the kernel counts a link of {show_rate(speed * 10**6)} in gates and credit, "
                f"the scenario one of {show_rate(port.port.rate_bps)}"
            )
        root = port.qdiscs[0].qdisc
        software = isinstance(root, Taprio) and not root.flags & FULL_OFFLOAD
        if driver in _FIRST_QUEUE_FIRST and rising:
            found.append(
                f"{port.interface}: {driver} serves queue 0 first, and there is class {max(first)}: "
                "turn the order of queues"
            )
        elif software and rising and kernel < _CLASSES_IN_ORDER:
            found.append(
                f"{port.interface}: taprio of Linux {kernel[0]}.{kernel[1]} serves queue 0 first, and there is "
                f"class {max(first)}: turn the order of queues (Linux 6.3 and later serve the last class first)"
            )
    if plan.is_bridge:
        found.append(
            f"{plan.host}: frames that are forwarded have priority 0 until the filters stand that "
            "penstock linux show prints; apply does not set them"
        )
    if any(isinstance(port.qdiscs[0].qdisc, Taprio) and port.port.clock == "TAI" for port in plan.ports):
        offset_s = round((time.clock_gettime_ns(time.CLOCK_TAI) - time.clock_gettime_ns(time.CLOCK_REALTIME)) / 1e9)
        if offset_s != TAI_AHEAD_OF_UTC_S:
            found.append(
                f"CLOCK_TAI of this host is {offset_s} s ahead of UTC, not {TAI_AHEAD_OF_UTC_S}: "
                "its offset is not set (ptp4l with phc2sys -w, chrony with leapsectz, or adjtimex sets it)"
            )
    return found
