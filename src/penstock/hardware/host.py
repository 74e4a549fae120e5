# SPDX-License-Identifier: Apache-2.0
"""What goes before a frame on the streams of the host port, and stamps of frames that left, as `hw/rtl/host` has it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock import _engine
from penstock.ethernet import FCS_BYTES
from penstock.hardware.tools import ToolError

if TYPE_CHECKING:
    from penstock._engine import Events

_DIRECT = 1
_STAMPED = 2
_STAMP = _engine.KINDS.index("stamp")


@dataclass(frozen=True)
class ReceivedAt:
    """The frame is forwarded as if it had been received at this port."""

    port: int
    tag: int | None = None  # 0 to 255: the host is told by it when the frame leaves

    @property
    def header(self) -> bytes:
        """The bytes before the frame."""
        return _header(0, self.port, 0, self.tag)


@dataclass(frozen=True)
class Direct:
    """The frame leaves by these ports and in this class, whatever it says itself."""

    ports: frozenset[int]
    traffic_class: int
    tag: int | None = None

    @property
    def header(self) -> bytes:
        """The bytes before the frame."""
        return _header(_DIRECT, sum(1 << port for port in self.ports), self.traffic_class, self.tag)


def _header(way: int, place: int, traffic_class: int, tag: int | None) -> bytes:
    return bytes([way | (0 if tag is None else _STAMPED), place, traffic_class, tag or 0])


@dataclass(frozen=True)
class EgressStamp:
    """When the first byte of a frame behind the delimiter left a port."""

    port: int
    tag: int
    ns: int  # TAI
    fraction: int  # 2^-8 ns beside them
    lost: int  # stamps that found no place before this one; 255: or more


def egress_stamps(events: Events) -> Iterator[EgressStamp]:
    """The stamps that a switch gave its host."""
    for kind, port, ns, beside in zip(*(events[name] for name in ("kind", "port", "visible", "fcs")), strict=True):
        if kind == _STAMP:
            fraction, tag, lost, _ = int(beside).to_bytes(4, "little")
            yield EgressStamp(int(port), tag, int(ns), fraction, lost)


@dataclass(frozen=True)
class Heard:
    """A frame that came to the host."""

    port: int  # where it was received
    traffic_class: int
    ns: int  # TAI, as its first byte behind the delimiter stood at that port
    fraction: int  # 2^-8 ns beside them
    frame: bytes  # without FCS


_HEARD_HEADER_BYTES = 16
_KIND_STAMP = 1
_NS_PER_S = 10**9


def heard(whole: bytes) -> Heard | EgressStamp:
    """What the stream to the host has of one frame or stamp.

    Raises:
        ToolError: The frame is damaged: what its FCS shows happened within the switch, or behind it.

    """
    header, frame = whole[:_HEARD_HEADER_BYTES], whole[_HEARD_HEADER_BYTES:]
    kind, port, third, tag = header[:4]
    ns = int.from_bytes(header[4:10], "little") * _NS_PER_S + int.from_bytes(header[10:14], "little")
    fraction = header[14]
    if kind == _KIND_STAMP:
        return EgressStamp(port, tag, ns, fraction, lost=third)
    if zlib.crc32(frame[:-FCS_BYTES]).to_bytes(FCS_BYTES, "little") != frame[-FCS_BYTES:]:
        raise ToolError(f"a frame of {len(frame)} bytes that was received at port {port} is damaged")
    return Heard(port, third, ns, fraction, frame[:-FCS_BYTES])
