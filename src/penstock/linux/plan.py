# SPDX-License-Identifier: Apache-2.0
"""From the ports of a host to the qdiscs and VLAN interfaces that do the same. Pure: touches no host."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InputError, did_you_mean
from penstock.ethernet import SDU_OVERHEAD_BYTES, WIRE_OVERHEAD_BYTES
from penstock.linux.credit import Reservation, cbs
from penstock.linux.qdisc import (
    CLOCKS,
    FULL_OFFLOAD,
    ROOT,
    TXTIME_ASSIST,
    Cbs,
    Entry,
    Etf,
    Mapping16,
    Mqprio,
    Placed,
    Qdisc,
    Taprio,
    Vlan,
)
from penstock.scenario.checked_stream import Stream
from penstock.scenario.egress import GateList
from penstock.scenario.host_port import LINUX_OVERHEAD_BYTES, HostPort
from penstock.scenario.network import Network
from penstock.scenario.report import names
from penstock.scenario.windows import acting

ROOT_HANDLE = 0x100 << 16
_FLAGS = {"software": 0, "txtime-assist": TXTIME_ASSIST, "offload": FULL_OFFLOAD}


@dataclass(frozen=True)
class Sending:
    """A stream on its way to the wire."""

    stream: Stream
    priority: int
    traffic_class: int
    qdisc_class: int
    queues: tuple[int, ...]
    pcp: int | None
    interface: str


@dataclass(frozen=True)
class PortPlan:
    """All that is set at one interface."""

    port: HostPort
    qdiscs: tuple[Placed, ...]
    vlans: tuple[Vlan, ...]
    sendings: tuple[Sending, ...]

    @property
    def interface(self) -> str:
        """Its name."""
        return self.port.interface

    @property
    def set_again(self) -> Placed | None:
        """The root, if it is to be set once more at the end.

        What is put below taprio while the interface is up resets it: the timer of gates that the kernel keeps ends,
        and no frame leaves until they are set anew.
        """
        root = self.qdiscs[0]
        by_timer = isinstance(root.qdisc, Taprio) and not root.qdisc.flags & (TXTIME_ASSIST | FULL_OFFLOAD)
        return root if by_timer and len(self.qdiscs) > 1 else None

    @property
    def transmit_queues(self) -> int:
        """How many the interface needs."""
        return max(queue.first + queue.count for queue in self.port.chain.queues)


@dataclass(frozen=True)
class HostPlan:
    """All that is set at one host."""

    host: str
    ports: tuple[PortPlan, ...]
    is_bridge: bool = False


def plan_host(network: Network, host: str) -> HostPlan:
    """The plan of a station or bridge; raises `InputError` if it is none or has no Linux interface."""
    if host not in network.stations and host not in network.bridges:
        known = [*network.stations, *network.bridges]
        hint = did_you_mean(host, known)
        raise InputError(f'there is no station or bridge "{host}"{hint}', allowed=names(known), file=network.file)
    ports = network.linux.get(host)
    if not ports:
        key = f"stations.{host}.linux" if host in network.stations else f"bridges.{host}.port.P.linux"
        allowed = f'[{key}] with interface = "NAME"'
        raise InputError(f'"{host}" has no Linux interface', allowed=allowed, file=network.file)
    return HostPlan(host, tuple(plan_port(port) for _, port in sorted(ports.items())), host in network.bridges)


def plan_port(port: HostPort) -> PortPlan:
    """The qdiscs and VLAN interfaces of a port."""
    root = _root(port)
    children = [
        child
        for number, queue in enumerate(port.chain.queues)
        for txq in queue.numbers
        for child in _children(port, number, txq)
    ]
    vlans = tuple(
        Vlan(name, port.interface, vlan, dict(port.chain.egress_map))
        for vlan, name in sorted(port.vlan_interfaces.items())
    )
    sendings = tuple(_sending(port, stream) for stream in port.streams)
    return PortPlan(port, (Placed(ROOT_HANDLE, ROOT, root), *children), vlans, sendings)


def _sending(port: HostPort, stream: Stream) -> Sending:
    pcp = None if stream.vlan is None else stream.pcp
    priority = port.chain.priority(pcp)
    traffic_class = port.chain.priority_map[priority]
    interface = port.interface if stream.vlan is None else port.vlan_interfaces.get(stream.vlan, port.interface)
    number = port.chain.qdisc_class(traffic_class)
    return Sending(stream, priority, traffic_class, number, tuple(port.chain.queues[number].numbers), pcp, interface)


def _root(port: HostPort) -> Qdisc:
    mapping = Mapping16(port.chain.qdisc_map, tuple((queue.count, queue.first) for queue in port.chain.queues))
    if port.gates is None or port.mode is None:
        return Mqprio(mapping)
    return Taprio(
        mapping=mapping,
        entries=_entries(port, port.gates),
        base_time_ns=port.base_time_ns,
        cycle_time_ns=port.gates.cycle_time_ns,
        cycle_time_extension_ns=port.gates.cycle_time_extension_ns,
        clock=None if port.clock is None else CLOCKS[port.clock],
        flags=_FLAGS[port.mode],
        txtime_delay_ns=port.txtime_delay_ns,
        max_sdu_bytes={
            number: port.max_sdu_bytes[queue.classes[0]]
            for number, queue in enumerate(port.chain.queues)
            if queue.classes[0] in port.max_sdu_bytes
        },
        overhead_bytes=LINUX_OVERHEAD_BYTES,
    )


def _entries(port: HostPort, gates: GateList) -> tuple[Entry, ...]:
    """The list as it acts: the kernel's cycle ends with its last entry, the standard's with the cycle time."""
    return tuple(Entry(port.chain.mask(states), interval) for _, states, interval in acting(gates).entries)


def _children(port: HostPort, number: int, txq: int) -> list[Placed]:
    """What stands at a transmit queue: cbs, etf, or etf under cbs."""
    parent, found = ROOT_HANDLE | txq + 1, []
    classes = port.chain.queues[number].classes
    served = next((k for k in classes if k in port.credit), None)
    if served is not None:
        handle = (0x200 + txq) << 16
        found.append(Placed(handle, parent, _cbs(port, served)))
        parent = handle | 1
    launch = port.launch_times
    if launch is not None and classes[0] in launch.classes:
        etf = Etf(launch.delta_ns, CLOCKS["TAI"], launch.deadline_mode, launch.offload, launch.skip_sock_check)
        found.append(Placed((0x300 + txq) << 16, parent, etf))
    return found


def _cbs(port: HostPort, traffic_class: int) -> Cbs:
    interference = port.max_frame_bytes + WIRE_OVERHEAD_BYTES
    # Below taprio a frame is as long as taprio's size table says, and the kernel takes no other one there.
    counts = not port.credit_offload and port.gates is None
    return cbs(
        _reservation(port, traffic_class),
        [_reservation(port, number) for number in port.credit if number > traffic_class],
        port.rate_bps,
        interference,
        offload=port.credit_offload,
        overhead_bytes=LINUX_OVERHEAD_BYTES if counts else None,
    )


def _reservation(port: HostPort, traffic_class: int) -> Reservation:
    """What a class earns, and its longest frame: of its streams, else any that may leave by the port."""
    lengths = [
        sending.stream.max_frame_bytes
        for stream in port.streams
        if (sending := _sending(port, stream)).traffic_class == traffic_class
    ]
    limit = port.max_sdu_bytes.get(traffic_class)
    longest = max(lengths, default=port.max_frame_bytes)
    if limit is not None:
        longest = min(longest, limit + SDU_OVERHEAD_BYTES)
    return Reservation(port.credit[traffic_class].idle_slope_bps, longest + WIRE_OVERHEAD_BYTES)
