# SPDX-License-Identifier: Apache-2.0
"""The talkers and listeners of a network as programs for the executor. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.end.plan import plan_for
from penstock.errors import CollectedInputError, InputError
from penstock.lab.layout import host_port, interface, ports_of
from penstock.scenario.network import Network

_MOST_RASTER_NS = 10**9
_LINGER_NS, _IDLE_NS = 100_000_000, 1_000_000_000


@dataclass(frozen=True)
class How:
    """How hosts send and listen."""

    transmit_offset_ns: int = 500_000  # of streams with launch times
    real_time: bool = True  # SCHED_FIFO and locked memory
    behind: frozenset[str] = frozenset()  # hosts without these, so that they give way to the others
    as_drawn: bool = False  # periodic frames with the scenario's jitter, not only that of the host
    stamp: str = "auto"  # what listeners compute from: auto, kernel or user


@dataclass(frozen=True)
class Program:
    """A talker or listener of a host."""

    name: str
    host: str
    role: str  # talk or listen
    plan: Mapping[str, Any]

    def request(self, binary: str) -> dict[str, Any]:
        """For `Executor.do_play`."""
        command = [binary, self.role, "--plan", "{plan}", "--out", "{out}"]
        return {"name": self.name, "host": self.host, "command": command, "plan": dict(self.plan)}


def programs(network: Network, how: How, lead_ns: int) -> list[Program]:
    """Listeners first, so that nothing is missed.

    Raises:
        InputError: A stream is none that a Linux host can send; all that are wrong are told.

    """
    faults: list[InputError] = []
    found = [
        *_of_role(network, how, "listen", lead_ns, faults),
        *_of_role(network, how, "talk", lead_ns, faults),
    ]
    if faults:
        raise CollectedInputError({str(fault): fault for fault in faults}.values())
    return found


def _of_role(network: Network, how: How, role: Any, lead_ns: int, faults: list[InputError]) -> list[Program]:
    if role == "talk":
        hosts = dict.fromkeys(stream.talker for stream in network.streams.values())
    else:
        hosts = dict.fromkeys(name for stream in network.streams.values() for name in stream.listeners)
    found = []
    for host in hosts:
        try:
            plan = plan_for(network, host, role, interface(network, host, 0), as_drawn=how.as_drawn)
        except InputError as error:
            faults += error.errors
            continue
        plan |= {"realtime": _real_time(how, role, host), "transmit_offset_ns": 0}
        if role == "listen":
            wait_ns = lead_ns + plan["duration_ns"] + 5 * _IDLE_NS
            plan["listen"] = {"wait_ns": wait_ns, "idle_ns": _IDLE_NS, "linger_ns": _LINGER_NS, "stamp": how.stamp}
            found.append(Program(f"listen-{host}", host, role, plan))
        else:
            found += _talkers(network, how, host, plan)
    return found


def _talkers(network: Network, how: How, host: str, plan: dict[str, Any]) -> list[Program]:
    """One program for streams with launch times and one for the others, as a plan has one way to send."""
    launched = {name for name in (stream["name"] for stream in plan["streams"]) if _has_launch_times(network, name)}
    found = []
    for suffix, wanted in (("", False), ("-launch", True)):
        streams = [stream for stream in plan["streams"] if (stream["name"] in launched) is wanted]
        if not streams:
            continue
        own = plan | {"streams": streams}
        if wanted:
            own |= {"send": "launch_time", "transmit_offset_ns": how.transmit_offset_ns}
        else:  # no qdisc would hold them back: they are sent when they are due
            own["streams"] = [_plainly_sent(stream) for stream in streams]
        found.append(Program(f"talk{suffix}-{host}", host, "talk", own))
    return found


def _plainly_sent(stream: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in stream.items() if key not in ("send", "transmit_offset_ns")}


def _has_launch_times(network: Network, name: str) -> bool:
    stream = network.streams[name]
    port = host_port(network, stream.talker, 0)
    # With txtime-assist the qdisc gives frames their launch times, and none may come from a socket.
    if port.launch_times is None or port.mode == "txtime-assist":
        return False
    return network.class_at_talker(stream) in port.launch_times.classes


def _real_time(how: How, role: str, host: str) -> dict[str, Any]:
    if not how.real_time or host in how.behind:
        return {}
    # What is received waits in the socket with its stamp; what is to be sent does not wait.
    return {"fifo_priority": 80 if role == "talk" else 70, "lock_memory": True, "required": False}


def raster_ns(network: Network) -> int:
    """After so long all gates begin anew, so that a run may start at any multiple of it."""
    cycles = {gates.cycle_time_ns for node in _nodes(network) for gates in node.gates.values()}
    common = math.lcm(*cycles) if cycles else 1_000_000
    return common if common <= _MOST_RASTER_NS else max(cycles)


def phase_ns(network: Network) -> int:
    """Where time 0 of the scenario lies in the raster."""
    nodes = (*network.stations, *network.bridges)
    starts = {host_port(network, node, port).start_ns for node in nodes for port in ports_of(network, node)}
    return max(starts) % raster_ns(network)


def _nodes(network: Network) -> list[Any]:
    return [*network.stations.values(), *network.bridges.values()]
