# SPDX-License-Identifier: Apache-2.0
"""Makes the hosts, cables and bridges of a network on a machine, and puts the qdiscs of their ports in place."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import RunError
from penstock.lab.layout import bridge_commands, cables, host_port, is_shaped, ports_of, station_commands
from penstock.lab.machine import Machine
from penstock.lab.remote_host import RemoteHost
from penstock.linux.apply import apply
from penstock.linux.errors import ApplyError, KernelError
from penstock.linux.plan import HostPlan, plan_port
from penstock.scenario.network import Network

# A host that talks on its own (neighbour discovery) would be in the streams' way.
_QUIET = "for place in all default; do echo 1 >/proc/sys/net/ipv6/conf/$place/disable_ipv6; done 2>/dev/null; exit 0"


def build(machine: Machine, network: Network, journals: Path) -> list[HostPlan]:
    """All of it; gives what was set at the ports that are shaped. `journals` is a folder for `penstock.linux`.

    Raises:
        RunError: The kernel refused something, or shows something else than what was asked for.

    """
    paths = {}
    for host in (*network.stations, *network.bridges):
        paths[host] = machine.ask("namespace", host=host)["path"]
        machine.run(host, ["sh", "-c", _QUIET])
    _connect(machine, network, paths)
    for name in network.stations:
        machine.run(name, ["ip", "-batch", "-"], station_commands(network, name) + "\n")
    for name, bridge in network.bridges.items():
        if bridge.nodes == "plane":
            continue  # a program is the bridge
        links, entries, filters = bridge_commands(network, bridge)
        machine.run(name, ["ip", "-batch", "-"], links + "\n")
        machine.run(name, ["bridge", "-batch", "-"], entries + "\n")
        machine.run(name, ["tc", "-batch", "-"], filters + "\n")
    plans = [plan for host in paths if (plan := plan_of(network, host)) is not None]
    for plan in plans:
        _apply(machine, plan, journals / plan.host)
    return plans


def plan_of(network: Network, host: str) -> HostPlan | None:
    """What is set at the ports of a host; None if nothing has to be, as of a data plane."""
    if host in network.bridges and network.bridges[host].nodes == "plane":
        return None
    ports = [host_port(network, host, port) for port in ports_of(network, host)]
    plans = tuple(plan_port(port) for port in ports if is_shaped(network, port))
    return HostPlan(host, plans) if plans else None


def has_planes(network: Network) -> bool:
    """Whether some bridge is a data plane."""
    return any(bridge.nodes == "plane" for bridge in network.bridges.values())


def _connect(machine: Machine, network: Network, paths: dict[str, str]) -> None:
    lines = ["link set lo up"]
    for number, cable in enumerate(cables(network)):
        queues = f"numtxqueues {cable.queues} numrxqueues {cable.queues}"
        lines.append(f"link add a{number} {queues} type veth peer name b{number} {queues}")
        for end, (host, interface) in zip("ab", (cable.a, cable.b), strict=True):
            lines.append(f"link set {end}{number} netns {paths[host]} name {interface}")
    machine.run(None, ["ip", "-batch", "-"], "\n".join(lines) + "\n")
    for host in paths:
        names = [end[1] for cable in cables(network) for end in (cable.a, cable.b) if end[0] == host]
        # A segment that is still to be cut is no frame; a cable would only see its parts.
        whole = [f"link set {name} gso_max_segs 1\n" for name in names]
        ups = [f"link set {name} up\n" for name in ("lo", *names)]
        machine.run(host, ["ip", "-batch", "-"], "".join([*whole, *ups] if has_planes(network) else ups))


def _apply(machine: Machine, plan: HostPlan, journal: Path) -> None:
    try:
        apply(plan, RemoteHost(machine, plan.host), journal)
    except (ApplyError, KernelError) as error:
        raise RunError(f"{plan.host}: {error}") from error
