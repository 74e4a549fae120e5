# SPDX-License-Identifier: Apache-2.0
"""Frames of a board's host port by its serial line: a program sends and hears LLDP, however bad the line."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import _engine
from penstock.hardware.host import Direct, EgressStamp, Heard, ReceivedAt, heard
from penstock.hardware.host_line import HOST_PORT, hardware, model, way_of
from penstock.hardware.mailbox import Mailbox
from penstock.hardware.registers import mailbox_registers, registers
from penstock.hardware.tools import ToolError
from penstock.hardware.traffic import station_address, with_fcs
from penstock.hardware.uart import opened
from penstock.hardware.uart_bus import crc8
from rights import needs_namespaces
from serial_board import SerialBoard

LLDP = bytes.fromhex("0180c200000e")
FROM_HOST = (LLDP + station_address(7, 7) + b"\x88\xcc" + bytes(range(40))).ljust(60, b"\0")
FROM_WIRE = (LLDP + station_address(1, 1) + b"\x88\xcc" + bytes(range(77))).ljust(60, b"\0")


@pytest.mark.parametrize("make", [model, hardware], ids=["model", "rtl"])
def test_lldp_leaves_by_the_wires_and_comes_back(make: Callable[[], _engine.Switch]) -> None:
    board = SerialBoard(make())
    with opened(Path(board.device), 1_000_000) as bus:
        mailbox = Mailbox(bus)
        assert mailbox.receive() is None
        mailbox.reserve(0)
        board.from_wire(1, with_fcs(FROM_WIRE))
        assert mailbox.receive() is None
        mailbox.reserve(1 << LLDP[5])
        mailbox.send(FROM_HOST, way_of(FROM_HOST, 9, mailbox.ports - 1))
        assert sorted(board.left) == [(0, with_fcs(FROM_HOST)), (1, with_fcs(FROM_HOST))]
        stamps = [mailbox.receive(), mailbox.receive()]
        assert {(stamp.port, stamp.tag) for stamp in stamps if isinstance(stamp, EgressStamp)} == {(0, 9), (1, 9)}
        board.from_wire(1, with_fcs(FROM_WIRE))
        came = mailbox.receive()
        assert isinstance(came, Heard)
        assert (came.port, came.frame) == (1, FROM_WIRE)
        if make is hardware:  # the model tells a host no times of reception
            assert came.ns > max(stamp.ns for stamp in stamps if isinstance(stamp, EgressStamp))
        assert mailbox.receive() is None


def test_a_bad_line_doubles_and_loses_nothing() -> None:
    """Every third answer is damaged or missing, though the request had its effect; or the request came damaged."""

    def spoil(number: int, answer: bytes) -> bytes:
        if number % 3:
            return answer
        refused = b"C" + bytes(4)
        return refused + bytes([crc8(refused)]) if number % 2 else answer[:-1] + bytes([answer[-1] ^ 1])

    board = SerialBoard(model(), spoil)
    with opened(Path(board.device), 1_000_000) as bus:
        mailbox = Mailbox(bus)
        for number in range(4):
            mailbox.send(FROM_HOST, Direct(frozenset({0}), 7, tag=number))
        assert board.left == [(0, with_fcs(FROM_HOST))] * 4
        stamps = [mailbox.receive() for _ in range(5)]
    assert [isinstance(stamp, EgressStamp) and stamp.tag for stamp in stamps] == [0, 1, 2, 3, False]


def test_a_line_that_is_dead_is_given_up() -> None:
    board = SerialBoard(model(), lambda number, answer: answer if number < 2 else answer[:-1] + bytes([answer[-1] ^ 1]))
    with opened(Path(board.device), 1_000_000) as bus:
        mailbox = Mailbox(bus)
        with pytest.raises(ToolError, match="damaged answer"):
            mailbox.receive()
    assert board.requests == 2 + 3


class Words:
    """A bus whose registers are as they are."""

    def __init__(self, **values: int) -> None:
        self.values = {mailbox_registers().address(f"mailbox.{name}"): value for name, value in values.items()}
        self.values[registers().address("ports")] = 3
        self.written: list[int] = []

    def read(self, address: int) -> int:
        return self.values.get(address, 0)

    def write(self, address: int, value: int) -> None:
        self.written.append(address)


def test_no_mailbox_and_no_room_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match="no mailbox"):
        Mailbox(Words(id=1))
    monkeypatch.setattr("penstock.hardware.mailbox.PATIENCE_S", 0.01)
    full = Words(id=int.from_bytes(b"PENM"), send=67)
    with pytest.raises(ToolError, match="no room for a frame of 68 bytes; the mailbox has room for 67"):
        Mailbox(full).send(FROM_HOST, ReceivedAt(HOST_PORT))
    assert not full.written


def test_what_the_stream_says_of_a_frame() -> None:
    header = bytes([0, 2, 5, 0]) + (7).to_bytes(6, "little") + (999_999_999).to_bytes(4, "little") + bytes([128, 0])
    assert heard(header + with_fcs(FROM_WIRE)) == Heard(2, 5, 7_999_999_999, 128, FROM_WIRE)
    stamp = bytes([1, 2, 5, 42]) + header[4:]
    assert heard(stamp) == EgressStamp(2, 42, 7_999_999_999, 128, lost=5)
    with pytest.raises(ToolError, match="64 bytes that was received at port 2 is damaged"):
        heard(header + FROM_WIRE[:60] + bytes(4))


# In a network namespace of its own: a program on one interface, the command between the other end and the board.
ON_LINUX = """
import socket, subprocess, sys
for words in ("ip link add a0 type veth peer name a1", "ip link set a0 up", "ip link set a1 up"):
    subprocess.run(words.split(), check=True)
end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88CC))
end.bind(("a0", 0x88CC))
end.settimeout(60)
command = [sys.executable, "-m", "penstock", "hw", "mailbox", "a1", "--uart", sys.argv[1]]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as carrier:
    assert "ready" in carrier.stdout.readline()
    end.send(bytes.fromhex(sys.argv[2]))
    print(end.recv(2048).hex(), flush=True)
    carrier.kill()
"""


def _is_lldp(left: tuple[int, bytes]) -> bool:
    """The kernel sends frames of its own."""
    return left[1].startswith(LLDP)


@needs_namespaces
def test_a_linux_program_speaks_by_the_board() -> None:
    board = SerialBoard(model())
    command = ["unshare", "--net", sys.executable, "-c", ON_LINUX, board.device, FROM_HOST.hex()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        until = time.monotonic() + 60
        while sum(_is_lldp(left) for left in board.left) < 2 and time.monotonic() < until and program.poll() is None:
            time.sleep(0.05)
        board.from_wire(0, with_fcs(FROM_WIRE))
        said, errors = program.communicate(timeout=60)
    assert program.returncode == 0, errors
    assert sorted(filter(_is_lldp, board.left)) == [(0, with_fcs(FROM_HOST)), (1, with_fcs(FROM_HOST))]
    assert said.split() == [FROM_WIRE.hex()]
