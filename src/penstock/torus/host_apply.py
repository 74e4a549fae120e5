# SPDX-License-Identifier: Apache-2.0
"""A host made a node of tiles, all or nothing; compared; and undone."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

from penstock.linux.errors import ApplyError, CollectedHostError, HostError, KernelError
from penstock.linux.netlink import links as of_links
from penstock.linux.netlink import routes as of_routes
from penstock.linux.netlink.connection import Connection
from penstock.linux.netlink.links import Link
from penstock.linux.signals import Signals
from penstock.linux.state import StateFile
from penstock.torus.host_plan import NodePlan

_SETTINGS = Path("/proc/sys/net/ipv4/conf")
# What an interface that goes down takes with it; what somebody else has deleted is as good as deleted by us.
_GONE = {errno.ENOENT, errno.ESRCH, errno.EADDRNOTAVAIL, errno.ENODEV}


@dataclass(frozen=True)
class _Before:
    """An interface as it was."""

    index: int
    mac: str
    was_up: bool
    had_address: bool
    settings: Mapping[str, str]


class NodeHost:
    """The host, or the network namespace, of this process. Its methods raise `KernelError` where the kernel refuses."""

    def __init__(self, folder: Path | None = None) -> None:
        self._connection = Connection()
        self._state = StateFile("torus", "", folder)

    def __enter__(self) -> NodeHost:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.__exit__(None, None, None)

    def is_changed(self) -> bool:
        """Whether something of an apply is there, or of one that was killed."""
        return self._state.read() is not None

    def check(self, plan: NodePlan, yes: bool) -> None:
        """Raises `CollectedHostError` with all that is in the way of an apply."""
        links, default = of_links.links(self._connection), of_links.default_routes(self._connection)
        found = []
        for name in plan.macs:
            if name not in links:
                known = ", ".join(sorted(links))
                found.append(HostError(f"{name}: this host has no such interface", f"one of {known}"))
            elif name in default and not yes:
                found.append(HostError(f"{name}: the default route goes by it", "another interface, or --yes"))
        nodes = {plan.address, *(route.destination for route in plan.routes)}
        for name in sorted(links.keys() - plan.macs.keys()):
            for address in sorted(of_routes.addresses(self._connection, links[name].index, None) & nodes):
                what = f"{name}: its address {address} is that of a node, and would be led away from it"
                found.append(HostError(what, f"another address, ip address del {address} dev {name}"))
        everywhere = _setting("all", "rp_filter").read_text().strip()
        if everywhere != "0":
            what = f"net.ipv4.conf.all.rp_filter is {everywhere}, and filters at every interface"
            found.append(HostError(what, "sysctl -w net.ipv4.conf.all.rp_filter=0, if others of this host do without"))
        if self.is_changed():
            found.append(HostError("something of an earlier apply is there", "penstock torus remove, then apply"))
        if found:
            raise CollectedHostError(found)

    def apply(self, plan: NodePlan) -> None:
        """Changes the host, reads back and compares; on an error, a difference or a signal all is undone."""
        links = of_links.links(self._connection)
        before = {name: self._before(plan, links[name]) for name in plan.macs}
        self._state.write({"address": str(plan.address), "interfaces": {k: asdict(v) for k, v in before.items()}})
        signals = Signals()
        with signals.held():
            try:
                for what, step in self._steps(plan, links):
                    signals.check()
                    try:
                        step()
                    except (KernelError, OSError) as error:
                        raise ApplyError(f"{what}: {error}") from error
                found = self.differences(plan)
                if found:
                    raise ApplyError("what the kernel shows is not what was asked for:\n" + "\n".join(found))
                signals.check()
            except BaseException as error:
                left = self._undo()
                if left:
                    raise ApplyError(f"{error}; and not all could be undone:\n" + "\n".join(left)) from error
                raise

    def remove(self) -> bool:
        """Undoes an apply, also of a run that was killed; False: there was none."""
        if not self.is_changed():
            return False
        with Signals().held():
            left = self._undo()
        if left:
            raise ApplyError("not all could be undone:\n" + "\n".join(left))
        return True

    def differences(self, plan: NodePlan) -> list[str]:
        """What the host has otherwise than planned."""
        connection, found = self._connection, []
        links = of_links.links(connection)
        names = {link.index: name for name, link in links.items()}
        for name, mac in plan.macs.items():
            if name not in links:
                found.append(f"{name}: wanted an interface, found none")
                continue
            index = links[name].index
            has = of_routes.mac_of(connection, index)
            if has != mac:
                found.append(f"{name}: wanted MAC address {mac}, found {has}")
            if not links[name].is_up:
                found.append(f"{name}: wanted up, found down")
            if plan.address not in of_routes.addresses(connection, index):
                found.append(f"{name}: wanted address {plan.address}, found none")
            for key, value in plan.settings.items():
                has = _setting(name, key).read_text().strip()
                if has != value:
                    found.append(f"{name}: wanted {key} {value}, found {has}")
        for what, wanted, there in (
            ("rule", plan.rules, of_routes.rules(connection)),
            ("route", plan.routes, of_routes.routes(connection, names)),
            ("neighbour", plan.neighbours, of_routes.neighbours(connection, names)),
        ):
            found += [f"wanted {what} {_said(each)}, found none" for each in wanted if each not in {*there}]
            found += [f"wanted no {what} {_said(each)}, found it" for each in there if each not in {*wanted}]
        return found

    def _before(self, plan: NodePlan, link: Link) -> _Before:
        return _Before(
            link.index,
            of_routes.mac_of(self._connection, link.index),
            link.is_up,
            plan.address in of_routes.addresses(self._connection, link.index),
            {key: _setting(link.name, key).read_text().strip() for key in plan.settings},
        )

    def _steps(self, plan: NodePlan, links: Mapping[str, Link]) -> Iterator[tuple[str, Callable[[], None]]]:
        connection = self._connection
        for name, mac in plan.macs.items():
            index = links[name].index
            yield f"{name}: MAC address {mac}", partial(of_routes.set_mac, connection, index, mac)
            for key, value in plan.settings.items():
                yield f"{name}: {key} {value}", partial(_write, _setting(name, key), value)
            yield f"{name}: up", partial(of_links.set_up, connection, index)
            if plan.address not in of_routes.addresses(connection, index):
                put = partial(of_routes.put_address, connection, plan.address, index, there=True)
                yield f"{name}: address {plan.address}", put
        for neighbour in plan.neighbours:
            index = links[neighbour.interface].index
            yield _said(neighbour), partial(of_routes.put_neighbour, connection, neighbour, index, there=True)
        for route in plan.routes:
            index = links[route.interface].index
            yield _said(route), partial(of_routes.put_route, connection, route, index, there=True)
        for rule in plan.rules:
            yield _said(rule), partial(of_routes.put_rule, connection, rule, there=True)

    def _undo(self) -> list[str]:
        """Takes away all that is ours and gives interfaces back what they had; gives what could not be."""
        left: list[str] = []
        for what, step in self._undoing():
            try:
                step()
            except KernelError as error:
                if error.code not in _GONE:
                    left.append(f"{what}: {error}")
            except OSError as error:
                left.append(f"{what}: {error}")
        if not left:
            self._state.forget()
        return left

    def _undoing(self) -> Iterator[tuple[str, Callable[[], None]]]:
        connection = self._connection
        links = of_links.links(connection)
        names = {link.index: name for name, link in links.items()}
        for rule in of_routes.rules(connection):
            yield _said(rule), partial(of_routes.put_rule, connection, rule, there=False)
        for route in of_routes.routes(connection, names):
            if route.interface in links:
                index = links[route.interface].index
                yield _said(route), partial(of_routes.put_route, connection, route, index, there=False)
        for neighbour in of_routes.neighbours(connection, names):
            if neighbour.interface in links:
                index = links[neighbour.interface].index
                yield _said(neighbour), partial(of_routes.put_neighbour, connection, neighbour, index, there=False)
        yield from self._giving_back(links)

    def _giving_back(self, links: Mapping[str, Link]) -> Iterator[tuple[str, Callable[[], None]]]:
        kept = self._state.read() or {}
        address = IPv4Address(kept["address"])
        for name, fields in kept["interfaces"].items():
            before, link = _Before(**fields), links.get(name)
            if link is None or link.index != before.index:  # another one of the same name
                continue
            if not before.had_address:
                put = partial(of_routes.put_address, self._connection, address, link.index, there=False)
                yield f"{name}: address {address}", put
            for key, value in before.settings.items():
                yield f"{name}: {key} {value}", partial(_write, _setting(name, key), value)
            mac = partial(of_routes.set_mac, self._connection, link.index, before.mac)
            yield f"{name}: MAC address {before.mac}", mac
            if not before.was_up:
                yield f"{name}: down", partial(of_links.set_down, self._connection, link.index)


def _setting(interface: str, key: str) -> Path:
    return _SETTINGS / interface / key


def _write(file: Path, value: str) -> None:
    file.write_text(value)


def _said(thing: of_routes.Rule | of_routes.Route | of_routes.Neighbour) -> str:
    match thing:
        case of_routes.Rule(preference, incoming, table):
            return f"{preference}: iif {incoming} lookup {table}"
        case of_routes.Route(table, destination, metric, interface, gateway, _):
            return f"{destination} via {gateway} dev {interface} onlink metric {metric} table {table}"
        case of_routes.Neighbour(interface, address, mac):
            return f"{address} lladdr {mac} dev {interface}"
