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


def lengths_at(stream: Mapping[str, Any], place: int | None) -> tuple[int, int]:
    """Of the shortest and the longest frame of a stream, as the port of a hop counts it; None: as it is released."""
    own = None if place is None else stream["hops"][place].get("lengths_bytes")
    shortest, longest = own or (stream["min_bytes"], stream["max_bytes"])
    return shortest, longest


def growth(before: tuple[int, int], after: tuple[int, int]) -> Fraction:
    """How much at most there is of what was one, of frames whose shortest and longest were and are so long.

    Tags add as many bytes to each frame, which is the most of the shortest; where they are taken away the longest loses
    the least in parts of itself, if the shortest is not padded.
    """
    return max(Fraction(now, was) for was, now in zip(before, after, strict=True))


def times(factor: Fraction, *lines: Line) -> tuple[Line, ...]:
    return tuple((burst * factor, rate * factor) for burst, rate in lines)


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
            for place, hop in enumerate(stream["hops"]):
                shortest, longest = (size * BYTE for size in lengths_at(stream, place))
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
        """By hop, what leaves, each frame as long as it does."""
        # What limits it, and how long frames are where that is counted.
        limits: list[tuple[tuple[Line, ...], tuple[int, int]] | None] = []
        for hop in stream["hops"]:
            came = lengths_at(stream, hop["from"])
            if hop["regulator"] is not None:
                limits.append(((self._bucket(self.network["regulators"][hop["regulator"]]),), came))
            elif hop["from"] is None:
                lines = tuple(map(self._bucket, stream["buckets"]))
                limits.append((lines, came) if lines else None)
            else:
                before, limit = stream["hops"][hop["from"]], limits[hop["from"]]
                wait = self.waits.get((before["port"], before["class"]))
                if wait is None or limit is None:
                    limits.append(None)
                else:
                    late = wait + hop["jitter_ps"]
                    limits.append((tuple((burst + rate * late, rate) for burst, rate in limit[0]), limit[1]))
        return [
            None if limit is None else times(growth(limit[1], lengths_at(stream, place)), *limit[0])
            for place, limit in enumerate(limits)
        ]

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
                    found.append(((at, at + end - begin), lengths_at(stream, place)[1] * BYTE))
        return tuple(found) if len({window for window, _ in found}) <= _MOST_WINDOWS else None

    def together(self, of: Class) -> Curve | None:
        """All that comes to a queue; None without a limit."""
        parts: list[tuple[Line, ...]] = []
        by_entry: dict[int, list[tuple[int, int]]] = {}
        regulators = [self._hop(member)["regulator"] for member in of.members]
        shared: dict[int, Fraction] = {}  # with what of its streams grows by the most
        for member in of.members:
            hop, stream = self._hop(member), self.network["streams"][member[0]]
            regulator = hop["regulator"]
            if regulator is not None and (not hop.get("conforms") or regulators.count(regulator) > 1):
                shared[regulator] = max(shared.get(regulator, Fraction(0)), self._grown(member))
            elif hop["from"] is not None:
                by_entry.setdefault(stream["hops"][hop["from"]]["port"], []).append(member)
            elif not stream.get("fills"):
                lines = self.arrivals[member[0]][member[1]]
                if lines is None:
                    return None
                parts.append(lines)
        for regulator, grown in shared.items():
            parts.append(times(grown, self._bucket(self.network["regulators"][regulator])))
        for entry, members in by_entry.items():
            rate = self.network["ports"][entry]["fastest_bps"]
            longest = max(self._came(member)[1] for member in members) * BYTE
            jitter = max(self._hop(member)["jitter_ps"] for member in members)
            grown = max(map(self._grown, members))
            link = (grown * (longest + rate * jitter), grown * rate)
            lines_of = [self.arrivals[number][place] for number, place in members]
            if any(lines is None for lines in lines_of):
                parts.append((link,))
            else:
                parts.append((*Curve(tuple(lines for lines in lines_of if lines is not None)).envelope(), link))
        return Curve(tuple(parts))

    def _came(self, member: tuple[int, int]) -> tuple[int, int]:
        return lengths_at(self.network["streams"][member[0]], self._hop(member)["from"])

    def _grown(self, member: tuple[int, int]) -> Fraction:
        """By how much more a stream leaves a hop than came to it."""
        return growth(self._came(member), lengths_at(self.network["streams"][member[0]], member[1]))

    def _hop(self, member: tuple[int, int]) -> Mapping[str, Any]:
        hop: Mapping[str, Any] = self.network["streams"][member[0]]["hops"][member[1]]
        return hop
