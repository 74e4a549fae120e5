# SPDX-License-Identifier: Apache-2.0
"""Routes, rules, static neighbours and addresses of IPv4 over netlink.

Each carries the number of who made it, as routing daemons do, so that what is ours is found again whatever became of
the process that made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

from pyroute2.netlink.rtnl.fibmsg import fibmsg
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.ndmsg import ndmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from penstock.linux.netlink.connection import CREATE, EXCLUSIVE, REPLACE, Connection

OURS = 80  # rtm_protocol, FRA_PROTOCOL, NDA_PROTOCOL: none of <linux/rtnetlink.h> and of known daemons

_NEW_LINK = 16  # RTM_*
_ADDRESS, _ROUTE, _NEIGHBOUR, _RULE = 20, 24, 28, 32  # RTM_NEW*; one more deletes, two more lists
_INET = 2
_PERMANENT = 0x80  # NUD_PERMANENT
_ONLINK = 4  # RTNH_F_ONLINK
_UNICAST, _TO_TABLE = 1, 1  # RTN_UNICAST, FR_ACT_TO_TBL
_TABLE_IN_ATTRIBUTE = 0  # RT_TABLE_UNSPEC: tables above 255 do not fit the header


@dataclass(frozen=True, order=True)
class Rule:
    """Frames that come in by an interface look into a table; by "lo" come those of the host itself."""

    preference: int
    incoming: str
    table: int


@dataclass(frozen=True, order=True)
class Route:
    """A way to one address; of several to the same the one with the least metric whose link is there."""

    table: int
    destination: IPv4Address
    metric: int
    interface: str
    gateway: IPv4Address
    source: IPv4Address


@dataclass(frozen=True, order=True)
class Neighbour:
    """The MAC address of a gateway, which nobody is asked for."""

    interface: str
    address: IPv4Address
    mac: str


def rules(connection: Connection) -> list[Rule]:
    """Ours."""
    request = fibmsg()
    request["family"] = _INET
    found = (each for each in connection.dump(request, _RULE + 2) if each.get_attr("FRA_PROTOCOL") == OURS)
    return sorted(
        Rule(each.get_attr("FRA_PRIORITY"), each.get_attr("FRA_IIFNAME") or "", each.get_attr("FRA_TABLE"))
        for each in found
    )


def routes(connection: Connection, names: dict[int, str]) -> list[Route]:
    """Ours, whether their links are there or not; `names` are those of interfaces by index."""
    request = rtmsg()
    request["family"] = _INET
    found = []
    for each in connection.dump(request, _ROUTE + 2):
        if each["proto"] == OURS:
            ways = (each.get_attr(f"RTA_{name}") for name in ("TABLE", "DST", "PRIORITY", "OIF", "GATEWAY", "PREFSRC"))
            table, destination, metric, interface, gateway, source = ways
            addresses = (IPv4Address(address or 0) for address in (destination, gateway, source))
            to, by, own = addresses
            found.append(Route(table, to, metric or 0, names.get(interface, "?"), by, own))
    return sorted(found)


def neighbours(connection: Connection, names: dict[int, str]) -> list[Neighbour]:
    """Ours."""
    request = ndmsg()
    request["family"] = _INET
    found = (each for each in connection.dump(request, _NEIGHBOUR + 2) if each.get_attr("NDA_PROTOCOL") == OURS)
    return sorted(
        Neighbour(names.get(each["ifindex"], "?"), IPv4Address(each.get_attr("NDA_DST")), each.get_attr("NDA_LLADDR"))
        for each in found
    )


def addresses(connection: Connection, index: int, prefix_bits: int | None = 32) -> frozenset[IPv4Address]:
    """Of an interface, those with a prefix of so many bits; None: all."""
    request = ifaddrmsg()
    request["family"] = _INET
    found = connection.dump(request, _ADDRESS + 2)
    return frozenset(
        IPv4Address(each.get_attr("IFA_LOCAL") or each.get_attr("IFA_ADDRESS"))
        for each in found
        if each["index"] == index and prefix_bits in (None, each["prefixlen"])
    )


def put_rule(connection: Connection, rule: Rule, *, there: bool) -> None:
    """Makes a rule, or deletes it."""
    request = fibmsg()
    request["family"], request["action"], request["table"] = _INET, _TO_TABLE, _TABLE_IN_ATTRIBUTE
    attributes = (
        ("PRIORITY", rule.preference),
        ("IIFNAME", rule.incoming),
        ("TABLE", rule.table),
        ("PROTOCOL", OURS),
    )
    request["attrs"] = [(f"FRA_{name}", value) for name, value in attributes]
    _put(connection, request, _RULE, there, EXCLUSIVE)


def put_route(connection: Connection, route: Route, index: int, *, there: bool) -> None:
    """Makes a route, or deletes it."""
    request = rtmsg()
    request["family"], request["dst_len"], request["proto"] = _INET, 32, OURS
    request["type"], request["flags"], request["table"] = _UNICAST, _ONLINK, _TABLE_IN_ATTRIBUTE
    attributes: tuple[tuple[str, Any], ...] = (
        ("TABLE", route.table),
        ("DST", str(route.destination)),
        ("PRIORITY", route.metric),
        ("OIF", index),
        ("GATEWAY", str(route.gateway)),
        ("PREFSRC", str(route.source)),
    )
    request["attrs"] = [(f"RTA_{name}", value) for name, value in attributes]
    _put(connection, request, _ROUTE, there, EXCLUSIVE)


def put_neighbour(connection: Connection, neighbour: Neighbour, index: int, *, there: bool) -> None:
    """Makes a neighbour, also in place of one that was learned, or deletes it."""
    request = ndmsg()
    request["family"], request["ifindex"], request["state"] = _INET, index, _PERMANENT
    attributes = (("DST", str(neighbour.address)), ("LLADDR", neighbour.mac), ("PROTOCOL", OURS))
    request["attrs"] = [(f"NDA_{name}", value) for name, value in attributes]
    _put(connection, request, _NEIGHBOUR, there, REPLACE)


def put_address(connection: Connection, address: IPv4Address, index: int, *, there: bool) -> None:
    """Gives an interface an address, alone in its network, or takes it away."""
    request = ifaddrmsg()
    request["family"], request["prefixlen"], request["index"] = _INET, 32, index
    request["attrs"] = [(f"IFA_{name}", str(address)) for name in ("LOCAL", "ADDRESS")]
    _put(connection, request, _ADDRESS, there, EXCLUSIVE)


def mac_of(connection: Connection, index: int) -> str:
    """The MAC address of an interface."""
    request = ifinfmsg()
    request["index"] = index
    return str(next(_of_index(connection, index)).get_attr("IFLA_ADDRESS"))


def set_mac(connection: Connection, index: int, mac: str) -> None:
    """Gives an interface a MAC address."""
    request = ifinfmsg()
    request["index"] = index
    request["attrs"] = [("IFLA_ADDRESS", mac)]
    connection.request(request, _NEW_LINK)


def _of_index(connection: Connection, index: int) -> Iterator[Any]:
    return (each for each in connection.dump(ifinfmsg(), _NEW_LINK + 2) if each["index"] == index)


def _put(connection: Connection, request: Any, kind: int, there: bool, how: int) -> None:
    if there:
        connection.request(request, kind, CREATE | how)
    else:
        connection.request(request, kind + 1)
