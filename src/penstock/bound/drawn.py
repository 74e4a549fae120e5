# SPDX-License-Identifier: Apache-2.0
"""Networks drawn at random, of which bounds are held against what is measured.

Lines, trees and rings of bridges of both kinds, each port with its own mix of gates, credit, turns, ATS and strict
priority, talkers that take all that their contracts allow, best effort that never stops, and clocks that disagree. A
few draw what a scenario may just ask for: the slowest slopes, the longest lists, the shortest cycles and the longest
frames.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from penstock.scenario.limits import GATE_ENTRIES

Scenario = dict[str, Any]

_IDENTITY = [0, 1, 2, 3, 4, 5, 6, 7]
_LENGTHS = (64, 100, 300, 1000, 1522)
_LONGEST = 2000
_CLASSES = range(8)
_TURNS = (1, 3, 4)
# The slowest slopes, the longest lists, the shortest cycles, the slowest links, the longest frames.
_EXTREMES = ["slopes", "lists", "cycles", "rates", "lengths"]
_PERIOD_SLACK = 10_003  # of 10,000, where clocks disagree
_TAGGED = 0.4  # of all networks
_CLASS_OF_UNTAGGED = 5
_NUMBER_BYTES = 6
# Of pictures: the packets, and what is around the data of each.
_PACKET_BYTES, _AROUND_BYTES = 400, 64


@dataclass(frozen=True)
class Kind:
    """What networks are drawn of."""

    selections: tuple[str, ...]  # of each class, as often as they stand here
    gated: float  # how often gates are drawn at all
    turns: float  # how often some classes take turns
    endless: float = 0.5  # how often a stream of the two lowest classes never stops
    shaped: tuple[int, ...] = ()  # classes that are ATS at every bridge


# By what is in it; `mix` is all of it.
KINDS = {
    "mix": Kind(("strict", "strict", "ats", "cbs"), gated=0.6, turns=0.25),
    "strict": Kind(("strict",), gated=0, turns=0),
    "cbs": Kind(("strict", "cbs"), gated=0, turns=0),
    "ats": Kind(("strict",), gated=0, turns=0, endless=1, shaped=(5, 6, 7)),
    "round_robin": Kind(("strict",), gated=0, turns=1),
    "gates": Kind(("strict",), gated=1, turns=0),
}


def drawn(seed: int, kind: str = "mix", steady: bool = False, hardware: bool = False) -> Scenario:
    """A scenario; the same each time.

    `steady`: of one bridge, nothing displaced, drifting or extreme. `hardware`: of bridges that can be hardware.
    """
    return _Draw(seed, KINDS[kind], steady, hardware).scenario()


class _Draw:
    def __init__(self, seed: int, kind: Kind, steady: bool, hardware: bool) -> None:
        self.draw = random.Random(seed)
        self.draw_of_tags = random.Random(f"tags {seed}")  # of its own, so that all else is as without
        self.kind = kind
        self.steady = steady
        self.hardware = self.chance(0.5) or hardware
        # What takes seconds to simulate has to show many bounds.
        self.is_real = hardware
        self.is_large = self.chance(0 if steady else 0.8 if hardware else 0.3)
        self.extreme = self.pick(_EXTREMES) if self.chance(0 if steady else 0.2) else None
        fastest = ["100Mb/s", "1Gb/s", "1Gb/s", "2.5Gb/s", "10Gb/s"]
        slowest = ["10Mb/s", "1Gb/s"]
        self.rates = ["1Gb/s"] if self.hardware else slowest if self.extreme == "rates" else fastest
        self.drifting = self.chance(0 if steady else 0.3)
        self.overhead = self.pick([20, 20, 20, 20, 0, 8, 30])
        # What has room in a short cycle, or passes a slow link in reasonable time.
        self.lengths = [64, 100, 300] if self.extreme in ("cycles", "rates") else list(_LENGTHS)
        self.lengths += [_LONGEST] if self.extreme == "lengths" else []
        self.ports: list[int] = []
        self.classes: Scenario = {}

    def chance(self, part: float) -> bool:
        return self.draw.random() < part

    def pick(self, of: list[Any]) -> Any:
        return self.draw.choice(of)

    def scenario(self) -> Scenario:
        sizes = [1, 2, 2, 3] if self.is_real else [6, 7, 8]
        count = 1 if self.steady else self.pick(sizes if self.is_large else [1, 1, 2, 2, 3, 4])
        self.ports = [0] * count
        links = self.links(count)
        many = (5 * count, 5 * count + 2) if self.is_real else (16, 32)
        stations = self.stations(self.draw.randint(*(many if self.is_large else (3, 7))))
        self.classes = self.selections()
        gates = self.gates() if self.chance(self.kind.gated) else None
        bridges = {f"b{i}": self.bridge(gates, self.ports[i]) for i in range(count)}
        # Hardware has room for as many addresses.
        many = (20, 40) if self.is_real else (60, 180)
        streams = self.draw.randint(*(many if self.is_large else (2, 9)))
        # A talker that never stops would bring its other frames out of their time.
        restless = list(stations)[: len(stations) // 3] if self.kind.shaped else []
        found = {
            "name": "drawn",
            "duration": "6ms",
            "nodes": "model",
            "links": links,
            "bridges": bridges,
            "stations": stations,
            "streams": {f"s{i}": self.stream(stations, restless) for i in range(streams)},
        }
        if not self.steady and self.draw_of_tags.random() < _TAGGED:
            self.tags(found)
        return found

    def tags(self, scenario: Scenario) -> None:
        """Numbers for some streams, no tag for others, and ports that add or take either."""
        draw = self.draw_of_tags
        at_stations = {station["at"] for station in scenario["stations"].values()}
        for i, (name, bridge) in enumerate(scenario["bridges"].items()):
            ports = {}
            for port in range(self.ports[i]):
                is_last = f"{name}.{port}" in at_stations
                settings: Scenario = {"r_tag_removal": draw.random() < 0.3}
                if is_last:
                    settings |= draw.choice([{}, {"tagging": True}, {"tagging": True, "untagged": [1, 10]}])
                ports[str(port)] = settings
            bridge["port"] = ports
            bridge.setdefault("max_frame", f"{max(_LENGTHS) + _NUMBER_BYTES}B")
        for number, stream in enumerate(scenario["streams"].values()):
            # The longest of all have no room for a number.
            if draw.random() < 0.4 and self.extreme != "lengths":
                # With an address by which it is told from all others.
                stream |= {"numbered": True, "destination": f"03:00:00:00:01:{number:02x}"}
                if "ats" in stream:
                    self.grow(stream, scenario["stations"][stream["from"]]["at"].split(".")[0])
            if stream["pcp"] == _CLASS_OF_UNTAGGED and draw.random() < 0.5:
                del stream["vlan"], stream["pcp"]

    def grow(self, stream: Scenario, first: str) -> None:
        """Room for its numbers in the schedulers behind its first bridge, of frames of 64 B and more."""
        at_first = stream["ats"]
        rate, burst = int(at_first["rate"].removesuffix("b/s")), int(at_first["burst"].removesuffix("B"))
        grown = {"rate": f"{rate * 11 // 10 + 1}b/s", "burst": f"{burst * 11 // 10 + 1}B"}
        stream["ats"] = grown | {"at": {first: at_first}}

    def links(self, count: int) -> Scenario:
        in_line = self.chance(0.5)
        cables = [(i - 1 if in_line else self.draw.randrange(i), i) for i in range(1, count)]
        if in_line and count > 2 and self.chance(0.4):
            cables.append((count - 1, 0))
        return {
            f"l{i}": {"between": [self.port(a), self.port(b)], "rate": self.pick(self.rates), "delay": self.delay()}
            for i, (a, b) in enumerate(cables)
        }

    def delay(self) -> str:
        return f"{self.draw.randint(0, 2000)}ns"

    def port(self, bridge: int) -> str:
        self.ports[bridge] += 1
        return f"b{bridge}.{self.ports[bridge] - 1}"

    def stations(self, count: int) -> Scenario:
        found: Scenario = {}
        for i in range(count):
            free = [bridge for bridge, used in enumerate(self.ports) if used < 8]
            found[f"e{i}"] = {"at": self.port(self.pick(free)), "rate": self.pick(self.rates), "clock": self.clock()}
            if not self.kind.shaped and self.chance(0 if self.steady else 0.3):
                found[f"e{i}"]["class_of_priority"] = _IDENTITY
                found[f"e{i}"]["classes"] = {str(number): {"selection": "ats"} for number in _CLASSES}
                found[f"e{i}"]["overhead"] = f"{self.overhead}B"
        return found

    def clock(self) -> Scenario:
        if not self.drifting:
            return {}
        clock: Scenario = {
            "offset": f"{self.draw.randint(-5000, 5000)}ns",
            "drift": f"{self.draw.randint(-100, 100)}ppm",
        }
        if self.chance(0.5):
            clock["sync"] = self.pick(["none", {"error": "500ns"}])
        return clock

    def selections(self) -> Scenario:
        found: Scenario = {}
        turns = self.chance(self.kind.turns)
        for number in _CLASSES:
            how = "ats" if number in self.kind.shaped else self.pick(list(self.kind.selections))
            if turns and number in _TURNS:
                how = "round_robin"
            found[str(number)] = {"selection": how}
            if how == "cbs" or (how == "ats" and number not in self.kind.shaped and self.chance(0.2)):
                slopes = (
                    ["1kb/s", "100kb/s", "2Mb/s"]
                    if self.extreme == "slopes"
                    else ["20Mb/s", "50Mb/s", "80Mb/s"]
                    if self.is_real and self.is_large
                    else ["2Mb/s", "5Mb/s", "10Mb/s", "20Mb/s"]
                )
                found[str(number)]["idle_slope"] = self.pick(slopes)
        if self.kind.shaped and self.chance(0.3):
            found["4"] = {"selection": "cbs", "idle_slope": "10Mb/s"}
        return found

    def bridge(self, gates: Scenario | None, ports: int) -> Scenario:
        # Of two sizes, so that no more have to be compiled.
        size = max(2, ports) if not self.is_real else 4 if ports <= 4 else 8
        found: Scenario = {"ports": size, "clock": self.clock(), "classes": self.classes}
        found |= {"class_of_priority": _IDENTITY, "overhead": f"{self.overhead}B"}
        if self.extreme == "lengths":
            found["max_frame"] = f"{_LONGEST}B"
        if gates is not None and self.chance(0.8):
            found["gates"] = gates if self.chance(0.5) else self.gates()
        if not self.hardware:
            found["processing_delay"] = f"{self.draw.randint(0, 5000)}ns"
        if self.chance(0.3):
            found["processing_delay_max"] = self.pick(["0ns", "100ns", "400ns", "1us", "6us"])
        if self.chance(0.3):
            found["count_gap"] = False
        return found

    def gates(self) -> Scenario:
        some = [number for number in _CLASSES if self.chance(0.6)]
        if self.extreme == "cycles":
            return {"entries": [{"open": some, "interval": "3us"}, {"open": list(_CLASSES), "interval": "7us"}]}
        count = GATE_ENTRIES - 1 if self.extreme == "lists" else self.draw.randint(1, 4)
        entries = []
        for _ in range(count):
            states = [number for number in _CLASSES if self.chance(0.6)]
            interval = self.pick([2, 5, 15, 40]) if self.extreme == "lists" else self.pick([20, 30, 50, 100, 200])
            entries.append({"open": states, "interval": f"{interval}us"})
        if self.chance(max(0.8, self.kind.gated)) or self.is_real:
            entries.append({"open": list(_CLASSES), "interval": f"{self.pick([30, 60, 130])}us"})
        return {"entries": entries}

    def stream(self, stations: Scenario, restless: list[str]) -> Scenario:
        is_restless = bool(restless) and self.chance(0.3)
        allowed = [name for name in stations if (name in restless) is is_restless]
        talker = self.pick(allowed)
        others = self.draw.sample([name for name in stations if name != talker], 2)
        pcp = self.pick([0, 1, 4]) if is_restless else self.pick(list(self.kind.shaped or _CLASSES))
        stream: Scenario = {"from": talker, "to": others[: self.pick([1, 1, 1, 2])], "vlan": 10, "pcp": pcp}
        length = self.pick(self.lengths)
        if is_restless or (pcp <= 1 and not restless and not self.is_large and self.chance(self.kind.endless)):
            return stream | {"source": {"frames": f"{length}B", "back_to_back": True}}
        how = self.classes[str(pcp)]["selection"]
        source, rate, held = self.source(length, how)
        if self.chance(0.7):
            source["start"] = f"{self.draw.randint(0, 300_000)}ns"
        stream["source"] = source
        if how == "ats":
            stream["ats"] = {"rate": f"{rate}b/s", "burst": f"{held}B"}
        return stream

    def source(self, length: int, how: str) -> tuple[Scenario, int, int]:
        """With the rate and burst that it keeps to, if need be by the fastest clock."""
        crowd = 2 if self.is_real else 16
        share = (
            (1 if self.hardware else 2)
            * (crowd if self.is_large else 1)
            * (10 if self.extreme in ("slopes", "rates") else 1)
        )
        rate = self.pick([10**6, 2 * 10**6, 5 * 10**6, 2 * 10**7]) // share
        frame = length + self.overhead
        kinds = ["burst", "burst", "burst", "jitter", "pictures" if how == "ats" else "burst"]
        kind = "burst" if self.steady else self.pick(kinds)
        if kind == "pictures":
            size = self.draw.randint(100, 5000 // share + 100)
            held = size + -(-size // _PACKET_BYTES) * (_AROUND_BYTES + self.overhead)
            video = {"pictures": "1kHz", "i_picture": f"{size}B", "packet": f"{_PACKET_BYTES}B"}
            return {"video": video}, held * 8 * 1001, held
        if kind == "jitter":
            # Two that come as near to each other as they can are one burst.
            period_ps = self.period_ps(frame, rate)
            jitter = {"uniform": f"{period_ps * 9 // 10}ps"}
            seeded = {"jitter": jitter, "seed": self.draw.randint(0, 10**6)}
            return {"frames": f"{length}B", "every": f"{period_ps}ps"} | seeded, rate, 2 * frame
        frames = self.pick([1, 1, 1, 2, 3, 6])
        source: Scenario = {"frames": f"{length}B", "every": f"{self.period_ps(frames * frame, rate)}ps"}
        if frames > 1:
            source["burst"] = frames
        return source, rate, frames * frame

    def period_ps(self, counted_bytes: int, rate_bps: int) -> int:
        period = -(-counted_bytes * 8 * 10**12 // rate_bps)
        return period * (_PERIOD_SLACK if self.drifting else 10_000) // 10_000 + 20_000
