# SPDX-License-Identifier: Apache-2.0
"""A data plane in a network namespace, between interfaces whose other ends are sockets of a test."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.lab.machine import Machine
from penstock.plane.binary import PROGRAM
from penstock.plane.control import Control

PORTS = ("p0", "p1")
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET


def config(**others: Any) -> dict[str, Any]:
    """Of two ports, the second one slow."""
    ports = [{"interface": "p0", "name": "a", "rate": "1Gb/s"}, {"interface": "p1", "name": "b", "rate": "15Mb/s"}]
    return {"ports": ports, **others}


def frame(pcp: int, number: int, size: int = 1000, vlan: int = 10) -> bytes:
    """Tagged, with a number behind the EtherType; `size` counts the FCS."""
    head = bytes.fromhex("020000000002020000000001") + b"\x81\x00" + (pcp << 13 | vlan).to_bytes(2, "big") + b"\x88\xb5"
    return (head + number.to_bytes(4, "big")).ljust(size - 4, b"\0")


@dataclass
class Bench:
    """A plane between two interfaces, whose other ends are sockets of this test."""

    path: str  # of the namespace
    folder: Path
    outside: dict[str, socket.socket]
    process: subprocess.Popen[str] | None = None
    said: dict[str, Any] = field(default_factory=dict)

    def command(self, *words: str) -> list[str]:
        """In the namespace."""
        return ["nsenter", f"--net={self.path}", *words]

    def run(self, *words: str) -> str:
        return subprocess.run(self.command(*words), check=True, capture_output=True, text=True).stdout

    @contextmanager
    def plane(self, told: dict[str, Any], *options: str) -> Iterator[Control]:
        """Runs one; what it counted is in `said` when it ended in good order."""
        file, path = self.folder / "plane.json", self.folder / "control"
        file.write_text(json.dumps(told))
        command = [str(PROGRAM.build()), "--config", str(file), "--control", str(path), *options]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self.command(*command), stdout=pipe, stderr=pipe, text=True)
        assert self.process.stderr
        try:
            while "ready" not in (line := self.process.stderr.readline()):
                assert line, "the plane did not start"
            with Control(path) as control:
                yield control
        finally:
            self.process.terminate()
            printed, _ = self.process.communicate(timeout=10)
            if self.process.returncode == 0:
                self.said = json.loads(printed)["counters"]


@contextmanager
def inside(path: str) -> Iterator[None]:
    """Sockets that are opened meanwhile are of this namespace."""
    own, there = (os.open(name, os.O_RDONLY) for name in ("/proc/thread-self/ns/net", path))
    try:
        _enter(there)
        yield
    finally:
        _enter(own)
        os.close(own)
        os.close(there)


def _enter(namespace: int) -> None:
    assert ctypes.CDLL(None, use_errno=True).setns(namespace, _NEW_NETWORK) == 0


def packets(interface: str) -> socket.socket:
    """All frames that come by an interface, with the tags that the kernel took out."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    opened.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
    opened.setsockopt(263, 8, 1)  # PACKET_AUXDATA
    opened.bind((interface, 3))
    opened.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
    opened.settimeout(2)
    return opened


@contextmanager
def between(folder: Path) -> Iterator[Bench]:
    """The namespace, its interfaces and the sockets at their other ends."""
    with Machine() as machine:
        path = machine.ask("namespace", host="h")["path"]
        lines = ["link set lo up"]
        for name in PORTS:
            lines += [
                f"link add {name} type veth peer name out-{name}",
                f"link set {name} up",
                f"link set out-{name} up",
            ]
        quiet = "for place in all default; do echo 1 >/proc/sys/net/ipv6/conf/$place/disable_ipv6; done"
        machine.run("h", ["sh", "-c", quiet])
        machine.run("h", ["ip", "-batch", "-"], "\n".join(lines) + "\n")
        outside = {}
        with inside(path):
            for name in PORTS:
                outside[name] = packets(f"out-{name}")
        yield Bench(path, folder, outside)
        for opened in outside.values():
            opened.close()


def numbers(opened: socket.socket, count: int) -> list[int]:
    """Of the frames that come; the kernel has taken their tags out."""
    found: list[int] = []
    while len(found) < count:
        try:
            found.append(int.from_bytes(opened.recv(2048)[14:18], "big"))
        except TimeoutError:
            break
    return found
