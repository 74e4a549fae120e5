# SPDX-License-Identifier: Apache-2.0
"""The time-aware NIC paper's testbed as Linux hosts, on a kernel with taprio; set_conf from Python and C."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.lab.machine import Machine
from penstock.lab.run import Where, machine_with
from penstock.reproduce.time_aware_nic.hosts import OnHosts

ENGINE = Path(__file__).parents[2] / "engine"


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with machine_with(OnHosts().needs(), {}, Where(), print) as started:
        yield started


def test_hosts_do_what_the_paper_says(machine: Machine) -> None:
    (found,) = OnHosts().found(machine, print).values()
    assert [row for row in found.rows if not row.ok] == []
    assert len(found.rows) == 9


@pytest.fixture
def host(machine: Machine) -> Iterator[str]:
    machine.ask("namespace", host="one")
    made = "ip link add eth0 numtxqueues 3 type veth peer name far; ip link set eth0 up; ip link set far up"
    machine.run("one", ["sh", "-e", "-c", made])
    yield "one"
    machine.ask("forget")


PROGRAM = """
import sys
from penstock.messages import MessageError, Schedule, get_conf, set_conf

def tried(what, *words):
    try:
        return what(*words)
    except MessageError as error:
        return error.args

paper = Schedule((50_000, 50_000, 900_000), (2, 1, 0), 1_000_000)
other = Schedule((0, 0, 500_000), (2,), 1_000_000, 20_000)
fewer = Schedule((300_000, 700_000), (1, 0), 1_000_000)
plain = Schedule((0, 0, 0))
print(tried(get_conf, "eth0"))
for conf in (paper, other, paper, plain, fewer, plain):
    set_conf("eth0", conf)
    assert get_conf("eth0") == conf, (get_conf("eth0"), conf)
print(tried(set_conf, "eth0", Schedule((0, 0, 0, 0))))
print(tried(set_conf, "eth0", Schedule((1000,), (0,), 2000)))
print(tried(set_conf, "eth9", paper))
print(tried(set_conf, "", paper))
assert get_conf("eth0") == plain
"""


def test_what_is_read_back_is_what_acts(machine: Machine, host: str) -> None:
    said = machine.run(host, [sys.executable, "-c", PROGRAM]).splitlines()
    assert said[0].startswith("(-13, 'eth0 has no schedule: its qdisc is ")
    assert said[1] == "(-11, 'eth0 has 3 transmission queues and the schedule is for 4; up to 3 are allowed')"
    assert said[2].startswith("(-11, 'the slot of queue 0 takes 1000 ns, less than the longest frame and its guard")
    assert said[3].startswith("(-12, 'eth9: No such device")
    assert said[4].startswith("(-10, 'this node has no card with time slots in hardware; the name of an interface")


def test_the_kernels_tools_see_the_same(machine: Machine, host: str, tmp_path: Path) -> None:
    build = ["cargo", "build", "-q", "--locked", "-p", "penstock-msg", "--profile", "end"]
    subprocess.run(build, cwd=ENGINE, check=True, timeout=600)
    program, source = tmp_path / "schedule", ENGINE / "msg" / "examples" / "schedule.c"
    library = ENGINE / "target" / "end" / "libpenstock_msg.a"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ENGINE / 'msg' / 'include'}"]
    subprocess.run(["cc", *flags, "-o", program, source, library, "-lpthread", "-lm", "-ldl"], check=True, timeout=60)
    said = machine.run(host, [str(program), "eth0"])
    assert said.splitlines() == [
        "queue 2: 900000 of 1000000 ns",
        "queue 1: 50000 of 1000000 ns",
        "queue 0: 50000 of 1000000 ns",
    ]
    shown = machine.run(host, ["tc", "qdisc", "show", "dev", "eth0"])
    assert "taprio 5080: root" in shown
    assert "index 0 cmd S gatemask 0x4 interval 900000" in shown
