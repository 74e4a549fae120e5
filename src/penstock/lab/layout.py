# SPDX-License-Identifier: Apache-2.0
"""What stands where when a network is made of namespaces: hosts, their interfaces, cables, bridges. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Address

from penstock.plan import static_addresses
from penstock.scenario.chain import ONE_EACH, Chain
from penstock.scenario.host_port import HostPort
from penstock.scenario.network import Bridge, Link, Network

STATION_INTERFACE = "eth0"


@dataclass(frozen=True)
class Cable:
    """A veth pair: host and interface of both ends."""

    a: tuple[str, str]
    b: tuple[str, str]
    queues: int  # at each end, in each direction


def interface(network: Network, node: str, port: int) -> str:
    """What the scenario calls it, else eth0 of a station and port0, port1 and so on of a bridge."""
    named = network.linux.get(node, {}).get(port)
    if named is not None:
        return named.interface
    return STATION_INTERFACE if node in network.stations else f"port{port}"


def cables(network: Network) -> list[Cable]:
    """One for each link."""
    return [_cable(network, link) for link in network.links]


def _cable(network: Network, link: Link) -> Cable:
    ends = [host_port(network, *end) for end in (link.a, link.b)]
    queues = max(max(queue.first + queue.count for queue in end.chain.queues) for end in ends)
    a, b = ((end.node, end.interface) for end in ends)
    return Cable(a, b, queues)


def offloads(network: Network) -> list[str]:
    """The places of ports that leave something to their device, which a veth cannot do; the kernel does it here."""
    return [
        port.place
        for ports in network.linux.values()
        for port in ports.values()
        if port.mode == "offload" or port.credit_offload or (port.launch_times and port.launch_times.offload)
    ]


def _by_the_kernel(port: HostPort) -> HostPort:
    launch = port.launch_times
    return replace(
        port,
        mode="software" if port.mode == "offload" else port.mode,
        clock=port.clock or "TAI",
        credit_offload=False,
        launch_times=None if launch is None else replace(launch, offload=False),
    )


def host_port(network: Network, node: str, port: int) -> HostPort:
    """The port as the scenario's `linux` table has it, without offloads, or else as what follows without one."""
    known = network.linux.get(node, {}).get(port)
    if known is not None:
        return _by_the_kernel(known)
    settings = network.stations[node] if node in network.stations else network.bridges[node]
    if isinstance(settings, Bridge):
        untagged, longest = settings.class_of_untagged, settings.max_frame_bytes
        streams = tuple(network.streams_at.get((node, port), ()))
    else:
        untagged, longest = settings.class_of_pcp[0], network.bridges[settings.bridge].max_frame_bytes
        streams = tuple(stream for stream in network.streams.values() if stream.talker == node)
    gates = settings.gates.get(port)
    return HostPort(
        node=node,
        port=port,
        interface=interface(network, node, port),
        rate_bps=network.link_at[node, port].rate_bps,
        chain=Chain(settings.class_of_pcp, untagged, ONE_EACH),
        streams=streams,
        max_frame_bytes=longest,
        start_ns=0,
        gates=gates,
        mode=None if gates is None else "software",
        clock="TAI",
        credit={number: shaper for (at, number), shaper in settings.credit.items() if at == port},
        max_sdu_bytes={number: size for (at, number), size in settings.max_sdu_bytes.items() if at == port},
        class_names=settings.class_names,
    )


def is_shaped(network: Network, port: HostPort) -> bool:
    """Whether a qdisc has to stand there: something is shaped, or the scenario names the port as an interface.

    Any other veth has none, and no queue that another could serve.
    """
    named = port.port in network.linux.get(port.node, {})
    return named or bool(port.gates or port.credit or port.launch_times)


def ports_of(network: Network, node: str) -> list[int]:
    """Those with a cable."""
    return sorted(port for at, port in network.link_at if at == node)


def bridge_commands(network: Network, bridge: Bridge) -> tuple[str, str, str]:
    """Input of `ip -batch`, `bridge -batch` and `tc -batch` that make the Linux bridge of a bridge.

    The priority of a frame is that of its tag: Linux would forget it at each host's border.
    """
    ports = ports_of(network, bridge.name)
    names = {port: interface(network, bridge.name, port) for port in ports}
    links = [
        "link add br0 type bridge vlan_filtering 1 vlan_default_pvid 0 stp_state 0 mcast_snooping 0",
        *(f"link set {name} master br0" for name in names.values()),
        # A promiscuous bridge forwards copies, which have lost the socket that they came from. All hosts have one
        # kernel, and taprio would drop, as out of its window, what a talker sent with a launch time of its own.
        "link set br0 promisc on up",
    ]
    entries = []
    for port, name in names.items():
        own = bridge.port_vlan_id[port]
        # A VLAN that the scenario gives no members reaches all ports, as the switch has it.
        for vlan in sorted({own, *_vlans(network, bridge)}):
            members = bridge.vlans.get(vlan)
            if members is None or port in members or vlan == own:
                entries.append(f"vlan add dev {name} vid {vlan}" + (" pvid untagged" if vlan == own else ""))
    for address, vlan, to in static_addresses(network, bridge):
        if len(to) == 1 and not address >> 40 & 1:
            entries.append(f"fdb replace {mac(address)} dev {names[next(iter(to))]} master static vlan {vlan}")
    filters = []
    for name in names.values():
        filters.append(f"qdisc add dev {name} clsact")
        filters += [
            f"filter add dev {name} ingress protocol 802.1Q flower vlan_prio {pcp} action skbedit priority {pcp}"
            for pcp in range(1, 8)
        ]
    return "\n".join(links), "\n".join(entries), "\n".join(filters)


def _vlans(network: Network, bridge: Bridge) -> set[int]:
    used = {network.vlan_at(stream, bridge.name, hop.entry) for stream, hop in network.passing[bridge.name]}
    return used | set(bridge.vlans)


def mac(number: int) -> str:
    """An address as `ip` takes it."""
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


def station_commands(network: Network, name: str) -> str:
    """Input of `ip -batch` that gives a station its addresses, and the way to those that it sends UDP to.

    Neighbours are set, as asking for them would be traffic that the scenario does not have.
    """
    port = interface(network, name, 0)
    lines = [f"link set {port} address {mac(network.stations[name].mac)}"]
    own, others = set(), {}
    for stream in network.streams.values():
        if stream.udp is None:
            continue
        if stream.talker == name:
            own.add(stream.udp.source)
            others[stream.udp.destination] = stream.destination_mac
        if name in stream.listeners:
            own.add(stream.udp.destination)
    lines += [f"address replace {IPv4Address(address)}/32 dev {port}" for address in sorted(own)]
    for address, there in sorted(others.items()):
        lines.append(f"route replace {IPv4Address(address)}/32 dev {port}")
        lines.append(f"neighbour replace {IPv4Address(address)} lladdr {mac(there)} dev {port} nud permanent")
    return "\n".join(lines)
