# SPDX-License-Identifier: Apache-2.0
"""A program at a node: sends messages to another node, or receives them, and prints what it saw as JSON.

`python -m penstock.torus.exchange send|receive SELF OTHER SIZE,SIZE,... [PRIORITY]`, nodes by their identities.
Contents follow from place and size, so that the receiver knows whether each message is whole and in order.
"""

from __future__ import annotations

import json
import random
import sys
import time

from penstock.messages import MessageError, Node

_PATIENCE_S = 1e6  # of an emulated processor, whose time runs ahead while it waits for a file
_PAUSE_S = 0.05


def content(number: int, size: int) -> bytes:
    """Of the message that is sent as number so and so."""
    return random.Random(f"{number} {size}").randbytes(size)


def send(node: Node, other: str, sizes: list[int]) -> int:
    """How many were sent, the first as soon as the other node listens."""
    until = time.monotonic() + _PATIENCE_S
    for number, size in enumerate(sizes):
        while True:
            try:
                node.send(content(number, size), other)
                break
            except MessageError:
                if number > 0 or time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_S)
    node.receive(other)  # all has come
    return len(sizes)


def receive(node: Node, other: str, sizes: list[int]) -> int:
    """How many came whole and in order."""
    whole = sum(node.receive(other) == content(number, size) for number, size in enumerate(sizes))
    node.send(b"!", other)
    return whole


def main(words: list[str]) -> None:
    """Ends with the node's own errors."""
    role, own, other, said, *priority = words
    sizes = [int(size) for size in said.split(",")]
    with Node(own, priority=int(priority[0]) if priority else 0, timeout_s=_PATIENCE_S) as node:
        print(json.dumps({"messages": send(node, other, sizes) if role == "send" else receive(node, other, sizes)}))


if __name__ == "__main__":
    main(sys.argv[1:])
