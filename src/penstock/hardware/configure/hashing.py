# SPDX-License-Identifier: Apache-2.0
"""Where the hashed tables of the hardware keep their entries."""

import zlib
from collections.abc import Sequence

from penstock.hardware.configure.config import IDENTIFY, IPV4_FIELDS, StreamEntry, SwitchConfig


def ipv4_mask_of(config: SwitchConfig) -> int:
    """Which bits of a key of IPv4 fields count."""
    return sum((1 << width) - 1 << low for name, (low, width) in IPV4_FIELDS.items() if name in config.ipv4_fields)


def stream_key(entry: StreamEntry, ipv4_mask: int) -> int:
    """The 109 bits by which a stream is found."""
    if entry.identify == "ipv4":
        fields = sum(int(getattr(entry, name)) << low for name, (low, _) in IPV4_FIELDS.items()) & ipv4_mask
    else:
        fields = entry.vlan << 48 | entry.mac
    return IDENTIFY.index(entry.identify) << 107 | entry.port << 104 | fields


def slots_of_key(key: int, slots: int) -> tuple[int, int]:
    """The slot of a key in each of the two tables."""
    crc = zlib.crc32(key.to_bytes(14, "little"))
    return crc % slots, (crc >> 16) % slots


def place(keys: Sequence[int], slots: int) -> list[tuple[int, int] | None]:
    """Gives each key a (table, slot) of its own; None for a key for which there is no place however the others move.

    A key that finds both its slots taken moves one of their owners to its other slot, and so on: an augmenting path,
    so a key is refused only if no placement of it and those before it exists.
    """
    owner: dict[tuple[int, int], int] = {}
    choices = [tuple(enumerate(slots_of_key(key, slots))) for key in keys]
    placed: list[tuple[int, int] | None] = [None] * len(keys)
    for index in range(len(keys)):
        came_from: dict[tuple[int, int], tuple[int, int] | None] = dict.fromkeys(choices[index])
        queue = list(came_from)
        free = None
        for slot in queue:  # grows while it is walked
            if slot not in owner:
                free = slot
                break
            for other in choices[owner[slot]]:
                if other not in came_from:
                    came_from[other] = slot
                    queue.append(other)
        while free is not None:  # back along the path: each owner moves one slot further
            before = came_from[free]
            moved = index if before is None else owner[before]
            owner[free] = moved
            placed[moved] = free
            free = before
    return placed


def crowd_of(keys: Sequence[int], index: int, slots: int) -> list[int]:
    """The keys before this one that share slots with it, directly or through others."""
    reached = set(enumerate(slots_of_key(keys[index], slots)))
    crowd: list[int] = []
    grows = True
    while grows:
        grows = False
        for other in range(index):
            choices = set(enumerate(slots_of_key(keys[other], slots)))
            if other not in crowd and choices & reached:
                crowd.append(other)
                reached |= choices
                grows = True
    return sorted(crowd)


def fdb_set(address: int, vlan: int, sets: int) -> int:
    """The set of the forwarding database in which an address of a VLAN is looked for."""
    return zlib.crc32((vlan << 48 | address).to_bytes(8, "little")) % sets
