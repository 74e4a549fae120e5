# SPDX-License-Identifier: Apache-2.0
"""Interfaces over netlink: what they are, VLAN interfaces, and by which of them the default routes go."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from penstock.linux.netlink.connection import CREATE, EXCLUSIVE, Connection
from penstock.linux.qdisc import Vlan

_NEW_LINK, _DELETE_LINK, _GET_LINK, _GET_ROUTE = 16, 17, 18, 26  # RTM_*
_UP = 1  # IFF_UP
_FAMILIES = 2, 10  # AF_INET, AF_INET6


@dataclass(frozen=True)
class Link:
    """An interface."""

    index: int
    name: str
    transmit_queues: int
    is_up: bool
    kind: str | None  # veth, vlan and so on; None: a device
    vlan: Vlan | None = None


def links(connection: Connection) -> dict[str, Link]:
    """All interfaces by name."""
    found = connection.dump(ifinfmsg(), _GET_LINK)
    names = {each["index"]: each.get_attr("IFLA_IFNAME") for each in found}
    return {names[each["index"]]: _link(each, names) for each in found}


def default_routes(connection: Connection) -> frozenset[str]:
    """The interfaces by which default routes go, of IPv4 and IPv6."""
    names = {link.index: link.name for link in links(connection).values()}
    found: set[str] = set()
    for family in _FAMILIES:
        request = rtmsg()
        request["family"] = family
        for route in connection.dump(request, _GET_ROUTE):
            if route["dst_len"] or route["family"] != family or route["type"] != 1:  # RTN_UNICAST
                continue
            hops = [route.get_attr("RTA_OIF"), *(hop["oif"] for hop in route.get_attr("RTA_MULTIPATH") or ())]
            found |= {names[hop] for hop in hops if hop in names}
    return frozenset(found)


def add_vlan(connection: Connection, link: Link, vlan: Vlan) -> None:
    """Makes a VLAN interface, which is not up yet."""
    request = ifinfmsg()
    request["attrs"] = [
        ("IFLA_LINK", link.index),
        ("IFLA_IFNAME", vlan.name),
        (
            "IFLA_LINKINFO",
            {
                "attrs": [
                    ("IFLA_INFO_KIND", "vlan"),
                    (
                        "IFLA_INFO_DATA",
                        {
                            "attrs": [
                                ("IFLA_VLAN_ID", vlan.vlan),
                                ("IFLA_VLAN_EGRESS_QOS", _map(vlan.pcp_of_priority)),
                            ]
                        },
                    ),
                ]
            },
        ),
    ]
    connection.request(request, _NEW_LINK, CREATE | EXCLUSIVE)


def set_up(connection: Connection, index: int) -> None:
    """Takes an interface up."""
    request = ifinfmsg()
    request["index"], request["flags"], request["change"] = index, _UP, _UP
    connection.request(request, _NEW_LINK)


def set_down(connection: Connection, index: int) -> None:
    """Takes an interface down."""
    request = ifinfmsg()
    request["index"], request["flags"], request["change"] = index, 0, _UP
    connection.request(request, _NEW_LINK)


def delete_link(connection: Connection, index: int) -> None:
    """Removes an interface."""
    request = ifinfmsg()
    request["index"] = index
    connection.request(request, _DELETE_LINK)


def is_missing(code: int) -> bool:
    """Whether the kernel says that there is no such thing."""
    return code in (errno.ENODEV, errno.ENOENT)


def _map(pcp_of_priority: Mapping[int, int]) -> dict[str, Any]:
    pairs = sorted(pcp_of_priority.items())
    return {"attrs": [("IFLA_VLAN_QOS_MAPPING", {"from": priority, "to": pcp}) for priority, pcp in pairs]}


def _link(message: Any, names: Mapping[int, str]) -> Link:
    information = message.get_attr("IFLA_LINKINFO")
    kind = None if information is None else information.get_attr("IFLA_INFO_KIND")
    name = message.get_attr("IFLA_IFNAME")
    vlan = None
    if kind == "vlan":
        data = information.get_attr("IFLA_INFO_DATA")
        mapping = data.get_attr("IFLA_VLAN_EGRESS_QOS")
        pairs = mapping.get_attrs("IFLA_VLAN_QOS_MAPPING") if mapping is not None else ()
        vlan = Vlan(
            name,
            names.get(message.get_attr("IFLA_LINK"), "?"),
            data.get_attr("IFLA_VLAN_ID"),
            {pair["from"]: pair["to"] for pair in pairs},
        )
    queues = message.get_attr("IFLA_NUM_TX_QUEUES") or 1
    return Link(message["index"], name, queues, bool(message["flags"] & _UP), kind, vlan)
