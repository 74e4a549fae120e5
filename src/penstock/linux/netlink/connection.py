# SPDX-License-Identifier: Apache-2.0
"""Requests to the kernel over a netlink socket, with the kernel's own words when it refuses one."""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Any

from penstock.linux.errors import KernelError

_SOL_NETLINK, _NETLINK_CAP_ACK, _NETLINK_EXT_ACK = 270, 10, 11
_ERROR, _DONE = 2, 3  # NLMSG_*
_REQUEST, _ACK, _DUMP = 0x1, 0x4, 0x300  # NLM_F_*
_ACK_TLVS = 0x200  # NLM_F_ACK_TLVS: text follows
_TEXT = 1  # NLMSGERR_ATTR_MSG
_HEADER = struct.Struct("=IHHII")
# The kernel makes a dump's messages as large as what was read before, up to 32 KiB: a long gate list needs all of it.
_BUFFER_BYTES = 1 << 18

REPLACE, EXCLUSIVE, CREATE = 0x100, 0x200, 0x400  # NLM_F_*


class Connection:
    """A netlink socket for links, routes and qdiscs, in the network namespace of the thread."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        try:
            self._socket.bind((0, 0))
            self._socket.setsockopt(_SOL_NETLINK, _NETLINK_EXT_ACK, 1)
            self._socket.setsockopt(_SOL_NETLINK, _NETLINK_CAP_ACK, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        except OSError:
            self._socket.close()
            raise
        self._sequence = 0

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self._socket.close()

    def request(self, message: Any, kind: int, flags: int = 0) -> None:
        """Sends a request and waits until the kernel has done it; raises `KernelError` if it does not."""
        self._send(message, kind, _REQUEST | _ACK | flags)
        self._answers()

    def dump(self, message: Any, kind: int) -> list[Any]:
        """All that the kernel lists, as messages of the request's class."""
        self._send(message, kind, _REQUEST | _DUMP)
        found = []
        for data in self._answers():
            each = type(message)(data)
            each.decode()
            found.append(each)
        return found

    def _send(self, message: Any, kind: int, flags: int) -> None:
        self._sequence += 1
        message["header"]["type"] = kind
        message["header"]["flags"] = flags
        message["header"]["sequence_number"] = self._sequence
        message["header"]["pid"] = 0
        message.reset()
        message.encode()
        self._socket.send(bytes(message.data))

    def _answers(self) -> list[bytes]:
        found: list[bytes] = []
        while True:
            data = self._socket.recv(_BUFFER_BYTES)
            at = 0
            while at + _HEADER.size <= len(data):
                length, kind, flags, sequence, _ = _HEADER.unpack_from(data, at)
                part = data[at : at + length]
                at += max(length + 3 & ~3, _HEADER.size)
                if sequence != self._sequence:
                    continue
                if kind in (_ERROR, _DONE):
                    _check(part, flags, kind)
                    return found
                found.append(part)


def _check(part: bytes, flags: int, kind: int) -> None:
    if len(part) < _HEADER.size + 4:
        return
    (code,) = struct.unpack_from("=i", part, _HEADER.size)
    if code >= 0:
        return
    # The request's header is repeated in an error (NETLINK_CAP_ACK leaves out the rest of it); DONE has none.
    start = _HEADER.size + 4 + (_HEADER.size if kind == _ERROR else 0)
    raise KernelError(-code, _text(part[start:]) if flags & _ACK_TLVS else None)


def _text(data: bytes) -> str | None:
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if kind & 0x3FFF == _TEXT:
            return data[at + 4 : at + length].rstrip(b"\0").decode(errors="replace")
        at += max(length + 3 & ~3, 4)
    return None
