# SPDX-License-Identifier: Apache-2.0
"""Records the two captures of this scenario from real programs.

Two network namespaces joined by a veth pair stand for talker and listener; tcpdump stamps with nanoseconds what the
talker sends. `control.pcapng` is Modbus/TCP: a client built on libmodbus writes sixteen set points and reads sixteen
values back (function 23) in a cycle of 50 us, and the server answers. `greedy.pcapng` is `iperf3 --udp` as fast as it
goes, which is more than 1 Gb/s.

The programs' frames are untagged, since not every kernel has VLAN devices: the 802.1Q tag is put in while the file is
written. Nothing else is changed. Frames are cut to SNAP_BYTES to keep the files small; the reader pads them with
zeros to their original length.

Needs root and, on Debian: apt-get install iperf3 iproute2 ethtool tcpdump libmodbus5

    .venv/bin/python scenarios/hello/make_captures.py
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from penstock.captures import CapturedFrame, read_capture, write_pcapng

HERE = Path(__file__).parent
SNAP_BYTES = 64  # before the tag
VLAN = 10
PLC, PC, DRIVE = ("02:00:00:00:00:01", "10.0.0.1"), ("02:00:00:00:00:02", "10.0.0.2"), ("02:00:00:00:00:03", "10.0.0.3")
CONTROL_FRAMES, GREEDY_FRAMES = 2000, 2500
CYCLE_NS = 50_000
MODBUS_PORT = 502


def main() -> None:
    """Records both flows."""
    if sys.argv[1:2] == ["modbus-server"]:
        modbus_server()
    elif sys.argv[1:2] == ["modbus-client"]:
        modbus_client(int(sys.argv[2]))
    else:
        here = [sys.executable, str(Path(__file__).resolve())]
        frames = record(
            PLC,
            [*here, "modbus-server"],
            [*here, "modbus-client", str(CONTROL_FRAMES + 500)],
            "tcp dst port 502",
            CONTROL_FRAMES,
        )
        save("control", frames, pcp=3)
        frames = record(
            PC,
            ["iperf3", "--server", "--one-off"],
            ["iperf3", "--client", "10.0.0.3", "--udp", "--bitrate", "0", "--length", "1472", "--time", "1"],
            "udp dst port 5201",
            GREEDY_FRAMES,
        )
        save("greedy", frames, pcp=0)


def record(
    talker_is: tuple[str, str], server: list[str], client: list[str], expression: str, count: int
) -> list[CapturedFrame]:
    """The first frames that the client sends to the server and that match the expression."""
    with namespaces(talker_is) as (talker, listener), tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "capture.pcap"
        with running(inside(listener, server)):
            time.sleep(1)
            sniffer = inside(talker, [
                "tcpdump", "-i", "veth", "-Q", "out", "--time-stamp-precision", "nano", "-j", "host", "-n",
                "-s", str(SNAP_BYTES), "-B", "65536", "-c", str(count), "-w", str(file), expression,
            ])  # fmt: skip
            with running(sniffer) as recording:
                time.sleep(1)
                with running(inside(talker, client)):
                    recording.wait(timeout=60)
        return list(read_capture(file).frames)


def save(name: str, frames: list[CapturedFrame], pcp: int) -> None:
    """Puts the tag in and writes the file, whose first frame is at time 0."""
    tag = b"\x81\x00" + (pcp << 13 | VLAN).to_bytes(2)
    start = frames[0].time_ps
    tagged = [
        CapturedFrame(f.time_ps - start, f.data[:12] + tag + f.data[12:], max(f.original_bytes, 60) + len(tag))
        for f in frames
    ]
    count = write_pcapng(HERE / f"{name}.pcapng", tagged, interface="veth", application="tcpdump, tag by Penstock")
    print(f"{name}: {count} frames in {tagged[-1].time_ps / 1e9:.3f} ms")


@contextlib.contextmanager
def namespaces(talker_is: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """A talker and a listener, gone afterwards."""
    talker, listener = f"penstock-talker-{os.getpid()}", f"penstock-listener-{os.getpid()}"
    try:
        for name in (talker, listener):
            ip("netns", "add", name)
        ip("-n", talker, "link", "add", "veth", "type", "veth", "peer", "name", "veth", "netns", listener)
        for name, (mac, address) in ((talker, talker_is), (listener, DRIVE)):
            ip("-n", name, "link", "set", "veth", "address", mac)
            ip("-n", name, "address", "add", f"{address}/24", "dev", "veth")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "veth", "up")
            # Checksums as on a wire, and no frame longer than a wire's.
            offload = ["ethtool", "-K", "veth", "tx", "off", "gso", "off", "tso", "off", "gro", "off"]
            subprocess.run(inside(name, offload), check=True, capture_output=True)
        yield talker, listener
    finally:
        for name in (talker, listener):
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is ended, by its own process id, when the block is left."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def inside(namespace: str, command: list[str]) -> list[str]:
    """A command within a namespace."""
    return ["ip", "netns", "exec", namespace, *command]


def ip(*arguments: str) -> None:
    """Changes the network."""
    subprocess.run(["ip", *arguments], check=True)


def libmodbus() -> ctypes.CDLL:
    """Libmodbus with the result types of the functions in use."""
    library = ctypes.CDLL("libmodbus.so.5")
    for name in ("modbus_new_tcp", "modbus_mapping_new"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


def modbus_server() -> None:
    """Answers one client until it leaves."""
    library = libmodbus()
    context = ctypes.c_void_p(library.modbus_new_tcp(b"0.0.0.0", MODBUS_PORT))
    mapping = ctypes.c_void_p(library.modbus_mapping_new(0, 0, 64, 0))
    listening = ctypes.c_int(library.modbus_tcp_listen(context, 1))
    if listening.value < 0 or library.modbus_tcp_accept(context, ctypes.byref(listening)) < 0:
        sys.exit("modbus: cannot listen")
    query = ctypes.create_string_buffer(260)
    while (length := library.modbus_receive(context, query)) >= 0:
        if length > 0:
            library.modbus_reply(context, query, length, mapping)


def modbus_client(cycles: int) -> None:
    """Writes set points and reads values in a fixed cycle; a cycle that is late is left out."""
    library = libmodbus()
    context = ctypes.c_void_p(library.modbus_new_tcp(b"10.0.0.3", MODBUS_PORT))
    if library.modbus_connect(context) < 0:
        sys.exit("modbus: cannot connect")
    points, values = (ctypes.c_uint16 * 16)(), (ctypes.c_uint16 * 16)()
    due = time.monotonic_ns()
    for cycle in range(cycles):
        points[0] = cycle & 0xFFFF
        if library.modbus_write_and_read_registers(context, 0, 16, points, 32, 16, values) != 16:
            sys.exit("modbus: no answer")
        due = max(due + CYCLE_NS, time.monotonic_ns())
        while time.monotonic_ns() < due:
            pass


if __name__ == "__main__":
    main()
