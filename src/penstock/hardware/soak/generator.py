# SPDX-License-Identifier: Apache-2.0
"""The network around the switch, and random frames of every kind for it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.hardware.configure import StreamEntry, SwitchConfig
from penstock.hardware.traffic import (
    BROADCAST,
    FILLER_BYTES,
    MAX_FRAME_BYTES,
    TYPE_EXPERIMENTAL,
    Frame,
    as_number,
    damage,
    station_address,
    vlan_tag,
)

STATIONS_PER_PORT = 4
HOT_FRAMES = 2_000


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

    def shapes(self, destination: bytes, vlan: int | None) -> bool:
        """Whether a frame is of a shaped stream, which one that is not shaped may overtake."""
        return vlan == 10 and destination in {station_address(port, 0) for port in self.vlans[10]}

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
    flow: tuple[int | None, bool]  # PCP and whether it is shaped: of one reception port, output and flow, in order
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
        flow = None if tag_vlan is None else pcp, self.network.shapes(destination, tag_vlan)
        return Sent(frame, gap, flow, destinations, reason)

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
