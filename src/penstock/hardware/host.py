# SPDX-License-Identifier: Apache-2.0
"""What goes before a frame on the streams of the host port, as `hw/rtl/host` has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReceivedAt:
    """The frame is forwarded as if it had been received at this port."""

    port: int

    @property
    def header(self) -> bytes:
        """The bytes before the frame."""
        return bytes([0, self.port, 0, 0])


@dataclass(frozen=True)
class Direct:
    """The frame leaves by these ports and in this class, whatever it says itself."""

    ports: frozenset[int]
    traffic_class: int

    @property
    def header(self) -> bytes:
        """The bytes before the frame."""
        return bytes([1, sum(1 << port for port in self.ports), self.traffic_class, 0])
