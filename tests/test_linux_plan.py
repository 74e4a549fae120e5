# SPDX-License-Identifier: Apache-2.0
"""From a scenario to qdiscs: the chain from stream to queue, the commands, and credit in the kernel's units."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from linux_host import EXAMPLE, SCENARIOS, example
from penstock import cli
from penstock.linux.commands import commands, ingress, removal
from penstock.linux.credit import Reservation, cbs
from penstock.linux.plan import PortPlan, plan_host
from penstock.linux.qdisc import Cbs, Entry, Etf, Mqprio, Taprio
from penstock.scenario import load

_EGRESS = "0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7"

SHOWN = {
    "talker": [
        "ethtool -K enp2s0 tso off gso off",
        "tc qdisc replace dev enp2s0 root handle 100: stab overhead 24 taprio num_tc 4 "
        "map 0 0 2 3 0 0 1 1 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 1@3 base-time 0 "
        "sched-entry S 8 100000 sched-entry S 7 900000 cycle-time 1000000 flags 0x0 clockid CLOCK_TAI",
        f"ip link add link enp2s0 name enp2s0.10 type vlan id 10 egress-qos-map {_EGRESS}",
        "ip link set dev enp2s0.10 up",
    ],
    "studio": [
        "ethtool -K enp3s0 tso off gso off",
        "tc qdisc replace dev enp3s0 root handle 100: mqprio num_tc 3 "
        "map 0 0 1 2 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 hw 0",
        "tc qdisc replace dev enp3s0 parent 100:2 handle 201: stab overhead 24 "
        "cbs idleslope 98688 sendslope -901312 hicredit 153 locredit -1389 offload 0",
        f"ip link add link enp3s0 name enp3s0.20 type vlan id 20 egress-qos-map {_EGRESS}",
        "ip link set dev enp3s0.20 up",
    ],
    "drive": [
        "ethtool -K enp2s0 tso off gso off",
        "tc qdisc replace dev enp2s0 root handle 100: stab overhead 24 taprio num_tc 2 "
        "map 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 base-time 0 "
        "sched-entry S 2 100000 sched-entry S 3 900000 cycle-time 1000000 flags 0x1 txtime-delay 500000 "
        "clockid CLOCK_TAI",
        "tc qdisc replace dev enp2s0 parent 100:1 handle 300: "
        "etf clockid CLOCK_TAI delta 300000 offload skip_sock_check",
        "tc qdisc replace dev enp2s0 parent 100:2 handle 301: "
        "etf clockid CLOCK_TAI delta 300000 offload skip_sock_check",
        f"ip link add link enp2s0 name enp2s0.10 type vlan id 10 egress-qos-map {_EGRESS}",
        "ip link set dev enp2s0.10 up",
    ],
}


@pytest.mark.parametrize("host", SHOWN)
def test_the_commands_are_exact(host: str) -> None:
    (plan,) = example(host).ports
    assert [" ".join(command) for command in commands(plan)] == SHOWN[host]


def test_show_prints_them_and_the_chain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["penstock", "linux", "show", str(EXAMPLE), "studio", "--json"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code in (0, None)
    (interface,) = json.loads(capsys.readouterr().out)["interfaces"]
    assert interface["commands"] == SHOWN["studio"]
    chain = {"so_priority": 2, "traffic_class": 6, "qdisc_class": 1, "queues": [1], "pcp": 2, "interface": "enp3s0.20"}
    assert interface["streams"] == {"video": chain}
    assert interface["removal"] == ["ip link delete enp3s0.20", "tc qdisc delete dev enp3s0 root"]


def test_a_video_stream_of_class_a_gets_the_known_credit() -> None:
    # 1470 B of H.264 in CVF: 24 B stream header, 4 B H.264 time stamp and 2 B of a fragment are 1500 B of data. With
    # header (14), tag (4), FCS (4), preamble and delimiter (8) and gap (12) 1542 B, 8000 times a second.
    data = 1470 + 24 + 4 + 2
    wire = data + 14 + 4 + 4 + 8 + 12
    assert (data, wire) == (1500, 1542)
    class_a = Reservation(8000 * wire * 8, wire)
    assert cbs(class_a, [], 10**9, interference_bytes=wire) == Cbs(98688, -901312, 153, -1389)


def test_class_b_waits_for_class_a_too() -> None:
    # 12 frames of 16 bits in stereo in AAF: 48 B and 24 B of header, 42 B around it, 4000 times a second.
    wire = 48 + 24 + 42
    class_a, class_b = Reservation(98_688_000, 1542), Reservation(4000 * wire * 8, wire)
    assert cbs(class_b, [class_a], 10**9, interference_bytes=1542) == Cbs(3648, -996352, 12, -113)


@pytest.mark.parametrize(
    ("overhead", "idle_slope"),
    [(42 - 4, 98432), (42 - 20, 97408), (18, 97152), (14, 96896)],
    ids=["without the tag", "without preamble and gap", "header and FCS only", "header only"],
)
def test_with_less_around_the_frame_the_slope_is_another(overhead: int, idle_slope: int) -> None:
    wire = 1500 + overhead
    found = cbs(Reservation(8000 * wire * 8, wire), [], 10**9, interference_bytes=wire)
    assert found.idle_slope_kbps == idle_slope != 98688


def test_a_slope_between_two_kilobits_is_rounded_up() -> None:
    assert cbs(Reservation(98_688_001, 1542), [], 10**9, 1542).idle_slope_kbps == 98689


def test_a_class_that_others_leave_nothing_has_all_the_credit_that_the_kernel_takes() -> None:
    all_of_it = Reservation(100 * 10**9, 1542)
    assert cbs(Reservation(1000, 1542), [all_of_it], 100 * 10**9, 1542).hi_credit_bytes == 1542
    assert cbs(Reservation(10**10, 9000), [all_of_it], 100 * 10**9, 9000).hi_credit_bytes == 2**31 - 1


HOST = """\
name = "case"
duration = "10ms"
nodes = "model"
[bridges.sw]
ports = 2
{bridge}
[stations.a]
at = "sw.0"
{station}
[stations.b]
at = "sw.1"
[streams.s]
from = "a"
to = ["b"]
{stream}
source = {{ frames = "100B", every = "1ms" }}
"""


def _plan(folder: Path, host: str, bridge: str = "", station: str = "", stream: str = "vlan = 5\npcp = 3") -> PortPlan:
    (folder / "scenario.toml").write_text(HOST.format(bridge=bridge, station=station, stream=stream))
    (port,) = plan_host(load(folder), host).ports
    return port


def test_each_stream_finds_the_queue_of_its_class(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "a", station='class_of_priority = [0, 1, 2, 3, 4, 5, 6, 7]\nlinux = { interface = "eth7" }')
    (sending,) = plan.sendings
    root = plan.qdiscs[0].qdisc
    assert isinstance(root, Mqprio)
    # Each link of the chain by itself: priority to class, class to queue, priority to PCP.
    assert sending.priority == sending.pcp == 3
    assert root.mapping.class_of_priority[sending.priority] == sending.qdisc_class == 3
    assert root.mapping.queues[sending.qdisc_class] == (1, sending.queues[0])
    (vlan,) = plan.vlans
    assert (vlan.name, vlan.pcp_of_priority[sending.priority]) == ("eth7.5", 3)


def test_untagged_frames_of_a_bridge_have_a_priority_of_their_class(tmp_path: Path) -> None:
    port = '[bridges.sw.port.1]\nlinux = { interface = "swp1" }'
    plan = _plan(tmp_path, "sw", bridge=f"class_of_untagged = 5\n{port}", stream="")
    (sending,) = plan.sendings
    assert sending.pcp is None
    assert (sending.priority, sending.traffic_class) == (7, 5)  # PCP 7 is of class 5
    assert plan.vlans == ()
    assert plan_host(load(tmp_path), "sw").is_bridge
    given = [" ".join(command) for command in ingress(plan)]
    assert given[0] == "tc qdisc add dev swp1 clsact"
    add = "tc filter add dev swp1 ingress pref"
    tagged = [f"{add} 1 protocol 802.1Q flower vlan_prio {p} action skbedit priority {p}" for p in range(8)]
    assert given[1:] == [*tagged, f"{add} 2 protocol all matchall action skbedit priority 7"]


def test_entries_are_cut_and_stretched_to_the_cycle(tmp_path: Path) -> None:
    gates = '[stations.a.gates]\ncycle_time = "{}"\nentries = [{{ open = [7], interval = "10us" }}, '
    gates += '{{ open = "all", interval = "20us" }}, {{ open = [1], interval = "30us" }}]'
    linux = 'linux = { interface = "eth7" }\n'
    for cycle, entries in {
        "100us": (Entry(0x80, 10_000), Entry(0xFF, 20_000), Entry(0x02, 70_000)),
        "25us": (Entry(0x80, 10_000), Entry(0xFF, 15_000)),
    }.items():
        plan = _plan(tmp_path, "a", station=linux + gates.format(cycle), stream="vlan = 5\npcp = 0")
        root = plan.qdiscs[0].qdisc
        assert isinstance(root, Taprio)
        assert root.entries == entries
        assert sum(entry.interval_ns for entry in entries) == root.cycle_time_ns


def test_utc_is_converted_and_an_integer_is_tai(tmp_path: Path) -> None:
    gates = '\n[stations.a.gates]\nbase_time = "5us"\nentries = [{ open = "all", interval = "1ms" }]'
    for start, base in {
        "2026-11-21T12:00:00Z": (1795262400 + 37) * 10**9,
        "2026-11-21T13:00:00+01:00": (1795262400 + 37) * 10**9,
        "1795262400000000000": 1795262400 * 10**9,
    }.items():
        plan = _plan(tmp_path, "a", station=f'linux = {{ interface = "eth7", start = {start} }}{gates}')
        root = plan.qdiscs[0].qdisc
        assert isinstance(root, Taprio)
        assert root.base_time_ns == base + 5000


def test_the_modes_of_gates(tmp_path: Path) -> None:
    gates = (
        '\n[stations.a.gates]\nentries = [{ open = "all", interval = "1ms" }]\n[stations.a.classes.7]\nmax_sdu = "200B"'
    )
    full = _plan(tmp_path, "a", station=f'linux = {{ interface = "eth7", gates = "offload" }}{gates}')
    root = full.qdiscs[0].qdisc
    assert isinstance(root, Taprio)
    assert (root.flags, root.clock, root.overhead_bytes, root.max_sdu_bytes) == (2, None, 24, {7: 200})
    assert "clockid" not in commands(full)[1]
    etf = 'txtime_delay = "400us", etf = { delta = "200us" }'
    assist = _plan(tmp_path, "a", station=f'linux = {{ interface = "eth7", gates = "txtime-assist", {etf} }}{gates}')
    children = [placed.qdisc for placed in assist.qdiscs[1:]]
    assert children == [Etf(200_000, 11, skip_sock_check=True)] * 8
    assert removal(assist)[-1] == ("tc", "qdisc", "delete", "dev", "eth7", "root")


def test_launch_times_below_credit(tmp_path: Path) -> None:
    station = (
        'classes.6 = { selection = "cbs", idle_slope = "20Mb/s" }\n'
        'linux = { interface = "eth7", credit = "offload", etf = { delta = "200us", classes = [6], offload = true } }'
    )
    _, credit, etf = _plan(tmp_path, "a", station=station).qdiscs
    assert isinstance(credit.qdisc, Cbs)
    assert credit.qdisc.offload
    assert (credit.parent, etf.parent) == (0x100_0007, credit.handle | 1)
    assert etf.qdisc == Etf(200_000, 11, offload=True)


def test_all_scenarios_without_linux_have_none() -> None:
    assert load(SCENARIOS / "tas").linux == {}
