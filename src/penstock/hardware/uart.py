# SPDX-License-Identifier: Apache-2.0
"""The registers of a switch on a board, over its serial line: the client of hw/rtl/host/pen_uart_axi.sv."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import InputError
from penstock.hardware.registers import Register, registers
from penstock.hardware.tools import ToolError, required

if TYPE_CHECKING:  # there for who has the extra hw
    from serial import Serial

ANSWER_BYTES = 6
TIMEOUT_S = 0.5  # longer than the silence after which the bridge forgets half a request
STATUS = {ord("E"): "there is no such register, or it cannot be accessed so", ord("C"): "the request came damaged"}


def crc8(data: bytes) -> int:
    """CRC-8 with polynomial 07 and initial value 00: six lines, where a package of them would be one more to lock."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value << 1 ^ 0x107) if value & 0x80 else value << 1
    return value


class UartBus:
    """Words of a switch by their addresses, each access a request and its answer; ToolError says what went wrong."""

    def __init__(self, line: Serial, name: str) -> None:
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
            raise ToolError(f"{self._name}: no answer; is the board configured, and this its serial line?")
        if crc8(answer[:-1]) != answer[-1]:
            raise ToolError(f"{self._name}: a damaged answer: {answer.hex()}")
        if answer[0] != ord("K"):
            address = int.from_bytes(body[1:3], "little")
            raise ToolError(f"{self._name}: {address:#06x}: {STATUS.get(answer[0], f'status {answer[0]:#04x}')}")
        return int.from_bytes(answer[1:5], "little")


@contextmanager
def opened(device: Path, baud: int) -> Iterator[UartBus]:
    """The bus behind a serial line such as /dev/ttyUSB1, which nobody else has open meanwhile."""
    required("serial")
    from serial import Serial, SerialException

    try:
        with Serial(str(device), baud, timeout=TIMEOUT_S, write_timeout=TIMEOUT_S, exclusive=True) as line:
            yield UartBus(line, str(device))
    except (SerialException, ValueError) as error:  # the latter for a speed that the line has not
        raise ToolError(f"{device}: {error}") from None


def find(name: str) -> Register:
    """A register by its name, such as port_vlan[1]; InputError names those that are alike."""
    known = registers()
    if name not in known:
        alike = [other for other in known if name.split("[")[0] in other][:8] or ["id", "ports", "status"]
        allowed = f"{', '.join(alike)}, and more in docs/registers.md"
        raise InputError("there is no such register", allowed=allowed, file=name)
    return known[name]


def read(bus: UartBus, register: Register) -> int:
    """The whole register; of two words the low one is read first, which holds the high one."""
    words = [bus.read(address) for address in register.words]
    return sum(word << 32 * place for place, word in enumerate(words))


def write(bus: UartBus, register: Register, value: int) -> None:
    """Sets the whole register; InputError if it cannot be written or the value does not fit."""
    if not any("w" in field.access for field in register.fields.values()):
        raise InputError("can only be read", allowed="no value beside it", file=register.name)
    if not 0 <= value < 1 << register.bits:
        allowed = f"0 to {(1 << register.bits) - 1:#x}"
        raise InputError(f"{value:#x} does not fit", allowed=allowed, file=register.name)
    for place, address in enumerate(register.words):
        bus.write(address, value >> 32 * place & 0xFFFFFFFF)
