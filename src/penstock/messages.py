# SPDX-License-Identifier: Apache-2.0
"""Messages between nodes of tiles, addressed by their identities; those of C are in `penstock_msg.h`."""

from __future__ import annotations

from types import TracebackType

from penstock._engine import MessageError as MessageError
from penstock._engine import MessageNode
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


def _number(who: Who) -> int:
    """`ValueError` if it is no identity."""
    if isinstance(who, str):
        who = Identity.parse(who)
    return who.number if isinstance(who, Identity) else who
