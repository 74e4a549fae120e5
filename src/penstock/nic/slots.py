# SPDX-License-Identifier: Apache-2.0
"""The time slots of a card's queues by its registers, over a board's serial line or a port of a guest.

python -m penstock.nic.slots DEVICE CYCLE_NS GUARD_NS [QUEUE=NS...]    slots in this order; prints what is read back
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Mapping

from penstock.errors import RunError
from penstock.hardware.uart_bus import UartBus

QUEUES = 8
_WITHIN_S = 5.0
_TQCR_NS, _CYCLE, _GUARD, _COUNT, _COMMIT, _ERROR, _ORDER = 0x540, 0x580, 0x584, 0x588, 0x58C, 0x590, 0x600
_REFUSED = {
    1: "the card has not so many queues",
    2: "there are more slots than 128",
    3: "a slot is of a queue that the card has not",
    4: "a slot is of a queue without time",
    5: "a queue has time and no slot",
    6: "the slots are longer than the cycle",
    7: "slots need a cycle, and without slots there is neither a cycle nor a guard",
    8: "a slot, or what is free of the cycle, is shorter than the longest frame and its guard",
}


class RawLine:
    """A device that is no terminal, such as a port of virtio, with what `UartBus` uses of a serial line."""

    def __init__(self, device: str) -> None:
        self._file = os.open(device, os.O_RDWR | os.O_NONBLOCK)

    def reset_input_buffer(self) -> None:
        """Forgets what came too late."""
        while select.select([self._file], [], [], 0)[0]:
            if not os.read(self._file, 256):
                return

    def write(self, data: bytes) -> int:
        """All of it; requests are short."""
        return os.write(self._file, data)

    def read(self, size: int) -> bytes:
        """So many bytes, or those that came in time."""
        found, until = b"", time.monotonic() + _WITHIN_S
        while len(found) < size and (left := until - time.monotonic()) > 0:
            if select.select([self._file], [], [], left)[0]:
                found += os.read(self._file, size - len(found))
        return found


def set_slots(bus: UartBus, cycle_ns: int, guard_ns: int, slots: Mapping[int, int]) -> None:
    """Each queue of `slots` has the card for so many ns, in this order; none: all queues take turns.

    Raises:
        RunError: The card refuses them, and goes on as before.

    """
    for queue in range(QUEUES):
        bus.write(_TQCR_NS + 4 * queue, slots.get(queue, 0))
    order = bytes(slots).ljust(-(-len(slots) // 4) * 4, b"\0")
    for at in range(0, len(order), 4):
        bus.write(_ORDER + at, int.from_bytes(order[at : at + 4], "little"))
    for address, value in ((_CYCLE, cycle_ns), (_GUARD, guard_ns), (_COUNT, len(slots)), (_COMMIT, 0)):
        bus.write(address, value)
    error = bus.read(_ERROR)
    if error:
        raise RunError(f"the card refuses these slots: {_REFUSED.get(error, f'code {error}')}")


def read_slots(bus: UartBus) -> tuple[int, int, dict[int, int]]:
    """Cycle, guard, and the slots of the queues in their order, as the registers have them."""
    count = bus.read(_COUNT)
    words = [bus.read(_ORDER + at) for at in range(0, count, 4)]
    order = b"".join(word.to_bytes(4, "little") for word in words)[:count]
    slots = {queue: bus.read(_TQCR_NS + 4 * queue) for queue in order}
    return bus.read(_CYCLE), bus.read(_GUARD), slots


def words(cycle_ns: int, guard_ns: int, slots: Mapping[int, int]) -> list[str]:
    """The arguments of this program, and what it prints."""
    return [str(cycle_ns), str(guard_ns), *(f"{queue}={ns}" for queue, ns in slots.items())]


def main(arguments: list[str]) -> int:
    """Sets slots and prints what is read back; 2 says that the arguments are wrong, 3 that the card refuses."""
    try:
        device, cycle_ns, guard_ns = arguments[0], int(arguments[1]), int(arguments[2])
        slots = {int(queue): int(ns) for queue, _, ns in (each.partition("=") for each in arguments[3:])}
    except (IndexError, ValueError):
        print(__doc__, file=sys.stderr)
        return 2
    bus = UartBus(RawLine(device), device)
    try:
        set_slots(bus, cycle_ns, guard_ns, slots)
    except RunError as error:
        print(error, file=sys.stderr)
        return 3
    print(*words(*read_slots(bus)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
