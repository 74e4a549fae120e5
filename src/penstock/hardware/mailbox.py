# SPDX-License-Identifier: Apache-2.0
"""Frames of a board's host port over its registers: the client of hw/rtl/host/pen_host_mailbox.sv.

Every access can be repeated without harm, so one that is lost on the line is.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

from penstock.ethernet import FCS_BYTES, MIN_FRAME_BYTES
from penstock.hardware.configure import RESERVED_ADDRESSES
from penstock.hardware.host import Direct, EgressStamp, Heard, ReceivedAt, heard
from penstock.hardware.host_line import MOST_BYTES, TAGS, way_of
from penstock.hardware.registers import mailbox_registers, registers
from penstock.hardware.tools import ToolError
from penstock.hardware.traffic import with_fcs
from penstock.hardware.uart_bus import LineError

KIND = int.from_bytes(b"PENM", "big")
WORD_BYTES = 4
TRIES = 3
PATIENCE_S = 1.0  # until there is room

ASK_EVERY_S = 0.02  # the mailbox, while nothing comes from either side

_T = TypeVar("_T")


class Bus(Protocol):
    """Words by their addresses."""

    def read(self, address: int) -> int: ...

    def write(self, address: int, value: int) -> None: ...


class Mailbox:
    """Sends frames into a host port and receives those that come out of it.

    Raises:
        ToolError: There is no mailbox behind this bus, or the line failed several times.

    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._map = mailbox_registers()
        if self._read("mailbox.id")["value"] != KIND:
            raise ToolError("the switch behind this line has no mailbox of a host port")
        self.ports = self._again(partial(bus.read, registers().address("ports")))  # the last one is the host's

    def send(self, frame: bytes, way: ReceivedAt | Direct) -> None:
        """A frame without FCS, as soon as there is room; ToolError if there is none for a second."""
        padded = frame.ljust(MIN_FRAME_BYTES - FCS_BYTES, b"\0")
        whole = way.header + with_fcs(padded)
        ordinal, first = self._room_for(len(whole)), self._map.address("mailbox.send_data")
        for at in range(0, len(whole), WORD_BYTES):
            word = int.from_bytes(whole[at : at + WORD_BYTES], "little")
            self._again(partial(self._bus.write, first + at, word))
        self._write("mailbox.send_commit", bytes=len(whole), ordinal=ordinal)

    def _room_for(self, length: int) -> int:
        """The ordinal of the next frame."""
        until = time.monotonic() + PATIENCE_S
        while True:
            state = self._read("mailbox.send")
            if state["room"] >= length:
                return state["ordinal"]
            if time.monotonic() >= until:
                raise ToolError(f"no room for a frame of {length} bytes; the mailbox has room for {state['room']}")

    def receive(self) -> Heard | EgressStamp | None:
        """The oldest frame or stamp that waits."""
        state = self._read("mailbox.receive")
        if not state["bytes"]:
            return None
        first = self._map.address("mailbox.receive_data")
        places = range(first, first + state["bytes"], WORD_BYTES)
        words = [self._again(partial(self._bus.read, place)) for place in places]
        self._write("mailbox.receive_release", ordinal=state["ordinal"])
        return heard(b"".join(word.to_bytes(WORD_BYTES, "little") for word in words)[: state["bytes"]])

    def reserve(self, mask: int) -> None:
        """Frames to 01-80-C2-00-00-0n go to the host if bit n is set."""
        address, value = registers().write("reserved_to_host", mask=mask)
        self._again(partial(self._bus.write, address, value))

    def _read(self, name: str) -> dict[str, int]:
        register = self._map[name]
        found = self._again(partial(self._bus.read, register.address))
        return {field.name: field.extract(found) for field in register.fields.values()}

    def _write(self, name: str, **values: int) -> None:
        address, value = self._map.write(name, **values)
        self._again(partial(self._bus.write, address, value))

    @staticmethod
    def _again(access: Callable[[], _T]) -> _T:
        for _ in range(TRIES - 1):
            try:
                return access()
            except LineError:
                continue
        return access()


def carry(
    mailbox: Mailbox,
    interface: socket.socket,
    told: Callable[[int, bytes], object],
    stamped: Callable[[EgressStamp], object],
) -> None:
    """Carries frames between an interface and the host port, until interrupted.

    `told` of each that came from the switch, with the port where it was received; `stamped` of when one left.
    """
    mailbox.reserve((1 << RESERVED_ADDRESSES) - 1)
    sent, wait_s = 0, 0.0
    while True:
        if select.select([interface], [], [], wait_s)[0]:
            frame, address = interface.recvfrom(MOST_BYTES)
            if address[2] != socket.PACKET_OUTGOING:  # of our own
                mailbox.send(frame, way_of(frame, sent % TAGS, mailbox.ports - 1))
                sent += 1
        one = mailbox.receive()
        if isinstance(one, Heard):
            interface.send(one.frame)
            told(one.port, one.frame)
        elif one is not None:
            stamped(one)
        wait_s = ASK_EVERY_S if one is None else 0.0
