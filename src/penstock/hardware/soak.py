# SPDX-License-Identifier: Apache-2.0
"""Random frames through the whole switch, held against a plain scoreboard.

The scoreboard knows nothing of the hardware: it says for each frame where a VLAN bridge has to send it, and then
checks that every copy came out there once, whole and in order, or was refused for a reason that was reported.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.hardware.configure import StreamEntry, SwitchConfig

PREAMBLE_BYTES = 7
DELIMITER_BYTES = 1
GAP_BYTES = 12
FCS_BYTES = 4
IDENTITY_AT = 20  # behind the longest header that the generator makes
STATIONS_PER_PORT = 4
CHUNK_FRAMES = 20_000
INIT_CYCLES = 4200
DRAIN_CYCLES = 2_000_000

BROADCAST = b"\xff" * 6


def station_address(port: int, number: int) -> bytes:
    """Address of one of the stations behind a port."""
    return bytes([0x02, 0, 0, 0, port, number])


def with_fcs(body: bytes) -> bytes:
    """The frame with its frame check sequence."""
    return body + zlib.crc32(body).to_bytes(FCS_BYTES, "little")


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
                mac=int.from_bytes(station_address(port, 0), "big"),
                rate_bps=50_000_000 * (1 + port),
                burst_bytes=8_000,
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

    port: int
    start_cycle: int
    data: bytes
    preamble: int
    rx_er_at: int | None
    identity: int
    destinations: frozenset[int]  # empty: it must not come out anywhere
    reason: str | None  # why not, as the switch has to count it


class Generator:
    """Draws frames from a seed: sizes, tags, priorities, addresses, gaps and every kind of damage."""

    def __init__(self, network: Network, seed: int) -> None:
        self.network = network
        self.rng = random.Random(seed)
        self.next_cycle = [INIT_CYCLES] * network.ports
        self.identity = 0

    def introduction(self) -> Iterator[Sent]:
        """Every station speaks once in each of its VLANs, so that the switch learns where it is."""
        for port in range(self.network.ports):
            for number in range(STATIONS_PER_PORT):
                for vlan, members in self.network.vlans.items():
                    if port in members:
                        yield self._place(port, BROADCAST, station_address(port, number), vlan, 0, 64, None, 20)

    def frames(self, count: int) -> Iterator[Sent]:
        """Frames of all ports, each port's in order of time."""
        rng = self.rng
        for _ in range(count):
            # The port that has been quiet for longest goes on, so that the ports stay abreast.
            port = min(range(self.network.ports), key=self.next_cycle.__getitem__)
            damage = rng.choices(
                (None, "fcs", "rx_er", "runt", "giant", "preamble"), weights=(970, 8, 8, 6, 4, 4), k=1
            )[0]
            size = rng.choice((64, 64, 65, 66, 67, 68, 71, 72, 73, 127, 128, 129, rng.randint(64, 1522), 1522))
            gap = rng.choice((12, 12, 12, 13, 14, rng.randint(1, 11), rng.randint(12, 600), 2000))
            vlan = rng.choice((None, None, 0, 1, 1, 10, 10, 10, 20, 99, 4095))
            yield self._place(port, self._destination(), self._source(port), vlan, rng.randrange(8), size, damage, gap)

    def _source(self, port: int) -> bytes:
        return station_address(port, self.rng.randrange(STATIONS_PER_PORT))

    def _destination(self) -> bytes:
        rng = self.rng
        kind = rng.random()
        if kind < 0.90:
            return station_address(rng.randrange(self.network.ports), rng.randrange(STATIONS_PER_PORT))
        if kind < 0.93:
            return bytes([0x02, 0xEE, 0, 0, 0, rng.randrange(256)])
        if kind < 0.95:
            return BROADCAST
        if kind < 0.97:
            return bytes([0x01, 0x00, 0x5E, 0, 0, rng.randrange(256)])
        return bytes([0x01, 0x80, 0xC2, 0, 0, rng.randrange(16)])

    def _place(
        self,
        port: int,
        destination: bytes,
        source: bytes,
        tag_vlan: int | None,
        pcp: int,
        size: int,
        damage: str | None,
        gap: int,
    ) -> Sent:
        rng = self.rng
        self.identity += 1
        tag = b"" if tag_vlan is None else b"\x81\x00" + (pcp << 13 | tag_vlan).to_bytes(2, "big")
        head = (destination + source + tag + b"\x88\xb5").ljust(IDENTITY_AT, b"\0") + self.identity.to_bytes(8, "big")
        if damage == "giant":
            size = rng.randint(1523, 1600)
        body = head + rng.randbytes(size - FCS_BYTES - len(head))
        data = with_fcs(body)
        preamble, rx_er_at = PREAMBLE_BYTES, None
        if damage == "fcs":
            at = rng.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        elif damage == "rx_er":
            rx_er_at = rng.randrange(len(data))
        elif damage == "runt":
            data = with_fcs(body[: rng.randint(1, 59)])
        elif damage == "preamble":
            # The delimiter never comes: the carrier is noise of the length of the frame.
            data = bytes(0x55 for _ in data)
            preamble = -1
        destinations, reason = self._forward(port, destination, tag_vlan)
        if damage is not None:
            destinations, reason = frozenset(), damage
        sent = Sent(port, self.next_cycle[port], data, preamble, rx_er_at, self.identity, destinations, reason)
        self.next_cycle[port] += max(preamble, -1) + DELIMITER_BYTES + len(data) + gap
        return sent

    def _forward(self, port: int, destination: bytes, tag_vlan: int | None) -> tuple[frozenset[int], str | None]:
        vlan = tag_vlan or self.network.port_vlan_id[port]
        if destination[:5] == b"\x01\x80\xc2\x00\x00" and destination[5] < 16:
            return frozenset(), "reserved_address"
        members = self.network.vlans.get(vlan, set())
        if port not in members:
            return frozenset(), "vlan"
        known = destination[0] == 0x02 and destination[1] == 0 and destination[4] in members
        ports = {destination[4]} if known else members
        out = frozenset((ports & members) - {port})
        return out, None if out else "no_destination"


@dataclass
class Scoreboard:
    """Follows every copy from the wire in to the wire out."""

    waiting: dict[int, Sent] = field(default_factory=dict)  # by identity
    open_copies: dict[int, set[int]] = field(default_factory=dict)
    last_seen: dict[tuple[int, int, int], int] = field(default_factory=lambda: defaultdict(int))
    delivered: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        """Notes what went wrong; the first few are enough to find it."""
        if len(self.faults) < 20:
            self.faults.append(text)

    def sent(self, frame: Sent) -> None:
        """A frame is about to enter."""
        self.waiting[frame.identity] = frame
        self.open_copies[frame.identity] = set(frame.destinations)

    def judged(self, identity: int, reason: str | None, refused: dict[int, str]) -> None:
        """The switch says what it does with a frame: the reason it drops it, or the copies it refuses."""
        frame = self.waiting[identity]
        if reason is not None:
            self.dropped[reason] += 1
            if reason == "residence" and frame.reason is None:
                self.open_copies[identity].clear()
            elif reason != frame.reason:
                self.fault(f"frame {identity} of port {frame.port}: dropped as {reason}, expected {frame.reason}")
        elif frame.reason is not None:
            self.fault(f"frame {identity} of port {frame.port}: forwarded, expected drop as {frame.reason}")
        for port, why in refused.items():
            self.dropped[why] += 1
            if port not in self.open_copies[identity]:
                self.fault(f"frame {identity}: copy to port {port} refused that was never due")
            self.open_copies[identity].discard(port)
        self._settle(identity)

    def received(self, port: int, data: bytes, tx_error: bool) -> None:
        """A frame came out of a port."""
        identity = int.from_bytes(data[IDENTITY_AT : IDENTITY_AT + 8], "big")
        frame = self.waiting.get(identity)
        if frame is None or port not in self.open_copies[identity]:
            self.fault(f"port {port}: frame {identity} came out twice or was not due here")
            return
        if data != frame.data or tx_error:
            self.fault(f"port {port}: frame {identity} was damaged")
        tagged = data[12:14] == b"\x81\x00"
        flow = (frame.port, port, data[14] >> 5 if tagged else 8)
        if identity <= self.last_seen[flow]:
            self.fault(f"port {port}: frame {identity} overtook {self.last_seen[flow]} of its stream")
        self.last_seen[flow] = identity
        self.delivered += 1
        self.open_copies[identity].discard(port)
        self._settle(identity)

    def _settle(self, identity: int) -> None:
        if not self.open_copies[identity] and self.waiting[identity].reason is None:
            del self.waiting[identity], self.open_copies[identity]

    def finish(self) -> None:
        """Nothing may be left that should have come out."""
        for identity, ports in self.open_copies.items():
            if ports:
                self.fault(f"frame {identity} of port {self.waiting[identity].port} never came out of {sorted(ports)}")
