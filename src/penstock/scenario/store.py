# SPDX-License-Identifier: Apache-2.0
"""The frame store of a bridge, in cells, and the part of it that the queues of a class may have."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.scenario.draft import Draft
from penstock.scenario.lengths import came_to
from penstock.scenario.limits import CELL_BYTES, HARDWARE_CELLS
from penstock.scenario.network import Bridge, Network
from penstock.scenario.positions import KeyPath

# As the hardware divides its store after reset.
_TRANSIT_CELLS = 36  # of each port, for frames on their way in and out
_RECEPTION_GUARANTEE_CELLS = 24
TRANSIT_AND_RECEPTION_CELLS = _TRANSIT_CELLS + _RECEPTION_GUARANTEE_CELLS  # of each port, the least of a store
_MOST_QUEUE_GUARANTEE_CELLS = 12
_QUEUE_LIMIT_CELLS = 256
_CLASSES = 8
_CLASS_LIMIT_CELLS = 640
_CELLS_PER_PORT = 128  # what 8 ports of the hardware have


def cells_of(frame_bytes: int) -> int:
    """What a frame takes of a store."""
    return -(-frame_bytes // CELL_BYTES)


def store_cells(bridge: Bridge) -> int:
    """What the scenario says, or the hardware's own size; a model with more ports has more to store frames in."""
    if bridge.store_bytes is not None:
        return bridge.store_bytes // CELL_BYTES
    cells = HARDWARE_CELLS
    while cells < bridge.ports * _CELLS_PER_PORT:
        cells *= 2
    return cells


@dataclass(frozen=True)
class Shares:
    """How a store is divided, in cells."""

    queue_guarantee: int
    reception_guarantee: int
    shared: int


def shares(cells: int, ports: int) -> Shares:
    """Of a store of so many cells, as a bridge with so many ports divides it."""
    room = max(0, 3 * cells // 4 - ports * TRANSIT_AND_RECEPTION_CELLS)
    queue = min(room // (ports * _CLASSES), _MOST_QUEUE_GUARANTEE_CELLS)
    return Shares(
        queue, _RECEPTION_GUARANTEE_CELLS, max(0, cells - ports * (TRANSIT_AND_RECEPTION_CELLS + _CLASSES * queue))
    )


def limit_of_queue(network: Network, bridge: Bridge, number: int) -> int:
    """Cells that the queue of a class at a port may hold."""
    return queue_limit_cells(network, bridge).get(number, min(_QUEUE_LIMIT_CELLS, _class_limit_cells(bridge)))


def limit_of_class(network: Network, bridge: Bridge, number: int) -> int:
    """Cells that a class may have at all ports together: one queue may fill it."""
    return max(_class_limit_cells(bridge), limit_of_queue(network, bridge, number))


def class_limits_cells(network: Network, bridge: Bridge) -> dict[int, int]:
    """By class, where it is not what the hardware has after reset."""
    most, queues = _class_limit_cells(bridge), queue_limit_cells(network, bridge)
    limits = {number: max(most, queues.get(number, 0)) for number in range(_CLASSES)}
    return {number: cells for number, cells in limits.items() if cells != _CLASS_LIMIT_CELLS}


def _class_limit_cells(bridge: Bridge) -> int:
    """As after reset; of a store whose size is said, the same part."""
    if bridge.store_bytes is None:
        return _CLASS_LIMIT_CELLS
    return class_share(store_cells(bridge))


def class_share(cells: int) -> int:
    """What a class may have of a store of this size at all ports together, if its queues may not have more."""
    return cells * _CLASS_LIMIT_CELLS // HARDWARE_CELLS


def queue_limit_cells(network: Network, bridge: Bridge) -> dict[int, int]:
    """By class, what the queue of each egress port may hold.

    So many frames are so many of the longest of the class; so many bytes are the whole cells in them.
    """
    found = {}
    for number, limit in bridge.queue_limits.items():
        if limit.frames is not None:
            found[number] = limit.frames * cells_of(_longest_bytes(network, bridge, number))
        else:
            assert limit.bytes is not None
            found[number] = limit.bytes // CELL_BYTES
    return found


def _longest_bytes(network: Network, bridge: Bridge, number: int) -> int:
    """The longest frame of the class, or of the bridge if no stream is of the class."""
    passing = [stream for stream, _ in network.passing[bridge.name] if network.class_at(stream, bridge.name) == number]
    longest = (came_to(network, stream, bridge.name)[1] for stream in passing)
    return max(longest, default=bridge.max_frame_bytes)


def check_queue_limits(draft: Draft, network: Network) -> None:
    """Whether each limit is of a frame or more, and of the store or less, and a store of what its ports need."""
    for bridge in network.bridges.values():
        most = store_cells(bridge)
        needed = bridge.ports * TRANSIT_AND_RECEPTION_CELLS
        if most < needed:
            what = f"{most} cells of {CELL_BYTES} B are less than the {needed} that {bridge.ports} ports need"
            draft.once((*draft.origin[bridge.name], "store"), what, f"{needed * CELL_BYTES}B and above")
            continue
        for number, cells in queue_limit_cells(network, bridge).items():
            limit = bridge.queue_limits[number]
            key, unit = ("frames", 1) if limit.frames is not None else ("bytes", CELL_BYTES)
            path: KeyPath = (*draft.origin[bridge.name], "classes", str(number), "queue_limit", key)
            longest = _longest_bytes(network, bridge, number)
            least = cells_of(longest)
            if cells < least:
                what = f"a frame of {longest} B takes {least} cells of {CELL_BYTES} B, and would never be queued"
                draft.once(path, what, f"{least * unit}B and above")
            elif cells > most:
                what = f'is {cells:,} cells, and the store of "{bridge.name}" has {most:,}'
                whole = f"up to {most // least}" if limit.frames is not None else f"up to {most * unit}B"
                draft.once(path, what, whole)
