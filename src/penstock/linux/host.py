# SPDX-License-Identifier: Apache-2.0
"""What is asked of a Linux host and done to it: this one by netlink, another in tests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol

from penstock.linux.errors import KernelError
from penstock.linux.netlink import features
from penstock.linux.netlink import links as link_requests
from penstock.linux.netlink import qdiscs as qdisc_requests
from penstock.linux.netlink.connection import Connection
from penstock.linux.netlink.links import Link
from penstock.linux.qdisc import Placed, Vlan

_NET_ADMIN = 12  # CAP_NET_ADMIN


class Host(Protocol):
    """A host. All but the first three change it; they raise `KernelError` where the kernel refuses."""

    def links(self) -> Mapping[str, Link]:
        """Its interfaces by name."""

    def qdiscs(self, link: Link) -> tuple[Placed, ...]:
        """The qdiscs of an interface."""

    def feature(self, interface: str, name: str) -> bool | None:
        """Whether an offload is on; None if there is none."""

    def replace_qdisc(self, link: Link, placed: Placed) -> None:
        """Puts a qdisc at its place."""

    def delete_root(self, link: Link) -> None:
        """Removes the root qdisc and all below it."""

    def turn_feature(self, interface: str, name: str, on: bool) -> None:
        """Turns an offload on or off."""

    def add_vlan(self, link: Link, vlan: Vlan) -> None:
        """Makes a VLAN interface."""

    def set_up(self, link: Link) -> None:
        """Takes an interface up."""

    def delete_link(self, link: Link) -> None:
        """Removes an interface."""


class ThisHost:
    """The host, or the network namespace, in which this process runs."""

    def __init__(self) -> None:
        self._connection = Connection()

    def __enter__(self) -> ThisHost:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._connection.__exit__(kind, value, at)

    def links(self) -> Mapping[str, Link]:
        """Its interfaces by name."""
        return link_requests.links(self._connection)

    def qdiscs(self, link: Link) -> tuple[Placed, ...]:
        """The qdiscs of an interface."""
        return qdisc_requests.qdiscs_of(self._connection, link.index)

    def feature(self, interface: str, name: str) -> bool | None:
        """Whether an offload is on; None if there is none."""
        try:
            return features.is_on(interface, name)
        except OSError as error:
            raise KernelError(error.errno or 0, f"{name} of {interface}") from error

    def replace_qdisc(self, link: Link, placed: Placed) -> None:
        """Puts a qdisc at its place."""
        qdisc_requests.replace_qdisc(self._connection, link.index, placed)

    def delete_root(self, link: Link) -> None:
        """Removes the root qdisc and all below it."""
        qdisc_requests.delete_root(self._connection, link.index)

    def turn_feature(self, interface: str, name: str, on: bool) -> None:
        """Turns an offload on or off."""
        try:
            features.turn(interface, name, on)
        except OSError as error:
            raise KernelError(error.errno or 0, f"{name} of {interface}") from error

    def add_vlan(self, link: Link, vlan: Vlan) -> None:
        """Makes a VLAN interface."""
        link_requests.add_vlan(self._connection, link, vlan)

    def set_up(self, link: Link) -> None:
        """Takes an interface up."""
        link_requests.set_up(self._connection, link.index)

    def delete_link(self, link: Link) -> None:
        """Removes an interface."""
        link_requests.delete_link(self._connection, link.index)

    def default_routes(self) -> frozenset[str]:
        """The interfaces by which default routes go."""
        return link_requests.default_routes(self._connection)


def may_configure() -> bool:
    """Whether this process has CAP_NET_ADMIN."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _NET_ADMIN & 1)
    return os.geteuid() == 0


def namespace() -> int:
    """The number of this process's network namespace."""
    return Path("/proc/self/ns/net").stat().st_ino


def kernel_version() -> tuple[int, int]:
    """Of the running kernel, such as (6, 1)."""
    major, minor, *_ = os.uname().release.split(".")
    digits = "".join(c for c in minor if c.isdigit())
    return int(major), int(digits or 0)
