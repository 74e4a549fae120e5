# SPDX-License-Identifier: Apache-2.0
"""Networks as Saihu has them, so that other tools can judge bounds, and ours can judge theirs.

Saihu (C.-T. Tsai et al., arXiv 2303.14565) is a common front end of tools of network calculus. Its output-port network
is JSON: *servers*, each with a service curve that is the greatest of some rate-latency curves, and *flows*, each with
an arrival curve that is the least of some token buckets, and the servers that it passes.

A queue of ours is a server. What it is served follows from the waits of all queues, so that classes above, gates,
credit and turns are within its curve; an ATS scheduler makes a new flow of what it holds. A server of theirs is a port
of ours with one class, behind a frame that takes its latency.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from pathlib import Path
from typing import Any

from penstock import _engine
from penstock.bound.certificate.arrivals import lengths_at
from penstock.bound.certificate.checker import Checker, Queue
from penstock.bound.certificate.curve import Line
from penstock.bound.curves import corners_of
from penstock.bound.solution import certificate, solve
from penstock.bound.terms import MOST, PS
from penstock.errors import InputError
from penstock.scenario.network import Network

_BYTE = 8 * PS  # in 10^-12 bit
_CLASS = 5
_LEAST_BYTES, _MOST_BYTES = 21, 2**20  # of a frame on the wire that the analysis takes
_MOST_ROUNDS = 12  # of doubling the time that is looked at until a curve's latency is known
_FIRST_LOOK_PS = 1_000_000_000

_UNITS = {
    "time": {"s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9)},
    "data": {f"{scale}{of}": Fraction(times * bits) for of, bits in (("b", 1), ("B", 8)) for scale, times in
             (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9))},
    "rate": {f"{scale}{of}ps": Fraction(times * bits) for of, bits in (("b", 1), ("B", 8)) for scale, times in
             (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9))},
}  # fmt: skip
_DEFAULTS = {"time": "s", "data": "B", "rate": "bps"}
_NUMBER = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]*)")


@dataclass(frozen=True)
class Exported:
    """A network for Saihu, and the streams that are not in it since nothing limits what they wait."""

    network: dict[str, Any]
    without: tuple[str, ...]


def export(network: Network) -> Exported:
    """The queues of a network as servers, and its streams with a bound as flows; all lengths on the wire."""
    claim, solution = certificate(network), solve(network)
    checker = Checker(claim["network"], {(port, number): wait for port, number, wait in claim["waits"]})
    places = {number: place for place, number in solution.described.port_at.items()}
    known: dict[tuple[int, int], str] = {}
    servers = []
    for port, place in places.items():
        for queue in checker.queues(port):
            curve = _rate_latency(queue) if queue.claimed is not None and queue.arrivals is not None else None
            if curve is None:
                continue
            rate, latency_ps = curve
            known[port, queue.number] = name = f"{place[0]}-{place[1]}-class{queue.number}"
            servers.append(
                {
                    "name": name,
                    "service_curve": {"latencies": [latency_ps / 1e6], "rates": [rate]},
                    "capacity": claim["network"]["ports"][port]["fastest_bps"],
                }
            )
    flows: list[dict[str, Any]] = []
    without = []
    for name, told, come in zip(network.streams, claim["network"]["streams"], checker.arrivals.arrivals, strict=True):
        found = list(_flows(name, told, come, known))
        flows += found
        if not found:
            without.append(name)
    units = {"time_unit": "us", "data_unit": "b", "rate_unit": "bps"}
    whole = {"name": network.name, "packetizer": True, "multiplexing": "FIFO", "analysis_option": ["IS"], **units}
    return Exported({"network": whole, "flows": flows, "servers": servers}, tuple(without))


def _rate_latency(queue: Queue) -> tuple[int, int] | None:
    """The most of a curve of one rate and latency, in b/s and ps, below what a queue is served in any phase."""
    assert queue.arrivals is not None
    queue = replace(queue, service=replace(queue.service, frames=None))
    gate = queue.service.gate
    turn = gate.cycle if gate is not None else _FIRST_LOOK_PS
    cycles, before = 4, None
    for _ in range(_MOST_ROUNDS):
        horizon = Fraction(turn * cycles)
        found = list(corners_of(queue, horizon))
        rates = [(_at(corners, horizon) - _at(corners, horizon - turn)) / turn for corners in found]
        rate = floor(min(rates, default=Fraction(0)))
        if rate > 0:
            latency = ceil(
                max(time - amount / rate for corners in found for time, amount in corners if time <= horizon)
            )
            if before == (rate, latency):
                return _in_turns(queue, rate, latency)
            before = rate, latency
        cycles *= 2
    return None


def _in_turns(queue: Queue, rate: int, latency_ps: int) -> tuple[int, int]:
    """Before each frame of the class one of each other that takes turns with it."""
    others = sum(each.longest for each in queue.beside.values())
    if not others or queue.credit is not None:
        return rate, latency_ps
    begun = 0 if queue.service.gate is not None else max(each.longest for each in queue.beside.values())
    late = ceil(Fraction(others + max(0, begun - queue.service.low), rate))
    return floor(Fraction(rate * queue.of.shortest, queue.of.shortest + others)), latency_ps + late


def _at(corners: list[tuple[Fraction, Fraction]], time: Fraction) -> Fraction:
    for (begin, low), (end, high) in pairwise(corners):
        if begin <= time <= end and end > begin:
            return low + (high - low) * (time - begin) / (end - begin)
    return corners[-1][1]


def _flows(
    name: str, told: Mapping[str, Any], come: Sequence[tuple[Line, ...] | None],
    known: Mapping[tuple[int, int], str],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """A stream from its source, from a scheduler, or from where its frames get longer or shorter, to the next ones."""
    hops = told["hops"]
    if any((hop["port"], hop["class"]) not in known for hop in hops):
        return
    limits: dict[int, list[Mapping[str, int]]] = {0: told["buckets"]}
    begins: dict[int, list[list[int]]] = {0: []}
    start_of, path_of = {0: 0}, {0: [0]}
    stays = [lengths_at(told, number) == lengths_at(told, hop["from"]) for number, hop in enumerate(hops)]
    goes_on = [hop["regulator"] is None and stays[number] for number, hop in enumerate(hops)]
    for number, hop in enumerate(hops):
        if hop["from"] is not None:
            if goes_on[number]:
                start_of[number], path_of[number] = start_of[hop["from"]], [*path_of[hop["from"]], number]
            else:
                start_of[number], path_of[number] = number, [number]
                limits[number], begins[number] = [_bucket(line) for line in come[number] or ()], []
        if not any(other["from"] == number and goes_on[at] for at, other in enumerate(hops)):
            begins[start_of[number]].append(path_of[number])
    for part, (start, ways) in enumerate(begins.items()):
        if not limits[start]:
            return
        paths = [[known[hops[at]["port"], hops[at]["class"]] for at in way] for way in ways]
        flow = {
            "name": name if part == 0 else f"{name}#{part}",
            "path": paths[0],
            "arrival_curve": {
                "bursts": [bucket["burst_millibits"] / 1000 for bucket in limits[start]],
                "rates": [bucket["rate_bps"] for bucket in limits[start]],
            },
            "max_packet_length": lengths_at(told, start)[1] * 8,
            "min_packet_length": lengths_at(told, start)[0] * 8,
        }
        if len(paths) > 1:
            flow |= {
                "path_name": f"{name}-0",
                "multicast": [{"name": f"{name}-{at}", "path": path} for at, path in enumerate(paths[1:], 1)],
            }
        yield flow


def _bucket(line: Line) -> Mapping[str, int]:
    return {"burst_millibits": ceil(line[0] / 10**9), "rate_bps": ceil(line[1])}


@dataclass(frozen=True)
class Judged:
    """The bounds of a network that was read: of each flow and way, the delay at each server in ps; None: no bound."""

    delays: dict[str, dict[str, int | None]]

    def total_ps(self, flow: str) -> int | None:
        """From end to end."""
        found = list(self.delays[flow].values())
        return None if None in found else sum(each for each in found if each is not None)


def judge(file: Path) -> Judged:
    """What our analysis says of a network of Saihu's.

    A delay ends when the whole frame has left, as fast as the server's capacity.

    Raises:
        InputError: the file is no such network, or not within the limits of the analysis.

    """
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read: {error}", allowed="an output-port network of Saihu as JSON", file=file
        ) from error
    try:
        return _Read(said).judged()
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError(
            f"is no output-port network of Saihu: {error}", allowed='"network", "flows" and "servers"', file=file
        ) from error
    except _engine.InputError as error:
        raise InputError(f"is not what the analysis takes: {error}", allowed="less of it", file=file) from error


class _Read:
    """A network as it is read, of which all amounts and rates count `scale` times: that changes no delay."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        whole = said.get("network", {})
        self.units = _DEFAULTS | _units_of(whole)
        self.packets = bool(whole.get("packetizer", False))
        self.flows, self.servers = said["flows"], said["servers"]
        self.number = {server["name"]: number for number, server in enumerate(self.servers)}
        curves = [curve for server in self.servers for curve in self._curves(server)]
        bits = [rate * latency for rate, latency in curves]
        most = min(Fraction(MOST, 8 * max(self._rates())), Fraction(4 * _MOST_BYTES) / max(*bits, Fraction(1)))
        if self.packets:  # no more than frames need that are shorter than any of ours
            shortest = min(self._packet(flow, "max_packet_length") for flow in self.flows)
            most = min(most, max(Fraction(1), Fraction(8 * _LEAST_BYTES) / max(shortest, Fraction(1))))
        self.scale = max(1, ceil(most) if self.packets else floor(most))

    def judged(self) -> Judged:
        streams = [self._stream(flow) for flow in self.flows]
        served = [self._served(server) for server in self.servers]
        ports = [
            {"slowest_bps": rate, "fastest_bps": max(rate, floor(self._capacity(server) * self.scale))}
            for server, (rate, _) in zip(self.servers, served, strict=True)
        ]
        before = [
            _before(number, max(_LEAST_BYTES, ceil(latency * rate / 8)))
            for number, (rate, latency) in enumerate(served)
            if latency > 0
        ]
        told = {"ports": ports, "regulators": [], "streams": [*(stream for stream, _ in streams), *before]}
        waits = json.loads(_engine.bounds(json.dumps(told)))["hops"]
        delays: dict[str, dict[str, int | None]] = {}
        for (stream, ways), hops in zip(streams, waits, strict=False):
            for name, way in ways.items():
                delays[name] = {}
                for at in way:
                    port = stream["hops"][at]["port"]
                    # What is no packet leaves as it is served.
                    rate = ports[port]["fastest_bps" if self.packets else "slowest_bps"]
                    own, wait = ceil(Fraction(stream["min_bytes"] * _BYTE, rate)), hops[at]["wait_ps"]
                    delays[name][self.servers[port]["name"]] = None if wait is None else wait + own
        return Judged(delays)

    def _rates(self) -> Iterator[Fraction]:
        for server in self.servers:
            for rate, _ in self._curves(server):
                yield max(rate, self._capacity(server))
        for flow in self.flows:
            unit = self.units | _units_of(flow)
            yield from (_value(rate, "rate", unit) for rate in flow["arrival_curve"]["rates"])

    def _capacity(self, server: Mapping[str, Any]) -> Fraction:
        if "capacity" not in server:
            return Fraction(0)
        return _value(server["capacity"], "rate", self.units | _units_of(server))

    def _packet(self, flow: Mapping[str, Any], which: str) -> Fraction:
        """In bits: no frame is longer than what may come at once."""
        unit = self.units | _units_of(flow)
        burst = min(_value(burst, "data", unit) for burst in flow["arrival_curve"]["bursts"])
        return min(burst, _value(flow[which], "data", unit)) if which in flow else burst

    def _stream(self, flow: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[int]]]:
        """With the hops of each path, which are the same as long as the paths are."""
        paths = {flow["name"]: flow["path"]}
        paths |= {f"{flow['name']}/{other['name']}": other["path"] for other in flow.get("multicast", [])}
        hops: list[dict[str, Any]] = []
        known: dict[tuple[str, ...], int] = {}
        ways: dict[str, list[int]] = {}
        for name, path in paths.items():
            way = ways[name] = []
            for end in range(1, len(path) + 1):
                key = tuple(path[:end])
                if key not in known:
                    known[key] = len(hops)
                    hops.append(_hop(self.number[path[end - 1]], _CLASS, way[-1] if way else None))
                way.append(known[key])
        unit, curve = self.units | _units_of(flow), flow["arrival_curve"]
        buckets = [
            {
                "burst_millibits": ceil(_value(burst, "data", unit) * self.scale * 1000),
                "rate_bps": ceil(_value(rate, "rate", unit) * self.scale),
            }
            for burst, rate in zip(curve["bursts"], curve["rates"], strict=True)
        ]
        longest = shortest = _LEAST_BYTES
        if self.packets:
            longest = max(_LEAST_BYTES, ceil(self._packet(flow, "max_packet_length") * self.scale / 8))
            least = "min_packet_length" if "min_packet_length" in flow else "max_packet_length"
            shortest = max(_LEAST_BYTES, floor(self._packet(flow, least) * self.scale / 8))
        return {"buckets": buckets, "min_bytes": min(shortest, longest), "max_bytes": longest, "hops": hops}, ways

    def _curves(self, server: Mapping[str, Any]) -> list[tuple[Fraction, Fraction]]:
        unit, said = self.units | _units_of(server), server["service_curve"]
        return [
            (_value(rate, "rate", unit), _value(latency, "time", unit))
            for latency, rate in zip(said["latencies"], said["rates"], strict=True)
        ]

    def _served(self, server: Mapping[str, Any]) -> tuple[int, Fraction]:
        """Of the rate-latency curves that are the greatest together, the one that serves what comes at once soonest."""
        burst, load = Fraction(0), Fraction(0)
        for flow in self.flows:
            paths = [flow["path"], *(other["path"] for other in flow.get("multicast", []))]
            if any(server["name"] in path for path in paths):
                unit, curve = self.units | _units_of(flow), flow["arrival_curve"]
                burst += min(_value(each, "data", unit) for each in curve["bursts"])
                load += min(_value(each, "rate", unit) for each in curve["rates"])
        rate, latency = min(self._curves(server), key=lambda of: (of[0] < load, of[1] + burst / of[0]))
        return floor(rate * self.scale), latency


def _before(port: int, length: int) -> dict[str, Any]:
    """A lower frame that has begun: it takes a server's latency."""
    bucket = {"burst_millibits": length * 8000, "rate_bps": 1}
    return {"buckets": [bucket], "min_bytes": length, "max_bytes": length, "hops": [_hop(port, 0, None)]}


def _hop(port: int, number: int, before: int | None) -> dict[str, Any]:
    return {"port": port, "class": number, "from": before, "jitter_ps": 0, "regulator": None}


def _units_of(said: Mapping[str, Any]) -> dict[str, str]:
    return {what: said[f"{what}_unit"] for what in _UNITS if f"{what}_unit" in said}


def _value(said: float | str, what: str, units: Mapping[str, str]) -> Fraction:
    """In s, bit or b/s."""
    if isinstance(said, str):
        found = _NUMBER.fullmatch(said.strip())
        if found is None:
            raise ValueError(f"{said!r} is no {what}")
        number, unit = Fraction(found[1]), found[2] or units[what]
    else:
        number, unit = Fraction(repr(said)), units[what]
    if unit not in _UNITS[what]:
        raise ValueError(f"{unit!r} is no unit of {what}: {', '.join(_UNITS[what])}")
    return number * _UNITS[what][unit]
