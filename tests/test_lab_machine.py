# SPDX-License-Identifier: Apache-2.0
"""Hosts as namespaces of this machine's kernel: they are there, they talk, and nothing of them is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.errors import RunError
from penstock.lab.machine import ExecutorError, Machine
from penstock.lab.probe import WHAT, probe
from penstock.lab.remote_host import RemoteHost
from rights import needs_any_namespaces

# Makes a host with a program that goes on, says so, and waits to be ended.
HALF_WAY = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
from penstock.lab.machine import Machine
machine = Machine()
machine.ask("namespace", host="a")
machine.run(None, ["ip", "link", "add", "half0", "type", "veth", "peer", "name", "half1"])
print(machine._process.pid, flush=True)
program = {"name": "long", "host": "a", "command": ["/bin/sleep", "1000"], "plan": None}
machine.play([program], lead_ns=0, raster_ns=1, phase_ns=0, seconds=900)
"""


pytestmark = needs_any_namespaces


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine() as found:
        found.ask("namespace", host="b")
        path = found.ask("namespace", host="a")["path"]
        found.run(
            None,
            ["ip", "-batch", "-"],
            f"link add x numtxqueues 3 type veth peer name y\nlink set x netns {path} name eth0\n",
        )
        yield found


def _interfaces() -> str:
    return subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout


def test_a_host_has_its_own_interfaces(machine: Machine) -> None:
    assert "eth0" in machine.run("a", ["ip", "-o", "link"])
    assert "eth0" not in machine.run("b", ["ip", "-o", "link"])
    assert "eth0@" not in _interfaces()


def test_netlink_of_a_host_is_reached_from_here(machine: Machine) -> None:
    host = RemoteHost(machine, "a")
    link = host.links()["eth0"]
    assert (link.kind, link.transmit_queues, link.is_up) == ("veth", 3, False)
    host.set_up(link)
    assert host.links()["eth0"].is_up
    assert set(RemoteHost(machine, "b").links()) == {"lo"}


def test_offloads_of_a_host_are_turned_off(machine: Machine) -> None:
    host = RemoteHost(machine, "a")
    assert host.feature("eth0", "gso") is True
    host.turn_feature("eth0", "gso", False)
    assert host.feature("eth0", "gso") is False


def test_a_command_that_fails_says_why(machine: Machine) -> None:
    with pytest.raises(RunError, match=r"ip link set nothing up: .*nothing"):
        machine.run("a", ["ip", "link", "set", "nothing", "up"])
    with pytest.raises(ExecutorError, match="FileNotFoundError"):
        machine.run("a", ["/no/such/program"])


def test_programs_start_together_at_a_multiple_of_the_raster(machine: Machine) -> None:
    copy = ["/bin/sh", "-c", "cat {plan} >{out}/copy; exit 3"]
    programs = [{"name": f"p{n}", "host": "a", "command": list(copy), "plan": {"n": n}} for n in range(2)]
    played = machine.play(programs, lead_ns=5_000_000, raster_ns=1_000_000, phase_ns=250, seconds=20)
    assert [program["status"] for program in played["programs"]] == [3, 3]
    assert played["base_tai_ns"] % 1_000_000 == 250
    for n in range(2):
        content = (machine.results / f"p{n}" / "copy").read_text()
        assert content == f'{{"n": {n}, "base_time_tai_ns": {played["base_tai_ns"]}}}'


def test_programs_start_without_the_help_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulated clock runs ahead while a helper's files are opened, by seconds where this machine is busy."""
    helper, calls = tmp_path / "setpriv", tmp_path / "calls"
    helper.write_text(f'#!/bin/sh\necho "$@" >>{calls}\nexec {shutil.which("setpriv")} "$@"\n')
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with Machine() as machine:
        machine.ask("namespace", host="a")
        of_the_machine = calls.read_text()
        program = {"name": "p", "host": "a", "command": [shutil.which("true")], "plan": None}
        played = machine.play([program], lead_ns=0, raster_ns=1, phase_ns=0, seconds=20)
    assert played["programs"][0]["status"] == 0
    assert calls.read_text() == of_the_machine


def test_a_program_that_does_not_end_is_ended(machine: Machine) -> None:
    program = {"name": "long", "host": "a", "command": ["/bin/sleep", "1000"], "plan": None}
    played = machine.play([program], lead_ns=0, raster_ns=1, phase_ns=0, seconds=0.2)
    assert played["programs"][0]["status"] is None


def test_the_probe_says_of_each_thing_whether_it_is_there(machine: Machine) -> None:
    before = machine.run(None, ["ip", "-o", "link"])
    missing = probe(machine)
    assert set(missing) <= set(WHAT)
    assert all(missing.values())
    assert machine.run(None, ["ip", "-o", "link"]) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_is_left_of_a_run_that_is_killed_half_way(number: signal.Signals) -> None:
    before = _interfaces(), _shared()
    with subprocess.Popen([sys.executable, "-c", HALF_WAY], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        executor = int(process.stdout.readline())
        assert _wait(lambda: _sleeper(executor) is not None), "the program of the host did not start"
        sleeper = _sleeper(executor)
        process.send_signal(number)
        process.wait(timeout=30)
    assert _wait(lambda: not _runs(executor)), "the executor is left"
    assert sleeper is not None
    assert _wait(lambda: not _runs(sleeper)), "a program of a host is left"
    assert (_interfaces(), _shared()) == before


def _sleeper(executor: int) -> int | None:
    try:
        children = Path(f"/proc/{executor}/task/{executor}/children").read_text().split()
    except OSError:
        return None
    return next((int(child) for child in children if "sleep" in _command(int(child)).split("\0")[0]), None)


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def _runs(process: int) -> bool:
    # One that has ended but was not waited for has no command line any more.
    return bool(_command(process))


def _shared() -> list[str]:
    return sorted(path.name for path in Path("/dev/shm").glob("penstock-lab-*"))


def _wait(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False
