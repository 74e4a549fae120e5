# SPDX-License-Identifier: Apache-2.0
"""Sends frames by a packet socket: many at a time, or one in each cycle at a phase of CLOCK_TAI.

A program of its own that imports nothing but Python's library. It prints how many it sent, and what that cost.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import struct
import sys
import time
from pathlib import Path

_BURST, _BURSTS = 32, 30
_REST_S = 0.02
_TAG = b"\x81\x00\x00\x0a"  # VLAN 10


def main() -> None:
    """INTERFACE BYTES SECONDS, then FILE, or CYCLE_NS PHASE_NS: `BYTES` count the FCS.

    The file has the number of a process that is halted while frames gather for it, so that it always has many to do.
    """
    interface, size, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    frame = (b"\x02\0\0\0\0\2" + b"\x02\0\0\0\0\1" + _TAG + b"\x88\xb5").ljust(size - 4, b"\0")
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    opened.setsockopt(263, 20, 1)  # SOL_PACKET, PACKET_QDISC_BYPASS
    opened.bind((interface, 0))
    time.sleep(0.5)  # until whoever is to take them is there
    before = _spent_s()
    sent = _in_cycles(opened, frame, seconds) if len(sys.argv) == 6 else _gathered(opened, frame, seconds)
    cost = _spent_s() - before
    print(json.dumps({"sent": sent, "processor_s": cost}))
    time.sleep(0.3)


def _spent_s() -> float:
    """Processor time of this program, and of the kernel's threads that do what it left of the work behind a veth."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    threads = [file for file in Path("/proc").glob("[0-9]*/comm") if file.read_text().startswith("ksoftirqd/")]
    helped_ns = sum(int((file.parent / "schedstat").read_text().split()[0]) for file in threads)
    return own.ru_utime + own.ru_stime + helped_ns / 1e9


def _gathered(opened: socket.socket, frame: bytes, seconds: float) -> int:
    """Many frames by one call, which Python has no name for."""
    file = Path(sys.argv[4]) if len(sys.argv) == 5 else None
    process = int(file.read_text()) if file is not None else None
    place = ctypes.create_string_buffer(frame, len(frame))
    part = ctypes.create_string_buffer(struct.pack("@PN", ctypes.addressof(place), len(frame)))
    # struct mmsghdr: name and its length, parts and how many, control and its length, flags; the bytes sent
    header = struct.pack("@PI4xPNPNi4xI4x", 0, 0, ctypes.addressof(part), 1, 0, 0, 0, 0)
    messages = ctypes.create_string_buffer(header * _BURST)
    call = ctypes.CDLL(None).sendmmsg
    sent, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        if process is not None:
            os.kill(process, signal.SIGSTOP)
        for _ in range(_BURSTS):
            sent += max(0, int(call(opened.fileno(), messages, _BURST, 0)))
        if process is not None:
            os.kill(process, signal.SIGCONT)
        time.sleep(_REST_S)
    return sent


def _in_cycles(opened: socket.socket, frame: bytes, seconds: float) -> int:
    cycle_ns, phase_ns = int(sys.argv[4]), int(sys.argv[5])
    now_ns = time.clock_gettime_ns(time.CLOCK_TAI)
    sent, due_ns, end_ns = 0, now_ns // cycle_ns * cycle_ns + phase_ns, now_ns + round(seconds * 1e9)
    while due_ns < end_ns:
        ahead_ns = due_ns - time.clock_gettime_ns(time.CLOCK_TAI)
        if ahead_ns > 0:
            time.sleep(ahead_ns / 1e9)
            opened.send(frame)
            sent += 1
        due_ns += cycle_ns
    return sent


if __name__ == "__main__":
    main()
