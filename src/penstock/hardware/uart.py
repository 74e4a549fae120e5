# SPDX-License-Identifier: Apache-2.0
"""The registers of a switch on a board, over its serial line: the client of hw/rtl/host/pen_uart_axi.sv."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import InputError
from penstock.hardware.registers import Register, mailbox_registers, registers
from penstock.hardware.tools import ToolError, required
from penstock.hardware.uart_bus import UartBus

TIMEOUT_S = 0.5  # longer than the silence after which the bridge forgets half a request


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
    known = {**registers(), **mailbox_registers()}
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
