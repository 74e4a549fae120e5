# SPDX-License-Identifier: Apache-2.0
"""Routes put back when an interface comes up again.

A link without carrier keeps its routes, and the kernel passes them by; an interface that is set down loses them.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

from penstock.torus.host_apply import NodeHost
from penstock.torus.host_plan import NodePlan

_LINKS = 1  # RTMGRP_LINK
_BUFFER_BYTES = 1 << 16


def restored(plan: NodePlan) -> Iterator[int]:
    """Waits for changes of links; gives each time how many routes and neighbours were put back."""
    with (
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) as events,
        NodeHost() as host,
    ):
        events.bind((0, _LINKS))
        while True:
            number = host.restore(plan)
            if number:
                yield number
            events.recv(_BUFFER_BYTES)
            events.setblocking(False)
            try:
                while events.recv(_BUFFER_BYTES):  # what came together is looked at once
                    pass
            except (BlockingIOError, OSError):  # an overrun says that something changed, too
                pass
            events.setblocking(True)
