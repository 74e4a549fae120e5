# SPDX-License-Identifier: Apache-2.0
"""The headers of AVTP and RTP in a run's captures, as tshark reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from tools import needs_tshark

pytestmark = needs_tshark

AUDIO = {"audio": {"sample_rate": "44.1kHz", "packet": "125us"}}
VIDEO = {"video": {"pictures": "1kHz", "i_picture": "3000B", "packet": "1400B"}}
UDP = {"source": "10.0.0.1", "destination": "10.0.0.2", "source_port": 5004, "destination_port": 5004}


def heard(folder: Path, source: dict[str, Any], fields: str, *options: str, **stream: Any) -> list[list[str]]:
    """The fields of each frame that the listener heard."""
    network = ps.load(
        {
            "name": "media",
            "nodes": "model",
            "duration": "3ms",
            "bridges": {"sw": {"ports": 2}},
            "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}},
            "streams": {"other": _stream({"frames": "100B", "every": "1ms"}), "s": _stream(source) | stream},
        }
    )
    network.run(out=folder, captures=True)
    capture = folder / "b.pcapng"
    names = [word for field in fields.split() for word in ("-e", field)]
    command = ["tshark", "-n", "-r", capture, *options, "-Y", fields.split()[0], "-T", "fields", *names]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def _stream(source: dict[str, Any]) -> dict[str, Any]:
    return {"from": "a", "to": ["b"], "vlan": 10, "pcp": 3, "source": source}


def test_sound_by_avtp(tmp_path: Path) -> None:
    fields = "aaf.stream_id aaf.seqnum aaf.avtp_timestamp aaf.nominal_sample_rate aaf.stream_data_len aaf.tvfield"
    rows = heard(tmp_path / "out", AUDIO, fields)
    assert len(rows) == 24
    assert {row[0][-4:] for row in rows} == {"0001"}
    assert [int(row[1]) for row in rows] == list(range(24))
    # 5 samples and then 6, of two channels with 24 bits.
    assert [int(row[4]) for row in rows[:3]] == [30, 36, 30]
    samples = [int(n * 5.5125) for n in range(24)]
    assert [int(row[2]) for row in rows] == [2_000_000 + int(count / 44_100 * 1e9) for count in samples]
    assert {int(row[3], 0) for row in rows} == {4}
    assert {row[5] in ("1", "True") for row in rows} == {True}


def test_pictures_by_avtp(tmp_path: Path) -> None:
    fields = "cvf.format_subtype cvf.seqnum cvf.avtp_timestamp cvf.stream_data_len cvf.marker_bit cvf.h264_timestamp"
    rows = heard(tmp_path / "out", VIDEO, fields)
    assert [int(row[1]) for row in rows] == list(range(9))
    assert [int(row[2]) for row in rows] == [2_000_000] * 3 + [3_000_000] * 3 + [4_000_000] * 3
    assert [int(row[3]) for row in rows[:3]] == [1400, 1400, 200]
    assert [row[4] in ("1", "True") for row in rows] == [False, False, True] * 3
    assert [int(row[5]) for row in rows] == [0] * 3 + [90] * 3 + [180] * 3


@pytest.mark.parametrize(("source", "kind"), [(AUDIO, "97"), (VIDEO, "96")])
def test_rtp(source: dict[str, Any], kind: str, tmp_path: Path) -> None:
    fields = "rtp.p_type rtp.seq rtp.timestamp rtp.ssrc rtp.marker rtp.version udp.length"
    rows = heard(tmp_path / "out", source, fields, "-d", "udp.port==5004,rtp", udp=UDP)
    assert {(row[0], row[5]) for row in rows} == {(kind, "2")}
    assert [int(row[1]) for row in rows] == list(range(len(rows)))
    assert len({row[3] for row in rows}) == 1
    if source is AUDIO:
        assert [int(row[2]) for row in rows] == [int(n * 5.5125) for n in range(24)]
        assert [int(row[6]) for row in rows[:2]] == [8 + 12 + 30, 8 + 12 + 36]
    else:
        assert [int(row[2]) for row in rows] == [0] * 3 + [90] * 3 + [180] * 3
        assert [row[4] in ("1", "True") for row in rows] == [False, False, True] * 3
