# SPDX-License-Identifier: Apache-2.0
"""The time-aware NIC paper's testbed as Linux hosts, on a kernel with taprio; set_conf and get_conf there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.lab.machine import Machine
from penstock.lab.run import Where, machine_with
from penstock.reproduce.time_aware_nic.hosts import PROGRAM, OnHosts

pytestmark = pytest.mark.long(50)

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


PAPER = ["50000,50000,900000", "2,1,0", "1000000", "0"]
OTHER = ["0,0,500000", "2", "1000000", "20000"]
FEWER = ["300000,700000", "1,0", "1000000", "0"]
PLAIN = ["0,0,0", "", "0", "0"]


def test_what_is_read_back_is_what_acts(machine: Machine, host: str) -> None:
    program = str(PROGRAM.build())

    def refused(*words: str) -> str:
        done = machine.ask("run", host=host, command=[program, *words])
        assert done["status"] == 1
        return str(done["stderr"])

    assert refused("get", "eth0").startswith("error: eth0 has no schedule: its qdisc is ")
    for words in (PAPER, OTHER, PAPER, PLAIN, FEWER, PLAIN):
        machine.run(host, [program, "set", "eth0", *words])
        assert machine.run(host, [program, "get", "eth0"]).rstrip("\n").split(" ") == words
    told = "eth0 has 3 transmission queues and the schedule is for 4; up to 3 are allowed"
    assert told in refused("set", "eth0", "0,0,0,0", "", "0")
    assert "the slot of queue 0 takes 1000 ns, less than the longest frame" in refused(
        "set", "eth0", "1000", "0", "2000"
    )
    assert "eth9: No such device" in refused("set", "eth9", *PAPER)
    assert "no card with time slots in hardware" in refused("set", "", *PAPER)
    assert machine.run(host, [program, "get", "eth0"]).rstrip("\n").split(" ") == PLAIN


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
