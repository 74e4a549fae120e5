# SPDX-License-Identifier: Apache-2.0
"""Nodes that are written in Python: a bridge of one's own, or a program at a station."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from penstock.errors import InputError
from penstock.scenario.network import Network

if TYPE_CHECKING:
    from penstock._engine import Frame
    from penstock.hardware.host import Direct, ReceivedAt


class Node:
    """A bridge. It has no clock but the times that it is told, in ps of the run.

    A frame is inside while the node keeps it. One that it lets go of without having sent it is swallowed; a listener
    behind a port to which it was not sent misses it. Each port sends one frame after the other.
    """

    def receive(self, frame: Frame, port: int, time_ps: int) -> Iterable[tuple[int, Frame]] | None:
        """Takes a frame that has come whole; gives what is sent now, each with its port.

        `bytes(frame)` is from destination address to the last byte before the FCS, `frame.changed(content)` the same
        frame with other bytes. What is sent twice is a duplicate.
        """
        raise NotImplementedError

    def next(self) -> int | None:
        """When `advance` is to be called, later than what it was advanced to; None: not unless a frame comes."""
        return None

    def advance(self, time_ps: int) -> Iterable[tuple[int, Frame]] | None:
        """Does what is due now; gives what is sent."""


# A frame of a stream; at a host port with how it goes on, else as any frame that comes to that port.
Given: TypeAlias = "tuple[str, bytes] | tuple[str, bytes, ReceivedAt | Direct]"


class Program:
    """A protocol at a station: it hears what comes there, and gives the frames of the station's streams that respond.

    At the host port of a bridge it is that bridge's processor: it says how its frames go on.

    What the scenario says of such a stream, `response_to` and `after`, is for bounds and checks; when its frames come
    and what is in them is the program's.
    """

    def receive(self, frame: Frame, port: int, time_ps: int) -> Iterable[Given] | None:
        """Hears a frame that has come whole; gives frames that come to the station's port now, each with its stream.

        Bytes are from destination address to the last one before the FCS. The class is that of their tag. `port` is 0;
        of a program at a host port it is where the bridge received the frame.
        """
        raise NotImplementedError

    def left(self, stream: str, port: int, tag: int, time_ps: int) -> Iterable[Given] | None:
        """Of a program at a host port: a frame whose way has a tag left its bridge."""

    def next(self) -> int | None:
        """When `advance` is to be called, later than what it was advanced to; None: not unless a frame comes."""
        return None

    def advance(self, time_ps: int) -> Iterable[Given] | None:
        """Does what is due now; gives frames that come to the station's port."""


Own = Mapping[str, Node | Program]


def with_own(network: Network, own: Own) -> Network:
    """The network with its own nodes in place of bridges.

    Raises:
        InputError: There is no node of such a name.

    """
    for name in own:
        if name not in network.bridges and name not in network.stations:
            allowed = ", ".join([*network.bridges, *network.stations])
            raise InputError(f'there is no bridge or station "{name}"', allowed=allowed, file=network.file)
    bridges = {
        name: replace(bridge, nodes="own") if name in own else bridge for name, bridge in network.bridges.items()
    }
    return replace(network, bridges=bridges)
