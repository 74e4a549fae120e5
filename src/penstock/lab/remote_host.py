# SPDX-License-Identifier: Apache-2.0
"""A host of the laboratory as `penstock.linux` knows hosts: requests are made and read here, and acted on there."""

from __future__ import annotations

import base64
import errno
import struct
from typing import Any

from penstock.lab.machine import ExecutorError, Machine
from penstock.linux.errors import KernelError
from penstock.linux.host import ThisHost
from penstock.linux.netlink import features
from penstock.linux.netlink.connection import Connection

_FEATURE = struct.Struct("=II")


class RemoteHost(ThisHost):
    """By the executor that has the host's namespace."""

    def __init__(self, machine: Machine, host: str) -> None:
        self._machine = machine
        self._host = host
        self._connection = _RemoteConnection(machine, host)

    def feature(self, interface: str, name: str) -> bool | None:
        """Whether an offload is on; None if there is none."""
        try:
            return bool(self._ethtool(interface, features._COMMANDS[name][0], 0))
        except KernelError as error:
            if error.code == errno.EOPNOTSUPP:
                return None
            raise

    def turn_feature(self, interface: str, name: str, on: bool) -> None:
        """Turns an offload on or off."""
        self._ethtool(interface, features._COMMANDS[name][1], int(on))

    def _ethtool(self, interface: str, command: int, value: int) -> int:
        data = base64.b64encode(_FEATURE.pack(command, value)).decode()
        try:
            answer = self._machine.ask("ethtool", host=self._host, interface=interface, data=data)
        except ExecutorError as error:
            raise KernelError(error.number or 0, f"ethtool of {interface}") from error
        return int(_FEATURE.unpack(base64.b64decode(answer["data"]))[1])


class _RemoteConnection(Connection):
    """A netlink socket of the other side."""

    def __init__(self, machine: Machine, host: str) -> None:
        self._socket: Any = _Socket(machine, host)
        self._sequence = 0
        for level, name, value in ((270, 11, 1), (270, 10, 1)):  # SOL_NETLINK: NETLINK_EXT_ACK, NETLINK_CAP_ACK
            self._socket.option(level, name, value)


class _Socket:
    """What `Connection` needs of a socket."""

    def __init__(self, machine: Machine, host: str) -> None:
        self._machine = machine
        self._number = machine.ask("netlink", host=host)["number"]

    def option(self, level: int, name: int, value: int) -> None:
        self._machine.ask("option", number=self._number, level=level, name=name, value=value)

    def send(self, data: bytes) -> int:
        self._machine.ask("send", number=self._number, data=base64.b64encode(data).decode())
        return len(data)

    def recv(self, size: int) -> bytes:
        return base64.b64decode(self._machine.ask("receive", number=self._number, size=size)["data"])

    def close(self) -> None:
        """It ends with the executor."""
