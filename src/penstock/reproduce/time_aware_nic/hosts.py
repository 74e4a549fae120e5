# SPDX-License-Identifier: Apache-2.0
"""The testbed's six nodes as Linux hosts: ways and a detour, messages, and priorities in queues with time slots."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from penstock.errors import RunError
from penstock.lab.machine import Machine
from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic.place import FOLDER, tiling
from penstock.scenario import load
from penstock.static_program import StaticProgram
from penstock.tiles.identity import Node
from penstock.tiles.walk import Link, follow
from penstock.torus.laboratory import Laboratory
from penstock.torus.of_scenario import Torus, torus_of

# For hosts of a guest, which has not the processor that the engine of this machine is built for.
PROGRAM = StaticProgram("penstock-msg", ("msg", "shaper", "sys", "frame"))
_FILE = FOLDER / "testbed.toml"
CLIENT, SERVER = Node(0, 1), Node(0, 4)
_INTERFACE = "side"  # by which the client's frames leave
SIZES = (64, 1500, 65_536, 1 << 20, 1, 200_000)  # of messages, in bytes
_SCHEDULE = ["50000,50000,900000", "2,1,0", "1000000", "0"]  # slots by queue, their order, cycle and guard, in ns
_PRIORITIES = (0, 1, 2)
_OWN_PERCENT = 1.0  # the kernel's own last word on a connection that is closed has no socket, and no priority
_SECONDS = 1000.0  # for a program, by the clock of the hosts


def dead_link() -> Link:
    """The link of the tile's upper row."""
    links = tiling(_FILE).routing.grid.links
    return next(link for link in links if {link[0][0], link[1][0]} == {Node(0, 2), Node(0, 3)})


def _ways() -> Mapping[str, int]:
    """By the tables, over how many links a frame goes."""
    routing = tiling(_FILE).routing
    return {
        "shortest": follow(routing, CLIENT, SERVER).links,
        "dead": follow(routing, CLIENT, SERVER, [dead_link()]).links,
    }


_CALLED = {"shortest": "on the shortest path", "dead": "with a link of it dead"}


def _evaluate(_outcomes: Outcomes, _options: Options) -> Found:
    """What the tables say; the rest is of hosts alone."""
    return Found(
        [
            Row.equals(
                f"hosts.links.{way}", f"links from node to node {_CALLED[way]}", "links", links, wanted, 0
            ).as_key()
            for (way, links), wanted in zip(_ways().items(), (3, 5), strict=True)
        ]
    )


class OnHosts:
    """See `penstock.reproduce.experiment.OwnLaboratory`."""

    def needs(self) -> Sequence[str]:
        """The qdiscs that a schedule takes."""
        return ("mqprio", "taprio")

    def note(self, emulated: bool) -> str:
        """Nothing more than where they are."""
        return ""

    def found(self, machine: Machine, tell: Callable[[str], None]) -> Mapping[str, Found]:
        """Rows beside those of `_evaluate`, and below them."""
        torus = torus_of(load(_FILE))
        with Laboratory(torus, machine) as hosts:
            tell("ways between six hosts, with nothing and with a link dead")
            rows = links(hosts)
            tell("messages around the dead link")
            rows += messages(machine, hosts)
            tell("priorities in queues with time slots")
            rows += _schedule(machine)
            rows += _queues(machine, torus)
        return {"hosts": Found([row.as_key() for row in rows])}


def _row(name: str, what: str, seen: float | None, wanted: float) -> Row:
    return Row.equals(f"hosts.{name}", f"{what}, of {wanted:g}", "", seen, wanted, 0)


def links(hosts: Laboratory) -> list[Row]:
    """Ways on the shortest path, and with a link of it dead."""
    ways = _ways()
    rows = _seen(hosts, "shortest", (), ways["shortest"])
    with hosts.without(dead_link()):
        return rows + _seen(hosts, "dead", (dead_link(),), ways["dead"])


def _seen(hosts: Laboratory, way: str, dead: Sequence[Link], links: int) -> list[Row]:
    found = hosts.case(way, dead)
    what = f"links from node to node {_CALLED[way]}"
    right = found.pairs - len(found.wrong)
    return [
        Row.equals(f"hosts.links.{way}", what, "links", hosts.links(CLIENT, SERVER), links, 0),
        _row(f"ways.{way}", f"ways between all six as the tables say {_CALLED[way]}", right, found.pairs),
    ]


def messages(machine: Machine, hosts: Laboratory) -> list[Row]:
    """From the client to the server, around the dead link."""
    with hosts.without(dead_link()):
        whole = _exchange(machine, hosts.torus, SIZES)
    return [_row("messages.dead", "messages whole and in order around a dead link", whole, len(SIZES))]


def _exchange(machine: Machine, torus: Torus, sizes: Sequence[int], priority: int = 0) -> int:
    """How many messages came whole from the client at the server."""
    said = ",".join(map(str, sizes))
    grid = torus.routing.grid
    numbers = {node: f"0x{grid.identity(node).number:08x}" for node in (CLIENT, SERVER)}
    ends: tuple[tuple[str, Node, Node, list[str]], ...] = (
        ("receive", SERVER, CLIENT, []),
        ("send", CLIENT, SERVER, [str(priority)]),
    )
    programs = [
        {
            "name": role,
            "host": Laboratory.name(own),
            "command": ["/usr/bin/env", str(PROGRAM.build()), role, numbers[own], numbers[other], said, *level],
        }
        for role, own, other, level in ends
    ]
    played = machine.play(programs, lead_ns=0, raster_ns=1, phase_ns=0, seconds=_SECONDS)
    failed = [f"{each['name']}: {each['stderr'].strip()}" for each in played["programs"] if each["status"] != 0]
    if failed:
        raise RunError(f"messages between hosts: {'; '.join(failed)}")
    return int((machine.results / "receive" / "stdout").read_text())


def _schedule(machine: Machine) -> list[Row]:
    """The paper's schedule is set by one process and read by another."""
    client, program = Laboratory.name(CLIENT), str(PROGRAM.build())
    machine.run(client, [program, "set", _INTERFACE, *_SCHEDULE])
    equal = machine.run(client, [program, "get", _INTERFACE]).split() == _SCHEDULE
    return [_row("schedule", "schedule that is read back equal from the kernel", int(equal), 1)]


def _queues(machine: Machine, torus: Torus) -> list[Row]:
    """Messages of each priority, and the queues that their frames were in."""
    rows = []
    for priority in _PRIORITIES:
        before = _packets(machine)
        _exchange(machine, torus, SIZES, priority)
        grown = [after - had for after, had in zip(_packets(machine), before, strict=True)]
        share = 100 * grown[priority] / max(sum(grown), 1)
        what = f"frames of priority {priority} that were in queue {priority}, under slots of 90, 5 and 5 %"
        rows.append(Row.equals(f"hosts.queue.{priority}", what, "%", share, 100, _OWN_PERCENT))
    return rows


def _packets(machine: Machine) -> list[int]:
    """How many frames each queue of the client's interface has sent."""
    printed = machine.run(Laboratory.name(CLIENT), ["tc", "-s", "-j", "qdisc", "show", "dev", _INTERFACE])
    counts = {each["parent"]: int(each["packets"]) for each in json.loads(printed) if "parent" in each}
    return [counts.get(f"5080:{queue + 1:x}", 0) for queue in _PRIORITIES]


EXPERIMENTS = (Experiment("hosts", "the testbed as Linux hosts", "Sections III, IV", (), _evaluate),)
