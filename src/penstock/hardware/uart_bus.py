# SPDX-License-Identifier: Apache-2.0
"""Words by their addresses over a line of bytes: the client of hw/rtl/host/pen_uart_axi.sv."""

from __future__ import annotations

from typing import Protocol

from penstock.hardware.tools import ToolError

ANSWER_BYTES = 6
STATUS = {ord("E"): "there is no such register, or it cannot be accessed so", ord("C"): "the request came damaged"}


class LineError(ToolError):
    """A request or its answer did not come through: it may have had its effect, or not."""


def crc8(data: bytes) -> int:
    """CRC-8 with polynomial 07 and initial value 00: six lines, where a package of them would be one more to lock."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value << 1 ^ 0x107) if value & 0x80 else value << 1
    return value


class Line(Protocol):
    """What is used of a serial line."""

    def reset_input_buffer(self) -> None: ...

    def write(self, data: bytes, /) -> int | None: ...

    def read(self, size: int, /) -> bytes: ...


class UartBus:
    """Words of a switch by their addresses, each access a request and its answer; ToolError says what went wrong."""

    def __init__(self, line: Line, name: str) -> None:
        self._line = line
        self._name = name

    def read(self, address: int) -> int:
        return self._exchange(b"R" + address.to_bytes(2, "little"))

    def write(self, address: int, value: int) -> None:
        self._exchange(b"W" + address.to_bytes(2, "little") + value.to_bytes(4, "little"))

    def _exchange(self, body: bytes) -> int:
        self._line.reset_input_buffer()  # what came too late for the request before
        self._line.write(body + bytes([crc8(body)]))
        answer = self._line.read(ANSWER_BYTES)
        if len(answer) < ANSWER_BYTES:
            raise LineError(f"{self._name}: no answer; is the board configured, and this its serial line?")
        if crc8(answer[:-1]) != answer[-1]:
            raise LineError(f"{self._name}: a damaged answer: {answer.hex()}")
        if answer[0] != ord("K"):
            address = int.from_bytes(body[1:3], "little")
            kind = LineError if answer[0] == ord("C") else ToolError
            raise kind(f"{self._name}: {address:#06x}: {STATUS.get(answer[0], f'status {answer[0]:#04x}')}")
        return int.from_bytes(answer[1:5], "little")
