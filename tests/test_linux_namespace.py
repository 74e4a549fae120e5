# SPDX-License-Identifier: Apache-2.0
"""The commands in a network namespace of this machine's kernel: what they refuse, and that nothing of it stays.

Which qdiscs the kernel has does not matter here: what it lacks has to be told and undone as well.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from linux_host import EXAMPLE
from rights import needs_namespaces

Run = Callable[[str], tuple[int, str]]

_VETH = "ip link add enp2s0 numtxqueues {queues} type veth peer name peer; ip link set enp2s0 up; ip link set peer up\n"
_SOURCES = Path(__file__).resolve().parents[1] / "src"
_PENSTOCK = f"{sys.executable} -m penstock linux"


pytestmark = needs_namespaces


@pytest.fixture
def inside(tmp_path: Path) -> Run:
    """Runs a script in a network namespace that ends with it."""

    def run(script: str) -> tuple[int, str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(_SOURCES),
            "PENSTOCK_STATE": str(tmp_path / "state"),
            "PENSTOCK": _PENSTOCK,
        }
        command = ["unshare", "--net", "sh", "-c", script]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=300, check=False, cwd=EXAMPLE
        )
        return done.returncode, done.stdout + done.stderr

    return run


# A child ends itself by a signal when the offloads are off and the root qdisc is next; then what it left is removed.
_ENDED = """
import os, signal, sys
from penstock.linux.apply import apply, remove
from penstock.linux.host import ThisHost
from penstock.linux.plan import plan_host
from penstock.scenario import load

class Ended(ThisHost):
    def turn_feature(self, interface, name, on):
        super().turn_feature(interface, name, on)
        if name == "gso" and not on:
            os.kill(os.getpid(), int(sys.argv[1]))

def offloads():
    return [host.feature("enp2s0", name) for name in ("tso", "gso")]

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
plan = plan_host(load("."), "talker")
with Ended() as host:
    print(offloads())
    child = os.fork()
    if child == 0:
        try:
            apply(plan, host)
        except BaseException as error:
            print(type(error).__name__, flush=True)
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), offloads())
    print(remove(plan, host), offloads(), os.listdir(os.environ["PENSTOCK_STATE"]))
"""

_STATE = "tc qdisc show dev enp2s0; ip -br link | sed 's/ .*//'; ls $PENSTOCK_STATE 2>/dev/null"


def test_applied_or_undone(inside: Run) -> None:
    """A kernel with taprio applies and removes; one without says what it lacks and is as before."""
    script = (
        _VETH.format(queues=4)
        + f"""
        before=$({_STATE})
        $PENSTOCK apply . talker; applied=$?
        if [ $applied = 0 ]; then $PENSTOCK verify . talker && $PENSTOCK remove . talker; fi
        [ "$before" = "$({_STATE})" ] || {{ echo "left over:"; {_STATE}; exit 99; }}
        exit $applied"""
    )
    status, said = inside(script)
    if status == 0:
        assert "read back and equal" in said
        assert "removed from enp2s0" in said
    else:
        assert status == 3, said
        assert "enp2s0: taprio at root" in said or "VLAN interface enp2s0.10" in said


@pytest.mark.parametrize(("number", "left"), [(signal.SIGKILL, True), (signal.SIGTERM, False), (signal.SIGINT, False)])
def test_ended_half_way(number: int, left: bool, inside: Run) -> None:
    """A signal that can be heard undoes all; after `kill -9` remove does."""
    script = f"exec {shlex.quote(sys.executable)} -u -c {shlex.quote(_ENDED)} {int(number)}"
    status, said = inside(_VETH.format(queues=4) + script)
    assert status == 0, said
    on = "[True, True]"
    if left:
        assert said.splitlines() == [on, "-9 [False, False]", f"(['enp2s0'], []) {on} []"]
    else:
        assert said.splitlines() == [on, "TerminatedError", f"1 {on}", f"([], []) {on} []"]


def test_verify_tells_the_differences_and_changes_nothing(inside: Run) -> None:
    status, said = inside(_VETH.format(queues=4) + "$PENSTOCK verify . talker")
    assert status == 1
    assert "enp2s0: root: wanted taprio, found noqueue" in said
    assert "enp2s0: VLAN interface enp2s0.10: wanted VLAN 10 of enp2s0, found nothing" in said


def test_too_few_queues_the_default_route_and_a_qdisc_of_others(inside: Run) -> None:
    script = (
        _VETH.format(queues=2)
        + """
        ip address add 10.1.1.1/24 dev enp2s0; ip route add default via 10.1.1.2
        tc qdisc replace dev enp2s0 root handle 1: pfifo limit 7
        $PENSTOCK apply . talker; status=$?
        tc qdisc show dev enp2s0
        exit $status"""
    )
    status, said = inside(script)
    assert status == 3
    assert said.count("error: ") == 3, said
    assert '"enp2s0" has 2 transmit queues, the plan needs 4' in said
    assert '"enp2s0" has the default route: this host may be cut off; allowed: --yes' in said
    assert "root qdisc that somebody set: pfifo" in said
    assert "qdisc pfifo 1: root refcnt 3 limit 7p" in said


def test_no_interface(inside: Run) -> None:
    status, said = inside("$PENSTOCK apply . talker --dry-run")
    assert status == 3
    assert 'there is no interface "enp2s0"' in said


def test_without_the_right_it_says_so_first(inside: Run) -> None:
    drop = "setpriv --bounding-set -net_admin --inh-caps -net_admin"
    status, said = inside(f"{drop} $PENSTOCK apply . talker")
    assert status == 3, said
    assert said.count("error: ") == 1
    assert "penstock linux apply changes interfaces and needs CAP_NET_ADMIN" in said
    assert inside(f"{drop} $PENSTOCK show . talker")[0] == 0
