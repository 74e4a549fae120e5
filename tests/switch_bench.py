# SPDX-License-Identifier: Apache-2.0
"""A bench for the whole switch: frames go in, and what became of each is held against all counters.

The switch runs as Verilated hardware. The engine compares every frame that leaves with what was pushed; `Bench.finish`
fails on anything damaged, lost, doubled, sent before it may be, or counted otherwise than it happened.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from penstock import _engine
from penstock.ethernet import AHEAD_BYTES, FCS_BYTES
from penstock.hardware.configure import SwitchConfig, Table, table_writes
from penstock.hardware.registers import registers
from penstock.hardware.traffic import (
    FAULTY_OUTPUT,
    configured_switch,
    read_counters,
    read_register,
    refusals,
    station_address,
    vlan_tag,
    with_fcs,
)

PORTS = 4
CYCLE_NS = 8
GAP = 12
CELL_BYTES = 128
SELECTED_TO_FIRST_BYTE = 12  # cycles from the selection of a frame to its first byte on the wire


def arrival_to_visible(ports: int = PORTS) -> int:
    """Cycles from the end of a frame's last bit to the first in which it may be selected: the same for every frame."""
    return 4 + 2 * ports + 19


def frame(
    destination: bytes,
    source: bytes,
    size: int = 64,
    *,
    vlan: int | None = None,
    pcp: int = 0,
    seed: int = 0,
) -> bytes:
    """A whole frame with FCS; tagged when a VLAN is given, 0 for a priority tag."""
    head = destination + source + vlan_tag(vlan, pcp) + b"\x88\xb5"
    return with_fcs(head + random.Random(seed).randbytes(size - FCS_BYTES - len(head)))


def cells(size: int) -> int:
    """Cells of the store that a frame takes."""
    return -(-size // CELL_BYTES)


@dataclass
class Fate:
    """What was sent, and what became of it. Times are in cycles of the switch's clock."""

    port: int
    size: int
    header: int = 8  # preamble and delimiter
    delimiter: bool = True
    entered: int = -1  # first byte after the delimiter
    judged: int = -1
    reason: str | None = None
    traffic_class: int = -1
    visible: int = -1
    shaped: bool = False
    stream: int | None = None
    short_gap: bool = False
    queued: set[int] = field(default_factory=set)
    refused: dict[int, str] = field(default_factory=dict)
    left: dict[int, int] = field(default_factory=dict)  # egress port: first byte after the delimiter
    chosen: set[int] = field(default_factory=set)  # selected for transmission
    dropped: set[int] = field(default_factory=set)
    cut: set[int] = field(default_factory=set)  # chosen, and dropped on the wire

    @property
    def carrier(self) -> range:
        """The cycles of its carrier."""
        start = self.entered - self.header if self.delimiter and self.size else self.entered
        return range(start, start + self.header + self.size)

    @property
    def arrival(self) -> int:
        """The cycle that begins as the last bit ends."""
        return self.entered + self.size

    @property
    def arrival_ns(self) -> int:
        return self.arrival * CYCLE_NS

    @property
    def fate(self) -> str | frozenset[int]:
        """The reason of its drop, or the ports that it left by."""
        return self.reason or frozenset(self.left)

    def selected(self, port: int) -> int:
        return self.left[port] - SELECTED_TO_FIRST_BYTE

    def latency(self, port: int) -> int:
        """Through the switch, without the frame's own time on the wire."""
        return self.left[port] - self.entered - self.size


class Bench:
    """One switch, configured. All its frames are followed from the start."""

    def __init__(self, config: SwitchConfig | None = None, *, ports: int = PORTS) -> None:
        self.ports = ports
        self.registers = registers()
        self.gap_slack = 0  # cycles by which a gap looks shorter from here than it is for the receive clock
        self.fates: dict[int, Fate] = {}
        self.switch = configured_switch(config or SwitchConfig(ports=ports, vlans={1: set(range(ports))}))
        self.rest()

    # ---- registers

    def write(self, name: str, **fields: int) -> None:
        self.switch.write(*self.registers.write(name, **fields))

    def commit(self, table: Table, index: int, data: int) -> None:
        for address, value in table_writes(self.registers, table, index, data):
            self.switch.write(address, value)

    def read(self, name: str) -> int:
        return read_register(self.switch, self.registers, name)

    def counters(self, port: int) -> dict[str, int]:
        """All counters of a port that are not zero."""
        return read_counters(self.switch, self.registers, port)

    # ---- frames

    @property
    def now(self) -> int:
        return self.switch.cycle

    def rest(self, cycles: int = 200) -> None:
        """Lets time pass, so that what is written next meets no frame."""
        self.switch.run(self.switch.cycle + cycles)

    def send(
        self,
        port: int,
        data: bytes,
        *,
        at: int = 0,
        gap: int = GAP,
        preamble: int = 7,
        delimiter: bool = True,
        rx_er_at: int | None = None,
    ) -> Fate:
        """Queues a frame at the wire into a port: from cycle `at` on, and `gap` byte times after the one before."""
        sent = self.switch.push(port, at, data, preamble=preamble, delimiter=delimiter, gap=gap, rx_er_at=rx_er_at)
        self.fates[sent] = Fate(port, len(data), preamble + delimiter, delimiter)
        return self.fates[sent]

    def run(self, cycles: int) -> None:
        """Lets time pass and takes in what happened."""
        self.switch.run(self.switch.cycle + cycles)
        self._take_in(self.switch.events())

    def run_out(self, most: int = 6_000_000) -> None:
        """Runs until nothing is on its way any more."""
        until = self.switch.cycle + most
        while self.switch.waiting or self.switch.inside:
            assert self.switch.cycle < until, f"{self.switch.waiting} waiting, {self.switch.inside} inside"
            self.run(2_000)
        self.run(500)

    def introduce(self, ports: Iterable[int] | None = None, vlan: int | None = None) -> None:
        """The first station of each port speaks, so that the switch knows where it is."""
        for port in range(self.ports) if ports is None else ports:
            self.send(port, frame(b"\xff" * 6, station_address(port, 0), vlan=vlan), at=self.now + 200 * port)
        self.run_out()

    def _take_in(self, events: _engine.Events) -> None:
        rows = zip(*(column.tolist() for column in events.values()), strict=True)  # type: ignore[attr-defined]
        for row in rows:
            event = dict(zip(events, row, strict=True))
            kind = _engine.KINDS[event["kind"]]
            assert kind != "fault", f"the switch contradicts itself: {event}"
            fate, port, cycle = self.fates[event["frame"]], event["port"], event["cycle"]
            if kind == "input":
                fate.entered = cycle
            elif kind == "verdict":
                assert fate.judged < 0, f"judged twice: {fate}"
                fate.judged = cycle
                fate.reason = _engine.REASONS[event["reason"]] if event["reason"] else None
                fate.traffic_class, fate.visible = event["traffic_class"], event["visible"]
                fate.shaped = bool(event["flags"] & _engine.FLAG_SHAPED)
                fate.short_gap = bool(event["flags"] & _engine.FLAG_SHORT_GAP)
                fate.stream = event["stream"] if event["flags"] & _engine.FLAG_STREAM else None
                fate.queued = {e for e in range(self.ports) if event["destination"] >> e & 1}
                fate.refused = refusals(event["refused"], event["refused_reasons"], self.ports)
            elif kind == "output":
                assert not event["flags"] & FAULTY_OUTPUT, f"damaged: {event}"
                assert port in fate.queued - fate.left.keys() - fate.dropped, f"not due: {event}"
                assert event["traffic_class"] == fate.traffic_class
                fate.left[port] = cycle
                assert fate.selected(port) >= fate.visible, f"before its time: {fate}"
            elif kind == "selected":
                assert port in fate.queued - fate.chosen, f"selected twice: {fate}"
                fate.chosen.add(port)
            elif kind == "dropped":
                assert port in fate.queued - fate.left.keys() - fate.dropped
                if port in fate.chosen:
                    fate.cut.add(port)
                fate.dropped.add(port)

    # ---- verdicts

    def finish(self) -> None:
        """Runs out, then holds every frame and every counter of every port against each other."""
        self.run_out()
        self.run(10_000)  # what is left of a giant on the wire
        assert self.switch.idle
        for fate in self.fates.values():
            assert fate.judged >= 0, f"never judged: {fate}"
            assert fate.queued == fate.left.keys() | fate.dropped, f"never came out: {fate}"
            assert fate.port not in fate.left, f"back where it came from: {fate}"
        for port in range(self.ports):
            counted, expected = self.counters(port), self.expected_counters(port)
            assert counted == expected, f"port {port} counts {counted}, {expected} happened"

    def expected_counters(self, port: int) -> dict[str, int]:
        count = Counter[str]()
        carriers = sorted((f.carrier for f in self.fates.values() if f.port == port), key=lambda c: c.start)
        count["short_gaps"] = sum(
            after.start - before.stop < GAP - self.gap_slack for before, after in pairwise(carriers)
        )
        for fate in self.fates.values():
            if fate.port == port:
                if fate.reason is None:
                    count[f"received[{fate.traffic_class}]"] += 1
                    count["received_bytes"] += fate.size
                else:
                    count[f"dropped[{_engine.REASONS.index(fate.reason)}]"] += 1
            if port in fate.left.keys() | fate.cut:
                count[f"sent[{fate.traffic_class}]"] += 1
                count["sent_bytes"] += fate.size
            if port in fate.refused:
                count[f"refused_{fate.refused[port].removesuffix('_full')}"] += 1
            count["dropped_queued"] += port in fate.dropped
        return dict(+count)

    def departures(self, port: int) -> list[Fate]:
        """What left by this port, in order."""
        return sorted((f for f in self.fates.values() if port in f.left), key=lambda f: f.left[port])

    def check_selection(self, port: int) -> None:
        """Strict priority, earliest first within a class, and of a backlog a gap of exactly 12 byte times.

        Sound for every frame: whatever could have been selected with one that was, has to come after it.
        """
        departed = self.departures(port)
        # By class and reception port, frames leave in order: it is enough to look at the heads.
        lists: dict[tuple[int, int], list[Fate]] = defaultdict(list)
        for fate in sorted(departed, key=lambda f: f.judged):
            lists[fate.traffic_class, fate.port].append(fate)
        heads = dict.fromkeys(lists, 0)
        free = 0
        for fate in departed:
            at = fate.selected(port)
            ready = [
                lists[key][index] for key, index in heads.items()
                if index < len(lists[key]) and lists[key][index].visible <= at
            ]  # fmt: skip
            first = min(ready, key=lambda f: (-f.traffic_class, f.visible, f.port))
            assert first is fate, f"{fate} went before {first}"
            # It went at once, when it was visible or the port became free.
            earliest = max(free, min(f.visible for f in ready))
            assert at == earliest, f"{fate} could have gone in cycle {earliest}"
            free = at + fate.size + AHEAD_BYTES + GAP
            heads[fate.traffic_class, fate.port] += 1

    def check_guarantees(self, queue_cells: int, reception_cells: int, queue_limit: int = 256) -> int:
        """No copy was refused that fits what is guaranteed to its queue or to its reception port.

        The accounts are taken from the events, with each copy held a little longer than the switch holds it. Gives the
        number of refusals that were looked at.
        """
        slack = 64
        moves: list[tuple[int, int, Fate, int]] = []  # cycle, 0 in or 1 out, frame, egress port
        for fate in self.fates.values():
            for port in fate.queued | fate.refused.keys():
                moves.append((fate.judged, 0, fate, port))
                if port in fate.left:
                    moves.append((fate.left[port] + fate.size + slack, 1, fate, port))
        queue: Counter[tuple[int, int]] = Counter()
        reception: Counter[int] = Counter()
        looked_at = 0
        for _, what, fate, port in sorted(moves, key=lambda m: m[:2]):
            n = cells(fate.size)
            key = (port, fate.traffic_class)
            if what == 1:
                queue[key] -= n
                reception[fate.port] -= n
            elif port in fate.left:
                queue[key] += n
                reception[fate.port] += n
            else:
                looked_at += 1
                assert queue[key] + n > queue_cells, f"guaranteed to its queue, and refused: {fate}"
                whole = n * len(fate.queued | fate.refused.keys())
                if queue[key] + n <= queue_limit:
                    assert reception[fate.port] + whole > reception_cells, (
                        f"guaranteed to its port, and refused: {fate}"
                    )
        return looked_at
