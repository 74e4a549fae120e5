# SPDX-License-Identifier: Apache-2.0
"""The engine's reader of captures, at its border; the formats are tested beside the reader."""

import struct
from pathlib import Path

import pytest

from penstock import _engine


def pcap(order: str, magic: int, records: list[tuple[int, int, bytes, int]]) -> bytes:
    head = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack(order + "IIII", s, f, len(d), n) + d for s, f, d, n in records)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "step_ps"), [(0xA1B2C3D4, 10**6), (0xA1B23C4D, 10**3)])
def test_times_and_lengths(tmp_path: Path, order: str, magic: int, step_ps: int) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(order, magic, [(1_700_000_000, 5, b"abc", 3), (1_700_000_001, 4, b"de", 90)]))
    capture = _engine.read_capture(path)
    assert capture["time_ps"].tolist() == [0, 10**12 - step_ps]
    assert capture["original_bytes"].tolist() == [3, 90]
    assert capture["frames"] == [b"abc", b"de"]


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    whole = pcap("<", 0xA1B2C3D4, [(0, 0, b"abcd", 4)])
    for content, message in [
        (b"", "is empty"),
        (b"hello, world", "not a capture"),
        (whole[:-1], "cut short after 0 whole frames: the record at byte 24"),
        (whole[:24], "holds no frame"),
    ]:
        path.write_bytes(content)
        with pytest.raises(_engine.InputError, match=message):
            _engine.read_capture(path)
    with pytest.raises(_engine.InputError, match="cannot be read"):
        _engine.read_capture(tmp_path / "none.pcap")
