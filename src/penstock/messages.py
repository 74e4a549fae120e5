# SPDX-License-Identifier: Apache-2.0
"""Messages between nodes of tiles, addressed by their identities, and the schedule of a node's card.

Those of C are in `penstock_msg.h`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

from penstock._engine import MessageError as MessageError
from penstock._engine import MessageNode, schedule_of, set_schedule
from penstock.tiles.identity import Identity

Who = Identity | int | str


class Node:
    """A node that is this process; one of the host's interfaces has its address.

    All nodes of a network have the same `tile` (rows and columns of nodes), `network` (the first two bytes of
    addresses) and TCP `port`. `priority` is that of frames in the kernel (SO_PRIORITY). Without `timeout_s` receiving
    waits as long as the other node lives.

    Raises `MessageError` with a code of `penstock_msg.h` and a sentence; `TimeoutError` when time is over.
    """

    def __init__(
        self,
        who: Who,
        *,
        tile: tuple[int, int] = (2, 2),
        network: tuple[int, int] = (10, 0),
        port: int = 5080,
        priority: int = 0,
        timeout_s: float | None = None,
    ) -> None:
        self._node = MessageNode(_number(who), tile, network, port, priority, timeout_s)

    def __enter__(self) -> Node:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def send(self, message: bytes, to: Who) -> None:
        """Hands a message of 1 to 2^32 - 1 bytes to the kernel."""
        self._node.send(message, _number(to))

    def receive(self, sender: Who) -> bytes:
        """Waits for the next message from a node, whole."""
        return self._node.receive(_number(sender))

    def close(self) -> None:
        """Ends who waits."""
        self._node.close()


@dataclass(frozen=True)
class Schedule:
    """When each transmission queue of an interface may send.

    Frames of priority k (SO_PRIORITY) are in queue k, those of a priority without a queue in queue 0. Queues without a
    slot send in what the slots leave of the cycle. Without slots the interface's queues send as they always do.
    """

    slot_ns: tuple[int, ...]  # by queue: how long its slot is; 0: it has none (the registers TQCR)
    order: tuple[int, ...] = ()  # the queue of each slot (the registers SCR)
    cycle_ns: int = 0
    guard_ns: int = 0  # closed at the end of each slot, beyond the guard band of each frame


def set_conf(interface: str, schedule: Schedule) -> None:
    """Sets an interface of this host to a schedule, and returns when it acts. Needs CAP_NET_ADMIN.

    Raises `MessageError`: no card could have the schedule, or this one not; the kernel refused. Nothing changes then.
    """
    set_schedule(interface, schedule.slot_ns, schedule.order, schedule.cycle_ns, schedule.guard_ns)


def get_conf(interface: str) -> Schedule:
    """The schedule that acts at an interface, as the kernel says it. Raises `MessageError` if there is none."""
    slot_ns, order, cycle_ns, guard_ns = schedule_of(interface)
    return Schedule(tuple(slot_ns), tuple(order), cycle_ns, guard_ns)


def _number(who: Who) -> int:
    """`ValueError` if it is no identity."""
    if isinstance(who, str):
        who = Identity.parse(who)
    return who.number if isinstance(who, Identity) else who
