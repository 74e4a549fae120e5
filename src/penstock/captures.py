# SPDX-License-Identifier: Apache-2.0
"""Captures, as the engine reads and writes them, and what the headers of their frames say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock import _engine
from penstock.plain_file import check_ends


class CaptureError(Exception):
    """A capture that cannot be read: what is wrong, and what would be right."""

    def __init__(self, what: str, allowed: str = "a whole pcap or pcapng file of Ethernet frames") -> None:
        super().__init__(what)
        self.what = what
        self.allowed = allowed


@dataclass(frozen=True)
class CapturedFrame:
    """One frame without its FCS; `data` may be shorter than it was on the wire."""

    time_ps: int
    data: bytes
    original_bytes: int


@dataclass(frozen=True)
class Header:
    """What the first bytes of a frame say."""

    destination: int
    source: int
    vlan: int | None
    pcp: int
    ipv4: tuple[int, int, int, int, int] | None  # source, destination, protocol, source port, destination port


@dataclass(frozen=True)
class Capture:
    """The frames of a file, in file order."""

    frames: Sequence[CapturedFrame]
    in_order: bool  # else the clock was set back, and a frame has the time of the frame before it

    def lengths(self) -> list[int]:
        """Bytes from destination address to FCS, padded to what Ethernet allows."""
        return [max(frame.original_bytes, 60) + 4 for frame in self.frames]


def header_of(data: bytes) -> Header:
    """Parses addresses, tag and the IPv4 five-tuple; ports are 0 where there are none."""
    padded = data.ljust(64, b"\0")
    destination, source = int.from_bytes(padded[:6]), int.from_bytes(padded[6:12])
    vlan, pcp, at = None, 0, 12
    if padded[12:14] == b"\x81\x00":
        tag = int.from_bytes(padded[14:16])
        vlan, pcp, at = tag & 0xFFF, tag >> 13, 16
    ipv4 = None
    if padded[at : at + 2] == b"\x08\x00" and padded[at + 2] >> 4 == 4:
        ip = padded[at + 2 :].ljust(64, b"\0")
        ports = ip[4 * (ip[0] & 15) :]
        first = int.from_bytes(ip[6:8]) & 0x1FFF == 0
        has_ports = first and ip[9] in (6, 17)
        ipv4 = (
            int.from_bytes(ip[12:16]),
            int.from_bytes(ip[16:20]),
            ip[9],
            int.from_bytes(ports[:2]) if has_ports else 0,
            int.from_bytes(ports[2:4]) if has_ports else 0,
        )
    return Header(destination, source, vlan, pcp, ipv4)


def read_capture(path: Path) -> Capture:
    """Reads a whole file; raises CaptureError when it is not there, not a capture, cut short or without frames."""
    try:
        check_ends(path)
        with path.open("rb"):
            pass
    except FileNotFoundError:
        raise CaptureError(f'the capture "{path.name}" does not exist') from None
    except OSError as error:
        name = json.dumps(path.name, ensure_ascii=False)
        raise CaptureError(f"the capture {name} cannot be read: {error.strerror}") from None
    try:
        read = _engine.read_capture(path)
    except _engine.InputError as error:
        raise CaptureError(str(error).replace(str(path), f'the capture "{path.name}"', 1)) from None
    start_ps = read["start_ps"]
    columns = zip(read["time_ps"].tolist(), read["frames"], read["original_bytes"].tolist(), strict=True)
    return Capture([CapturedFrame(start_ps + time_ps, *frame) for time_ps, *frame in columns], read["in_order"])


def write_pcapng(
    path: Path, frames: Iterable[CapturedFrame], *, interface: str = "", application: str = "penstock"
) -> int:
    """Writes frames with nanosecond stamps; returns how many there were.

    Stamps below a nanosecond are rounded down.
    """
    rows = [(frame.time_ps // 1000, frame.data, frame.original_bytes) for frame in frames]
    _engine.write_pcapng(path, interface, application, rows)
    return len(rows)
