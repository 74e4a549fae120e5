# SPDX-License-Identifier: Apache-2.0
"""What can come to each queue, with the waits that are claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import Any

from penstock.bound.certificate.curve import Curve, Line
from penstock.bound.certificate.gate import Stretch

BYTE = 8 * 10**12  # in 10^-12 bit
_MOST_WINDOWS = 64  # of a measure of gate cycle and period


@dataclass
class Class:
    """The streams of a class at a port, and how long their frames are."""

    shortest: int
    longest: int
    filling: int = 0
    members: list[tuple[int, int]] = field(default_factory=list)
    is_only_filled: bool = True  # by sources that hand a frame over when it can be sent


class Arrivals:
    """All that can come to each queue, if no wait is longer than is claimed."""

    def __init__(self, network: Mapping[str, Any], waits: Mapping[tuple[int, int], int]) -> None:
        self.network, self.waits = network, waits
        self.classes: list[dict[int, Class]] = [{} for _ in network["ports"]]
        for number, stream in enumerate(network["streams"]):
            shortest, longest = stream["min_bytes"] * BYTE, stream["max_bytes"] * BYTE
            for place, hop in enumerate(stream["hops"]):
                of = self.classes[hop["port"]].setdefault(hop["class"], Class(shortest, longest))
                of.shortest, of.longest = min(of.shortest, shortest), max(of.longest, longest)
                of.members.append((number, place))
                if stream.get("fills") and hop["from"] is None:
                    of.filling = max(of.filling, longest)
                else:
                    of.is_only_filled = False
        self.arrivals = [self._of_stream(stream) for stream in network["streams"]]
        self.ways = [self._ways_of(stream) for stream in network["streams"]]

    def _bucket(self, bucket: Mapping[str, int]) -> Line:
        return Fraction(bucket["burst_millibits"] * 10**9), Fraction(bucket["rate_bps"])

    def _of_stream(self, stream: Mapping[str, Any]) -> list[tuple[Line, ...] | None]:
        found: list[tuple[Line, ...] | None] = []
        for hop in stream["hops"]:
            if hop["regulator"] is not None:
                found.append((self._bucket(self.network["regulators"][hop["regulator"]]),))
            elif hop["from"] is None:
                found.append(tuple(map(self._bucket, stream["buckets"])) or None)
            else:
                before = stream["hops"][hop["from"]]
                wait, came = self.waits.get((before["port"], before["class"])), found[hop["from"]]
                if wait is None or came is None:
                    found.append(None)
                else:
                    late = wait + hop["jitter_ps"]
                    found.append(tuple((burst + rate * late, rate) for burst, rate in came))
        return found

    def _ways_of(self, stream: Mapping[str, Any]) -> list[tuple[int, int] | None]:
        """By hop, what a frame takes from its release until it may begin there; None: nobody knows."""
        found: list[tuple[int, int] | None] = []
        for hop in stream["hops"]:
            if hop["from"] is None:
                found.append((0, 0) if hop["regulator"] is None and stream.get("releases") else None)
                continue
            before, way = stream["hops"][hop["from"]], found[hop["from"]]
            wait, reach = self.waits.get((before["port"], before["class"])), hop.get("reach_ps")
            if hop["regulator"] is not None or way is None or wait is None or reach is None:
                found.append(None)
            else:
                found.append((way[0] + reach[0], way[1] + reach[1] + wait))
        return found

    def frames(self, port: Mapping[str, Any], of: Class) -> tuple[tuple[Stretch, int], ...] | None:
        """When in the gate cycle frames of a class come and how long they are, where that is known of all."""
        gates = port.get("gates")
        if gates is None or gates.get("begin_ps") is None or of.filling:
            return None
        cycle = sum(interval for _, interval in gates["entries"])
        found: list[tuple[Stretch, int]] = []
        for number, place in of.members:
            stream, way = self.network["streams"][number], self.ways[number][place]
            if way is None:
                return None
            releases = stream["releases"]
            measure = cycle if releases["period_ps"] is None else gcd(releases["period_ps"], cycle)
            for first, last in releases["windows"]:
                begin = first + way[0] - gates["begin_ps"] - gates["begin_error_ps"]
                end = last + way[1] - gates["begin_ps"] + gates["begin_error_ps"]
                if end - begin >= measure or cycle // measure > _MOST_WINDOWS:
                    return None
                for turn in range(0, cycle, measure):
                    at = (turn + begin) % cycle
                    found.append(((at, at + end - begin), stream["max_bytes"] * BYTE))
        return tuple(found) if len({window for window, _ in found}) <= _MOST_WINDOWS else None

    def together(self, of: Class) -> Curve | None:
        """All that comes to a queue; None without a limit."""
        parts: list[tuple[Line, ...]] = []
        by_entry: dict[int, list[tuple[int, int]]] = {}
        regulators = [self._hop(member)["regulator"] for member in of.members]
        shared: set[int] = set()
        for member in of.members:
            hop, stream = self._hop(member), self.network["streams"][member[0]]
            regulator = hop["regulator"]
            if regulator is not None and (not hop.get("conforms") or regulators.count(regulator) > 1):
                if regulator not in shared:
                    shared.add(regulator)
                    parts.append((self._bucket(self.network["regulators"][regulator]),))
            elif hop["from"] is not None:
                by_entry.setdefault(stream["hops"][hop["from"]]["port"], []).append(member)
            elif not stream.get("fills"):
                lines = self.arrivals[member[0]][member[1]]
                if lines is None:
                    return None
                parts.append(lines)
        for entry, members in by_entry.items():
            rate = self.network["ports"][entry]["fastest_bps"]
            longest = max(self.network["streams"][number]["max_bytes"] for number, _ in members) * BYTE
            jitter = max(self._hop(member)["jitter_ps"] for member in members)
            link = (Fraction(longest + rate * jitter), Fraction(rate))
            lines_of = [self.arrivals[number][place] for number, place in members]
            if any(lines is None for lines in lines_of):
                parts.append((link,))
            else:
                parts.append((*Curve(tuple(lines for lines in lines_of if lines is not None)).envelope(), link))
        return Curve(tuple(parts))

    def _hop(self, member: tuple[int, int]) -> Mapping[str, Any]:
        hop: Mapping[str, Any] = self.network["streams"][member[0]]["hops"][member[1]]
        return hop
