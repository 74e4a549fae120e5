# SPDX-License-Identifier: Apache-2.0
"""Random frames through the whole switch, held against a plain scoreboard.

The scoreboard knows nothing of the hardware: it says for each frame where a VLAN bridge has to send it, and then
checks that every copy came out there once, whole and in order, or was refused for a reason that was reported.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock import _engine
from penstock.hardware.configure import StreamEntry, SwitchConfig
from penstock.hardware.registers import RegisterMap
from penstock.hardware.registers import registers as register_map
from penstock.hardware.traffic import (
    BROADCAST,
    FAULTY_OUTPUT,
    FILLER_BYTES,
    MAX_FRAME_BYTES,
    TYPE_EXPERIMENTAL,
    Frame,
    as_number,
    configured_switch,
    damage,
    drops_by_reason,
    read_counters,
    refusals,
    station_address,
    vlan_tag,
)

STATIONS_PER_PORT = 4
CHUNK_FRAMES = 20_000
HOT_FRAMES = 2_000
STEP_CYCLES = 200_000
DRAIN_CYCLES = 2_000_000
MAX_FAULTS = 20


@dataclass(frozen=True)
class Network:
    """What the switch is told: ports, VLANs and shaped streams."""

    ports: int

    @property
    def vlans(self) -> dict[int, set[int]]:
        """Member ports of each VLAN."""
        everybody = set(range(self.ports))
        return {1: everybody, 10: everybody - {self.ports - 1}, 20: {0, self.ports - 1}}

    @property
    def port_vlan_id(self) -> list[int]:
        """VLAN of frames that name none, per port."""
        return [1] * (self.ports - 1) + [20]

    def configuration(self) -> SwitchConfig:
        """Every station shapes what it sends to the first station of each other port in VLAN 10."""
        streams = [
            StreamEntry(
                port=reception,
                identify="destination",
                vlan=10,
                mac=as_number(station_address(port, 0)),
                rate_bps=2_000_000 * (1 + port),
                burst_bytes=3_084,
                ats=True,
            )
            for reception in sorted(self.vlans[10])
            for port in sorted(self.vlans[10])
            if port != reception
        ]
        return SwitchConfig(
            ports=self.ports,
            port_vlan_id=self.port_vlan_id,
            vlans=self.vlans,
            streams=streams,
            max_residence_ns={(port, k): 300_000 for port in range(self.ports) for k in (6, 7)},
        )


@dataclass(frozen=True)
class Sent:
    """One frame on the wire and what a correct switch does with it."""

    frame: Frame
    gap: int  # byte times of silence before it
    flow: int  # frames of one reception port, output and flow stay in order
    destinations: frozenset[int]  # empty: it must not come out anywhere
    reason: str | None  # why not, as the switch has to count it


class Generator:
    """Draws frames from a seed: sizes, tags, priorities, addresses, gaps and every kind of damage."""

    def __init__(self, network: Network, seed: int) -> None:
        self.network = network
        self.rng = random.Random(seed)
        self.busy_until = [0] * network.ports
        self.favourite = 0  # the port that half of the frames go to for a while, so that its queues overflow

    def introduction(self) -> Iterator[Sent]:
        """Every station speaks once in each of its VLANs, so that the switch learns where it is."""
        for port in range(self.network.ports):
            for number in range(STATIONS_PER_PORT):
                for vlan, members in self.network.vlans.items():
                    if port in members:
                        yield self._sent(port, BROADCAST, station_address(port, number), vlan, 0, 64, None, 200)

    def frames(self, count: int) -> Iterator[Sent]:
        """Frames of all ports, each port's in order of time."""
        rng = self.rng
        for number in range(count):
            if number % HOT_FRAMES == 0:
                self.favourite = rng.randrange(self.network.ports)
            # The port that has been quiet for longest goes on, so that the ports stay abreast.
            port = min(range(self.network.ports), key=self.busy_until.__getitem__)
            harm = rng.choices((None, "fcs", "rx_er", "runt", "giant", "preamble"), weights=(970, 8, 8, 6, 4, 4), k=1)[
                0
            ]
            size = rng.choice((64, 64, 65, 66, 67, 68, 71, 72, 73, 127, 128, 129, rng.randint(64, 1522), 1522))
            gap = rng.choice((12, 12, 12, 12, 13, 14, rng.randint(1, 11), rng.randint(12, 300)))
            vlan = rng.choice((None, None, None, 0, 0, 1, 1, 1, 1, 10, 10, 10, 10, 20, 99, 4095))
            source = station_address(port, rng.randrange(STATIONS_PER_PORT))
            yield self._sent(port, self._destination(), source, vlan, rng.randrange(8), size, harm, gap)

    def _destination(self) -> bytes:
        rng = self.rng
        kind = rng.random()
        if kind < 0.90:
            port = self.favourite if kind < 0.45 else rng.randrange(self.network.ports)
            return station_address(port, rng.randrange(STATIONS_PER_PORT))
        if kind < 0.93:
            return bytes([0x02, 0xEE, 0, 0, 0, rng.randrange(256)])
        if kind < 0.95:
            return BROADCAST
        if kind < 0.97:
            return bytes([0x01, 0x00, 0x5E, 0, 0, rng.randrange(256)])
        return bytes([0x01, 0x80, 0xC2, 0, 0, rng.randrange(16)])

    def _sent(
        self,
        port: int,
        destination: bytes,
        source: bytes,
        tag_vlan: int | None,
        pcp: int,
        size: int,
        harm: str | None,
        gap: int,
    ) -> Sent:
        head = destination + source + vlan_tag(tag_vlan, pcp) + TYPE_EXPERIMENTAL
        frame = Frame(port, head, size, self.rng.randrange(FILLER_BYTES))
        destinations, reason = self._forward(port, destination, tag_vlan)
        if harm is not None:
            wrong: dict[str, Any] = damage(harm, size, MAX_FRAME_BYTES, self.rng)
            frame = replace(frame, **wrong)
            destinations, reason = frozenset(), harm
        self.busy_until[port] += frame.carrier_cycles + gap
        return Sent(frame, gap, 8 if tag_vlan is None else pcp, destinations, reason)

    def _forward(self, port: int, destination: bytes, tag_vlan: int | None) -> tuple[frozenset[int], str | None]:
        vlan = tag_vlan or self.network.port_vlan_id[port]
        if destination[:5] == b"\x01\x80\xc2\x00\x00" and destination[5] < 16:
            return frozenset(), "reserved_address"
        members = self.network.vlans.get(vlan, set())
        if port not in members:
            return frozenset(), "vlan"
        known = destination[:2] == b"\x02\x00" and destination[4] in members
        out = frozenset(({destination[4]} if known else members) - {port})
        return out, None if out else "no_destination"


@dataclass
class Scoreboard:
    """Follows every copy from the wire in to the wire out."""

    inside: dict[int, tuple[Sent, set[int]]] = field(default_factory=dict)  # by number: the frame, its open copies
    latest: dict[tuple[int, int, int], int] = field(default_factory=dict)
    sent: int = 0
    delivered: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        """Notes what went wrong; the first few are enough to find it."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(text)

    def pushed(self, number: int, sent: Sent) -> None:
        """A frame is on its way to the switch."""
        self.sent += 1
        self.inside[number] = (sent, set(sent.destinations))

    def judged(self, number: int, reason: str | None, refused: dict[int, str]) -> None:
        """The switch says what it does with a frame: why it drops it, or which copies it refuses."""
        if number not in self.inside:
            self.fault(f"frame {number} was judged twice")
            return
        sent, copies = self.inside[number]
        if reason is not None:
            self.dropped[reason] += 1
            # Only a shaper may refuse a frame that is fit to be forwarded.
            if reason != sent.reason and not (reason == "residence" and sent.reason is None):
                self.fault(f"frame {number} of port {sent.frame.port}: dropped as {reason}, expected {sent.reason}")
            copies.clear()
        elif sent.reason is not None:
            self.fault(f"frame {number} of port {sent.frame.port}: forwarded, expected a drop as {sent.reason}")
        for port, why in refused.items():
            self.dropped[why] += 1
            self._close(number, port)
        if not copies:
            self.inside.pop(number, None)

    def left(self, number: int, port: int, fit: bool) -> None:
        """A copy has left by a port; `fit` when it is byte for byte what came in, with preamble and gap."""
        if number not in self.inside or port not in self.inside[number][1]:
            self.fault(f"port {port}: frame {number} came out twice, or was not due here")
            return
        sent, _ = self.inside[number]
        if not fit:
            self.fault(f"port {port}: frame {number} was damaged")
        flow = (sent.frame.port, port, sent.flow)
        if number < self.latest.get(flow, 0):
            self.fault(f"port {port}: frame {number} was overtaken by {self.latest[flow]} of its stream")
        self.latest[flow] = number
        self.delivered += 1
        self._close(number, port)

    def finish(self) -> None:
        """Nothing may be left that should have come out."""
        for number, (sent, copies) in self.inside.items():
            self.fault(f"frame {number} of port {sent.frame.port} never came out of ports {sorted(copies)}")

    def _close(self, number: int, port: int) -> None:
        if number not in self.inside or port not in self.inside[number][1]:
            self.fault(f"frame {number}: a copy for port {port} was refused that was never due")
            return
        copies = self.inside[number][1]
        copies.discard(port)
        if not copies:
            del self.inside[number]


def soak(
    frames: int, *, seed: int = 1, ports: int = 4, progress: Callable[[float], object] | None = None
) -> Scoreboard:
    """Sends that many random frames through the Verilated switch; the scoreboard's `faults` say what went wrong."""
    network = Network(ports)
    switch = configured_switch(network.configuration())
    board = Scoreboard()
    generator = Generator(network, seed)

    def send(batch: Iterator[Sent]) -> None:
        for sent in batch:
            board.pushed(sent.frame.push(switch, switch.cycle, sent.gap), sent)
        while switch.waiting:
            switch.run(switch.cycle + STEP_CYCLES)
            judge(board, switch.events(), ports)

    send(generator.introduction())
    switch.run(switch.cycle + STEP_CYCLES)
    for start in range(0, frames, CHUNK_FRAMES):
        send(generator.frames(min(CHUNK_FRAMES, frames - start)))
        if progress is not None:
            progress(min(1.0, (start + CHUNK_FRAMES) / frames))
    switch.run(switch.cycle + DRAIN_CYCLES)
    judge(board, switch.events(), ports)
    board.finish()
    _compare_counters(board, switch, register_map(), ports)
    return board


def judge(board: Scoreboard, events: _engine.Events, ports: int) -> None:
    """Shows the scoreboard what the switch did."""
    kinds = _engine.KINDS
    columns = (
        events["kind"], events["frame"], events["port"], events["reason"],
        events["refused"], events["refused_reasons"], events["flags"],
    )  # fmt: skip
    for kind, number, port, reason, refused, reasons, flags in zip(*(c.tolist() for c in columns), strict=True):
        name = kinds[kind]
        if name == "verdict":
            board.judged(number, _engine.REASONS[reason] if reason else None, refusals(refused, reasons, ports))
        elif name == "output":
            board.left(number, port, not flags & FAULTY_OUTPUT)
        elif name == "expired":
            board.fault(f"frame {number} expired at port {port}")
        elif name == "fault":
            board.fault(f"the switch contradicts itself about frame {number} at port {port}, fault {reason}")


def _compare_counters(board: Scoreboard, switch: _engine.Switch, registers: RegisterMap, ports: int) -> None:
    """The switch's own counters have to say the same."""
    counters = [read_counters(switch, registers, port) for port in range(ports)]
    sent = sum(port.get(f"sent[{k}]", 0) for port in counters for k in range(8))
    if sent != board.delivered:
        board.fault(f"the switch counts {sent} copies sent, {board.delivered} came out")
    counted = drops_by_reason(counters)
    if counted != board.dropped:
        board.fault(f"the switch counts {counted} drops, it reported {dict(board.dropped)}")
