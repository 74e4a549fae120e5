# SPDX-License-Identifier: Apache-2.0
"""Asks a data plane at times of a run, and prints each answer with its time: a program beside talkers and listeners.

It imports nothing but Python's library, since it runs in the guest too. Its plan has `asks`, a list of `at_ns` after
the base time and `ask`, what is asked, in the order of their times, and `base_time_tai_ns`.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path

_PATIENCE_S, _RETRY_S = 10.0, 0.01


def main() -> None:
    """Asks what a plan says; the command line names its file and the plane's socket."""
    plan = json.loads(Path(sys.argv[1]).read_text())
    base_ns = plan["base_time_tai_ns"]
    _sleep_until(base_ns + plan["asks"][0]["at_ns"])
    with _connected(sys.argv[2]) as line:
        answers = line.makefile("rb")
        for each in plan["asks"]:
            _sleep_until(base_ns + each["at_ns"])
            at_ns = time.clock_gettime_ns(time.CLOCK_TAI) - base_ns
            line.sendall(json.dumps(each["ask"]).encode() + b"\n")
            print(json.dumps({"at_ns": at_ns, "ask": each["ask"], "answer": json.loads(answers.readline())}))


def _connected(path: str) -> socket.socket:
    """To a plane, which a busy machine may start later than it is asked first; raises OSError if it never listens."""
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            line.close()
            if time.monotonic() > give_up:
                raise
            time.sleep(_RETRY_S)
        else:
            return line


def _sleep_until(tai_ns: int) -> None:
    while (left_ns := tai_ns - time.clock_gettime_ns(time.CLOCK_TAI)) > 0:
        time.sleep(left_ns / 1e9)


if __name__ == "__main__":
    main()
