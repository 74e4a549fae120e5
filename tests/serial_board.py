# SPDX-License-Identifier: Apache-2.0
"""A board at the far end of a serial line: a switch with a host port, its registers and its mailbox.

The mailbox is one of lists, as the registers of pen_host_mailbox say; the switch is the engine's, model or hardware.
"""

from __future__ import annotations

import os
import pty
import threading
from collections.abc import Callable

from penstock import _engine
from penstock.hardware.host import egress_stamps
from penstock.hardware.host_line import HOST_PORT, MOST_BYTES, OUTPUT, START_CYCLES, STEP_CYCLES
from penstock.hardware.traffic import PREAMBLE_BYTES
from penstock.hardware.uart_bus import crc8

BASE, SEND_DATA, RECEIVE_DATA, END = 0x8000, 0x9000, 0xA000, 0xB000
MEMORY_BYTES = 4096
NS_PER_S = 10**9


class SerialBoard:
    """`spoil` sees the number of each request and what would be answered, and gives what is sent instead."""

    def __init__(self, switch: _engine.Switch, spoil: Callable[[int, bytes], bytes] | None = None) -> None:
        self.switch = switch
        self.left: list[tuple[int, bytes]] = []  # by the wires, each with its port
        self.to_host: list[bytes] = []
        self.sent = self.released = self.requests = 0
        self._words: dict[int, int] = {}
        self._pushed: dict[int, tuple[int, bytes]] = {}
        self._spoil = spoil or (lambda _, answer: answer)
        self._busy = threading.Lock()
        self._far, near = pty.openpty()
        self.device = os.ttyname(near)
        threading.Thread(target=self._serve, daemon=True).start()

    def from_wire(self, port: int, whole: bytes) -> None:
        """A frame, with its FCS, comes by a wire."""
        with self._busy:
            self._give(port, whole)

    def _serve(self) -> None:
        while True:
            request = os.read(self._far, 1)
            request += b"".join(os.read(self._far, 1) for _ in range(3 if request == b"R" else 7))
            assert crc8(request) == 0
            address, value = int.from_bytes(request[1:3], "little"), int.from_bytes(request[3:7], "little")
            with self._busy:
                found = self._read(address) if request[:1] == b"R" else self._write(address, value)
            body = (b"E" if found is None else b"K") + (found or 0).to_bytes(4, "little")
            self.requests += 1  # before anybody knows of the answer
            os.write(self._far, self._spoil(self.requests - 1, body + bytes([crc8(body)])))

    def _read(self, address: int) -> int | None:
        if address < BASE:
            return self.switch.read(address)
        oldest = self.to_host[0] if self.to_host else b""
        if RECEIVE_DATA <= address < END:
            return int.from_bytes(oldest[address - RECEIVE_DATA :][:4], "little")
        return {
            BASE: int.from_bytes(b"PENM"),
            BASE + 0x10: self.sent % 256 << 16 | MEMORY_BYTES,
            BASE + 0x20: self.released % 256 << 16 | len(oldest),
        }.get(address)

    def _write(self, address: int, value: int) -> int | None:
        if address < BASE:
            self.switch.write(address, value)
        elif SEND_DATA <= address < RECEIVE_DATA:
            self._words[address - SEND_DATA] = value
        elif address == BASE + 0x14 and value >> 16 == self.sent % 256:
            length = value & 0x1FFF
            whole = b"".join(self._words[at].to_bytes(4, "little") for at in range(0, length, 4))[:length]
            self.sent += 1
            self._give(HOST_PORT, whole[4:], whole[:4])
        elif address == BASE + 0x24 and self.to_host and value == self.released % 256:
            self.to_host.pop(0)
            self.released += 1
        return 0

    def _give(self, port: int, whole: bytes, host: bytes | None = None) -> None:
        switch = self.switch
        self._pushed[switch.push(port, switch.cycle + START_CYCLES, whole, host=host)] = port, whole
        while switch.waiting or switch.inside:
            switch.run(switch.cycle + STEP_CYCLES)
        switch.run(switch.cycle + PREAMBLE_BYTES + MOST_BYTES)
        events = switch.events()
        for kind, out, number, ns in zip(*(events[name] for name in ("kind", "port", "frame", "visible")), strict=True):
            if kind != OUTPUT:
                continue
            came, frame = self._pushed[int(number)]
            if out == HOST_PORT:
                self.to_host.append(_header(0, came, 0, 0, int(ns), 0) + frame)
            else:
                self.left.append((int(out), frame))
        self.to_host += [
            _header(1, stamp.port, stamp.lost, stamp.tag, stamp.ns, stamp.fraction) for stamp in egress_stamps(events)
        ]


def _header(kind: int, port: int, third: int, tag: int, ns: int, fraction: int) -> bytes:
    seconds, rest = divmod(ns, NS_PER_S)
    moment = seconds.to_bytes(6, "little") + rest.to_bytes(4, "little") + bytes([fraction])
    return bytes([kind, port, third, tag]) + moment + b"\0"
