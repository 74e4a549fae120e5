# SPDX-License-Identifier: Apache-2.0
"""What a bridge has to have room for so that no frame is lost for want of it: of each queue, of each class, of all.

A queue never holds more than its backlog. So with `queue_limit` of that no frame is dropped as `queue_full`, with a
class limit of what its queues hold together none as `class_full`, and with room for all that is beyond the guarantees
of the queues none as `store_full`. What is guaranteed is taken by whole frames: a queue that charges a frame to what
all share lacks less than this frame of its guarantee, and the port by which that frame came lacks less than it too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from penstock.bound.solution import Backlog, backlogs
from penstock.scenario.network import Bridge, Network
from penstock.scenario.store import (
    TRANSIT_AND_RECEPTION_CELLS,
    class_share,
    limit_of_class,
    limit_of_queue,
    shares,
    store_cells,
)


@dataclass(frozen=True)
class ClassRoom:
    """What the queues of a class hold at most; None: no limit is known."""

    traffic_class: int
    bytes: int | None  # of all ports together
    frames: int | None
    cells: int | None
    queue_cells: int | None  # of one port
    queue_limit_cells: int  # what the scenario gives
    class_limit_cells: int

    @property
    def fits(self) -> bool:
        """Whether what the scenario gives is enough, for each queue and for all together."""
        return (
            self.cells is not None
            and self.queue_cells is not None
            and self.queue_cells <= self.queue_limit_cells
            and self.cells <= self.class_limit_cells
        )


@dataclass(frozen=True)
class Room:
    """What a bridge needs, and what it has."""

    bridge: str
    queues: tuple[Backlog, ...]
    classes: tuple[ClassRoom, ...]
    needed_cells: int | None  # of its store, if each class has what it needs; None: no limit is known
    store_cells: int

    @property
    def fits(self) -> bool:
        """Whether no frame can be lost for want of room."""
        return (
            all(each.fits for each in self.classes)
            and self.needed_cells is not None
            and self.needed_cells <= self.store_cells
        )

    @property
    def queue_limits(self) -> dict[int, int]:
        """Cells by class, of those whose queues have a limit: with them no frame is dropped as `queue_full`."""
        return {each.traffic_class: each.queue_cells for each in self.classes if each.queue_cells is not None}


def rooms(network: Network) -> list[Room]:
    """Of each bridge that streams pass."""
    found: dict[str, list[Backlog]] = defaultdict(list)
    for queue in backlogs(network):
        found[queue.place[0]].append(queue)
    return [_room(network, network.bridges[name], queues) for name, queues in found.items()]


def _room(network: Network, bridge: Bridge, queues: Sequence[Backlog]) -> Room:
    classes = tuple(_classes(network, bridge, queues))
    needed = _needed_cells(bridge, queues, classes)
    return Room(bridge.name, tuple(queues), classes, needed, store_cells(bridge))


def _classes(network: Network, bridge: Bridge, queues: Sequence[Backlog]) -> Iterator[ClassRoom]:
    for number in sorted({queue.traffic_class for queue in queues}):
        of_class = [queue for queue in queues if queue.traffic_class == number]
        cells = [queue.cells for queue in of_class]
        yield ClassRoom(
            traffic_class=number,
            bytes=_sum([queue.bytes for queue in of_class]),
            frames=_sum([queue.frames for queue in of_class]),
            cells=_sum(cells),
            queue_cells=None if None in cells else max(each for each in cells if each is not None),
            queue_limit_cells=limit_of_queue(network, bridge, number),
            class_limit_cells=limit_of_class(network, bridge, number),
        )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _needed_cells(bridge: Bridge, queues: Sequence[Backlog], classes: Sequence[ClassRoom]) -> int | None:
    """The least store that loses nothing, with as large a part of it for each class as the bridge gives."""
    held = [(queue.cells, queue.longest_cells) for queue in queues if queue.cells is not None]
    if len(held) < len(queues):
        return None
    longest = max(cells for _, cells in held)

    @cache
    def beyond(guarantee: int) -> int:
        return sum(max(0, most - guarantee + frame - 1) for most, frame in held)

    cells = max(TRANSIT_AND_RECEPTION_CELLS * bridge.ports, max(each.queue_cells or 0 for each in classes))
    while True:
        share, of_class = shares(cells, bridge.ports), class_share(cells)
        shared = beyond(share.queue_guarantee) - max(0, share.reception_guarantee - longest + 1)
        if shared <= share.shared and all(
            (each.cells or 0) <= max(of_class, each.queue_cells or 0) for each in classes
        ):
            return cells
        cells += 1
