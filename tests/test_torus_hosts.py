# SPDX-License-Identifier: Apache-2.0
"""Linux hosts as nodes of tiles: what they are set to, all or nothing, and whether they reach each other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from penstock.cli import app
from penstock.scenario import load
from penstock.tiles.identity import Node
from penstock.torus.host_plan import plan_node
from penstock.torus.laboratory import Laboratory
from penstock.torus.of_scenario import Torus, torus_of
from penstock.torus.survey import BACK_S
from program import invoke
from rights import needs_any_namespaces, needs_namespaces

ROOT = Path(__file__).parents[1]
SCENARIO = ROOT / "scenarios" / "torus"


@pytest.fixture(scope="module")
def torus() -> Torus:
    return torus_of(load(SCENARIO))


def test_the_tables_become_routes_with_rising_metrics(torus: Torus) -> None:
    plan = plan_node(torus, Node(0, 0))
    assert plan.macs == {"row": "02:00:00:00:01:01", "column": "02:00:00:01:01:01", "side": "02:00:00:02:01:01"}
    assert [rule.incoming for rule in plan.rules] == ["lo", "row", "column", "side"]
    for rule in plan.rules:
        for node in torus.nodes[1:]:
            address = IPv4Address(bytes((10, 0, node.row + 1, node.column + 1)))
            ways = [each for each in plan.routes if (each.table, each.destination) == (rule.table, address)]
            assert [each.metric for each in ways] == [10 + number for number in range(len(ways))]
            assert rule.incoming not in [each.interface for each in ways]
    assert len(plan.neighbours) == 3


def test_a_scenario_without_names_of_interfaces_is_refused(tmp_path: Path) -> None:
    text = (SCENARIO / "scenario.toml").read_text().replace("interfaces =", "# interfaces =")
    (tmp_path / "scenario.toml").write_text(text)
    said = invoke(app, ["torus", "show", str(tmp_path), "node0"])
    assert (said.status, 'row = "eth1"' in said.output) == (2, True), said.output


@needs_any_namespaces
def test_hosts_reach_each_other_as_the_tables_say_with_a_link_or_a_node_dead(torus: Torus) -> None:
    with Laboratory(torus) as hosts:
        cases = hosts.cases()
        found = [next(cases) for _ in range(8)]
        found.append(hosts.case_of_node(torus.nodes[6]))
    assert [each.wrong for each in found] == [[]] * len(found)
    assert [each.arrived for each in found] == [240] * 8 + [210]
    assert max(each.more for each in found) == 6
    # The machine may be busy with something else for a while, but not always.
    assert min(each.back_s for each in found if each.back_s is not None) < BACK_S


@needs_any_namespaces
def test_the_laboratory_prints_what_it_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Laboratory, "cases", lambda hosts: iter([hosts.case("nothing", ())]))
    said = invoke(app, ["lab", str(SCENARIO)])
    assert (said.status, said.stdout.splitlines()[-1]) == (0, "240 of 240 ways as the tables say"), said.output


@needs_any_namespaces
def test_a_host_that_routes_otherwise_is_noticed(torus: Torus) -> None:
    with Laboratory(torus) as hosts:
        hosts.disturb(torus.nodes[0], "route del 10.0.1.2/32 metric 10 table 7000")
        found = hosts.case("nothing", (), patience_s=0)
    assert [each.split(":")[0] for each in found.wrong] == ["0,0,0,0 to 0,0,0,1"]


Run = Callable[[str], tuple[int, str]]
_LINKS = "for i in row column side; do ip link add $i type veth peer name peer-$i; ip link set peer-$i up; done\n"


@pytest.fixture
def inside(tmp_path: Path) -> Run:
    """Runs a script in a network namespace that ends with it."""

    def run(script: str) -> tuple[int, str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "PENSTOCK_STATE": str(tmp_path / "state"),
            "SAID": str(tmp_path / "said"),
            "P": f"{sys.executable} -m penstock torus",
        }
        first = "exec 2>&1\necho 0 >/proc/sys/net/ipv4/conf/all/rp_filter\n" + _LINKS
        command = ["unshare", "--net", "sh", "-c", first + script]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=300, check=False, cwd=ROOT
        )
        return done.returncode, done.stdout + done.stderr

    return run


@needs_namespaces
def test_what_is_applied_is_read_back_noticed_and_undone(inside: Run) -> None:
    status, said = inside("""
        state() { ip -o -4 address; ip -o link show row | grep -o 'ether [0-9a-f:]*'; ip rule; ip neigh
                   ip route show table all proto 80; cat /proc/sys/net/ipv4/conf/row/forwarding; }
        state >/tmp/before.$$
        $P apply scenarios/torus node0 && $P apply scenarios/torus node0 && $P verify scenarios/torus node0
        ip route del 10.0.1.2/32 metric 10 table 7000; ip neigh del 10.0.1.2 dev row
        $P verify scenarios/torus node0
        $P remove && $P remove
        state | diff /tmp/before.$$ - && echo as before; rm /tmp/before.$$
    """)
    lines = said.splitlines()
    assert lines[0] == "0,0,0,0 by row, column, side: 4 rules, 116 routes, 3 neighbours, read back and equal", said
    assert lines[1:3] == ["already applied, and as planned", "0,0,0,0: as planned"]
    assert lines[3].startswith("wanted route 10.0.1.2 via 10.0.1.2 dev row onlink metric 10 table 7000"), said
    assert lines[4] == "wanted neighbour 10.0.1.2 lladdr 02:00:00:00:01:02 dev row, found none", said
    assert (lines[5:], status) == (["removed", "nothing of an apply is there", "as before"], 0), said


@needs_namespaces
def test_an_apply_that_fails_or_is_killed_leaves_nothing(inside: Run) -> None:
    status, said = inside("""
        ip link set row up; ip route add 10.0.4.4/32 dev row metric 10 table 7003
        left() { ip rule | grep -c 'lookup 700'; ip route show table all proto 80 | wc -l; ip -o -4 address | wc -l; }
        $P apply scenarios/torus node0; echo status $?; left
        ip route flush table 7003
        $P apply scenarios/torus node0 & applying=$!
        while kill -0 $applying 2>/dev/null && ! ip -o -4 address | grep -q 10.0.1.1; do sleep 0.01; done
        kill -9 $applying; wait $applying 2>/dev/null; echo killed $?; $P remove; left
    """)
    lines = said.splitlines()
    assert "File exists (EEXIST)" in lines[0], said
    assert lines[1:5] == ["status 3", "0", "0", "0"], said
    assert lines[5:] == ["killed 137", "removed", "0", "0", "0"], said
    assert status == 0


@needs_namespaces
def test_what_is_in_the_way_is_told_before_anything_changes(inside: Run) -> None:
    _, said = inside("""
        ip link del side; echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter
        ip link set row up; ip address add 192.0.2.2/24 dev row; ip route add default dev row
        $P apply scenarios/torus node0; echo status $?; ip rule | wc -l
    """)
    for what in ("side: this host has no such interface", "row: the default route goes by it", "all.rp_filter is 1"):
        assert what in said
    assert said.splitlines()[-2:] == ["status 3", "3"], said


@needs_namespaces
def test_an_address_of_a_node_at_another_interface_is_refused(inside: Run) -> None:
    _, said = inside("""
        ip address add 10.0.1.2/24 dev peer-side; ip address add 10.0.9.9/24 dev peer-side
        ip address add 10.0.1.1/32 dev row
        $P apply scenarios/torus node0; echo status $?; ip rule | wc -l
        ip address flush dev peer-side; $P apply scenarios/torus node0
    """)
    assert "peer-side: its address 10.0.1.2 is that of a node" in said
    assert "10.0.9.9" not in said
    assert said.splitlines()[-3:-1] == ["status 3", "3"], said
    assert said.splitlines()[-1].endswith("read back and equal"), said


# A host that is a node, and its watcher in the background.
_WATCH = """
    until_planned() {
        for i in $(seq 100); do $P verify scenarios/torus node0 >/dev/null && return; sleep 0.02; done
        echo never; $P verify scenarios/torus node0
    }
    watch() {
        : >$SAID; $P watch scenarios/torus node0 >$SAID & watcher=$!
        while kill -0 $watcher && ! grep -q follows $SAID; do sleep 0.02; done
    }
    $P apply scenarios/torus node0 >/dev/null; watch
"""


@needs_namespaces
def test_routes_come_back_with_the_link(inside: Run) -> None:
    status, said = inside(f"""{_WATCH}
        ip link set row down; ip link set row up; ip link set column down; ip link set side down; ip link set side up
        ip link set column up; until_planned; $P verify scenarios/torus node0
        kill $watcher; wait $watcher 2>/dev/null; echo ended $?
    """)
    assert said.splitlines() == ["0,0,0,0: as planned", "ended 143"], said
    assert status == 0


@needs_namespaces
def test_a_watcher_that_is_killed_leaves_nothing_and_one_beside_a_remove_ends(inside: Run) -> None:
    _, said = inside(f"""{_WATCH}
        left() {{ ip rule | grep -c 'lookup 700'; ip route show table all proto 80 | wc -l; ip -4 neigh | wc -l; }}
        ip link set row down; ip link set row up; until_planned
        kill -9 $watcher; wait $watcher 2>/dev/null; $P remove; left
        $P apply scenarios/torus node0 >/dev/null; watch; $P remove; wait $watcher; echo ended $?; left
        tail -1 $SAID
    """)
    nothing = ["0", "0", "0"]
    assert said.splitlines() == [
        "removed", *nothing, "removed", "ended 0", *nothing, "0,0,0,0: this host is no node any more"
    ], said  # fmt: skip


@needs_namespaces
def test_only_interfaces_of_the_node_are_watched(inside: Run) -> None:
    _, said = inside(f"""
        $P watch scenarios/torus node0; echo status $?
        {_WATCH}
        ip link add other type veth peer name peer-other; ip link set other up; ip link set peer-other up
        ip address add 192.0.2.1/24 dev other; ip route add 198.51.100.0/24 via 192.0.2.2
        ip link set other down; ip link set other up
        ip link del side; ip link add side type veth peer name peer-side; ip link set peer-side up
        ip link set side up; ip link set row down; ip link set row up
        for i in $(seq 100); do [ $(ip route show table all proto 80 dev row | wc -l) = 38 ] && break; sleep 0.02; done
        kill $watcher; wait $watcher 2>/dev/null
        ip -4 route show table all dev side; ip route show 198.51.100.0/24; echo end
        $P remove
    """)
    lines = said.splitlines()
    assert lines[0].endswith("penstock-end: this host is not 0,0,0,0; allowed: penstock torus apply before"), said
    assert lines[1:] == ["status 2", "end", "removed"], said
