# SPDX-License-Identifier: Apache-2.0
"""Captures in every dialect, and those that are broken."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from penstock.captures import CapturedFrame, CaptureError, header_of, read_capture, write_pcapng
from tools import needs_tshark

FRAMES = [
    CapturedFrame(1_700_000_000_123_456_789_000, bytes(range(60)), 60),
    CapturedFrame(1_700_000_001_000_000_001_000, bytes(range(61)), 1500),
]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "tick_ps"), [(0xA1B2C3D4, 10**6), (0xA1B23C4D, 10**3)])
def test_pcap(order: str, magic: int, tick_ps: int, tmp_path: Path) -> None:
    content = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1)
    for frame in FRAMES:
        seconds, rest = divmod(frame.time_ps, 10**12)
        content += (
            struct.pack(order + "IIII", seconds, rest // tick_ps, len(frame.data), frame.original_bytes) + frame.data
        )
    (tmp_path / "c.pcap").write_bytes(content)
    read = read_capture(tmp_path / "c.pcap").frames
    assert [f.data for f in read] == [f.data for f in FRAMES]
    assert [f.original_bytes for f in read] == [60, 1500]
    assert [f.time_ps for f in read] == [f.time_ps // tick_ps * tick_ps for f in FRAMES]


def test_pcapng_keeps_nanoseconds(tmp_path: Path) -> None:
    assert write_pcapng(tmp_path / "c.pcapng", FRAMES, interface="eth0") == 2
    assert list(read_capture(tmp_path / "c.pcapng").frames) == FRAMES
    assert read_capture(tmp_path / "c.pcapng").lengths() == [64, 1504]


def test_pcapng_of_the_other_byte_order(tmp_path: Path) -> None:
    section = struct.pack(">IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    interface = struct.pack(">IIHHII", 1, 20, 1, 0, 0, 20)  # without options: microseconds
    packet = struct.pack(">IIIIIII", 6, 36, 0, 0, 5, 3, 3) + b"abc\0" + struct.pack(">I", 36)
    (tmp_path / "c.pcapng").write_bytes(section + interface + packet)
    assert list(read_capture(tmp_path / "c.pcapng").frames) == [CapturedFrame(5_000_000, b"abc", 3)]


def test_scapy_reads_it(tmp_path: Path) -> None:
    utils = pytest.importorskip("scapy.utils")
    write_pcapng(tmp_path / "c.pcapng", FRAMES)
    packets = list(utils.RawPcapNgReader(str(tmp_path / "c.pcapng")))
    assert [data for data, _ in packets] == [f.data for f in FRAMES]


@needs_tshark
def test_tshark_reads_nanoseconds(tmp_path: Path) -> None:
    write_pcapng(tmp_path / "c.pcapng", FRAMES)
    command = ["tshark", "-r", str(tmp_path / "c.pcapng"), "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1700000000.123456789", "60", "1700000001.000000001", "1500"]


def test_cut_anywhere_is_noticed(tmp_path: Path) -> None:
    write_pcapng(tmp_path / "c.pcapng", FRAMES[:1])
    whole = (tmp_path / "c.pcapng").read_bytes()
    for size in range(len(whole)):
        (tmp_path / "cut.pcapng").write_bytes(whole[:size])
        with pytest.raises(CaptureError):
            read_capture(tmp_path / "cut.pcapng")


def test_headers() -> None:
    ip = bytes([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2])
    data = b"\x02" * 6 + b"\x04" * 6 + b"\x81\x00\x60\x0a\x08\x00" + ip + struct.pack(">HH", 1234, 502)
    header = header_of(data)
    assert (header.vlan, header.pcp) == (10, 3)
    assert header.ipv4 == (0x0A000001, 0x0A000002, 6, 1234, 502)
    fragment = data[:24] + b"\x00\x10" + data[26:]
    assert header_of(fragment).ipv4 == (0x0A000001, 0x0A000002, 6, 0, 0)
    assert header_of(b"\x02" * 14).ipv4 is None
