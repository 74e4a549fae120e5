# SPDX-License-Identifier: Apache-2.0
"""In-band synchronization of two planes by real frames: their clocks drift, and are brought together."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import app
from penstock.errors import MachineError
from penstock.plane.binary import PROGRAM
from penstock.plane.control import Control
from penstock.plane.sync import Plan, synchronize
from plane_bench import Bench, between, config
from program import invoke
from rights import needs_namespaces


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """With a cable more, between both planes."""
    with between(tmp_path) as made:
        made.run("ip", "link", "add", "m0", "type", "veth", "peer", "name", "m1")
        for name in ("m0", "m1"):
            made.run("ip", "link", "set", name, "up")
        yield made


@contextmanager
def follower(bench: Bench, **others: Any) -> Iterator[Path]:
    """A second plane, whose clock is wrong."""
    ports = [{"interface": "m1", "rate": "1Gb/s"} | others, {"interface": "p1", "rate": "1Gb/s"}]
    file, path = bench.folder / "follower.json", bench.folder / "follower"
    file.write_text(json.dumps({"ports": ports, "clock": {"offset": "7ms", "drift": "5.56ppm"}}))
    command = bench.command(str(PROGRAM.build()), "--config", str(file), "--control", str(path))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        while "ready" not in (line := process.stderr.readline()):
            assert line, "the plane did not start"
        yield path
    finally:
        process.terminate()
        process.wait(timeout=10)


def origin() -> dict[str, Any]:
    told = config()
    told["ports"][1] = {"interface": "m0", "name": "b", "rate": "1Gb/s"}
    return told


@needs_namespaces
def test_two_planes_are_brought_together(bench: Bench) -> None:
    with follower(bench, follows=True) as other, bench.plane(origin()):
        where = ["--socket", str(bench.folder / "control"), "--follower", f"{other}:m1"]
        numbers = ["--interval", "4", "--probes", "800", "--after", "200", "--checks", "100"]
        done = invoke(app, ["plane", "sync", "b", *where, *numbers, "--json"])
        assert done.status == 0, done.output
        with Control(other) as control:
            assert control.ask("sync", port="m1")["compensated"]
            assert control.ask("counters")["clock_steps"] == 2, "set, and stepped by the intercept"
    found = json.loads(done.stdout)
    assert abs(found["drift"]["slope_ppb"] - 5560) < 5000, "of 3.2 s, on a machine that does other things, too"
    before = [each["error_ns"] for each in found["truth"] if each["phase"] == "collecting"]
    after = [abs(each["error_ns"]) for each in found["truth"] if each["phase"] in ("checking", "done")]
    assert min(before) > 6.9e6
    assert max(after) < 20_000


@needs_namespaces
def test_nobody_sets_the_clock_of_a_plane_that_does_not_follow(bench: Bench) -> None:
    plan = Plan(interval_ms=1, probes=20, probes_after_set=10, checks=0)
    with follower(bench) as other, bench.plane(origin()) as control:
        with pytest.raises(MachineError, match="follows = true"):
            synchronize(control, "b", plan)
        with Control(other) as asked:
            told = asked.ask("counters")
            assert told["clock_steps"] == 0
            assert told["ports"]["m1"]["dropped"]["reserved_address"] >= 20
