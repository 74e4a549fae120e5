# SPDX-License-Identifier: Apache-2.0
"""Qdiscs on a real-time kernel that has them all, in a guest: applied, read back, removed.

Hosts are namespaces of the guest; what is asked of them goes over netlink sockets in the guest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from linux_host import EXAMPLE
from penstock.lab.guest import Guest
from penstock.lab.machine import Machine
from penstock.lab.remote_host import RemoteHost
from penstock.lab.setup import prepare
from penstock.linux import apply as changes
from penstock.linux.commands import commands, removal
from penstock.linux.errors import ApplyError
from penstock.linux.plan import HostPlan, plan_host
from penstock.scenario import load
from penstock.system_packages import require

LISTS = """\
name = "lists"
duration = "10ms"
nodes = "model"
[bridges.sw]
ports = 2
class_of_untagged = 1
[stations.a]
at = "sw.0"
linux = {{ interface = "enp2s0", gates = "{mode}"{more} }}
{classes}
[stations.a.gates]
entries = [
{entries}
]
[stations.b]
at = "sw.1"
[streams.s]
from = "a"
to = ["b"]
vlan = 10
pcp = 3
source = {{ frames = "64B", every = "1ms" }}
"""


def _lists(folder: Path, number: int, mode: str = "software", more: str = "", classes: str = "") -> HostPlan:
    """A plan with so many entries, each other than its neighbours; slow, as each is an interrupt of the guest."""
    states = ("[7]", "[0, 1, 2, 3, 4, 5, 6]", '"all"', "[7, 1]")
    entries = ",\n".join(
        f'{{ open = {states[index % 4]}, interval = "{500_000 + index}ns" }}' for index in range(number)
    )
    (folder / "scenario.toml").write_text(LISTS.format(entries=entries, mode=mode, more=more, classes=classes))
    return plan_host(load(folder), "a")


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    require({"ethtool": "ethtool"}, print)
    with Guest(prepare(print)) as guest, Machine(guest) as made:
        made.ask("namespace", host="host")
        for name in ("enp2s0", "enp3s0"):
            queues = "numtxqueues 8 numrxqueues 8"
            made.run("host", ["ip", "link", "add", name, *queues.split(), "type", "veth", "peer", "name", f"p{name}"])
            made.run("host", ["ip", "link", "set", name, "up"])
            made.run("host", ["ip", "link", "set", f"p{name}", "up"])
        yield made


@pytest.fixture
def host(machine: Machine) -> RemoteHost:
    return RemoteHost(machine, "host")


def _state(host: RemoteHost) -> object:
    """All that can be seen of the host's interfaces."""
    links = host.links()
    names = ("enp2s0", "enp3s0")
    features = [host.feature(name, feature) for name in names for feature in ("tso", "gso")]
    return links, [host.qdiscs(links[name]) for name in names], features


def _by_commands(machine: Machine, plan: HostPlan) -> None:
    """What `show` prints, as a person would type it."""
    for command in commands(plan.ports[0]):
        machine.run("host", list(command))


def _undo_commands(machine: Machine, plan: HostPlan) -> None:
    for command in removal(plan.ports[0]):
        machine.run("host", list(command))
    machine.run("host", ["ethtool", "-K", plan.ports[0].interface, "tso", "on", "gso", "on"])


@pytest.mark.parametrize("number", [8, 31, 64, 256])
def test_lists_of_any_length(number: int, host: RemoteHost, tmp_path: Path) -> None:
    plan, before = _lists(tmp_path, number), _state(host)
    changes.apply(plan, host, tmp_path / "journal")
    assert changes.verify(plan, host) == []
    assert changes.remove(plan, host, tmp_path / "journal") == (["enp2s0"], [])
    assert _state(host) == before


def test_a_list_that_has_not_begun(host: RemoteHost, tmp_path: Path) -> None:
    # As long as a list can be that the kernel still shows as a whole.
    plan = _lists(tmp_path, 850, more=", start = 2100-01-01T00:00:00Z")
    changes.apply(plan, host, tmp_path / "journal")
    assert changes.verify(plan, host) == []
    changes.remove(plan, host, tmp_path / "journal")


def test_what_tc_leaves_out_is_found(machine: Machine, host: RemoteHost, tmp_path: Path) -> None:
    """The tc of iproute2 6.1 ends with status 0 all the same."""
    plan = _lists(tmp_path, 64)
    _by_commands(machine, plan)
    found = [str(each) for each in changes.verify(plan, host)]
    shown = machine.run("host", ["tc", "qdisc", "show", "dev", "enp2s0"]).count("gatemask")
    _undo_commands(machine, plan)
    print(f"tc: {shown} of 64 entries")
    if shown == 64:
        assert found == []  # a tc of later
    else:
        assert f"enp2s0: root taprio number of entries: wanted 64, found {shown}" in found


@pytest.mark.parametrize("name", ["talker", "studio"])
def test_the_example(name: str, host: RemoteHost, tmp_path: Path) -> None:
    plan, before = plan_host(load(EXAMPLE), name), _state(host)
    changes.apply(plan, host, tmp_path)
    assert changes.verify(plan, host) == []
    changes.remove(plan, host, tmp_path)
    assert _state(host) == before


def test_the_commands_of_show_lead_to_the_same(machine: Machine, host: RemoteHost) -> None:
    plan, before = plan_host(load(EXAMPLE), "studio"), _state(host)
    _by_commands(machine, plan)
    assert changes.verify(plan, host) == []
    _undo_commands(machine, plan)
    assert _state(host) == before


def test_credit_below_gates(host: RemoteHost, tmp_path: Path) -> None:
    classes = "\n".join(
        f'classes.{number} = {{ selection = "cbs", idle_slope = "{number}0Mb/s", max_sdu = "1500B" }}'
        for number in (6, 5)
    )
    plan, before = _lists(tmp_path, 8, classes=classes), _state(host)
    assert [placed.qdisc.kind for placed in plan.ports[0].qdiscs] == ["taprio", "cbs", "cbs"]
    changes.apply(plan, host, tmp_path / "journal")
    assert changes.verify(plan, host) == []
    changes.remove(plan, host, tmp_path / "journal")
    assert _state(host) == before


def test_launch_times_by_software(host: RemoteHost, tmp_path: Path) -> None:
    more = ', txtime_delay = "400us", etf = { delta = "300us" }'
    plan, before = _lists(tmp_path, 4, "txtime-assist", more), _state(host)
    changes.apply(plan, host, tmp_path / "journal")
    assert changes.verify(plan, host) == []
    changes.remove(plan, host, tmp_path / "journal")
    assert _state(host) == before


def test_what_the_device_cannot_do_is_told_in_the_kernel_s_words_and_undone(host: RemoteHost, tmp_path: Path) -> None:
    """The drive's etf wants a device with launch times: refused when half of the plan is in place."""
    plan, before = plan_host(load(EXAMPLE), "drive"), _state(host)
    with pytest.raises(ApplyError, match=r"enp2s0: etf at 100:1: .*Specified device does not support ETF offload"):
        changes.apply(plan, host, tmp_path)
    assert _state(host) == before
    offload = _lists(tmp_path, 2, "offload")
    with pytest.raises(ApplyError, match="enp2s0: taprio at root: "):
        changes.apply(offload, host, tmp_path)
    assert _state(host) == before
