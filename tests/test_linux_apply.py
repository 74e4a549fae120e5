# SPDX-License-Identifier: Apache-2.0
"""Apply is all or nothing, wherever it is stopped; remove undoes what was applied; differences are told one by one."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from linux_host import StandInHost, example
from penstock.lab.scene import plan_of
from penstock.linux import apply as changes
from penstock.linux.commands import commands
from penstock.linux.compare import differences
from penstock.linux.errors import ApplyError, KernelError, TerminatedError
from penstock.linux.netlink.links import Link
from penstock.linux.plan import HostPlan, PortPlan
from penstock.linux.preflight import advice, preflight
from penstock.linux.qdisc import ROOT, Entry, Other, Placed, Taprio
from penstock.reproduce.linux_shapers.laboratory import document
from penstock.reproduce.linux_shapers.place import cases
from penstock.scenario import load

# One host with the talker's interface and the studio's: gates, credit and VLAN interfaces at two interfaces.
_TALKER, _STUDIO = example("talker").ports[0], example("studio").ports[0]
PLAN = HostPlan("both", (_TALKER, _STUDIO))
STEPS = 11  # two offloads, root, VLAN and up; two offloads, root, cbs, VLAN and up


def _host() -> StandInHost:
    return StandInHost("enp2s0", "enp3s0", "eth0")


def test_applied_is_as_planned_and_removed_is_as_before(tmp_path: Path) -> None:
    host = _host()
    before = host.state()
    changes.apply(PLAN, host, tmp_path)
    assert changes.verify(PLAN, host) == []
    assert changes.applied(PLAN, host, tmp_path) == ["enp2s0", "enp3s0"]
    assert host.features == {(n, f): n == "eth0" for n in ("enp2s0", "enp3s0", "eth0") for f in ("tso", "gso")}
    assert changes.remove(PLAN, host, tmp_path) == (["enp3s0", "enp2s0"], [])
    assert host.state() == before
    assert list(tmp_path.iterdir()) == []
    assert changes.remove(PLAN, host, tmp_path) == ([], [])


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_refusal_at_any_step_undoes_all(step: int, tmp_path: Path) -> None:
    host = _host()
    before = host.state()

    def refuse(number: int) -> None:
        if number == step:
            raise KernelError(22, "no")

    host.before = refuse
    with pytest.raises(ApplyError, match=r"enp[23]s0: .*: Invalid argument \(EINVAL\): no$"):
        changes.apply(PLAN, host, tmp_path)
    assert host.state() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_signal_at_any_step_undoes_all(step: int, number: int, tmp_path: Path) -> None:
    host = _host()
    before = host.state()
    handlers = signal.getsignal(number)

    def stop(at: int) -> None:
        if at >= step:  # and again at each step of undoing
            os.kill(os.getpid(), number)

    host.before = stop
    with pytest.raises(TerminatedError) as raised:
        changes.apply(PLAN, host, tmp_path)
    assert raised.value.number == number
    assert host.state() == before
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(number) == handlers


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_what_a_killed_run_left_is_removed(step: int, tmp_path: Path) -> None:
    host = _host()
    before = host.state()

    class KilledError(BaseException):
        pass

    def kill(number: int) -> None:
        if number >= step:
            raise KilledError

    host.before = kill
    with pytest.raises(KilledError):
        changes.apply(PLAN, host, tmp_path)
    host.before = lambda number: None
    changes.remove(PLAN, host, tmp_path)
    assert host.state() == before
    assert list(tmp_path.iterdir()) == []


def test_what_the_kernel_shows_otherwise_is_told_and_undone(tmp_path: Path) -> None:
    host = _host()
    before = host.state()

    def cut(placed: Placed) -> Placed:
        if isinstance(placed.qdisc, Taprio):
            return replace(placed, qdisc=replace(placed.qdisc, entries=placed.qdisc.entries[:1]))
        return placed

    host.keeps = cut
    with pytest.raises(ApplyError) as raised:
        changes.apply(PLAN, host, tmp_path)
    assert "number of entries: wanted 2, found 1" in str(raised.value)
    assert "entry 1: wanted mask 0x7 for 900000 ns, found nothing" in str(raised.value)
    assert host.state() == before


def test_what_others_have_set_since_stays(tmp_path: Path) -> None:
    host = _host()
    changes.apply(PLAN, host, tmp_path)
    theirs = Placed(0x10000, ROOT, Other("htb"))
    host.placed[host.there["enp2s0"].index] = (theirs,)
    changes.remove(PLAN, host, tmp_path)
    assert host.placed[host.there["enp2s0"].index] == (theirs,)


def _taprio(port: PortPlan, **changed: object) -> tuple[Placed, ...]:
    root, *others = port.qdiscs
    return (replace(root, qdisc=replace(root.qdisc, **changed)), *others)  # type: ignore[arg-type]


def test_each_difference_is_told(tmp_path: Path) -> None:
    host = _host()
    changes.apply(PLAN, host, tmp_path)
    index = host.there["enp2s0"].index
    root = _TALKER.qdiscs[0].qdisc
    assert isinstance(root, Taprio)
    assert root.mapping is not None

    def said() -> list[str]:
        return [str(each).removeprefix("enp2s0: ") for each in differences(_TALKER, host)]

    host.placed[index] = _taprio(_TALKER, entries=(Entry(0x8, 100_000), Entry(0x3, 900_001)))
    assert said() == ["root taprio entry 1: wanted mask 0x7 for 900000 ns, found mask 0x3 for 900001 ns"]
    host.placed[index] = _taprio(_TALKER, base_time_ns=-37 * 10**9)
    assert said() == ["root taprio base time: wanted 0 ns, found -37000000000 ns, 37 s apart: UTC instead of TAI"]
    swapped = replace(root.mapping, class_of_priority=(1, 0, *root.mapping.class_of_priority[2:]))
    host.placed[index] = _taprio(_TALKER, mapping=swapped, clock=0, overhead_bytes=None)
    assert said() == [
        "root taprio map of priority 0: wanted class 0, found class 1",
        "root taprio clockid: wanted TAI, found REALTIME",
        "root taprio stab overhead: wanted 24, found nothing",
    ]
    host.placed[index] = (*_TALKER.qdiscs, Placed(0x90000, 0x1000001, Other("netem")))
    assert said() == ["queue 0: wanted nothing, found netem"]
    host.placed[index] = (*_TALKER.qdiscs, Placed(0, 0x1000001, Other("pfifo")))
    assert said() == []
    host.features["enp2s0", "gso"] = True
    vlan = host.there["enp2s0.10"]
    assert vlan.vlan is not None
    host.there["enp2s0.10"] = replace(vlan, vlan=replace(vlan.vlan, pcp_of_priority={3: 2}), is_up=False)
    assert "offload gso: wanted off, found on" in said()
    assert "VLAN interface enp2s0.10 egress map of priority 3: wanted PCP 3, found PCP 2" in said()
    assert "VLAN interface enp2s0.10: wanted up, found down" in said()
    del host.there["enp2s0"]
    assert said() == ["interface: wanted there, found nothing"]


def test_what_stands_on_the_way_in_does_not_matter(tmp_path: Path) -> None:
    host = _host()
    index = host.there["enp2s0"].index
    reception = Placed(0xFFFF0000, 0xFFFFFFF1, Other("clsact"))
    host.placed[index] = (*host.placed[index], reception)
    assert preflight(PLAN, host, frozenset(), yes=False) == []
    changes.apply(PLAN, host, tmp_path)
    host.placed[index] = (*_TALKER.qdiscs, reception)
    assert changes.verify(PLAN, host) == []
    in_a_circle = (Placed(0x20000, 0x30001, Other("htb")), Placed(0x30000, 0x20001, Other("htb")))
    host.placed[index] = (*_TALKER.qdiscs, *in_a_circle)
    assert len(differences(_TALKER, host)) == 2


def test_handles_of_others_do_not_matter() -> None:
    host = _host()
    host.features = {}
    index = host.there["enp3s0"].index
    root, credit = _STUDIO.qdiscs
    host.placed[index] = (replace(root, handle=0x66660000), replace(credit, handle=0x70000, parent=0x66660002))
    assert [d for d in differences(_STUDIO, host) if "VLAN" not in d.place] == []


def test_what_is_in_the_way() -> None:
    host = StandInHost("enp2s0", queues=2)
    said = [str(each) for each in preflight(PLAN, host, frozenset({"enp2s0"}), yes=False)]
    assert len(said) == 3
    assert '"enp2s0" has 2 transmit queues, the plan needs 4' in said[0]
    assert "has the default route" in said[1]
    assert "--yes" in said[1]
    assert 'there is no interface "enp3s0"' in said[2]
    host = _host()
    assert preflight(PLAN, host, frozenset({"enp2s0"}), yes=True) == []
    host.placed[host.there["enp2s0"].index] = (Placed(0x10000, ROOT, Other("htb")),)
    host.there["enp3s0.20"] = Link(9, "enp3s0.20", 1, True, "dummy")
    said = [str(each) for each in preflight(PLAN, host, frozenset(), yes=False)]
    assert len(said) == 2
    assert "already has a root qdisc that somebody set: htb; allowed: none: tc qdisc delete dev enp2s0 root" in said[0]
    assert 'already an interface "enp3s0.20"' in said[1]


def test_which_queue_is_served_first() -> None:
    talker = HostPlan("talker", (_TALKER,))
    rates: dict[str, int | None] = {"enp2s0": 1000}
    assert not [n for n in advice(talker, {"enp2s0": "stmmac"}, (6, 12), rates) if "queue 0" in n]
    assert [n for n in advice(talker, {"enp2s0": "igc"}, (6, 12), rates) if "igc serves queue 0 first" in n]
    assert [n for n in advice(talker, {"enp2s0": "veth"}, (6, 1), rates) if "Linux 6.1 serves queue 0 first" in n]
    (slow,) = [n for n in advice(talker, {}, (6, 12), {"enp2s0": 100}) if "link" in n]
    assert "100 Mb/s" in slow
    assert "1 Gb/s" in slow
    (unknown,) = [n for n in advice(talker, {}, (6, 12), {"enp2s0": None}) if "link" in n]
    assert "counts 10 Mb/s" in unknown


def test_a_bridge_is_told_that_its_frames_have_no_priority() -> None:
    for is_bridge in (False, True):
        told = advice(HostPlan("sw", (_TALKER,), is_bridge), {}, (6, 12), {"enp2s0": 1000})
        assert any("frames that are forwarded have priority 0" in note for note in told) is is_bridge


def test_gates_that_a_child_stopped_are_set_again(tmp_path: Path) -> None:
    case = next(case for case in cases(False) if case.at["configuration"] == "cbs-taprio")
    plan = plan_of(load(document(case, 1), "linux"), "talker")
    assert plan is not None
    host = StandInHost("eth0")
    changes.apply(plan, host, tmp_path)
    assert [placed.qdisc.kind for placed in host.placed[2]] == ["taprio", "cbs"]
    assert not host.stopped
    shown = [" ".join(command) for command in commands(plan.ports[0])]
    assert ["taprio" in text for text in shown if text.startswith("tc")] == [True, False, True]
    assert changes.remove(plan, host, tmp_path) == (["eth0"], [])
