# SPDX-License-Identifier: Apache-2.0
"""Sends a random mix of frames by a packet socket: all lengths, tags, priorities and addresses, and some that are none.

A program of its own that imports nothing but Python's library. It prints how many frames it sent.
"""

from __future__ import annotations

import json
import random
import socket
import sys
import time

_BURST_MOST, _REST_S = 64, 0.005


def main() -> None:
    """INTERFACE SECONDS SEED."""
    interface, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(seed)
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    opened.setsockopt(263, 20, 1)  # SOL_PACKET, PACKET_QDISC_BYPASS
    opened.bind((interface, 0))
    time.sleep(0.5)  # until whoever is to take them is there
    sent, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(draw.randint(1, _BURST_MOST)):
            opened.send(_frame(draw))
            sent += 1
        time.sleep(draw.random() * 2 * _REST_S)
    time.sleep(1.0)  # until the queues are empty
    print(json.dumps({"sent": sent}))


def _frame(draw: random.Random) -> bytes:
    destination = draw.choice([b"\x02\0\0\0\0\2", b"\xff" * 6, b"\x01\x80\xc2\0\0\x0e", draw.randbytes(6)])
    source = draw.choice([b"\x02\0\0\0\0\1", bytes([draw.randrange(0, 256, 2)]) + draw.randbytes(5)])
    tag = b""
    if draw.random() < 0.7:
        tag = b"\x81\0" + (draw.randrange(8) << 13 | draw.choice([10, 20, draw.randrange(4096)])).to_bytes(2, "big")
    ethertype = draw.choice([b"\x88\xb5", b"\x08\x00", draw.randbytes(2)])
    return destination + source + tag + ethertype + draw.randbytes(draw.choice([0, 46, 1000, draw.randrange(1497)]))


if __name__ == "__main__":
    main()
