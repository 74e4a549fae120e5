# SPDX-License-Identifier: Apache-2.0
"""Who asks a plane in the middle of a run, where the plane is slow to begin."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

from penstock.lab import plane_asker


def asked(folder: Path) -> subprocess.Popen[str]:
    """It is to ask twice, from now on."""
    plan = {"base_time_tai_ns": time.clock_gettime_ns(time.CLOCK_TAI)}
    file = folder / "plan.json"
    file.write_text(json.dumps(plan | {"asks": [{"at_ns": at, "ask": {"do": str(at)}} for at in (0, 1000)]}))
    command = [sys.executable, "-I", plane_asker.__file__, str(file), str(folder / "plane.sock")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_plane_that_begins_late_is_waited_for(tmp_path: Path) -> None:
    with asked(tmp_path) as process, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        time.sleep(0.5)
        listening.settimeout(10)
        listening.bind(str(tmp_path / "plane.sock"))
        time.sleep(0.1)
        listening.listen()
        with listening.accept()[0] as line, line.makefile("rb") as requests:
            for _ in range(2):
                line.sendall(json.dumps({"was": json.loads(requests.readline())["do"]}).encode() + b"\n")
            printed, said = process.communicate(timeout=10)
    assert (process.returncode, said) == (0, "")
    assert [json.loads(row)["answer"]["was"] for row in printed.splitlines()] == ["0", "1000"]
