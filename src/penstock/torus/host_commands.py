# SPDX-License-Identifier: Apache-2.0
"""The commands that make a host a node, for people, for hosts without Python, and for hosts of the laboratory."""

from __future__ import annotations

from penstock.linux.netlink.routes import OURS
from penstock.torus.host_plan import NodePlan


def commands(plan: NodePlan) -> list[str]:
    """All of them, in the order in which they are to be run."""
    of_ip = [*interfaces(plan), *entries(plan)]
    return [*preparation(plan), *(f"ip {words}" for words in of_ip)]


def preparation(plan: NodePlan) -> list[str]:
    """The settings of interfaces, for a shell."""
    return [
        f"echo {value} >/proc/sys/net/ipv4/conf/{name}/{key}"
        for name in plan.macs
        for key, value in plan.settings.items()
    ]


def interfaces(plan: NodePlan) -> list[str]:
    """What `ip` does to interfaces, and the rules, which stay whatever becomes of links."""
    found = []
    for name, mac in plan.macs.items():
        found.append(f"link set dev {name} address {mac} up")
        found.append(f"address add {plan.address}/32 dev {name}")
    return found + [
        f"rule add pref {rule.preference} iif {rule.incoming} lookup {rule.table} protocol {OURS}"
        for rule in plan.rules
    ]


def entries(plan: NodePlan) -> list[str]:
    """What `ip` does of neighbours and routes."""
    found = []
    for each in plan.neighbours:
        to = f"{each.address} lladdr {each.mac} dev {each.interface}"
        found.append(f"neigh replace {to} nud permanent proto {OURS}")
    for route in plan.routes:
        by = f"via {route.gateway} dev {route.interface} onlink src {route.source}"
        found.append(f"route add {route.destination} {by} metric {route.metric} table {route.table} proto {OURS}")
    return found
