# SPDX-License-Identifier: Apache-2.0
"""Registers of a card over a board's serial line or a port of a guest.

python -m penstock.nic.registers DEVICE ADDRESS=VALUE...    writes them in this order
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from penstock.errors import RunError
from penstock.hardware.uart_bus import UartBus
from penstock.nic.slots import RawLine


def words(writes: Iterable[tuple[int, int]]) -> list[str]:
    """The arguments of this program behind the device."""
    return [f"{address:#x}={value:#x}" for address, value in writes]


def main(arguments: list[str]) -> int:
    """Writes them; 2 says that the arguments are wrong, 3 that the card has no such register."""
    try:
        device = arguments[0]
        pairs = [each.partition("=") for each in arguments[1:]]
        writes = [(int(address, 0), int(value, 0)) for address, _, value in pairs]
    except (IndexError, ValueError):
        print(__doc__, file=sys.stderr)
        return 2
    bus = UartBus(RawLine(device), device)
    try:
        for address, value in writes:
            bus.write(address, value)
    except RunError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
