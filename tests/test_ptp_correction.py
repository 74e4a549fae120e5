# SPDX-License-Identifier: Apache-2.0
"""PTP event messages that get the time that they were inside a bridge, in their correctionField."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl
import pytest

import penstock as ps
from penstock.captures import CapturedFrame, read_capture, write_pcapng
from penstock.errors import InputError

SCENARIO = Path(__file__).parent.parent / "scenarios" / "transparent"
UNITS = 1 << 16  # of a nanosecond


def message(message_type: int, field: int) -> bytes:
    head = bytes.fromhex("011b19000000 020000000001 88f7")
    return head + bytes([message_type, 2]) + bytes(6) + field.to_bytes(8, "big") + bytes(28)


def inside_ps(trace: pl.DataFrame, stream: str) -> list[int]:
    """Of each frame of a stream, the time in bridges together; what is there twice is there for one copy."""
    at_bridges = trace.filter((pl.col("stream") == stream) & pl.col("node").cast(str).is_in(["b", "s0", "s1"]))
    times = at_bridges.pivot("event", index=["frame_id", "node"], values="time_ps", aggregate_function="first")
    both = times.group_by("frame_id").agg((pl.col("sent") - pl.col("received")).sum().alias("inside_ps"))
    return both.sort("frame_id")["inside_ps"].to_list()


@pytest.mark.parametrize("nodes", ["model", "rtl"])
def test_the_correction_is_the_time_inside_of_all_bridges(tmp_path: Path, nodes: Literal["model", "rtl"]) -> None:
    """The FCS was checked where a capture is written."""
    run = ps.load(SCENARIO).run(nodes=nodes, out=tmp_path / "out")
    given = [frame.data for frame in read_capture(SCENARIO / "sync.pcapng").frames]
    came = [f.data for f in read_capture(tmp_path / "out" / "slave.pcapng").frames if f.data[12:14] == b"\x88\xf7"]
    times = inside_ps(run.trace, "sync")
    assert len(came) == len(given) == len(times) == 40
    assert len(set(times)) > 5
    for before, after, time_ps in zip(given, came, times, strict=True):
        field, corrected = (int.from_bytes(data[22:30], "big", signed=True) for data in (before, after))
        assert (corrected - field) * 1000 == time_ps * UNITS
        assert after == before[:22] + after[22:30] + before[30:].ljust(30, b"\0")


def through(
    tmp_path: Path, settings: str, frames: list[bytes], nodes: Literal["model", "rtl"]
) -> tuple[list[bytes], list[int]]:
    """What leaves a bridge of these frames, and how long each was inside."""
    at = [CapturedFrame(number * 20_000_000, frame, len(frame)) for number, frame in enumerate(frames)]
    write_pcapng(tmp_path / "frames.pcapng", at)
    (tmp_path / "s.toml").write_text(
        f'name = "x"\nduration = "5ms"\nnodes = "{nodes}"\n[bridges.b]\n{settings}\n'
        '[stations]\nt = { at = "b.0" }\nl = { at = "b.1" }\n'
        '[streams.s]\nfrom = "t"\nto = ["l"]\nsource = { capture = "frames.pcapng" }\n'
    )
    run = ps.load(tmp_path / "s.toml").run(nodes=nodes, out=tmp_path / "out")
    return [frame.data for frame in read_capture(tmp_path / "out" / "l.pcapng").frames], inside_ps(run.trace, "s")


@pytest.mark.parametrize("nodes", ["model", "rtl"])
@pytest.mark.parametrize("tagging", ["", "port.1.tagging = true\n"])
def test_only_event_messages_are_corrected(tmp_path: Path, nodes: Literal["model", "rtl"], tagging: str) -> None:
    """Carries and what says that it is too large, also where a tag comes before the field."""
    fields = [0, -1, -(800 << 16), (1 << 56) - 1, 0x7FFE_FFFF_FFFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF]
    given = [(kind, field % (1 << 64)) for kind in (0, 1, 2, 3, 8, 0xB) for field in fields]
    settings = "ports = 4\npcp_of_untagged = 3\nport.0.ptp_correction = true\nport.0.vlan = 10\n" + tagging
    frames = [message(*each) for each in given]
    came, times = through(tmp_path, settings, frames, nodes)
    assert len(came) == len(given)
    tag = b"\x81\x00\x60\x0a" if tagging else b""
    for (kind, field), data, time_ps in zip(given, came, times, strict=True):
        is_corrected = kind < 4 and field >> 48 != 0x7FFF
        wanted = (field + (time_ps // 1000 * UNITS if is_corrected else 0)) % (1 << 64)
        plain = message(kind, wanted).ljust(60, b"\0")
        assert data == plain[:12] + tag + plain[12:]


@pytest.mark.parametrize("nodes", ["model", "rtl"])
def test_other_ports_leave_messages_alone(tmp_path: Path, nodes: Literal["model", "rtl"]) -> None:
    frame = message(0, 5)
    came, _ = through(tmp_path, "ports = 4\nport.1.ptp_correction = true\n", [frame], nodes)
    assert came == [frame.ljust(60, b"\0")]


def test_a_bridge_of_other_timing_counts_parts_of_nanoseconds(tmp_path: Path) -> None:
    settings = 'ports = 2\nprocessing_delay = "1500500ps"\nport.0.ptp_correction = true\n'
    came, times = through(tmp_path, settings, [message(0, 0)], "model")
    assert times[0] % 1000 == 500
    assert int.from_bytes(came[0][22:30], "big") == times[0] * UNITS // 1000


def test_a_frame_that_is_sent_on_before_it_is_whole_is_not_corrected(tmp_path: Path) -> None:
    settings = 'ports = 4\nswitching = "cut_through"\nport.0.ptp_correction = true\n'
    with pytest.raises(InputError, match="leaves as it came"):
        through(tmp_path, settings, [message(0, 0)], "model")
