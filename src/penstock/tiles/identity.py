# SPDX-License-Identifier: Apache-2.0
"""Who a node is: the tuple of its tile's and its own place, in 32 bits, in its addresses, and back.

Scionti et al., section III: an identity is ⟨Grc, Gcc, Lrc, Lcc⟩, the row and column of the tile and those within it;
the lower two bytes of a node's MAC and IPv4 addresses are its row and column in the whole grid. Here these bytes count
from 1, since an IPv4 host of zeros is the name of its network.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

LARGEST = 254  # rows, and columns, of nodes: a byte without 0 and, as the last of a network's addresses, without 255

_MAC = (0x02, 0x00, 0x00)  # locally administered


class Node(NamedTuple):
    """A node by its place in the whole grid, counted from 0."""

    row: int
    column: int


class Identity(NamedTuple):
    """⟨Grc, Gcc, Lrc, Lcc⟩."""

    tile_row: int
    tile_column: int
    row: int
    column: int

    @classmethod
    def of(cls, node: Node, tile: tuple[int, int]) -> Identity:
        """The identity of a node where tiles have so many rows and columns."""
        return cls(node.row // tile[0], node.column // tile[1], node.row % tile[0], node.column % tile[1])

    def node(self, tile: tuple[int, int]) -> Node:
        """The place of this node. `ValueError` if the place in the tile is outside of it."""
        if not (self.row < tile[0] and self.column < tile[1]):
            raise ValueError(f"{self} is outside of a tile of {tile[0]} x {tile[1]}: 0 to {tile[0] - 1}, {tile[1] - 1}")
        return Node(self.tile_row * tile[0] + self.row, self.tile_column * tile[1] + self.column)

    @property
    def number(self) -> int:
        """The 32 bits by which messages are addressed: Grc in the highest byte."""
        return int.from_bytes(bytes(self))

    @classmethod
    def from_number(cls, number: int) -> Identity:
        """The identity in 32 bits. `ValueError` if it is more."""
        if not 0 <= number < 1 << 32:
            raise ValueError(f"{number} is no identity: 0 to 0xffffffff")
        return cls(*number.to_bytes(4))

    @classmethod
    def parse(cls, text: str) -> Identity:
        """From `0,1,1,0`, `0x00010100` or decimal. `ValueError` says what is allowed."""
        allowed = "four numbers from 0 to 255 as in 0,1,1,0, or 32 bits as in 0x00010100"
        if re.fullmatch(r"[0-9]{1,9}(,[0-9]{1,9}){3}", text):
            numbers = [int(each) for each in text.split(",")]
            if max(numbers) > 255:
                raise ValueError(f'"{text}" has a number above 255: {allowed}')
            return cls(*numbers)
        if re.fullmatch(r"0x[0-9a-fA-F]{1,16}|[0-9]{1,20}", text):
            return cls.from_number(int(text, 16 if text.startswith("0x") else 10))
        raise ValueError(f'"{text}" is no identity: {allowed}')

    def __str__(self) -> str:
        return ",".join(map(str, self))


def mac_address(node: Node, port: int) -> str:
    """The MAC address of a port of a node."""
    return ":".join(f"{byte:02x}" for byte in (*_MAC, port, node.row + 1, node.column + 1))


def ipv4_address(node: Node) -> ipaddress.IPv4Address:
    """The IPv4 address of a node, one for all of its ports."""
    return ipaddress.IPv4Address(bytes((10, 0, node.row + 1, node.column + 1)))


def node_of_address(address: str) -> Node:
    """The node that a MAC or an IPv4 address is of. `ValueError` if it is of none."""
    try:
        if ":" in address:
            content = bytes(int(each, 16) for each in address.split(":"))
            known = len(content) == 6 and tuple(content[:3]) == _MAC
        else:
            content = ipaddress.IPv4Address(address).packed
            known = content[:2] == bytes((10, 0))
    except ValueError:
        known = False
    if not known or not all(0 < byte <= LARGEST for byte in content[-2:]):
        raise ValueError(f'"{address}" is no address of a node: 10.0.ROW.COLUMN or 02:00:00:PORT:ROW:COLUMN, from 1 on')
    return Node(content[-2] - 1, content[-1] - 1)
