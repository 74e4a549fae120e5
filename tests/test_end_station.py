# SPDX-License-Identifier: Apache-2.0
"""Talker and listener over a real cable between two network namespaces."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from end_frames import BYTES, LAST, SYNCHRONIZED, TO, Cable, cable, frame, header, plan, stream
from penstock.captures import read_capture
from rights import needs_namespaces

pytestmark = needs_namespaces

TWO = [
    stream(count=100, window_ns=1_000_000),
    stream(name="status", id=2, bytes=300, pcp=0, offset_ns=500_000, count=100, deadline_ns=10_000_000_000),
]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cable]:
    with cable(tmp_path_factory.mktemp("end")) as made:
        yield made


def test_all_frames_of_two_streams_arrive_in_their_order(wire: Cable) -> None:
    what = plan(TWO)
    with wire.listen(what) as listening:
        sent_status, sent, sent_rows = wire.talk(what)
        status, heard, rows = listening.result()
    assert (sent_status, status) == (0, 0)
    for name in ("control", "status"):
        assert (sent["streams"][name]["sent"], heard["streams"][name]["received"]) == (100, 100)
        assert [heard["streams"][name][key] for key in ("lost", "duplicates", "reordered")] == [0, 0, 0]
        of_stream = rows.filter(pl.col("stream") == name)
        assert of_stream["sequence"].to_list() == list(range(100))
        # What the talker planned stands in the frames.
        mine = sent_rows.filter(pl.col("stream") == name)
        assert of_stream["due_tai_ns"].to_list() == mine["due_tai_ns"].to_list()
        assert of_stream["construction_tai_ns"].to_list() == mine["construction_tai_ns"].to_list()
        assert mine["due_tai_ns"].diff().drop_nulls().unique().to_list() == [1_000_000]
        assert mine["kernel_realtime_ns"].null_count() == 0
        assert (mine["construction_tai_ns"] >= mine["due_tai_ns"]).all()
    assert rows.filter(pl.col("stream") == "control").select("bytes", "vlan", "pcp").unique().rows() == [(BYTES, 10, 3)]
    between = {abs(a - b) for a, b in zip(*(s["due_tai_ns"] for _, s in rows.group_by("stream")), strict=True)}
    assert between == {500_000}
    assert heard["streams"]["status"]["deadline_met"] is True
    assert heard["ended"] == "all streams were complete"


def test_the_statistics_are_those_of_the_table(wire: Cable) -> None:
    what = plan(TWO, listen={"warmup_frames": 10})
    with wire.listen(what) as listening:
        wire.talk(what)
        _, heard, rows = listening.result()
    said = heard["streams"]["control"]
    assert heard["stamps"]["latency_from"] == heard["stamps"]["periods_from"] == "kernel"
    of_stream = rows.filter((pl.col("stream") == "control") & (pl.col("sequence") >= 10))
    received = [t + heard["clock"]["tai_minus_realtime_ns"] for t in of_stream["kernel_realtime_ns"]]
    latency = [r - c for r, c in zip(received, of_stream["construction_tai_ns"], strict=True)]
    jitter = [b - a - 1_000_000 for a, b in itertools.pairwise(received)]  # equation (1)
    difference = [b - a for a, b in itertools.pairwise(latency)]  # equations (2) and (3)
    variation = [y - x for x, y in itertools.pairwise(difference)]  # equation (4)
    quantities = {
        "latency_ns": latency,
        "period_jitter_ns": jitter,
        "latency_difference_ns": difference,
        "frame_delay_variation_ns": variation,
    }
    for key, values in quantities.items():
        found = said[key]
        assert (found["count"], found["min"], found["max"]) == (len(values), min(values), max(values)), key
        assert found["mean"] == pytest.approx(sum(values) / len(values))
        assert found["p50"] == sorted(values)[(len(values) + 1) // 2 - 1]
    inside = sum(0 <= r - d < 1_000_000 for r, d in zip(received, of_stream["due_tai_ns"], strict=True))
    assert said["window"]["inside"] == inside
    assert said["measured"] == 90


def test_loss_duplicates_and_reordering_are_told_apart(wire: Cable) -> None:
    with wire.listen(plan([stream()])) as listening:
        order = [0, 1, 2, 4, 3, 3, 8, 1]
        wire.inject([frame(header(n)) for n in order] + [frame(header(9, flags=LAST))])
        status, heard, rows = listening.result()
    said = heard["streams"]["control"]
    assert [said[key] for key in ("expected", "received", "lost", "duplicates", "reordered")] == [10, 7, 3, 2, 1]
    kinds = [
        "in_order",
        "in_order",
        "in_order",
        "in_order",
        "reordered",
        "duplicate",
        "in_order",
        "duplicate",
        "in_order",
    ]
    assert rows["kind"].to_list() == kinds
    # Of the first arrivals 0 1 2 4 3 8 9, only 1, 2 and 9 follow the one before.
    assert (said["period_jitter_ns"]["count"], said["not_consecutive"], said["gap_ns"]["count"]) == (3, 3, 6)
    assert status == 1


def test_what_is_none_of_the_plan_is_counted_by_kind_and_ignored(wire: Cable) -> None:
    good, last = frame(header(0)), frame(header(1, flags=LAST))
    damaged = bytearray(frame(header(0)))
    damaged[18 + 20] ^= 1
    unwanted = {
        "truncated": [good[:30], good[:59]],
        "wrong_length": [good[:-1], good + b"\0"],
        "wrong_tag": [frame(header(0), tag=0x600B), frame(header(0), tag=0x200A), frame(header(0), tag=None)],
        "double_tag": [
            good[:12] + bytes.fromhex("88a80001") + good[12:],
            good[:16] + bytes.fromhex("81000001") + good[16:],
        ],
        "damaged": [bytes(damaged)],
        "other_version": [frame(header(0, version=2))],
        "unknown_stream": [frame(header(0, stream=2))],
        "wrong_carrier": [frame(header(0), ethertype=0x88B6)],
        "other_run": [frame(header(5, run=78))],
        "implausible_sequence": [frame(header(1 << 30))],
    }
    foreign = [frame(b"\xff" * 60, ethertype=0x88F7)] * 3
    with wire.listen(plan([stream()])) as listening:
        wire.inject([good, *(each for kind in unwanted.values() for each in kind), *foreign, last])
        status, heard, rows = listening.result()
    ignored = dict(heard["ignored"])
    # Neighbour discovery of the kernel's own may come on top.
    assert ignored.pop("foreign") >= 3
    expected = {kind: len(frames) for kind, frames in unwanted.items()}
    assert ignored == expected
    assert rows["sequence"].to_list() == [0, 1]
    assert status == 0


def test_clocks_of_two_hosts_are_not_compared(wire: Cable) -> None:
    with wire.listen(plan([stream(deadline_ns=10**12)])) as listening:
        wire.inject([frame(header(n, clock=1, flags=LAST * (n == 2))) for n in range(3)])
        status, heard, _ = listening.result()
    said = heard["streams"]["control"]
    assert [said[k] for k in ("latency_ns", "frame_delay_variation_ns", "deadline_met")] == [None, None, None]
    assert said["period_jitter_ns"]["count"] == 2
    assert "another machine" in heard["clock"]["refused"]
    assert status == 1


def _pmc(folder: Path, offset: int) -> str:
    script = folder / f"pmc{offset}"
    lines = ["portState SLAVE", f"master_offset {offset}", "gmPresent true", "gmIdentity 001122.fffe.334455"]
    script.write_text("#!/bin/sh\n" + "".join(f"echo '\t\t{line}'\n" for line in lines))
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(("offset", "compared"), [(-900, True), (1100, False)])
def test_two_hosts_that_follow_one_grandmaster_are_compared(
    wire: Cable, tmp_path: Path, offset: int, compared: bool
) -> None:
    grandmaster = 0x001122FFFE334455
    with wire.listen(plan([stream()]), "--pmc", _pmc(tmp_path, offset), "--pmc-threshold", "1us") as listening:
        flags = SYNCHRONIZED | LAST
        wire.inject([frame(header(0, clock=grandmaster, flags=flags))])
        _, heard, _ = listening.result()
    assert heard["clock"]["one_clock"] is compared
    assert (heard["streams"]["control"]["latency_ns"] is not None) is compared
    assert compared or "1100" in heard["clock"]["refused"]


def test_a_synchronized_talker_says_whose_time_it_has(wire: Cable, tmp_path: Path) -> None:
    what, pmc = plan([stream(count=5)]), ("--pmc", _pmc(tmp_path, 12))
    with wire.listen(what) as listening:
        wire.talk(what, *pmc)
        _, heard, _ = listening.result()
    assert "this host's synchronization is not shown" in heard["clock"]["refused"]
    with wire.listen(what, *pmc) as listening:
        _, sent, _ = wire.talk(what, *pmc)
        _, heard, _ = listening.result()
    assert heard["clock"]["refused"] is None
    assert heard["streams"]["control"]["latency_ns"]["count"] == 5
    ptp = sent["clock"]["evidence"]["ptp"]
    assert (ptp["grandmaster"], ptp["offset_ns"]) == ("001122fffe334455", 12)


def test_two_talkers_with_one_base_time_keep_their_distance(wire: Cable) -> None:
    base = 10**18 + 123_456
    due = []
    for offset in (0, 250_000):
        what = plan([stream(count=2, offset_ns=offset)])
        due.append(wire.talk(what, "--base-time", str(base))[2]["due_tai_ns"][0])
    assert [(each - base) % 1_000_000 for each in due] == [0, 250_000]


def test_launch_times_make_the_kernels_stamp_worthless_over_veth(wire: Cable) -> None:
    what = plan([stream(count=20)], send="launch_time", transmit_offset_ns=500_000)
    with wire.listen(what) as listening:
        _, sent, sent_rows = wire.talk(what)
        _, heard, rows = listening.result()
    assert heard["streams"]["control"]["received"] == 20
    assert rows["launch_time"].to_list() == [1] * 20
    assert heard["stamps"]["latency_from"] == "user"
    assert "proves nothing" in heard["stamps"]["kernel"]["why"]
    assert (sent["send"], sent["transmit_offset_ns"]) == ("launch_time", 500_000)
    wake = sent_rows["due_tai_ns"] - 500_000
    assert (sent_rows["construction_tai_ns"] - wake == sent_rows["wake_late_ns"]).all()


def test_streams_of_one_plan_may_be_sent_in_both_ways(wire: Cable) -> None:
    launched = stream(count=10, send="launch_time", transmit_offset_ns=700_000)
    what = plan([launched, stream(name="plain", id=2, count=10, offset_ns=100_000)])
    with wire.listen(what) as listening:
        _, sent, _ = wire.talk(what)
        _, _, rows = listening.result()
    flags = dict(rows.group_by("stream").agg(pl.col("launch_time").unique().first()).iter_rows())
    assert flags == {"control": 1, "plain": 0}
    assert [sent["streams"][name]["transmit_offset_ns"] for name in ("control", "plain")] == [700_000, 0]
    # In the order of waking: 700 us before the first cycle, then at 100, 300 and 1100 us.
    first = rows.filter(pl.col("sequence") <= 1).sort("arrival")
    order = list(zip(first["stream"], first["sequence"], strict=True))
    assert order == [("control", 0), ("plain", 0), ("control", 1), ("plain", 1)]


@pytest.mark.parametrize("receive", ["packet", "udp"])
def test_udp_streams(wire: Cable, receive: str) -> None:
    udp = stream(mode="udp", vlan=None, count=30, destination="192.0.2.2", destination_port=5001)
    del udp["destination_mac"]
    what = plan([udp], listen={"receive": receive})
    with wire.listen(what) as listening:
        assert wire.talk(what)[0] == 0
        status, heard, rows = listening.result()
    assert (status, heard["streams"]["control"]["received"]) == (0, 30)
    assert rows["bytes"].unique().to_list() == [BYTES]
    assert rows["kernel_realtime_ns"].null_count() == 0


@pytest.mark.parametrize("mode", ["raw", "udp"])
def test_sound_is_measured_as_any_stream(wire: Cable, mode: str) -> None:
    # 48 samples of two channels with 24 bits, behind RTP's header and an extension of 48 B.
    if mode == "raw":
        sound = stream(count=20, bytes=22 + 60 + 288, audio={"tone_hz": 440})
    else:
        sound = stream(count=20, bytes=18 + 28 + 60 + 288, audio={}, mode="udp", vlan=None)
        sound |= {"destination_mac": None, "destination": "192.0.2.2", "destination_port": 5004}
    with wire.listen(plan([sound])) as listening:
        assert wire.talk(plan([sound]))[0] == 0
        status, heard, _ = listening.result()
    assert (status, heard["streams"]["control"]["received"]) == (0, 20)


_RECEIVE = """
import socket, sys
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.bind(("end0", 3))
wire.settimeout(10)
print("ready", flush=True)
while (left := int(sys.argv[1])) > 0:
    frame = wire.recv(2048)
    if frame[:6] == bytes.fromhex(sys.argv[2]):
        print(frame.hex())
        sys.argv[1] = str(left - 1)
"""


@pytest.mark.parametrize("ahead_ns", [0, 700_000], ids=["plain", "launch-times"])
def test_a_capture_is_sent_byte_for_byte_at_its_times(wire: Cable, ahead_ns: int) -> None:
    file = Path(__file__).resolve().parents[1] / "scenarios" / "hello" / "control.pcapng"
    captured = read_capture(file).frames[:30]
    frames = [frame.data.ljust(frame.original_bytes, b"\0") for frame in captured]
    times = [frame.time_ps for frame in captured]
    how = {"send": "launch_time" if ahead_ns else "plain", "transmit_offset_ns": ahead_ns}
    what = plan([{"name": "replay", "id": 9, "mode": "raw", "capture": str(file), "count": 30, **how}])
    command = wire.command(1, sys.executable, "-c", _RECEIVE, "30", frames[0][:6].hex())
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "ready\n"
        status, sent, rows = wire.talk(what)
        output, _ = receiver.communicate(timeout=30)
    assert (status, sent["streams"]["replay"]["sent"]) == (0, 30)
    # The kernel gives the tag beside the frame.
    wanted = [f[:12] + f[16:] if f[12:14] == b"\x81\0" else f for f in frames]
    got = [bytes.fromhex(line) for line in output.split()]
    assert got == wanted
    due = (rows["due_tai_ns"] - rows["due_tai_ns"][0]).to_list()
    assert due == [(t - times[0]) // 1000 for t in times]
    assert (rows["construction_tai_ns"] - (rows["due_tai_ns"] - ahead_ns) == rows["wake_late_ns"]).all()


def test_a_frame_too_late_for_its_window_is_not_sent_when_so_asked(wire: Cable) -> None:
    # No program wakes up within a nanosecond.
    what = plan([stream(count=10, window_ns=1)], late={"action": "drop"})
    with wire.listen({**what, "listen": {**what["listen"], "wait_ns": 300_000_000}}) as listening:
        status, sent, rows = wire.talk(what)
        listening.result()
    assert (sent["streams"]["control"]["skipped"], sent["streams"]["control"]["sent"], status) == (10, 0, 1)
    assert rows["outcome"].to_list() == ["skipped"] * 10
    assert (rows["wake_late_ns"] > 0).all()


@pytest.mark.parametrize("required", [False, True])
def test_late_frames_fail_when_it_is_said_what_is_late(wire: Cable, required: bool) -> None:
    # Sent when it is due, a frame is handed over later than that by some nanoseconds at least.
    what = plan([stream(count=10)], late={"tolerance_ns": 0, "required": required})
    with wire.listen(what) as listening:
        status, sent, _ = wire.talk(what)
        listening.result()
    assert sent["streams"]["control"]["handed_late"] == sent["streams"]["control"]["sent"] == 10
    assert (status, sent["ok"]) == (int(required), not required)


def test_a_stopped_listener_says_what_it_has(wire: Cable) -> None:
    with wire.listen(plan([stream(count=1000)])) as listening:
        wire.inject([frame(header(n)) for n in range(5)])
        status, heard, rows = listening.result(signal.SIGINT)
    said = heard["streams"]["control"]
    assert heard["ended"] == "it was stopped"
    assert said["expected"] == said["received"] == rows.height == 5
    assert status == 0


def test_a_stopped_talker_says_what_it_sent(wire: Cable) -> None:
    command = wire.end(0, "talk", plan([stream()]))  # without an end
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=30)
    summary = json.loads(output)
    rows = pl.read_csv(Path(command[command.index("--out") + 1]) / "talk.csv")
    assert summary["interrupted"] is True
    assert summary["streams"]["control"]["sent"] == rows.height > 0


def test_what_the_kernel_refuses_is_said(wire: Cable) -> None:
    what = plan([stream(count=3)])
    refused = subprocess.run(wire.end(0, "talk", what, "--cpu", "1000"), capture_output=True, text=True, check=False)
    assert refused.returncode == 3
    assert "CPU 1000 refused" in refused.stderr
    _, sent, _ = wire.talk(what, "--cpu", "1000", "--best-effort", "--hardware-stamps")
    assert [grant["granted"] for grant in sent["realtime"]] == [False]
    assert sent["interface"]["hardware_stamps"]["granted"] is False
    assert sent["streams"]["control"]["sent"] == 3
    assert sent["interface"]["driver"] == "veth"


def test_with_locked_memory_the_heap_does_not_have_to_grow(wire: Cable) -> None:
    what = plan([stream(count=1)], realtime={"lock_memory": True, "required": False})
    with wire.listen(what) as listening:
        maps = Path(f"/proc/{listening.process.pid}/maps").read_text()
        _, heard, _ = listening.result(signal.SIGINT)
    (lock,) = heard["realtime"]
    if lock["granted"]:
        (heap,) = (line.split()[0] for line in maps.splitlines() if line.endswith("[heap]"))
        begin, end = (int(number, 16) for number in heap.split("-"))
        assert end - begin > 4_000_000


def test_a_wrong_plan_is_refused_with_all_its_faults(wire: Cable) -> None:
    what = plan([stream(bytes=63, pcp=8), stream(id=1, name="twin", vlan=4095, period_ns=0)], interface="end0")
    done = subprocess.run(wire.end(0, "talk", what), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    for key in ("streams[0].bytes", "streams[0].pcp", "streams[1]:", "streams[1].vlan", "streams[1].period_ns"):
        assert key in done.stderr
    gone = subprocess.run(
        wire.end(0, "talk", plan([stream()], interface="none0")), capture_output=True, text=True, check=False
    )
    assert (gone.returncode, "no such interface" in gone.stderr) == (3, True)
    assert TO.hex(":") not in done.stderr


def test_the_program_needs_no_library_of_the_system(wire: Cable) -> None:
    program = wire.program.read_bytes()
    assert program[:4] == b"\x7fELF"
    assert b"/ld-linux" not in program
    done = subprocess.run([wire.program, "--version"], env={}, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("penstock-end ")
