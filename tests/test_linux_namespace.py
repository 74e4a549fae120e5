# SPDX-License-Identifier: Apache-2.0
"""The commands in a network namespace of this machine's kernel: what they refuse, and that nothing of it stays.

Which qdiscs the kernel has does not matter here: what it lacks has to be told and undone as well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from linux_host import EXAMPLE

Run = Callable[[str], tuple[int, str]]

_VETH = "ip link add enp2s0 numtxqueues {queues} type veth peer name peer; ip link set enp2s0 up; ip link set peer up\n"
_SOURCES = Path(__file__).resolve().parents[1] / "src"
_PENSTOCK = f"{sys.executable} -m penstock linux"


def _may_make_namespaces() -> bool:
    tools = all(shutil.which(name) for name in ("ip", "tc", "unshare"))
    return tools and subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not _may_make_namespaces(), reason="needs ip, tc, unshare and the right to make network namespaces"
)


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
            command, capture_output=True, text=True, env=environment, timeout=120, check=False, cwd=EXAMPLE
        )
        return done.returncode, done.stdout + done.stderr

    return run


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
        assert status == 1, said
        assert "enp2s0: taprio at root" in said or "VLAN interface enp2s0.10" in said


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
    assert status == 2
    assert said.count("error: ") == 3, said
    assert '"enp2s0" has 2 transmit queues, the plan needs 4' in said
    assert '"enp2s0" has the default route: this host may be cut off; allowed: --yes' in said
    assert "root qdisc that somebody set: pfifo" in said
    assert "qdisc pfifo 1: root refcnt 3 limit 7p" in said


def test_no_interface(inside: Run) -> None:
    status, said = inside("$PENSTOCK apply . talker --dry-run")
    assert status == 2
    assert 'there is no interface "enp2s0"' in said


def test_without_the_right_it_says_so_first(inside: Run) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv of util-linux is not there to give up CAP_NET_ADMIN")
    drop = "setpriv --bounding-set -net_admin --inh-caps -net_admin"
    for command in ("apply", "remove"):
        status, said = inside(f"{drop} $PENSTOCK {command} . talker")
        assert status == 2, said
        assert f"penstock linux {command} changes interfaces and needs CAP_NET_ADMIN" in said
    assert inside(f"{drop} $PENSTOCK show . talker")[0] == 0
