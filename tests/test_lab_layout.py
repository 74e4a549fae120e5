# SPDX-License-Identifier: Apache-2.0
"""What the laboratory makes of a network, without making it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from penstock import run as runner
from penstock.errors import InputError
from penstock.lab.layout import bridge_commands, cables, host_port, offloads, station_commands
from penstock.lab.programs import How, phase_ns, programs, raster_ns
from penstock.lab.run import needed
from penstock.lab.scene import plan_of
from penstock.scenario import load
from penstock.scenario.network import Network

SCENARIO: dict[str, Any] = {
    "name": "small",
    "duration": "10ms",
    "bridges": {
        "sw": {
            "ports": 3,
            "classes": {"7": {"selection": "strict"}, "6": {"selection": "strict"}},
            "port": {
                "2": {
                    "gates": {
                        "cycle_time": "2ms",
                        "entries": [
                            {"open": [7], "interval": "200us"},
                            {"open": [0, 1, 2, 3, 4, 5, 6], "interval": "1800us"},
                        ],
                    }
                }
            },
        }
    },
    "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}, "c": {"at": "sw.2"}},
    "streams": {
        "control": {
            "from": "a",
            "to": ["c"],
            "vlan": 10,
            "pcp": 3,
            "source": {"frames": "128B", "every": "2ms"},
        },
        "bulk": {"from": "b", "to": ["c"], "vlan": 10, "pcp": 0, "source": {"frames": "1000B", "every": "1ms"}},
    },
}


def _network(**changes: Any) -> Network:
    scenario = copy.deepcopy(SCENARIO)
    for path, value in changes.items():
        *before, last = path.split("__")
        table = scenario
        for key in before:
            table = table.setdefault(key, {})
        table[last] = value
    return load(scenario, "linux")


def test_each_link_is_a_veth_with_a_queue_for_each_class() -> None:
    found = cables(_network())
    ends = [{cable.a, cable.b} for cable in found]
    assert ends == [{(name, "eth0"), ("sw", f"port{port}")} for port, name in enumerate("abc")]
    assert {cable.queues for cable in found} == {8}


def test_interfaces_are_named_by_the_scenario() -> None:
    network = _network(stations__a__linux={"interface": "enp2s0", "queues": [[7, 6], [0, 1, 2, 3, 4, 5]]})
    assert host_port(network, "a", 0).interface == "enp2s0"
    assert ("a", "enp2s0") in {end for cable in cables(network) for end in (cable.a, cable.b)}
    assert station_commands(network, "a") == "link set enp2s0 address 02:00:00:00:00:01"


def test_a_bridge_keeps_vlans_apart_and_frames_in_their_priority() -> None:
    network = _network(bridges__sw__vlans={"10": ["a", "c", "b"]})
    links, entries, filters = bridge_commands(network, network.bridges["sw"])
    assert links.splitlines()[0].startswith("link add br0 type bridge vlan_filtering 1")
    assert "vlan add dev port0 vid 1 pvid untagged" in entries
    assert "vlan add dev port2 vid 10" in entries
    assert "fdb replace 02:00:00:00:00:03 dev port2 master static vlan 10" in entries
    assert "filter add dev port1 ingress protocol 802.1Q flower vlan_prio 3 action skbedit priority 3" in filters


def test_a_port_is_member_of_its_own_vlans_only() -> None:
    network = _network(bridges__sw__vlans={"10": ["a", "c"]}, streams__bulk__vlan=20)
    _, entries, _ = bridge_commands(network, network.bridges["sw"])
    assert "vlan add dev port1 vid 10" not in entries
    assert "vlan add dev port1 vid 20" in entries


def test_only_what_the_scenario_shapes_gets_qdiscs() -> None:
    network = _network()
    plan = plan_of(network, "sw")
    assert plan is not None
    assert [(port.interface, port.qdiscs[0].qdisc.kind) for port in plan.ports] == [("port2", "taprio")]
    assert plan_of(network, "a") is None
    assert needed(network) == ["bridge", "clsact", "flower", "taprio"]


def test_what_a_device_would_do_the_kernel_does() -> None:
    gates = {"cycle_time": "1ms", "entries": [{"open": "all", "interval": "1ms"}]}
    offloaded = {"interface": "eth0", "gates": "offload"}
    network = _network(stations__a__gates=gates, stations__a__linux=offloaded)
    port = host_port(network, "a", 0)
    assert (port.mode, port.clock) == ("software", "TAI")
    assert offloads(network) == ["a"]
    assert offloads(_network()) == []


def test_listeners_start_before_talkers_and_share_ids() -> None:
    found = programs(_network(), How(), 1_000_000_000)
    assert [program.name for program in found] == ["listen-c", "talk-a", "talk-b"]
    ids = {stream["name"]: stream["id"] for stream in found[0].plan["streams"]}
    assert ids == {"control": 1, "bulk": 2}
    assert [stream["id"] for program in found[1:] for stream in program.plan["streams"]] == [1, 2]
    assert found[1].plan["transmit_offset_ns"] == 0
    assert "send" not in found[1].plan


def test_streams_of_a_class_with_etf_get_launch_times() -> None:
    network = _network(
        stations__a__linux={"interface": "eth0", "etf": {"delta": "300us", "classes": [7]}},
        streams__more={
            "from": "a",
            "to": ["c"],
            "vlan": 10,
            "pcp": 0,
            "source": {"frames": "200B", "every": "1ms"},
        },
    )
    found = {program.name: program.plan for program in programs(network, How(transmit_offset_ns=400_000), 0)}
    assert [stream["name"] for stream in found["talk-launch-a"]["streams"]] == ["control"]
    assert (found["talk-launch-a"]["send"], found["talk-launch-a"]["transmit_offset_ns"]) == ("launch_time", 400_000)
    assert [stream["name"] for stream in found["talk-a"]["streams"]] == ["more"]


def test_launch_times_without_etf_are_times_to_send_at() -> None:
    source = {"frames": "200B", "every": "1ms", "launch": "95us"}
    stream = {"from": "a", "to": ["c"], "vlan": 10, "pcp": 0, "source": source}
    etf = {"interface": "eth0", "etf": {"delta": "300us", "classes": [7]}}
    network = _network(stations__a__linux=etf, streams__more=stream)
    (more,) = {program.name: program.plan for program in programs(network, How(), 0)}["talk-a"]["streams"]
    assert more["offset_ns"] == 95_000
    assert "send" not in more


def test_all_streams_that_no_host_can_send_are_told_once() -> None:
    addresses = {"source": "10.0.0.2", "destination": "10.0.0.3"}
    short = {"from": "b", "to": ["c"], "udp": addresses, "source": {"frames": "64B", "every": "1ms"}}
    network = _network(streams__bulk=short, streams__other=short | {"udp": addresses | {"destination_port": 7}})
    with pytest.raises(InputError) as caught:
        programs(network, How(), 0)
    assert [error.key for error in caught.value.errors] == ["streams.bulk.source", "streams.other.source"]


def test_stations_that_use_udp_have_addresses_and_neighbours() -> None:
    network = _network(
        streams__bulk={
            "from": "b",
            "to": ["c"],
            "udp": {"source": "10.0.0.2", "destination": "10.0.0.3", "source_port": 1, "destination_port": 2},
            "source": {"frames": "200B", "every": "1ms"},
        }
    )
    assert station_commands(network, "b").splitlines()[1:] == [
        "address replace 10.0.0.2/32 dev eth0",
        "route replace 10.0.0.3/32 dev eth0",
        "neighbour replace 10.0.0.3 lladdr 02:00:00:00:00:03 dev eth0 nud permanent",
    ]
    assert "address replace 10.0.0.3/32 dev eth0" in station_commands(network, "c")


def test_a_run_starts_with_a_cycle_of_all_gates() -> None:
    gates = {"cycle_time": "3ms", "entries": [{"open": "all", "interval": "3ms"}]}
    assert raster_ns(_network()) == 2_000_000
    assert raster_ns(_network(stations__a__gates=gates)) == 6_000_000
    start = 10_000_500
    network = _network(bridges__sw__port__2__linux={"interface": "eth2", "start": start})
    assert phase_ns(network) == start % 2_000_000


def test_linux_nodes_stand_alone() -> None:
    with pytest.raises(InputError, match="real Linux and simulated time do not meet"):
        load({**copy.deepcopy(SCENARIO), "bridges": {"sw": {"ports": 3, "nodes": "linux"}}})


def test_the_engine_does_not_run_real_hosts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the nodes are real Linux"):
        runner.run(_network(), tmp_path / "out")


def test_the_example_is_a_scenario_of_linux_hosts() -> None:
    network = load(Path(__file__).parents[1] / "scenarios" / "lab", "linux")
    assert network.nodes == "linux"
    assert [program.role for program in programs(network, How(), 0)] == ["listen", "talk", "talk"]
