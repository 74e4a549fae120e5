# SPDX-License-Identifier: Apache-2.0
"""Frames of a talker as docs/end-station.md has them, made without the talker; and two hosts joined by a cable."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from penstock.end.binary import build

TO, FROM = bytes.fromhex("020000000002"), bytes.fromhex("020000000001")
LAUNCH_TIME, LAST, SYNCHRONIZED = 1, 2, 4
BYTES = 128
_INJECT = """
import socket, sys
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind((sys.argv[1], 0))
for line in sys.stdin:
    wire.send(bytes.fromhex(line))
"""


def header(
    sequence: int,
    *,
    stream: int = 1,
    flags: int = 0,
    run: int = 77,
    construction_ns: int | None = None,
    clock: int | None = None,
    version: int = 1,
) -> bytes:
    """The payload header; built now, on this machine's clock, unless said otherwise."""
    now = time.clock_gettime_ns(time.CLOCK_TAI) if construction_ns is None else construction_ns
    own = int(Path("/proc/sys/kernel/random/boot_id").read_text().replace("-", "")[:16], 16)
    identity = own if clock is None else clock
    body = struct.pack("!4sBBHHIQQQ", b"PNSK", version, flags, stream, run, sequence, now, now, identity)
    return body + struct.pack("!I", zlib.crc32(body))


def frame(payload: bytes, *, tag: int | None = 0x600A, ethertype: int = 0x88B5, length: int = BYTES) -> bytes:
    """A frame without FCS; the tag is VLAN 10 with PCP 3."""
    head = TO + FROM + (b"" if tag is None else struct.pack("!HH", 0x8100, tag)) + struct.pack("!H", ethertype)
    return (head + payload).ljust(length - 4, b"\0")


def stream(**changes: Any) -> dict[str, Any]:
    """A raw stream of a plan."""
    plain = {"name": "control", "id": 1, "mode": "raw", "bytes": BYTES, "vlan": 10, "pcp": 3}
    return {**plain, "destination_mac": TO.hex(":"), **changes}


def plan(streams: Sequence[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A plan that starts soon and does not wait for long."""
    listen = {
        "wait_ns": 10_000_000_000,
        "idle_ns": 3_000_000_000,
        "linger_ns": 100_000_000,
        **changes.pop("listen", {}),
    }
    common = {"version": 1, "interface": "end0", "cycle_ns": 1_000_000, "start_in_ns": 50_000_000}
    return {**common, "listen": listen, "streams": list(streams), **changes}


@dataclass(frozen=True)
class Listening:
    """A listener at work."""

    process: subprocess.Popen[str]
    folder: Path

    def result(self, stop: signal.Signals | None = None) -> tuple[int, dict[str, Any], pl.DataFrame]:
        """Exit status, summary and table, once it has ended, or after a signal."""
        if stop is not None:
            self.process.send_signal(stop)
        output, _ = self.process.communicate(timeout=30)
        return self.process.returncode, json.loads(output), pl.read_csv(self.folder / "listen.csv")


class Cable:
    """Two network namespaces joined by veth; the interface of each is `end0`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = [f"penstock-end-{os.getpid()}-{side}" for side in "ab"]
        self.program = build()

    def command(self, side: int, *words: str | Path) -> list[str]:
        """A command inside of a namespace, by a program that becomes it, so that signals reach it."""
        return ["ip", "netns", "exec", self.names[side], *map(str, words)]

    def end(self, side: int, role: str, what: dict[str, Any], *options: str) -> list[str]:
        """The command of a talker (side 0) or listener (side 1)."""
        file = self.folder / f"{role}-{time.monotonic_ns()}.json"
        file.write_text(json.dumps(what))
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        return self.command(side, self.program, role, "--plan", file, "--out", folder, "--json", *options)

    @contextmanager
    def listen(self, what: dict[str, Any], *options: str) -> Iterator[Listening]:
        """A listener whose sockets are open."""
        command = self.end(1, "listen", what, *options)
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
            try:
                assert process.stderr is not None
                said = process.stderr.readline()
                assert "listening" in said, said + process.stderr.read()
                yield Listening(process, Path(command[command.index("--out") + 1]))
            finally:
                process.kill()

    def talk(self, what: dict[str, Any], *options: str) -> tuple[int, dict[str, Any], pl.DataFrame]:
        """Exit status, summary and table of a talker."""
        command = self.end(0, "talk", what, *options)
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode in (0, 1), done.stderr
        table = pl.read_csv(Path(command[command.index("--out") + 1]) / "talk.csv")
        return done.returncode, json.loads(done.stdout), table

    def inject(self, frames: Sequence[bytes]) -> None:
        """Puts frames on the cable at the talker's side."""
        lines = "\n".join(each.hex() for each in frames)
        subprocess.run(self.command(0, sys.executable, "-c", _INJECT, "end0"), input=lines, text=True, check=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def cable(folder: Path) -> Iterator[Cable]:
    """Makes the namespaces and removes them again."""
    made = Cable(folder)
    try:
        for name in made.names:
            _ip("netns", "add", name)
        first, second = made.names
        _ip("link", "add", "end0", "netns", first, "type", "veth", "peer", "name", "end0", "netns", second)
        for name, address in zip(made.names, ("192.0.2.1/24", "192.0.2.2/24"), strict=True):
            _ip("-n", name, "addr", "add", address, "dev", "end0")
            _ip("-n", name, "link", "set", "end0", "up")
        yield made
    finally:
        for name in made.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
