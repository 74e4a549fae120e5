# SPDX-License-Identifier: Apache-2.0
"""A gate list proposed for a plane that runs, on interfaces of namespaces."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.cli import app
from plane_bench import Bench, between, config, frame
from program import invoke
from rights import needs_namespaces

# Sends a frame at each multiple of a period, or by chance; before others where that is allowed.
TALKER = """
import contextlib, os, random, socket, sys, time
name, period, bytes_sent, chance = sys.argv[1], float(sys.argv[2]), bytes.fromhex(sys.argv[3]), sys.argv[4] == "True"
with contextlib.suppress(PermissionError):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
opened, drawn = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0), random.Random(1)
opened.bind((name, 0))
due = (time.clock_gettime(time.CLOCK_TAI) // period + 1) * period
while True:
    time.sleep(max(0.0, due - time.clock_gettime(time.CLOCK_TAI)))
    opened.send(bytes_sent)
    due += drawn.expovariate(1 / period) if chance else period
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with between(tmp_path) as made:
        yield made


@contextmanager
def talking(bench: Bench, pcp: int, period_s: float, chance: bool = False) -> Iterator[None]:
    """A talker of one class, of which nobody told the plane, with frames of 200 B."""
    words = [sys.executable, "-I", "-c", TALKER, "out-p0", str(period_s), frame(pcp, 0, 200).hex(), str(chance)]
    with subprocess.Popen(bench.command(*words)) as process:
        try:
            yield
        finally:
            process.kill()


@needs_namespaces
def test_a_gate_list_for_traffic_that_the_plane_was_not_told_about(bench: Bench) -> None:
    """The class is watched, gets its windows, and its frames then leave by them as they came."""
    path = str(bench.folder / "control")
    with bench.plane(config()) as control, talking(bench, 7, 0.02):
        done = invoke(app, ["plane", "propose", "b", "7", "--socket", path, "--for", "1s", "--apply", "--json"])
        assert done.status == 0, done.output
        told = json.loads(done.output)
        (flow,) = told["flows"]
        assert (flow["period_ns"], flow["frames_in_period"], flow["longest_bytes"]) == (20_000_000, 1, 200)
        assert told["flows"][0]["flow"] == "VLAN 10, 02:00:00:00:00:01 to 02:00:00:00:00:02"
        assert told["gates"]["cycle_time"] == 20_000_000
        assert told["open"] < 0.3
        time.sleep(0.2)
        now = control.ask("counters")["ports"]["b"]
        assert now["gates"]["cycle_time_ns"] == 20_000_000
        time.sleep(0.4)
        sent = control.ask("counters")["ports"]["b"]["sent_of_class"][7]["frames"] - now["sent_of_class"][7]["frames"]
        assert sent >= 12, "20 came"


@needs_namespaces
def test_no_gate_list_for_what_comes_by_chance(bench: Bench) -> None:
    path = str(bench.folder / "control")
    words = ["plane", "propose", "b", "7", "--socket", path, "--for", "800ms"]
    with bench.plane(config()) as control:
        done = invoke(app, words)
        assert (done.status, "nothing came" in done.stderr) == (2, True)
        with talking(bench, 7, 0.01, chance=True):
            done = invoke(app, [*words, "--apply"])
        assert (done.status, "its frames are not periodic" in done.stderr) == (2, True)
        assert control.ask("counters")["ports"]["b"]["gates"] is None
        done = invoke(app, ["plane", "propose", "c", "7", "--socket", path])
        assert (done.status, '"c" is no port' in done.stderr) == (2, True)
