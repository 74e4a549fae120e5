# SPDX-License-Identifier: Apache-2.0
"""Captures: pcap and pcapng, micro- and nanoseconds, both byte orders; pcapng with nanoseconds out.

The engine replays captures by its own reader. This one serves what must be known before a run starts: that a file is
whole, and which addresses and tags its frames carry.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ETHERNET = 1
_PCAP_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 10**6),
    b"\xa1\xb2\xc3\xd4": (">", 10**6),
    b"\x4d\x3c\xb2\xa1": ("<", 10**3),
    b"\xa1\xb2\x3c\x4d": (">", 10**3),
}
_SECTION = b"\x0a\x0d\x0d\x0a"
_PS = 10**12


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
        content = path.read_bytes()
    except FileNotFoundError:
        raise CaptureError(f'the capture "{path.name}" does not exist') from None
    except OSError as error:
        raise CaptureError(f'the capture "{path.name}" cannot be read: {error.strerror}') from None
    magic = content[:4]
    if magic == _SECTION:
        frames = _read_pcapng(content, path.name)
    elif magic in _PCAP_MAGIC:
        frames = _read_pcap(content, path.name)
    elif not content:
        raise CaptureError(f'the capture "{path.name}" is empty')
    else:
        raise CaptureError(f'"{path.name}" is not a capture (it begins with {magic.hex(" ")})')
    if not frames:
        raise CaptureError(f'the capture "{path.name}" holds no frames')
    return Capture(frames)


def _cut(name: str, frames: Sequence[CapturedFrame]) -> CaptureError:
    return CaptureError(f'the capture "{name}" is cut short after {len(frames)} whole frames')


def _read_pcap(content: bytes, name: str) -> list[CapturedFrame]:
    order, tick_ps = _PCAP_MAGIC[content[:4]]
    frames: list[CapturedFrame] = []
    if len(content) < 24:
        raise _cut(name, frames)
    link = struct.unpack_from(order + "I", content, 20)[0] & 0xFFFF
    if link != ETHERNET:
        raise CaptureError(f'the capture "{name}" has link type {link}', "link type 1 (Ethernet)")
    at = 24
    while at < len(content):
        if at + 16 > len(content):
            raise _cut(name, frames)
        seconds, ticks, captured, original = struct.unpack_from(order + "IIII", content, at)
        at += 16
        if at + captured > len(content):
            raise _cut(name, frames)
        frames.append(CapturedFrame(seconds * _PS + ticks * tick_ps, content[at : at + captured], original))
        at += captured
    return frames


def _read_pcapng(content: bytes, name: str) -> list[CapturedFrame]:
    frames: list[CapturedFrame] = []
    interfaces: list[tuple[int, int, int]] = []  # link type, ticks per second, offset in seconds
    order, at = "<", 0
    while at < len(content):
        if at + 12 > len(content):
            raise _cut(name, frames)
        if content[at : at + 4] == _SECTION:
            order = "<" if content[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        kind, size = struct.unpack_from(order + "II", content, at)
        if size < 12 or size % 4 or at + size > len(content):
            raise _cut(name, frames)
        if struct.unpack_from(order + "I", content, at + size - 4)[0] != size:
            raise CaptureError(f'the capture "{name}" is damaged at byte {at}: a block\'s two lengths differ')
        body = content[at + 8 : at + size - 4]
        if kind == 1:
            interfaces.append(_interface(body, order))
        elif kind == 6:
            interface, high, low, captured, original = struct.unpack_from(order + "IIIII", body)
            if interface >= len(interfaces) or 20 + captured > len(body):
                raise CaptureError(f'the capture "{name}" is damaged at byte {at}: a frame outside its block')
            link, per_second, offset = interfaces[interface]
            if link != ETHERNET:
                raise CaptureError(f'the capture "{name}" has link type {link}', "link type 1 (Ethernet)")
            time_ps = ((high << 32 | low) * _PS) // per_second + offset * _PS
            frames.append(CapturedFrame(time_ps, body[20 : 20 + captured], original))
        elif kind in (2, 3):
            raise CaptureError(f'the capture "{name}" holds packets without a time', "enhanced packet blocks")
        at += size
    return frames


def _interface(body: bytes, order: str) -> tuple[int, int, int]:
    link = struct.unpack_from(order + "H", body)[0]
    per_second, offset, at = 10**6, 0, 8
    while at + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, at)
        value = body[at + 4 : at + 4 + size]
        if code == 0:
            break
        if code == 9:
            per_second = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == 14:
            offset = struct.unpack(order + "q", value)[0]
        at += 4 + (size + 3) // 4 * 4
    return link, per_second, offset


def write_pcapng(
    path: Path, frames: Iterable[CapturedFrame], *, interface: str = "", application: str = "penstock"
) -> int:
    """Writes frames with nanosecond stamps; returns how many there were.

    Stamps below a nanosecond are rounded down.
    """
    count = 0
    with path.open("wb") as file:
        hardware = _option(4, application.encode()) + _option(0, b"")
        file.write(_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + hardware))
        options = _option(9, b"\x09")
        if interface:
            options = _option(2, interface.encode()) + options
        file.write(_block(1, struct.pack("<HHI", ETHERNET, 0, 0) + options + _option(0, b"")))
        for frame in frames:
            ns = frame.time_ps // 1000
            head = struct.pack("<IIIII", 0, ns >> 32, ns & 0xFFFFFFFF, len(frame.data), frame.original_bytes)
            file.write(_block(6, head + _padded(frame.data)))
            count += 1
    return count


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size
