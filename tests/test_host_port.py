# SPDX-License-Identifier: Apache-2.0
"""The host port of a switch, hardware and model: frames in and out, reserved addresses, a host that fetches nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from penstock import _engine
from penstock.captures import CapturedFrame, write_pcapng
from penstock.hardware.configure import ConfigurationError, SwitchConfig, configure
from penstock.hardware.differential.compare import table
from penstock.hardware.differential.play import Record
from penstock.hardware.host import Direct, ReceivedAt, egress_stamps
from penstock.hardware.host_line import CONFIG, HOST_PORT, HostLine, hardware, model, way_of
from penstock.hardware.ptp import PtpClock
from penstock.hardware.registers import registers
from penstock.hardware.traffic import BROADCAST, read_register, station_address, with_fcs
from rights import needs_namespaces
from tools import needs_tcpreplay

LLDP = bytes.fromhex("0180c200000e")
LLDP_FRAME = LLDP + station_address(7, 7) + bytes.fromhex("88cc 0207 04 020000000707 0403 05 7031 0602 0078 0000")
BOTH = pytest.mark.parametrize("make", [model, hardware], ids=["model", "rtl"])
Make = Callable[[], _engine.Switch]


def _outputs(switch: _engine.Switch, port: int, frame: bytes, host: bytes | None = None) -> list[int]:
    """The ports by which a frame leaves."""
    switch.push(port, switch.cycle + 20, with_fcs(frame.ljust(60, b"\0")), host=host)
    switch.run(switch.cycle + 1_000)
    events = switch.events()
    kinds = [_engine.KINDS[kind] for kind in events["kind"]]
    return sorted(int(port) for kind, port in zip(kinds, events["port"], strict=True) if kind == "output")


@BOTH
def test_a_frame_of_the_host_comes_to_the_neighbours_host(make: Make) -> None:
    line = HostLine(make)
    padded = LLDP_FRAME.ljust(60, b"\0")
    assert line.send(0, LLDP_FRAME) == [(1, padded)]
    assert [(stamp.port, stamp.tag) for stamp in line.stamps(0)] == [(0, 0), (1, 0)]
    assert line.send(1, LLDP_FRAME) == [(0, padded)]
    broadcast = BROADCAST + station_address(2, 1) + b"\x88\xb5" + bytes(100)
    assert line.send(0, broadcast) == [(1, broadcast)]


@BOTH
def test_reserved_addresses_go_to_the_host_by_register_each(make: Make) -> None:
    switch = make()
    for number in range(16):
        address, value = registers().write("reserved_to_host", mask=1 << number)
        switch.write(address, value)
        for other in {number, (number + 1) % 16, 14}:
            out = _outputs(switch, 0, LLDP[:5] + bytes([other]) + station_address(0, 1) + b"\x88\xcc")
            assert out == ([HOST_PORT] if other == number else [])


@BOTH
def test_the_host_says_how_its_frames_go_on(make: Make) -> None:
    switch = make()
    there, elsewhere, unknown = station_address(0, 1), station_address(1, 1), station_address(5, 5)
    tail = b"\x88\xb5"
    assert _outputs(switch, 0, BROADCAST + there + tail) == [1, HOST_PORT]
    own = ReceivedAt(HOST_PORT).header
    assert _outputs(switch, HOST_PORT, there + station_address(2, 9) + tail, own) == [0]
    assert _outputs(switch, HOST_PORT, unknown + station_address(2, 9) + tail, own) == [0, 1]
    # As if received at port 1: not out of it, and its source is learnt there.
    assert _outputs(switch, HOST_PORT, BROADCAST + elsewhere + tail, ReceivedAt(1).header) == [0]
    assert _outputs(switch, 0, elsewhere + there + tail) == [1]
    # Direct: by these ports, whatever the address is, and not back to the host.
    for ports in ({0}, {1}, {0, 1}, {1, HOST_PORT}, set()):
        header = Direct(frozenset(ports), 3).header
        for address in (there, unknown, LLDP):
            assert _outputs(switch, HOST_PORT, address + station_address(6, 6) + tail, header) == sorted(ports - {2})
    assert _outputs(switch, 0, station_address(6, 6) + there + tail) == [1, HOST_PORT], "nothing direct is learnt"
    # A port that the switch does not have.
    assert _outputs(switch, HOST_PORT, there + unknown + tail, bytes([0, 3, 0, 0])) == []


def test_the_time_of_reception_goes_with_a_frame_to_the_host() -> None:
    """The clock shows the time since the reset; a stamp that is one cycle off would differ."""
    switch = hardware()
    stamps = []
    for gap in (50, 1_000, 77, 5_001):
        start = switch.cycle + gap
        switch.push(0, start, with_fcs(LLDP_FRAME.ljust(60, b"\0")))
        switch.run(start + 2_000)
        events = switch.events()
        kinds = [_engine.KINDS[kind] for kind in events["kind"]]
        seen = [*zip(kinds, events["cycle"].tolist(), events["visible"].tolist(), strict=True)]
        (came,) = [cycle for kind, cycle, _ in seen if kind == "input"]
        (stamp,) = [visible for kind, _, visible in seen if kind == "output"]
        stamps.append(stamp - 8 * came)
    assert len(set(stamps)) == 1
    assert abs(stamps[0]) <= 16, stamps


@BOTH
def test_the_host_is_told_when_its_frames_leave(make: Make) -> None:
    switch = make()
    for address, value in ((0x200, 5), (0x204, 7), (0x208, 0)):  # 7 s and 5 ns
        switch.write(address, value)
    switch.write(0x300, 1)
    frame = with_fcs(BROADCAST + station_address(2, 1) + b"\x88\xb5" + bytes(46))
    headers = [Direct(frozenset({0, 1, HOST_PORT}), 7, 200).header, ReceivedAt(0, 0).header, ReceivedAt(0).header,
               Direct(frozenset({0}), 7).header]  # fmt: skip
    for header in headers:
        switch.push(HOST_PORT, switch.cycle + 20, frame, host=header)
    switch.push(0, switch.cycle + 20, frame)
    switch.run(switch.cycle + 3_000)
    events = switch.events()
    kinds = [_engine.KINDS[kind] for kind in events["kind"]]
    left = {(int(number), int(port)): int(cycle) for kind, number, port, cycle in
            zip(kinds, events["frame"], events["port"], events["cycle"], strict=True) if kind == "output"}  # fmt: skip
    stamps = [*egress_stamps(events)]
    told = sorted((stamp.tag, stamp.port, stamp.lost) for stamp in stamps)
    assert told == [(0, 1, 0), (200, 0, 0), (200, 1, 0)]
    number = {200: 0, 0: 1}
    since = {stamp.ns - 8 * left[number[stamp.tag], stamp.port] for stamp in stamps}
    assert len(since) == 1, "the time of the cycle in which the first byte stood at the pins"
    assert 7_000_000_000 < stamps[0].ns < 7_000_100_000


def test_a_stamp_is_that_of_the_register() -> None:
    """What the clock says of a PTP message that is sent, and what the host is told of it."""
    switch = hardware()
    clock = PtpClock(switch)
    clock.set(3 * 10**9 + 17)
    clock.set_rate(-70_000)
    sync = bytes.fromhex("011b19000000") + station_address(2, 1) + b"\x88\xf7" + bytes(30) + b"\x12\x34" + bytes(20)
    switch.push(HOST_PORT, switch.cycle + 33, with_fcs(sync), host=Direct(frozenset({1}), 7, 1).header)
    switch.run(switch.cycle + 1_000)
    (stamp,) = egress_stamps(switch.events())
    (registered,) = (found for found in clock.stamps() if found.sent)
    assert (stamp.ns, stamp.fraction << 24) == (registered.ns, registered.fraction)
    assert stamp.fraction


def test_stamps_that_find_no_place_are_counted_as_in_the_model() -> None:
    """Long frames keep the port of the host busy while short ones leave by both wires."""
    tables = []
    for make in (model, hardware):
        switch = make()
        long = with_fcs(BROADCAST + station_address(0, 1) + b"\x88\xb5" + bytes(1_500 - 14))
        short = with_fcs(LLDP_FRAME.ljust(60, b"\0"))
        for n in range(6):
            switch.push(0, 60_000 + 1_600 * n, long)
        for n in range(120):
            switch.push(HOST_PORT, 62_000 + 88 * n, short, host=Direct(frozenset({0, 1}), 7, n).header)
        switch.run(100_000)
        record = Record(switch.events(), (), switch.cycle, switch.inside, switch.waiting, (), {})
        tables.append(table(record))
        stamps = [*egress_stamps(record.events)]
        assert sum(stamp.lost for stamp in stamps) + len(stamps) == 240
        assert len([stamp for stamp in stamps if stamp.lost]) == 3
    ours, theirs = tables
    assert np.array_equal(ours, theirs)


def test_the_register_says_whether_there_is_a_host_port() -> None:
    for switch in (model(), hardware()):
        assert read_register(switch, registers(), "host") == 1
    assert read_register(_engine.Switch.model(3), registers(), "host") == 0


def test_without_a_host_port_nothing_can_go_to_it() -> None:
    with pytest.raises(ConfigurationError, match="without a host port"):
        configure(SwitchConfig(reserved_to_host={14}), registers())
    plain = _engine.Switch.model(3)
    plain.write(*registers().write("reserved_to_host", mask=0xFFFF))
    assert _outputs(plain, 0, LLDP_FRAME) == []


@pytest.mark.parametrize("wrong", [{"gap": 11}, {"preamble": 6}, {"delimiter": False}, {"rx_er_at": 3}])
def test_a_frame_of_the_host_has_no_wire_to_be_spoilt_on(wrong: dict[str, int]) -> None:
    with pytest.raises(_engine.HardwareError, match="from the host"):
        model().push(HOST_PORT, 50_000, bytes(64), host=bytes(4), **wrong)  # type: ignore[arg-type]


def test_a_host_gets_what_is_guaranteed_and_others_keep_all_else() -> None:
    """A queue of the host does not grow into what is shared, even if nothing else is there."""
    switch = model()
    for address, value in configure(SwitchConfig(ports=3, host=True, queue_limit_cells={5: 256}), registers()):
        switch.write(address, value)
    frame = with_fcs(BROADCAST + station_address(0, 1) + b"\x88\xb5" + bytes(1000))
    # Two ports at line rate into one of the same rate: its queue fills.
    for n in range(60):
        for port in (0, 1):
            switch.push(port, 50_000 + 1_100 * n, frame)
    switch.run(200_000)
    events = switch.events()
    refused = [int(mask) for kind, mask in zip(events["kind"], events["refused"], strict=True)
               if _engine.KINDS[kind] == "verdict"]  # fmt: skip
    # 12 cells: one of these frames waits while another is being sent; the other ports, loaded half, refuse none.
    assert sum(mask == 1 << HOST_PORT for mask in refused) > 40
    assert all(mask in (0, 1 << HOST_PORT) for mask in refused)


def test_headers_say_what_is_wanted() -> None:
    assert Direct(frozenset({0, 2}), 3).header == bytes([1, 5, 3, 0])
    assert Direct(frozenset({0, 2}), 3, 0).header == bytes([3, 5, 3, 0])
    assert ReceivedAt(2, 255).header == bytes([2, 2, 0, 255])


def test_what_no_bridge_forwards_leaves_by_every_wire() -> None:
    assert way_of(LLDP_FRAME) == Direct(frozenset({0, 1}), 7)
    assert way_of(BROADCAST + bytes(54)) == ReceivedAt(HOST_PORT)
    assert way_of(LLDP[:5] + b"\x10" + bytes(54)) == ReceivedAt(HOST_PORT)
    assert CONFIG.host
    assert CONFIG.reserved_to_host == set(range(16))


# In a network namespace of its own: a program on one interface, the switches between two others, a program on a fourth.
# The first one's frame is the one that is named, or that of a capture, which tcpreplay sends.
ON_LINUX = """
import socket, subprocess, sys
for n in "ab":
    for words in (f"ip link add {n}0 type veth peer name {n}1", f"ip link set {n}0 up", f"ip link set {n}1 up"):
        subprocess.run(words.split(), check=True)
ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88CC)) for _ in range(2)]
for end, name in zip(ends, ("a0", "b0")):
    end.bind((name, 0x88CC))
    end.settimeout(60)
command = [sys.executable, "-m", "penstock", "hw", "host", "a1", "b1", "--nodes", sys.argv[1]]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as switches:
    assert "ready" in switches.stdout.readline()
    if len(sys.argv) > 3:
        subprocess.run(["tcpreplay", "-i", "a0", sys.argv[3]], stdout=subprocess.DEVNULL, check=True)
    else:
        ends[0].send(bytes.fromhex(sys.argv[2]))
    there = ends[1].recv(2048)
    ends[1].send(there)
    back = ends[0].recv(2048)
    switches.kill()
print(there.hex(), back.hex())
"""


@needs_namespaces
@pytest.mark.parametrize("replayed", [False, pytest.param(True, marks=needs_tcpreplay)], ids=["socket", "tcpreplay"])
@pytest.mark.parametrize("nodes", ["model", "rtl"])
def test_a_linux_program_is_heard_at_the_neighbours_host_port(tmp_path: Path, nodes: str, replayed: bool) -> None:
    """A raw LLDP frame of a socket, or of a capture that tcpreplay sends, and back."""
    capture = tmp_path / "lldp.pcapng"
    write_pcapng(capture, [CapturedFrame(0, LLDP_FRAME, len(LLDP_FRAME))])
    command = ["unshare", "--net", sys.executable, "-c", ON_LINUX, nodes, LLDP_FRAME.hex()]
    command += [str(capture)] * replayed
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    padded = LLDP_FRAME.ljust(60, b"\0").hex()
    assert done.stdout.split() == [padded, padded]
