# SPDX-License-Identifier: Apache-2.0
"""The laboratory's guest and whole scenarios in it. Whatever is missing is installed, or these tests fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.lab.emulation import Emulation
from penstock.lab.guest import SHARE, Guest
from penstock.lab.image import archive
from penstock.lab.kernel import Kernel
from penstock.lab.machine import Machine
from penstock.lab.programs import How
from penstock.lab.run import Where, run
from penstock.lab.setup import prepare
from penstock.scenario import load
from penstock.trace import read_trace

pytestmark = pytest.mark.long(60)

QDISCS = """
ip link add x numtxqueues 2 type veth peer name y
tc qdisc add dev x root handle 100: mqprio num_tc 2 map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 hw 0
tc qdisc replace dev x parent 100:1 etf clockid CLOCK_TAI delta 300000
tc qdisc replace dev x parent 100:2 cbs idleslope 98688 sendslope -901312 hicredit 153 locredit -1389
"""
SCENARIO = Path(__file__).parents[2] / "scenarios" / "lab"


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return prepare(print)


@pytest.fixture(scope="module")
def guest(kernel: Kernel) -> Iterator[Guest]:
    with Guest(kernel) as started:
        yield started


def test_busybox_reads_the_archive(tmp_path: Path) -> None:
    content = archive([("bin", 0o040755, b""), ("bin/tool", 0o100755, b"abc"), ("bin/link", 0o120777, b"tool")])
    subprocess.run(["busybox", "cpio", "-i"], input=content, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "bin" / "link").read_bytes() == b"abc"


def test_the_kernel_is_real_time(guest: Guest) -> None:
    done = guest.run(["uname", "-v"])
    assert "PREEMPT_RT" in done.stdout
    assert guest.run(["cat", "/sys/kernel/realtime"]).stdout == "1\n"


def test_status_and_both_outputs_come_back(guest: Guest) -> None:
    done = guest.run(
        ["sh", "-c", 'echo "$WORD" there; echo not >&2; pwd; exit 7'], cwd="/usr", environment={"WORD": "a'b"}
    )
    assert (done.status, done.stdout, done.stderr) == (7, "a'b there\n/usr\n", "not\n")


def test_a_command_ends_when_its_time_is_up(guest: Guest) -> None:
    assert guest.run(["sleep", "100"], timeout_s=1).status == 124


def test_commands_run_side_by_side(guest: Guest) -> None:
    waiting = guest.start(["sh", "-c", f"until [ -e {SHARE}/go ]; do sleep 0.1; done; echo went"])
    guest.run(["touch", f"{SHARE}/go"])
    assert guest.wait(waiting, 30).stdout == "went\n"
    assert (guest.share / "go").exists()


def test_the_guest_reads_this_machines_files_and_changes_none(guest: Guest, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("here")
    done = guest.run(["sh", "-c", f"cat {file}; echo there >{file}; cat {file}; touch /etc/penstock-was-here"])
    assert (done.status, done.stdout) == (0, "herethere\n")
    assert file.read_text() == "here"
    assert not Path("/etc/penstock-was-here").exists()


def test_all_modules_are_there(guest: Guest) -> None:
    names = ["sch_taprio", "sch_etf", "sch_cbs", "sch_mqprio", "sch_netem", "sch_prio", "8021q", "sctp"]
    done = guest.run(["modprobe", "-a", *names])
    assert (done.status, done.stderr) == (0, "")


def test_qdiscs_stand_at_hosts_of_the_guest(guest: Guest) -> None:
    with Machine(guest) as machine:
        assert machine.about.is_real_time
        machine.run(None, ["sh", "-ec", QDISCS])
        shown = machine.run(None, ["tc", "qdisc", "show", "dev", "x"])
    assert [f"qdisc {kind} " in shown for kind in ("mqprio", "etf", "cbs")] == [True] * 3
    assert "hicredit 153 locredit -1389 sendslope -901312 idleslope 98688" in shown


def test_a_scenario_runs_and_its_gates_hold(tmp_path: Path) -> None:
    network = load(SCENARIO, "linux")
    where = Where(guest=True, emulation=Emulation("icount"))
    result = run(network, tmp_path / "out", where, How(), print)
    summary, trace = result.summary, read_trace(tmp_path / "out" / "trace.parquet")
    assert summary["nodes"] == "linux"
    assert summary["conservation"]["ok"]
    assert [summary["streams"][name]["delivered"] for name in ("control", "bulk")] == [200, 400]
    assert summary["laboratory"]["preempt_rt"]
    assert "icount" in summary["laboratory"]["emulation"]
    assert summary["laboratory"]["qdiscs_verified"] == {"sw": ["port2"]}
    assert trace.height == 1200
    assert summary["ok"]
    # Released at 500 us of a cycle whose gate opens with the next one: the gate decides, and not the talker.
    latency = summary["streams"]["control"]["latency_ns"]
    assert 1_490_000 < latency["min"] < latency["max"] < 1_700_000
    # Half of the frames meet a closed gate for 200 us or more, the others none.
    assert summary["streams"]["bulk"]["latency_ns"]["min"] < 100_000
    assert summary["streams"]["bulk"]["latency_ns"]["mean"] > 100_000
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_no_guest_is_left_of_a_run_that_is_killed(number: signal.Signals, tmp_path: Path, kernel: Kernel) -> None:
    options = ["--on", "guest", "--emulation", "tcg", "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "penstock", "lab", *options, str(SCENARIO)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        while "the guest started" not in (line := process.stderr.readline()):
            assert line, "the run ended before its guest had started"
        machines = _qemu_below(process.pid)
        assert len(machines) == 1
        process.send_signal(number)
        process.wait(timeout=60)
    assert _wait(lambda: not any(_runs(machine) for machine in machines)), "QEMU is left"
    if number == signal.SIGTERM:
        assert list(tmp_path.iterdir()) == []


def test_the_command_line_runs_a_command() -> None:
    done = CliRunner().invoke(app, ["lab", "--shell", "--", "sh", "-c", "uname -n; exit 5"])
    assert done.exit_code == 5
    assert "penstock-lab" in done.stdout


def _qemu_below(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in children if "qemu" in Path(f"/proc/{child}/cmdline").read_text()]


def _runs(process: int) -> bool:
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_text())
    except OSError:
        return False


def _wait(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False
